import { describe, expect, test } from "vitest";
import { createWireLog, matches, pretty, type WireEntry, type WireLogOptions } from "./wire-log.ts";

function log(options: Partial<WireLogOptions> = {}) {
  let changes = 0;
  const made = createWireLog({ now: () => 1_000, onChange: () => (changes += 1), ...options });
  return { made, changes: () => changes };
}

const last = (entries: readonly WireEntry[]) => entries.at(-1) as WireEntry;

describe("a wire log", () => {
  test("labels a result with its method, also if other messages came in between", () => {
    const { made, changes } = log();
    made.add("out", { jsonrpc: "2.0", id: 1, method: "tools/call", params: {} }, "POST");
    made.add("in", { jsonrpc: "2.0", method: "notifications/progress", params: {} }, "stream");
    made.add("in", { jsonrpc: "2.0", id: "1", result: {} }, "stream");
    made.add("in", { jsonrpc: "2.0", id: 1, error: { code: 1, message: "no" } }, "200");
    expect(made.entries.map(({ label }) => label)).toEqual([
      "tools/call",
      "notifications/progress",
      "result of a request",
      "error of tools/call",
    ]);
    expect(changes()).toBe(4);
  });

  test("keeps messages up to the limit, and drops the oldest beyond it", () => {
    const { made } = log({ entriesMax: 3 });
    for (const method of ["a", "b", "c"]) made.add("out", { method }, "POST");
    expect([made.entries.length, made.dropped]).toEqual([3, 0]);
    made.add("out", { method: "d" }, "POST");
    expect(made.entries.map(({ label }) => label)).toEqual(["b", "c", "d"]);
    expect(made.dropped).toBe(1);
  });

  test("keeps characters up to the limit, and always the last message", () => {
    const { made } = log({ charsMax: 30 });
    made.add("in", "x".repeat(13), "200");
    made.add("in", "y".repeat(13), "200");
    expect(made.entries).toHaveLength(2);
    made.add("in", "z", "200");
    expect(made.entries.map(({ text }) => text[1])).toEqual(["y", "z"]);
    made.add("in", "w".repeat(100), "200");
    expect(made.entries.map(({ text }) => text[1])).toEqual(["w"]);
  });

  test("cuts a message exactly at its limit, and reports how much was cut", () => {
    const { made } = log({ entryCharsMax: 10 });
    made.add("in", "x".repeat(8), "200");
    expect([last(made.entries).cut, pretty(last(made.entries))]).toEqual([0, `"${"x".repeat(8)}"`]);
    made.add("in", "x".repeat(9), "200");
    expect([last(made.entries).cut, pretty(last(made.entries))]).toEqual([1, `"${"x".repeat(9)}… 1 more characters`]);
  });

  test("is empty after it is cleared, and continues", () => {
    const { made } = log({ entriesMax: 1 });
    for (const method of ["a", "b"]) made.add("out", { method }, "POST");
    made.clear();
    expect([made.entries, made.dropped]).toEqual([[], 0]);
    made.add("out", { method: "c" }, "POST");
    expect(made.entries).toHaveLength(1);
  });
});

test("a message matches if all words occur in its label or text, ignoring case", () => {
  const entry: WireEntry = { id: 1, atMs: 0, direction: "out", label: "tasks/update", how: "POST", text: '{"partySize":4}', cut: 0 };
  expect(["", "  ", "TASKS", "partysize update", "size tasks"].map((query) => matches(entry, query))).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
  expect(matches(entry, "partysize tools")).toBe(false);
});
