import { describe, expect, test } from "vitest";
import type { TaskState } from "./client.ts";
import type { Mark } from "./evidence.ts";
import { judge } from "./judge.ts";
import { NOBODY, type Plan } from "./plan.ts";
import type { Story } from "./story.ts";

const PLAN: Plan = {
  lifecycle: 1,
  manner: "answers",
  cancelAt: 0,
  actions: [
    { do: "step", name: "book", workMs: 0 },
    { do: "ask", names: ["size"] },
  ],
};

function aStory(changes: Partial<Story> = {}): Story {
  const sent = [{ ask: "size", value: "four", receipt: "accepted" }];
  return { plan: PLAN, calm: false, taskId: "0-t", sent, left: false, abandoned: false, wrong: [], ...changes };
}

function completed(answers: object = { size: "four" }, effects: object = { book: "e1" }): TaskState {
  return { taskId: "0-t", status: "completed", lastUpdatedAt: "", result: { content: [{ text: JSON.stringify({ answers, effects }) }] } };
}

const waiting: TaskState = { taskId: "0-t", status: "input_required", lastUpdatedAt: "", inputRequests: { size: {} } };
const mark = (kind: Mark["mark"], name: string, value: string, key = `0-t.${name}`): Mark => ({
  task: "0-t",
  run: "r",
  mark: kind,
  name,
  value,
  ...(kind === "effect" && { key }),
});
const SOUND = [mark("effect", "book", "e1"), mark("recorded", "book", "e1"), mark("answer", "size", "four")];

function rulesBroken(story: Story, last: TaskState | undefined, marks: readonly Mark[] = SOUND): string[] {
  return [...new Set(judge(story, last, marks).findings.map(({ rule }) => rule))];
}

describe("a lifecycle is judged sound", () => {
  test("when its answer is what the tool got", () => expect(rulesBroken(aStory(), completed())).toEqual([]));

  test("when a step was tried again without a record, which is counted", () => {
    const again = [mark("effect", "book", "e0"), ...SOUND];
    expect(judge(aStory(), completed(), again)).toMatchObject({ findings: [], repeatedEffects: 1 });
  });

  test("when the winner is unknown, and the tool got an answer that was sent", () => {
    const sent = [
      { ask: "size", value: "four" },
      { ask: "size", value: "five", receipt: "late" },
    ];
    expect(rulesBroken(aStory({ sent }), completed())).toEqual([]);
  });

  test("when its person has left and it waits", () => {
    expect(rulesBroken(aStory({ sent: [], left: true }), waiting, SOUND.slice(0, 2))).toEqual([]);
  });

  test("when its call was not acknowledged", () => {
    const { taskId: _, ...unknown } = aStory({ sent: [] });
    expect(rulesBroken(unknown, undefined, [])).toEqual([]);
  });
});

describe("a lifecycle is judged broken", () => {
  test.each<[string, string[], Story, TaskState | undefined, Mark[]?]>([
    ["the task is gone", ["created"], aStory(), undefined],
    ["it does not end", ["rest"], aStory(), { ...waiting, status: "working" }],
    ["it failed", ["rest"], aStory(), { ...waiting, status: "failed", error: { message: "no" } }],
    ["the tool got another answer", ["same-answer"], aStory(), completed({ size: "five" })],
    ["an earlier run got another answer", ["same-answer"], aStory(), completed(), [...SOUND, mark("answer", "size", "five")]],
    ["the answer came in at another question", ["same-answer"], aStory(), completed({ size: "four", name: "four" })],
    ["nobody answered, says the tool, and there was no deadline", ["same-answer"], aStory({ sent: [] }), completed({ size: NOBODY }), []],
    ["it was cancelled and nobody asked for that", ["cancelled"], aStory(), { ...waiting, status: "cancelled" }],
    [
      "its cancellation was acknowledged while it waited, and it went on",
      ["cancelled"],
      aStory({ cancelled: { acknowledged: true, certain: true } }),
      completed(),
    ],
    ["its result changed", ["unchanged"], aStory({ finished: completed({ size: "one" }) }), completed()],
    [
      "two effects were recorded",
      ["effects"],
      aStory(),
      completed(),
      [...SOUND, mark("effect", "book", "e2"), mark("recorded", "book", "e2")],
    ],
    [
      "a record is of nothing that happened",
      ["effects"],
      aStory(),
      completed(),
      [mark("recorded", "book", "e1"), mark("answer", "size", "four")],
    ],
    ["a step was tried again under another key", ["effects"], aStory(), completed(), [...SOUND, mark("effect", "book", "e2", "else")]],
    ["an effect happened twice in calm", ["calm"], aStory({ calm: true }), completed(), [mark("effect", "book", "e0"), ...SOUND]],
  ])("when %s", (_name, rules, story, last, marks) => {
    expect(rulesBroken(story, last, marks)).toEqual(expect.arrayContaining(rules));
  });

  test("when two answers were accepted", () => {
    const sent = ["four", "five"].map((value) => ({ ask: "size", value, receipt: "accepted" }));
    expect(rulesBroken(aStory({ sent }), completed())).toContain("first-answer");
  });

  test("when a sender received `late` and no one else had answered", () => {
    const sent = [{ ask: "size", value: "four", receipt: "late" }];
    expect(rulesBroken(aStory({ sent }), completed({}), SOUND.slice(0, 2))).toEqual(["receipts"]);
  });
});
