/** A promise that knows whether its rejection is handled. */
import { describe, expect, test } from "vitest";
import { EffectPromise, forever, isHeard, noted, pendingEffect } from "./effect-promise.ts";

/** Every way to listen to a promise. */
const ways: readonly ((promise: Promise<unknown>) => unknown)[] = [
  (promise) => promise.then(() => undefined),
  (promise) => promise.catch(() => undefined),
  (promise) => promise.finally(() => undefined),
  (promise) => Promise.race([promise, forever()]),
  (promise) => Promise.any([promise, forever()]),
  (promise) => Promise.allSettled([promise]),
  async (promise) => await promise,
  async (promise) => promise,
  (promise) => new Promise((resolve) => resolve(promise)),
  async (promise) => {
    const { value } = await (async function* () {
      yield promise;
    })().next();
    expect(value).toBe(1);
  },
];

describe("the promise of an effect", () => {
  test("counts as unhandled until a reaction of any kind is attached", async () => {
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

describe("a noted promise", () => {
  test("counts as heard from the first reaction of any kind", async () => {
    for (const listen of ways) {
      const { promise, resolve } = Promise.withResolvers<number>();
      noted(promise);
      expect(isHeard(promise)).toBe(false);
      const done = listen(promise);
      resolve(1);
      await done;
      expect(isHeard(promise)).toBe(true);
    }
  });

  test("settles its reactions as early as any other", async () => {
    const order: string[] = [];
    const awaits = async (name: string, promise: Promise<unknown>) => {
      await promise;
      order.push(name);
    };
    const [first, second, third] = [Promise.resolve(), Promise.resolve(), Promise.resolve()];
    noted(second);
    await Promise.all([awaits("first", first), awaits("noted", second), awaits("third", third)]);
    expect(order).toStrictEqual(["first", "noted", "third"]);
  });

  test("is a promise like any other", async () => {
    const promise = Promise.resolve(1);
    noted(promise);
    expect(promise).toBeInstanceOf(Promise);
    expect(promise.then(() => 2).constructor).toBe(Promise);
  });

  test("that is of a class of its own stays as it is, and counts as heard", () => {
    class Own extends Promise<void> {}
    const own = new Own(() => undefined);
    noted(own);
    expect([Object.getPrototypeOf(own), isHeard(own), isHeard(Promise.resolve())]).toStrictEqual([Own.prototype, true, true]);
  });
});

test("for never does not settle", async () => {
  const turn = new Promise((resolve) => setImmediate(() => resolve("the turn is over")));
  expect(await Promise.race([forever(), turn])).toBe("the turn is over");
});
