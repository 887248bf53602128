import { expect, test } from "vitest";
import { eventsOf, judge } from "./judge.ts";

const taskIds = ["0-one", "0-two"];
const all = taskIds.flatMap(eventsOf).map((each, at) => ({ ...each, id: `0-1700000000000-${at}-0-${each.type.replace(".", "-")}` }));

test("everything once, and each task in its order, is right, however tasks are mixed", () => {
  expect(all).toHaveLength(42);
  expect(judge(all, { taskIds })).toEqual([]);
  expect(judge([...all.slice(21), ...all.slice(0, 21)], { taskIds })).toEqual([]);
});

test.each<[string, typeof all, RegExp]>([
  ["a lost event", all.toSpliced(5, 1), /is lost/],
  ["one that came under two ids", [...all, { ...all[3]!, id: "0-1700000000009-0-0-ask-settled" }], /came under two ids/],
  ["one that was overtaken by another of its task", [all[1]!, all[0]!, ...all.slice(2)], /was overtaken/],
])("%s is found", (_, told, problem) => {
  expect(judge(told, { taskIds }).join("\n")).toMatch(problem);
});

test("who was told of a gap may miss something, and nothing else", () => {
  expect(judge(all.slice(10), { taskIds, mayMiss: true })).toEqual([]);
  expect(judge([all[11]!, all[10]!], { taskIds, mayMiss: true })).toHaveLength(1);
  expect(
    judge(
      all.filter(({ type }) => type === "task.ended"),
      { taskIds, types: ["task.ended"] },
    ),
  ).toEqual([]);
});
