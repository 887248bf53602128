import { describe, expect, test } from "vitest";
import type { TaskState } from "../client.ts";
import type { Mark } from "../evidence.ts";
import { CLOSED, judge, judgeCompared, RULES, SMALL, type Sent, type Story } from "./judge.ts";

const ARGS = { amount: 40, to: "ada" };
const EDITED = { amount: 50, to: "ada" };
const yes = (who: string, content = ARGS, receipt: Sent["receipt"] | undefined = "accepted"): Sent => ({
  who,
  answer: { action: "accept", content },
  ...(receipt && { receipt }),
});
const unsure = (who: string): Sent => ({ who, answer: { action: "accept", content: ARGS } });
const no = (who: string, receipt: Sent["receipt"] = "accepted"): Sent => ({ who, answer: { action: "decline" }, receipt });
const story = (sent: readonly Sent[], more: Partial<Story> = {}): Story => ({
  id: 1,
  kind: "test",
  args: ARGS,
  taskId: "0-t",
  sent,
  isCancelled: false,
  ...more,
});
const mark = (args: object, key = "k"): Mark => ({
  task: "0-t",
  run: "r",
  mark: "effect",
  name: "act",
  value: JSON.stringify({ id: 1, ...args }),
  key,
});
const done = (text: string, { isError = false, changed = false } = {}): TaskState => ({
  taskId: "0-t",
  status: "completed",
  lastUpdatedAt: "",
  result: {
    content: [{ text }, ...(changed ? [{ text: "The approver changed an argument of this call: …" }] : [])],
    ...(isError && { isError }),
  },
});
const ran = done("40 to ada");
const refused = (text: string) => done(`The call of act was refused. ${text}`, { isError: true });
const state = (status: TaskState["status"]): TaskState => ({ taskId: "0-t", status, lastUpdatedAt: "" });

const found: string[] = [];

describe("right is", () => {
  test.each<[string, Story, TaskState | undefined, readonly Mark[]]>([
    ["a yes", story([yes("bob")]), ran, [mark(ARGS)]],
    ["a yes that was sent three times", story([yes("bob"), yes("bob", ARGS, "duplicate")]), ran, [mark(ARGS), mark(ARGS)]],
    ["a yes of which nothing was heard", story([unsure("bob")]), ran, [mark(ARGS)]],
    ["a yes with changes", story([yes("bob", EDITED), no("carol", "late")]), done("50 to ada", { changed: true }), [mark(EDITED)]],
    ["a yes that came too late for its rule", story([yes("bob")]), refused("the rule has changed since"), []],
    ["a no", story([no("bob")]), refused("The person who was asked refused it."), []],
    ["nobody", story([]), refused("Nobody approved it in time."), []],
    ["a cancellation", story([], { isCancelled: true }), state("cancelled"), []],
    ["one that needs no approval", story([], { args: { amount: 3, to: "ada" } }), done("3 to ada"), [mark({ amount: 3, to: "ada" })]],
    [
      "the caller's own yes, refused",
      story([yes("ann", ARGS, "forbidden"), no("bob")]),
      refused("The person who was asked refused it."),
      [],
    ],
    ["a call that nobody acknowledged", story([], { taskId: undefined }), undefined, []],
  ])("%s", (_, of, last, marks) => {
    expect(judge(of, last, marks).findings).toEqual([]);
  });
});

describe("wrong is", () => {
  test.each<[string, (typeof RULES)[number], Story, TaskState | undefined, readonly Mark[]]>([
    ["one that ran without an answer", "consent", story([]), ran, [mark(ARGS)]],
    ["one that ran after a no", "consent", story([no("bob")]), ran, [mark(ARGS)]],
    ["one that ran though the no was first", "consent", story([no("bob"), yes("carol", ARGS, "late")]), ran, [mark(ARGS)]],
    ["one that nobody acknowledged and that ran", "consent", story([], { taskId: undefined }), undefined, [mark(ARGS)]],
    ["one that ran by its caller's yes", "consent", story([yes("ann")]), ran, [mark(ARGS)]],
    ["one that a rule refuses", "consent", story([yes("bob", { ...ARGS, amount: CLOSED })]), ran, [mark({ ...ARGS, amount: CLOSED })]],
    ["one that ran as it was called, not as it was changed", "consent", story([yes("bob", EDITED)]), ran, [mark(ARGS)]],
    ["one that ran twice", "once", story([yes("bob")]), ran, [mark(ARGS), mark(ARGS, "another")]],
    ["one that ran as called and as changed", "once", story([yes("bob", EDITED)]), ran, [mark(EDITED), mark(ARGS)]],
    ["one whose result hides the change", "arguments", story([yes("bob", EDITED)]), done("50 to ada"), [mark(EDITED)]],
    ["one whose result is of other arguments", "arguments", story([yes("bob")]), done("41 to ada"), [mark(ARGS)]],
    ["one that needs no approval and ran differently", "arguments", story([], { args: { ...ARGS, amount: SMALL - 1 } }), ran, [mark(ARGS)]],
    ["two answers that count", "first", story([yes("bob"), no("carol")]), ran, [mark(ARGS)]],
    ["a yes that ran and says that it did not", "lost", story([yes("bob")]), refused("Nobody approved it in time."), [mark(ARGS)]],
    ["a yes that did not run", "lost", story([yes("bob")]), refused("Nobody approved it in time."), []],
    ["a result without an effect", "lost", story([yes("bob")]), ran, []],
    ["a task that is gone", "lost", story([]), undefined, []],
    ["a task that waits", "lost", story([]), state("working"), []],
    ["a task that failed", "lost", story([]), state("failed"), []],
    ["a task that nobody cancelled", "lost", story([]), state("cancelled"), []],
  ])("%s", (_, rule, of, last, marks) => {
    found.push(rule);
    expect(judge(of, last, marks).findings.map((each) => each.rule)).toContain(rule);
  });

  test("a comparison with what never ran", () => {
    found.push("compared");
    const shown = (compared: Story["compared"]) => judgeCompared([story([], { compared })], new Map([[1, [mark(ARGS)]]]));
    expect([shown({ id: 1, ...ARGS }), shown(undefined)]).toEqual([[], []]);
    expect([shown({ id: 1, ...EDITED })[0]?.rule, shown({ id: 2, ...ARGS })[0]?.rule]).toEqual(["compared", "compared"]);
  });

  test("found by each of the rules", () => {
    expect(new Set(found)).toEqual(new Set(RULES));
  });
});
