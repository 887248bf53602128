import assert from "node:assert/strict";
import { test } from "node:test";
import { decline, runTool } from "@parley/sdk/testing";
import { bookMeeting } from "../tools/book-meeting.ts";

test("books the day that the person chose", async () => {
  const run = await runTool(bookMeeting, { topic: "Budget" }, { answers: { day: { day: "Tuesday" } } });
  assert.match(run.text, /"Budget" is booked: Tuesday/);
});

test("reserves one room, even if the worker dies after each step", async () => {
  const run = await runTool(bookMeeting, { topic: "Budget" }, { answers: { day: { day: "Monday" } }, crashAt: "every" });
  assert.match(run.text, /Monday, room A-\d/);
});

test("books nothing when the person declines", async () => {
  const run = await runTool(bookMeeting, { topic: "Budget" }, { answers: { day: decline } });
  assert.doesNotMatch(run.text, /is booked/);
});
