/**
 * A tool that calls tools. Each call is a separate task with its own journal, and its questions appear next to this tool's own:
 * `dinner:party-size`, `guestbook:line`.
 *
 * Both calls run at once. The guest book's task is cancelled after a day, so that the evening does not wait for it. A dinner that could not be
 * booked is a valid outcome.
 */
import { ChildFailed, defineTool, TimedOut } from "@parley/sdk";
import { z } from "zod";
import { bookDinner } from "./02-book-dinner.ts";
import { signGuestbook } from "./16-sign-guestbook.ts";

export const hostEvening = defineTool({
  name: "host_evening",
  title: "Host an evening",
  description: "Prepares an evening with a guest: books a table, and asks for a line in the guest book.",
  input: z.object({
    date: z.iso.date().describe("The day, such as 2026-12-24"),
    time: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/)
      .describe("The time, such as 19:30"),
    guest: z
      .string()
      .regex(/^[A-Za-z -]{1,40}$/)
      .describe("Name of the guest, in plain letters"),
  }),
  async run({ date, time, guest }, ctx) {
    const [dinner, entry] = await Promise.all([
      ctx.call(bookDinner, { date, time }, { key: "dinner" }).catch((error: unknown) => {
        if (error instanceof ChildFailed) return `No dinner: ${error.reason}`;
        throw error;
      }),
      ctx.call(signGuestbook, { guest }, { key: "guestbook", timeout: "1 day" }).catch((error: unknown) => {
        if (error instanceof TimedOut || error instanceof ChildFailed) return "The guest book stays as it is.";
        throw error;
      }),
    ]);
    return `${dinner}\n${entry}`;
  },
});
