import { expect, test } from "vitest";
import { elicitationId, parseElicitationId } from "./index.ts";

test.each(["size", "size#2", "a:b", ":", "__proto__"])("the id of a question gives back its task and its key: %s", (key) => {
  expect(parseElicitationId(elicitationId("786512e2-9e0d", key))).toStrictEqual({ taskId: "786512e2-9e0d", key });
});

test.each(["", "t", ":key", "t:"])("an invalid elicitation id names no question: %s", (id) => {
  expect(parseElicitationId(id)).toBeUndefined();
});

test("a task's id may be a single character, and so may a key", () => {
  expect(parseElicitationId("t:k")).toStrictEqual({ taskId: "t", key: "k" });
});
