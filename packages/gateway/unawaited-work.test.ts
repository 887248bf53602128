import { beforeEach, describe, expect, test } from "vitest";
import { type Background, createBackground } from "./unawaited-work.ts";

let background: Background;
let warned: string[];

beforeEach(() => {
  warned = [];
  const nothing = () => undefined;
  const warn = (_fields: object, message: string) => void warned.push(message);
  background = createBackground({ debug: nothing, info: nothing, warn, error: nothing });
});

describe("work that nobody waits for", () => {
  test("is known until it has ended, each by itself, and gives its place back however it ends, use after use", async () => {
    for (let use = 0; use < 3; use += 1) {
      const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      background.start(one.promise);
      background.start(other.promise);
      expect(background.size()).toBe(2);
      one.reject(new Error("the upstream is away"));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect.poll(() => background.size()).toBe(1);
      other.resolve();
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await background.settled();
      expect(background.size()).toBe(0);
    }
    expect(warned).toEqual(Array.from({ length: 3 }, () => "gateway could not follow up on a task"));
  });

  test("that fails ends neither the wait for all of it nor the other work", async () => {
    const other = Promise.withResolvers<void>();
    let isSettled = false;
    background.start(Promise.reject(new Error("failed")));
    background.start(other.promise);
    const settled = background.settled().then(() => (isSettled = true));
    await expect.poll(() => background.size()).toBe(1);
    expect(isSettled).toBe(false);
    other.resolve();
    await settled;
  });
});
