import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createScope } from "./scope.ts";

describe("a scope", () => {
  test("is seen by what the work awaits and calls, and by nothing else", async () => {
    const scope = createScope();
    const [one, two] = [{ is: "one" }, { is: "two" }];
    const seen = (value: object) =>
      scope.run(value, async () => {
        const before = scope.get();
        await nextTurn();
        return [before, scope.get()];
      });

    expect(await Promise.all([seen(one), seen(two)])).toEqual([
      [one, one],
      [two, two],
    ]);
    expect((await seen(two))[1]).toBe(two);
    expect(scope.get()).toBeUndefined();
  });

  test("when entered, holds for the rest of the flow, and not for the enclosing flow", async () => {
    const scope = createScope();
    const [outer, inner] = [{ is: "outer" }, { is: "inner" }];
    await scope.run(outer, async () => {
      await scope.run({}, async () => {
        scope.enter(inner);
        await nextTurn();
        expect(scope.get()).toBe(inner);
      });
      expect(scope.get()).toBe(outer);
    });
  });

  test("two scopes are independent", () => {
    const [one, two] = [createScope(), createScope()];
    one.run({}, () => expect(two.get()).toBeUndefined());
  });
});
