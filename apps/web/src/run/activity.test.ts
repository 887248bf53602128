import { describe, expect, test } from "vitest";
import { isInResult, itemOf, NO_ACTIVITY, withItems } from "./activity.ts";

describe("activity", () => {
  test("shows each kind of item where it belongs", () => {
    const activity = withItems(NO_ACTIVITY, [
      { type: "progress", progress: 1, total: 4, message: "looking" },
      { type: "log", level: "warning", data: { table: 4 }, logger: "kitchen" },
      { type: "emit", kind: "stream", data: { data: "one " } },
      { type: "emit", kind: "stream", data: { data: { rows: 2 } } },
      { type: "emit", kind: "stream", data: { data: "two", final: true } },
      { type: "emit", kind: "progress", data: { value: 0.25, message: "looking", meta: {} } },
      { type: "emit", kind: "status", data: { message: "Held", type: "success" } },
      { type: "emit", kind: "thinking", data: { active: true } },
      { type: "emit", kind: "toast", data: { message: "Saved", type: "success" } },
      { type: "emit", kind: "artifact", data: { type: "code", title: "main.ts", content: "1", language: "ts" } },
      { type: "emit", kind: "qr", data: { value: "hello" } },
      { type: "new-thing", a: 1 },
    ]);
    expect(activity.progress).toEqual({ part: 0.25, words: "1 of 4: looking" });
    expect(activity.stream).toBe('one {"rows":2}\ntwo');
    expect(activity.thinking).toBe(true);
    expect(activity.lines.map(({ kind, label, text }) => [kind, label, text])).toEqual([
      ["log", "warning", 'kitchen: {"table":4}'],
      ["emit", "success", "Held"],
      ["toast", "success", "Saved"],
      ["emit", "new-thing", '{"type":"new-thing","a":1}'],
    ]);
    expect(activity.artifacts).toEqual([
      expect.objectContaining({ type: "code", title: "main.ts", content: "1", language: "ts" }),
      expect.objectContaining({ type: "qr", content: "hello" }),
    ]);
    expect(withItems(activity, [{ type: "emit", kind: "thinking", data: { active: false } }]).thinking).toBe(false);
  });

  test("accepts items without the expected members", () => {
    const items = ["progress", "log", "emit", ""].flatMap((type) => [
      { type },
      { type, kind: 4, data: null, level: {}, progress: "x", total: [] },
    ]);
    expect(() => withItems(NO_ACTIVITY, [...items, { type: "emit", kind: "artifact", data: { content: [1], url: 4 } }])).not.toThrow();
  });

  test("keeps the newest two hundred lines and counts the rest", () => {
    const line = (index: number) => ({ type: "log", level: "info", data: `line ${index}` });
    const full = withItems(
      NO_ACTIVITY,
      Array.from({ length: 200 }, (_, index) => line(index)),
    );
    expect([full.lines.length, full.linesDropped, full.lines[0]?.text]).toEqual([200, 0, "line 0"]);
    const more = withItems(full, [line(200)]);
    expect([more.lines.length, more.linesDropped, more.lines[0]?.text]).toEqual([200, 1, "line 1"]);
  });

  test("keeps the last hundred thousand characters of a stream, four thousand of a line, and thirty artifacts", () => {
    const stream = (text: string) => ({ type: "emit", kind: "stream", data: { data: text } });
    const full = withItems(NO_ACTIVITY, [stream("a".repeat(100_000))]);
    expect(full.stream).toHaveLength(100_000);
    expect(withItems(full, [stream("b")]).stream).toBe(`${"a".repeat(99_999)}b`);
    const said = withItems(
      NO_ACTIVITY,
      ["x".repeat(4_000), "x".repeat(4_001)].map((data) => ({ type: "log", level: "info", data })),
    );
    expect(said.lines.map(({ text }) => [text.length, text.endsWith("…")])).toEqual([
      [4_000, false],
      [4_001, true],
    ]);
    const cards = Array.from({ length: 31 }, (_, index) => ({ type: "emit", kind: "artifact", data: { title: `${index}` } }));
    expect(withItems(NO_ACTIVITY, cards).artifacts.map(({ title }) => title)).toEqual(
      Array.from({ length: 30 }, (_, index) => `${index + 1}`),
    );
  });

  test("shows a share only if the total is known", () => {
    const words = (item: object) => withItems(NO_ACTIVITY, [{ type: "progress", ...item }]).progress;
    expect(words({ progress: 0.5 })).toEqual({ part: 0.5, words: "50 %" });
    expect(words({ progress: 7 })).toEqual({ part: undefined, words: "7" });
    expect(words({ progress: 9, total: 4 })).toEqual({ part: 1, words: "9 of 4" });
    // The server raises progress by tiny amounts to keep waiting clients alive.
    expect(words({ progress: 2.000001, total: 4 })?.words).toBe("2 of 4");
  });
});

test.each<[what: string, data: object, block: object, isThere: boolean]>([
  ["code", { type: "code", content: "x = 1", language: "py" }, { type: "text", text: "```py\nx = 1\n```" }, true],
  ["code with a title", { type: "code", title: "A", content: "x" }, { type: "text", text: "A\n\n```\nx\n```" }, true],
  ["other code", { type: "code", content: "x = 2", language: "py" }, { type: "text", text: "```py\nx = 1\n```" }, false],
  ["a picture", { type: "image", content: "AA==" }, { type: "image", data: "AA==", mimeType: "image/png" }, true],
  ["a picture in its address", { type: "image", url: "data:image/png;base64,AA==" }, { type: "image", data: "AA==" }, true],
  [
    "a document",
    { type: "json", content: { a: 1 } },
    { type: "resource", resource: { uri: "artifact://1", text: '{\n  "a": 1\n}' } },
    true,
  ],
  ["a link", { type: "document", url: "https://x.example/a.pdf" }, { type: "resource_link", uri: "https://x.example/a.pdf" }, true],
  ["a picture of a QR code, whose text alone the result has,", { type: "qr", content: "one" }, { type: "text", text: "one" }, false],
  ["what has nothing", { type: "document" }, { type: "text", text: "" }, false],
  ["a text that says the same among other things", { type: "document", content: "one" }, { type: "text", text: "one and two" }, false],
])("%s is shown once if the result has it as well", (_what, data, block, isThere) => {
  const [artifact] = withItems(NO_ACTIVITY, [{ type: "emit", kind: "artifact", data }]).artifacts;
  expect([isInResult(artifact!, { content: [null, block] }), isInResult(artifact!, {})]).toEqual([isThere, false]);
});

test("notifications from the tool become items", () => {
  expect(itemOf({ method: "notifications/progress", params: { progress: 1 } })).toEqual({ type: "progress", progress: 1 });
  expect(itemOf({ method: "notifications/message", params: { level: "info", data: 1, type: "x" } })).toEqual({
    type: "log",
    level: "info",
    data: 1,
  });
  expect(itemOf({ method: "notifications/tools/list_changed", params: {} })).toBeUndefined();
});
