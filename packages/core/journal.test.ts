import { describe, expect, test } from "vitest";
import {
  answerOutcome,
  answersIn,
  COMPENSATION,
  entryKey,
  inOrder,
  isOfCompensation,
  isReadingKey,
  type JournalLine,
  occurrenceKey,
  readingKey,
} from "./journal.ts";

const line = (key: string, more: Partial<JournalLine> = {}): JournalLine => ({ key, state: "recorded", ...more });

/** The order, which must be the same for every order of the input. */
function orderOf(...lines: JournalLine[]): string[] {
  const keys = inOrder(lines).map(({ key }) => key);
  expect(inOrder(lines.toReversed()).map(({ key }) => key)).toStrictEqual(keys);
  return keys;
}

describe("the lines of a journal are ordered", () => {
  test("by place, numerically", () => {
    expect(orderOf(line("step:c", { place: 10 }), line("step:b", { place: 9 }), line("step:a", { place: 100 }))).toStrictEqual([
      "step:b",
      "step:c",
      "step:a",
    ]);
  });

  test("then by arrival, for entries that no run has settled", () => {
    const lines = [
      line("ask:a", { arrivedAtMs: 1_000 }),
      line("ask:b", { arrivedAtMs: 999 }),
      line("ask:settled", { place: 5_000 }),
      line("ask:z", { arrivedAtMs: 0 }),
    ];
    expect(orderOf(...lines)).toStrictEqual(["ask:settled", "ask:z", "ask:b", "ask:a"]);
  });

  test("then by key, for entries without a result or of the same moment", () => {
    const lines = [
      line("step:b", { state: "begun" }),
      line("ask:a", { state: "closed" }),
      line("step:a", { state: "begun" }),
      line("ask:d", { arrivedAtMs: 1 }),
      line("ask:c", { arrivedAtMs: 1 }),
    ];
    expect(orderOf(...lines)).toStrictEqual(["ask:c", "ask:d", "ask:a", "step:a", "step:b"]);
  });

  test("and last those of a compensation, in their own order", () => {
    const lines = [
      line("step:compensation:/refund", { place: 2 }),
      line("now:compensation:/now", { place: 1 }),
      line("step:compensation:/begun", { state: "begun" }),
      line("step:charge", { place: 2 }),
      line("ask:begun", { state: "begun" }),
      line("ask:first", { place: 1 }),
    ];
    expect(orderOf(...lines)).toStrictEqual([
      "ask:first",
      "step:charge",
      "ask:begun",
      "now:compensation:/now",
      "step:compensation:/refund",
      "step:compensation:/begun",
    ]);
  });

  test("and the journal itself is not changed", () => {
    const lines = [line("step:b"), line("step:a")];
    inOrder(lines);
    expect(lines.map(({ key }) => key)).toStrictEqual(["step:b", "step:a"]);
    expect(inOrder([])).toStrictEqual([]);
  });
});

test.each([
  [entryKey("step", `${COMPENSATION}refund`), true],
  ["now:compensation:/now#2", true],
  ["step:compensation", false],
  ["step:compensation/refund", false],
  ["step:a/compensation:/refund", false],
  ["step:refund-compensation:/", false],
])("the key %s belongs to a compensation: %s", (key, is) => {
  expect(isOfCompensation(key)).toBe(is);
});

test("an answer names the person who gave it, unless that is the owner", () => {
  const answer = { action: "accept", content: { n: 1 } } as const;
  expect(answerOutcome(answer, undefined)).toStrictEqual({ type: "answer", answer });
  expect(answerOutcome(answer, "bob")).toStrictEqual({ type: "answer", answer, by: "bob" });
});

test.each([
  ["round", 1, 0],
  ["round#2", 2, 0],
  ["round@1", 1, 1],
  ["round@1#2", 2, 1],
  ["round@12#10", 10, 12],
])("%s is occurrence %i after %i restarts", (key, occurrence, generation) => {
  expect(occurrenceKey("round", occurrence, generation)).toBe(key);
  expect(entryKey("ask", key)).toBe(`ask:${key}`);
});

test("an outcome with a quorum holds the answer of each person, and any other one only itself", () => {
  const accepted = [
    { content: { n: 1 }, by: "ada", atMs: 1 },
    { content: { n: 2 }, by: "bob", atMs: 2 },
  ];
  const single = [
    { type: "answer", answer: { action: "accept", content: { n: 1 } }, by: "ada" },
    { type: "answer", answer: { action: "accept", content: { n: 2 } }, by: "bob" },
  ];
  const all = answerOutcome({ action: "accept" }, "bob", accepted);
  expect(all).toStrictEqual({ type: "answer", answer: { action: "accept" }, by: "bob", accepted });
  expect(answersIn(all)).toStrictEqual(single);
  const declined = answerOutcome({ action: "decline" }, "eve", accepted);
  expect(answersIn(declined)).toStrictEqual([{ type: "answer", answer: { action: "decline" }, by: "eve" }, ...single]);
  for (const other of [answerOutcome({ action: "decline" }, "eve"), { type: "closed" } as const])
    expect(answersIn(other)).toStrictEqual([other]);
});

test("what a schema made of an answer has a key without a colon", () => {
  expect([readingKey("size#2"), readingKey("event:paid")]).toStrictEqual(["read size#2", "read event paid"]);
  expect([isReadingKey(readingKey("size")), isReadingKey("ask:read size")]).toStrictEqual([true, false]);
});
