/**
 * A module and a limit: each worker opens the guest book once for all of its runs, and only one run of all workers writes at a time.
 *
 * An entry begins with the step's idempotency key. If a worker dies after writing it, the repeated step finds the entry and does not write
 * another one.
 */
import { mkdir, open, readFile } from "node:fs/promises";
import { defineModule, defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";

const FILE = ["guestbook", "entries.txt"] as const;

export const guestbook = defineModule({
  name: "guestbook",
  async start() {
    await mkdir(galleryDir("guestbook"), { recursive: true });
    return await open(galleryDir(...FILE), "a");
  },
  stop: (file) => file.close(),
});

export const signGuestbook = defineTool({
  name: "sign_guestbook",
  title: "Sign the guest book",
  description: "Asks the user for a line and writes it into the guest book.",
  input: z.object({
    guest: z
      .string()
      .regex(/^[A-Za-z -]{1,40}$/)
      .describe("Name of the guest, in plain letters"),
  }),
  limit: { concurrency: 1 },
  async run({ guest }, ctx) {
    const line = await ctx.text("line", {
      message: `What would you like to write in the guest book, ${guest}?`,
      minLength: 1,
      maxLength: 200,
    });
    const number = await ctx.step("sign", async ({ idempotencyKey }) => {
      const entries = (await readFile(galleryDir(...FILE), "utf8")).split("\n").slice(0, -1);
      const before = entries.findIndex((entry) => entry.startsWith(`${idempotencyKey} `));
      if (before >= 0) return before + 1;
      await guestbook.use().appendFile(`${idempotencyKey} ${guest}: ${line.replaceAll("\n", " ")}\n`);
      return entries.length + 1;
    });
    return `Entry ${number} of the guest book is ${guest}'s.`;
  },
});
