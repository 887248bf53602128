import { describe, expect, test } from "vitest";
import { isGenerator } from "./yields.ts";

describe("a generator", () => {
  const next = () => ({ done: true, value: 1 });
  const none = () => [].values();

  test.each<[string, boolean, unknown]>([
    ["what a generator function returns", true, (function* () {})()],
    ["what an async one returns", true, (async function* () {})()],
    ["what can be driven as one, such as one of another realm", true, { next, throw: next, [Symbol.iterator]: none }],
    ["the function itself", false, function* () {}],
    ["an iterator that nothing can be thrown into", false, { next, [Symbol.iterator]: none }],
    ["what cannot be asked for the next", false, { throw: next, [Symbol.iterator]: none }],
    ["what has data of these names", false, { next: 1, throw: 2, [Symbol.iterator]: none }],
    ["what cannot be iterated", false, { next, throw: next }],
    ["a list", false, [1]],
    ["a text", false, "text"],
    ["null", false, null],
    ["nothing", false, undefined],
  ])("is %s: %s", (_what, is, value) => {
    expect(isGenerator(value)).toBe(is);
  });
});
