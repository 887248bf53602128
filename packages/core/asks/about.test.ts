/** What a tool says about a question: what is refused, what is part of the question, and how it reads as text. */
import { describe, expect, test } from "vitest";
import type { AskAbout, AskRequest, ContextPart } from "../task.ts";
import { CONTEXT_CHARS_MAX, CONTEXT_PARTS_MAX, CONTEXT_TITLE_CHARS_MAX, contextText, diffLines, identityOf } from "./about.ts";
import { problems } from "./ask-policy.fixture.ts";
import { checkDue } from "./ask-policy.ts";

const form: AskRequest = { type: "form", message: "Release?", schema: { type: "object", properties: {} } };
const asked = (about: AskAbout): AskRequest => ({ ...form, about });
const refused = (about: object) => problems(asked(about as AskAbout));
const text = (characters: number): ContextPart => ({ type: "text", text: "x".repeat(characters) });

describe("what a tool says about a question", () => {
  test("may be a priority, a time, and parts of every kind", () => {
    const context: ContextPart[] = [
      { type: "text", title: "Why", text: "Two lines\nof it" },
      {
        type: "table",
        columns: ["Item", "Price"],
        rows: [
          ["Chair", 40],
          ["Desk", "on request"],
        ],
      },
      { type: "link", title: "The order", url: "https://shop.example/42" },
      { type: "picture", title: "The chair", url: "https://shop.example/chair.png" },
      { type: "diff", before: "a\nb", after: "a\nc" },
    ];
    expect(refused({ priority: "urgent", dueMs: 60_000, context })).toStrictEqual([]);
  });

  test.each<[string, object, string]>([
    ["another priority", { priority: "asap" }, "/priority"],
    ["a time that is no whole number from 1", { dueMs: 0 }, "/due"],
    ["a context that is no list", { context: "look" }, "/context"],
    ["a part that is no object", { context: ["look"] }, "/context/0"],
    ["a part of an unknown kind", { context: [{ type: "video", url: "https://a.example" }] }, "/context/0"],
    ["a text without text", { context: [{ type: "text" }] }, "/context/0"],
    ["a table without columns", { context: [{ type: "table", columns: [], rows: [] }] }, "/context/0"],
    ["a row with too few cells", { context: [{ type: "table", columns: ["a", "b"], rows: [["1"]] }] }, "/context/0"],
    ["a cell that is an object", { context: [{ type: "table", columns: ["a"], rows: [[{}]] }] }, "/context/0"],
    ["a link without a title", { context: [{ type: "link", url: "https://a.example" }] }, "/context/0"],
    ["a link that runs code", { context: [{ type: "link", title: "Look", url: "javascript:alert(1)" }] }, "/context/0"],
    ["a picture in itself", { context: [{ type: "picture", title: "Look", url: "data:image/png;base64,AA==" }] }, "/context/0"],
    ["a diff with one side", { context: [{ type: "diff", before: "a" }] }, "/context/0"],
    ["an empty title", { context: [{ type: "text", title: "", text: "a" }] }, "/context/0"],
  ])("is refused with %s", (_what, about, path) => {
    expect(refused(about).map((violation) => violation.path)).toStrictEqual([path]);
  });

  test("has a context of bounded size: at each limit it is asked, one beyond it is refused", () => {
    const envelope = JSON.stringify([text(0)]).length;
    expect(refused({ context: [text(CONTEXT_CHARS_MAX - envelope)] })).toStrictEqual([]);
    expect(refused({ context: [text(CONTEXT_CHARS_MAX - envelope + 1)] })).toMatchObject([{ path: "/context" }]);
    const parts = (count: number) => Array.from({ length: count }, () => text(1));
    expect(refused({ context: parts(CONTEXT_PARTS_MAX) })).toStrictEqual([]);
    expect(refused({ context: parts(CONTEXT_PARTS_MAX + 1) })).toMatchObject([{ path: "/context" }]);
    const named = (length: number) => [{ type: "text", title: "t".repeat(length), text: "" }];
    expect(refused({ context: named(CONTEXT_TITLE_CHARS_MAX) })).toStrictEqual([]);
    expect(refused({ context: named(CONTEXT_TITLE_CHARS_MAX + 1) })).toMatchObject([{ path: "/context/0" }]);
  });

  test("is not wanted after the deadline", () => {
    checkDue("release", asked({ dueMs: 1_000 }), 1_000);
    expect(() => checkDue("release", asked({ dueMs: 1_001 }), 1_000)).toThrow(/\/due is 1001 ms after the question/);
  });

  test("is part of the question as far as it says what to decide: the context is, priority and due are not", () => {
    const context = [text(1)];
    expect(identityOf(form)).toBe(form);
    expect(identityOf(asked({ priority: "high", dueMs: 1 }))).toStrictEqual(form);
    expect(identityOf(asked({ priority: "high", context }))).toStrictEqual(asked({ context }));
  });
});

describe("a diff", () => {
  const marked = (before: string, after: string) => {
    const marks = { same: " ", removed: "-", added: "+" };
    return diffLines(before, after).map(({ change, text: line }) => `${marks[change]}${line}`);
  };

  test("has the lines of both texts, with as few changes as possible", () => {
    expect(marked("a\nb\nc\nd", "a\nx\nc\nd\ne")).toStrictEqual([" a", "-b", "+x", " c", " d", "+e"]);
    expect(marked("a\nb\na", "b\na\nb")).toStrictEqual(["-a", " b", " a", "+b"]);
    expect(marked("a\r\nb", "a\nb")).toStrictEqual([" a", " b"]);
    expect(marked("", "new")).toStrictEqual(["+new"]);
    expect(marked("old", "")).toStrictEqual(["-old"]);
  });

  test("of any two texts reads as the first without what was added, and as the second without what was removed", () => {
    const lines = ["a", "b", "c"];
    let seed = 1;
    const next = () => (seed = (seed * 48_271) % 2_147_483_647);
    const some = () => Array.from({ length: next() % 9 }, () => lines[next() % 3]).join("\n");
    for (let round = 0; round < 300; round += 1) {
      const [before, after] = [some(), some()];
      const all = diffLines(before, after);
      const without = (change: string) =>
        all
          .filter((line) => line.change !== change)
          .map((line) => line.text)
          .join("\n");
      expect([without("added"), without("removed")]).toStrictEqual([before, after]);
    }
  });

  test("of texts that are too long to compare has the old text, then the new one", () => {
    const long = (line: string) => Array.from({ length: 5_000 }, (_, index) => `${line}${index}`).join("\n");
    const changes = diffLines(long("a"), long("b")).map(({ change }) => change);
    expect([changes.length, changes[4_999], changes[5_000]]).toStrictEqual([10_000, "removed", "added"]);
  });
});

test("a context reads as plain text", () => {
  const context: ContextPart[] = [
    { type: "text", title: "Why", text: "It is due" },
    { type: "table", columns: ["Item", "Price"], rows: [["Chair", 40]] },
    { type: "link", title: "The order", url: "https://shop.example/42" },
    { type: "diff", title: "Price", before: "40", after: "60" },
  ];
  expect(contextText(context)).toBe(
    "Why:\nIt is due\n\nItem | Price\nChair | 40\n\nThe order: https://shop.example/42\n\nPrice:\n- 40\n+ 60",
  );
});
