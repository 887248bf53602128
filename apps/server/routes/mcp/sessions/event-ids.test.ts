import { describe, expect, test } from "vitest";
import { signatures } from "../../../seals/signatures.ts";
import { stateKeys } from "../../../seals/state-keys.ts";
import { type Cursor, EVENT_ID_CHARS, eventIds } from "./event-ids.ts";

const ids = eventIds(signatures(stateKeys(["a secret that is known to every front end"])));
const taskId = "1023-V1StGXR8Z5jdHi6BmyTabc";
const event = 8_640_000_000_000_000; // the last millisecond that a Date can represent
const feed = "1767225600000-4294967295";

const cursors: readonly (readonly [string, Cursor])[] = [
  ["a session's own stream", { stream: "standalone", event }],
  ["a stream that nothing follows", { stream: "ended", event }],
  ["a call without reports", { stream: "call", event: 1, taskId }],
  [
    "a call with reports of every kind",
    { stream: "call", event, taskId, feed, seen: { revision: 1_000_000, position: 99 }, progress: -1.7976931348623157e308, waits: true },
  ],
  ["a call that made no progress", { stream: "call", event, taskId, seen: { revision: 0, position: 0 }, progress: 0 }],
  ["a task's result", { stream: "result", event, taskId, feed, requestId: 7 }],
  ["a task's result with a progress token", { stream: "result", event, taskId, feed, requestId: 7, progressToken: "~p.\n" }],
  ["a task's result with a number as the progress token", { stream: "result", event, taskId, requestId: "x", progressToken: 0 }],
  ["a task's result by a text", { stream: "result", event, taskId, requestId: "~7.\n☃" }],
  ["a task's result by a uuid", { stream: "result", event, taskId, feed, requestId: "00000000-0000-4000-8000-000000000000" }],
];

describe("an event id", () => {
  test.each(cursors)("of %s is short, fits a header, and contains the client's position", (_, cursor) => {
    const eventId = ids.write("session", cursor) ?? "";
    expect(eventId.length).toBeLessThanOrEqual(EVENT_ID_CHARS);
    expect(eventId).toMatch(/^[\w~.+-]+$/);
    expect(ids.read("session", eventId)).toStrictEqual(cursor);
  });

  test.each(cursors)("of %s is refused in another session, and so is one that was changed", (_, cursor) => {
    const eventId = ids.write("session", cursor) ?? "";
    expect(ids.read("other", eventId)).toBeUndefined();
    for (let i = 0; i < eventId.length; i += 1) {
      expect(ids.read("session", `${eventId.slice(0, i)}${eventId[i] === "A" ? "B" : "A"}${eventId.slice(i + 1)}`)).toBeUndefined();
    }
    for (const more of [":", "=", " ", ".", "\u0000"]) {
      expect(ids.read("session", `${eventId}${more}`)).toBeUndefined();
      expect(ids.read("session", `${eventId.slice(0, -3)}${more}${eventId.slice(-3)}`)).toBeUndefined();
    }
    for (const madeUp of ["", "~", eventId.slice(0, -1), `${eventId}~`, eventId.split("~").slice(1).join("~"), "x".repeat(100_000)])
      expect(ids.read("session", madeUp)).toBeUndefined();
  });

  test("is not created for a stream whose request id is too long", () => {
    const write = (length: number) => ids.write("session", { stream: "result", event, taskId, feed, requestId: "i".repeat(length) });
    expect(write(80)).toHaveLength(EVENT_ID_CHARS);
    expect(write(81)).toBeUndefined();
  });

  test("leaves out a progress token that is too long", () => {
    const cursor = { stream: "result", event, taskId, feed, requestId: 7 } as const;
    const written = ids.write("session", { ...cursor, progressToken: "p".repeat(200) }) ?? "";
    expect(ids.read("session", written)).toStrictEqual(cursor);
  });
});
