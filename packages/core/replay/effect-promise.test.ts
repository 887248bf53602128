/** A promise that knows whether its rejection is handled. */
import { describe, expect, test } from "vitest";
import { EffectPromise, forever, pendingEffect } from "./effect-promise.ts";

describe("the promise of an effect", () => {
  test("counts as unhandled until a reaction of any kind is attached", async () => {
    const ways: ((promise: Promise<unknown>) => unknown)[] = [
      (promise) => promise.then(() => undefined),
      (promise) => promise.catch(() => undefined),
      (promise) => promise.finally(() => undefined),
      (promise) => Promise.race([promise, forever()]),
      async (promise) => await promise,
    ];
    for (const listen of ways) {
      const { promise, resolve } = pendingEffect<number>();
      expect(promise.isHeard).toBe(false);
      const done = listen(promise);
      resolve(1);
      await done;
      expect(promise.isHeard).toBe(true);
    }
  });

  test("settles as told, once", async () => {
    const { promise, resolve, reject } = pendingEffect<number>();
    resolve(1);
    reject(new Error("late"));
    expect(await promise).toBe(1);
    const failed = pendingEffect<number>();
    failed.reject(new Error("no"));
    await expect(failed.promise).rejects.toStrictEqual(new Error("no"));
  });

  test("derives ordinary promises", () => {
    const { promise } = pendingEffect<number>();
    expect(promise).toBeInstanceOf(EffectPromise);
    expect(promise.then(() => 1)).not.toBeInstanceOf(EffectPromise);
  });

  test("that is rejected without a reaction causes no unhandled rejection", async () => {
    const seen: unknown[] = [];
    const listen = (error: unknown) => void seen.push(error);
    process.on("unhandledRejection", listen);
    try {
      pendingEffect().reject(new Error("not looked at yet"));
      // Node.js reports unhandled rejections at the end of the turn.
      await new Promise((resolve) => setImmediate(resolve));
      expect(seen).toStrictEqual([]);
    } finally {
      process.off("unhandledRejection", listen);
    }
  });
});

test("for never does not settle", async () => {
  const turn = new Promise((resolve) => setImmediate(() => resolve("the turn is over")));
  expect(await Promise.race([forever(), turn])).toBe("the turn is over");
});
