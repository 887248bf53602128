import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const bookMeeting = defineTool({
  name: "book_meeting",
  description: "Books a meeting room, asking a person which day suits them.",
  input: z.object({ topic: z.string().min(1).max(200).describe("What the meeting is about") }),
  async run({ topic }, ctx) {
    // A step runs once and its result is recorded: when the tool continues after the answer, days later or on another machine, the room is
    // still the same. A real step would pass its idempotencyKey on to the system that knows the rooms.
    const room = await ctx.step("reserve-room", () => `A-${1 + Math.floor(Math.random() * 9)}`);

    const { day } = await ctx.elicit("day", {
      message: `Room ${room} is free. Which day suits you for "${topic}"?`,
      schema: z.object({ day: z.enum(["Monday", "Tuesday", "Wednesday"]) }),
      timeout: "2 days",
    });
    return `"${topic}" is booked: ${day}, room ${room}.`;
  },
});
