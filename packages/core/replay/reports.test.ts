/** What a run reports while it works. */
import { describe, expect, test } from "vitest";
import type { Announcement, Report } from "../ports.ts";
import type { FeedItem, Json, JsonObject } from "../task.ts";
import { createReports } from "./reports.ts";

const progress = (value: number, message?: string): FeedItem => ({
  type: "progress",
  progress: value,
  ...(message !== undefined && { message }),
});
const log = (data: Json): FeedItem => ({ type: "log", level: "info", data });

function speaker({ itemMax = 100 } = {}) {
  const told: (Report | Announcement)[] = [];
  const speaking = { isOpen: true };
  const ports = {
    report: async (report: Report) => void told.push(report),
    announce: async (announcement: Announcement) => void told.push(announcement),
  };
  return { reports: createReports(ports, { isOpen: () => speaking.isOpen, itemMax }), ports, told, speaking };
}

describe("reports", () => {
  test("of one turn are sent together: all items, and the last of each text", async () => {
    const { reports, told } = speaker();
    reports.item(progress(1));
    reports.message("one");
    reports.message("two");
    reports.immediateResponse("for the model");
    reports.item(progress(2));
    await reports.sent();
    expect(told).toStrictEqual([{ items: [progress(1), progress(2)], message: "two", immediateResponse: "for the model" }]);
  });

  test("that come later are sent later, in order", async () => {
    const { reports, told } = speaker();
    reports.item(progress(1));
    await reports.sent();
    reports.announce({ type: "tools" });
    reports.item(progress(2));
    reports.announce({ type: "resource", uri: "note:1" });
    await reports.sent();
    expect(told).toStrictEqual([
      { items: [progress(1)] },
      { type: "tools" },
      { items: [progress(2)] },
      { type: "resource", uri: "note:1" },
    ]);
  });

  test("are collected while an earlier one is being sent", async () => {
    const gate = Promise.withResolvers<void>();
    const told: Report[] = [];
    const reports = createReports(
      { report: (report) => (told.push(report) === 1 ? gate.promise : Promise.resolve()), announce: async () => undefined },
      { isOpen: () => true, itemMax: 100 },
    );
    reports.item(progress(1));
    while (told.length === 0) await Promise.resolve();
    reports.item(progress(2));
    reports.item(progress(3));
    expect(told).toStrictEqual([{ items: [progress(1)] }]);
    gate.resolve();
    await reports.sent();
    expect(told).toStrictEqual([{ items: [progress(1)] }, { items: [progress(2), progress(3)] }]);
  });

  test("wait as a thousand items at most, the newest: a feed keeps no more", async () => {
    const { reports, told } = speaker();
    for (let value = 1; value <= 1_000; value += 1) reports.item(progress(value));
    await reports.sent();
    for (let value = 1; value <= 1_001; value += 1) reports.item(progress(value));
    await reports.sent();
    const [fits, exceeds] = told as Report[];
    expect([fits?.items.length, fits?.items[0]]).toStrictEqual([1_000, progress(1)]);
    expect([exceeds?.items.length, exceeds?.items[0]]).toStrictEqual([1_000, progress(2)]);
  });

  test("are dropped while the run replays", async () => {
    const { reports, told, speaking } = speaker();
    speaking.isOpen = false;
    reports.item(progress(1));
    reports.message("one");
    reports.immediateResponse("two");
    reports.announce({ type: "tools" });
    await reports.sent();
    expect(told).toStrictEqual([]);
    speaking.isOpen = true;
    reports.item(progress(2));
    await reports.sent();
    expect(told).toStrictEqual([{ items: [progress(2)] }]);
  });

  test("that fail reject at the end of the run, and nothing is sent after the first failure", async () => {
    const told: Announcement[] = [];
    const reports = createReports(
      { report: () => Promise.reject(new Error("away")), announce: async (announcement) => void told.push(announcement) },
      { isOpen: () => true, itemMax: 100 },
    );
    reports.item(progress(1));
    reports.announce({ type: "tools" });
    // The result has not been awaited so far. Node.js reports unhandled rejections at the end of the turn, which
    // would fail the test.
    await new Promise((resolve) => setImmediate(resolve));
    await expect(reports.sent()).rejects.toStrictEqual(new Error("away"));
    expect(told).toStrictEqual([]);
  });
});

describe("long texts", () => {
  test("are unchanged at the limit and cut one beyond", async () => {
    const { reports, told } = speaker({ itemMax: 5 });
    const release: FeedItem = { type: "release" };
    for (const item of [progress(1), progress(2, "12345"), progress(3, "123456"), release]) reports.item(item);
    // Log data counts as JSON, including its quotation marks.
    for (const data of ["123", "1234", "123456", [1, 2], [1, 23]]) reports.item(log(data));
    for (const logger of ["12345", "123456"]) reports.item({ type: "log", level: "info", data: 1, logger });
    reports.message("12345");
    reports.immediateResponse("123456");
    await reports.sent();
    expect(told).toStrictEqual([
      {
        items: [
          progress(1),
          progress(2, "12345"),
          progress(3, "12345…"),
          release,
          log("123"),
          log("1234"),
          log("12345…"),
          log([1, 2]),
          log("[1,23…"),
          { type: "log", level: "info", data: 1, logger: "12345" },
          { type: "log", level: "info", data: 1, logger: "12345…" },
        ],
        message: "12345",
        immediateResponse: "12345…",
      },
    ]);
  });

  test("in emitted data are cut where they are longest, and data that is still too large becomes one text", async () => {
    const { reports, told } = speaker({ itemMax: 20 });
    const emit = (data: JsonObject): FeedItem => ({ type: "emit", kind: "toast", data });
    // {"a":"x","b":"1234"} has 20 characters.
    for (const data of [{ a: "x", b: "1234" }, { a: "x", b: "12345" }, { a: [1, 2, 3, 4, 5, 67] }, { a: [1, 2, 3, 4, 5, 678] }])
      reports.item(emit(data));
    reports.item(emit({ long: [1, 2, 3, 4, 5, 6, 7], b: "12345" }));
    await reports.sent();
    expect(told).toStrictEqual([
      {
        items: [
          emit({ a: "x", b: "1234" }),
          emit({ a: "x", b: "1234…" }),
          emit({ a: [1, 2, 3, 4, 5, 67] }),
          emit({ cut: '{"a":[1,2,3,4,5,678]…' }),
          emit({ cut: '{"long":[1,2,3,4,5,6…' }),
        ],
      },
    ]);
  });
});
