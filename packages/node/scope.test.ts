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

  test("two scopes are independent", () => {
    const [one, two] = [createScope(), createScope()];
    one.run({}, () => expect(two.get()).toBeUndefined());
  });

  test("tells of every promise until its hook is removed", async () => {
    const { promises } = createScope();
    const seen: string[] = [];
    const removed = promises.createHook({
      init: (promise, parent) => void seen.push(`init ${promise instanceof Promise} ${parent === undefined ? "alone" : "derived"}`),
      before: () => void seen.push("before"),
      after: () => void seen.push("after"),
      settled: () => void seen.push("settled"),
    });
    try {
      const done = new Promise<void>((resolve) => resolve()).then(() => undefined);
      await done;
    } finally {
      removed();
    }
    expect(seen.slice(0, 4)).toEqual(["init true alone", "settled", "init true derived", "init true derived"]);
    expect(seen).toContain("before");
    expect(seen).toContain("after");
    const counted = seen.length;
    await Promise.resolve().then(() => undefined);
    expect(seen).toHaveLength(counted);
  });

  test("knows of no tool that it awaits only ctx, until a run says so", () => {
    const scope = createScope();
    expect(scope.awaitOnlyCtx.size).toBe(0);
    scope.awaitOnlyCtx.add("tool dinner");
    expect(createScope().awaitOnlyCtx.size).toBe(0);
  });
});
