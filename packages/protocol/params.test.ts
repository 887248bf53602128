import { describe, expect, test } from "vitest";
import type { Wire } from "./json-rpc.ts";
import { BadParams, callArguments, cancelTask, complete, isProgressToken, isUri, list, readParams, strings } from "./params.ts";

const prompt = { ref: { type: "ref/prompt", name: "brief" }, argument: { name: "topic", value: "r" } };
const template = { ...prompt, ref: { type: "ref/resource", uri: "test://{id}" } };
const problemOf = (read: (params: Wire) => unknown, params: Wire): unknown => {
  const result = readParams(read, params);
  return result instanceof BadParams ? result.message : result;
};

describe("completion/complete", () => {
  test("reads a prompt or a template, and the arguments that are known already", () => {
    expect(complete({ ...prompt, context: { arguments: { tone: "dry" } } })).toStrictEqual({
      type: "complete",
      of: { type: "prompt", name: "brief" },
      argument: "topic",
      value: "r",
      others: { tone: "dry" },
    });
    expect(complete(template)).toStrictEqual({
      type: "complete",
      of: { type: "template", uri: "test://{id}" },
      argument: "topic",
      value: "r",
      others: {},
    });
  });

  test.each([
    [{ ...prompt, ref: undefined }, "ref is required"],
    [{ ...prompt, ref: "brief" }, "ref must be an object"],
    [{ ...prompt, ref: { type: "ref/prompt" } }, "ref.name is required"],
    [{ ...prompt, ref: { type: "ref/prompt", name: 1 } }, "ref.name must be a string"],
    [{ ...prompt, ref: { type: "ref/resource" } }, "ref.uri is required"],
    [{ ...prompt, ref: { type: "ref/resource", uri: 1 } }, "ref.uri must be a string"],
    [{ ...prompt, ref: { type: "ref/tool" } }, 'ref.type must be "ref/prompt" or "ref/resource"'],
    [{ ...prompt, argument: "topic" }, "argument must be an object"],
    [{ ...prompt, argument: { value: "r" } }, "argument.name is required"],
    [{ ...prompt, argument: { name: "topic" } }, "argument.value is required"],
    [{ ...prompt, argument: { name: "topic", value: 1 } }, "argument.value must be a string"],
    [{ ...prompt, context: [] }, "context must be an object"],
    [{ ...prompt, context: { arguments: [] } }, "context.arguments must be an object"],
    [{ ...prompt, context: { arguments: { tone: 1 } } }, "context.arguments.tone must be a string"],
  ])("says which member is wrong: $1", (params, problem) => {
    expect(problemOf(complete, params)).toBe(problem);
  });
});

test("a param that is missing or wrong is named", () => {
  expect(problemOf(cancelTask, {})).toBe("taskId is required");
  expect(problemOf(cancelTask, { taskId: 1 })).toBe("taskId must be a string");
  expect(problemOf(list("listTools"), { cursor: 1 })).toBe("cursor must be a string");
  expect(problemOf((params) => strings(params, "arguments"), { arguments: "a" })).toBe("arguments must be an object");
});

test("arguments of null are none, because Go sends a nil map like that", () => {
  expect(callArguments({ arguments: null })).toStrictEqual({});
  expect(strings({ arguments: null }, "arguments")).toStrictEqual({});
  expect(complete({ ...prompt, context: { arguments: null } })).toMatchObject({ others: {} });
  for (const wrong of [[], "null", 0, false])
    expect(problemOf(callArguments, { arguments: wrong } as Wire)).toBe("arguments must be an object");
});

test("a list without a cursor begins at the beginning", () => {
  expect(list("listTools")({})).toStrictEqual({ type: "listTools" });
  expect(list("listTools")({ cursor: "" })).toStrictEqual({ type: "listTools", cursor: "" });
});

test("a defect in a reader is thrown, and not taken for what it read", () => {
  const broken = (): never => {
    throw new TypeError("a defect");
  };
  expect(() => readParams(broken, {})).toThrow("a defect");
});

test("a progress token, which each notification carries, and a uri that is read or subscribed to are of bounded length", () => {
  expect(["x".repeat(128), "", 0, -1].map(isProgressToken)).toStrictEqual([true, true, true, true]);
  expect(["x".repeat(129), 1.5, null, {}].map(isProgressToken)).toStrictEqual([false, false, false, false]);
  expect(["x".repeat(2_048), "x".repeat(2_049), 1].map(isUri)).toStrictEqual([true, false, false]);
});
