/** Asks for a file, reads all of it, and says what it is. */
import { createHash } from "node:crypto";
import { defineTool } from "@parley/sdk";

export const weigh = defineTool({
  name: "weigh",
  async run(_args, ctx) {
    const file = await ctx.file("file", { message: "A file?", maxBytes: 2 ** 31 });
    const read = await ctx.step("read", async () => {
      const hash = createHash("sha256");
      for await (const chunk of await ctx.openFile(file)) hash.update(chunk);
      return hash.digest("hex");
    });
    return JSON.stringify({ ...file, read });
  },
});
