import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("an error in a line is its name, message, causes and frames, and none of what libraries hang on it", async () => {
  const module = JSON.stringify(new URL("logger.ts", import.meta.url).href);
  const script = `
    import { createLogger } from ${module};
    const error = new TypeError("WRONGTYPE", { cause: new Error("of the socket") });
    createLogger("test", "info").error({ defectId: "d-1", err: Object.assign(error, { command: { args: ["SECRET"] } }) }, "request failed");
  `;
  const { stderr } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  const line = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  expect(line).toMatchObject({
    msg: "request failed",
    defectId: "d-1",
    err: { error: "TypeError", detail: "WRONGTYPE", cause: { detail: "of the socket" } },
  });
  expect(stderr).not.toContain("SECRET");
});
