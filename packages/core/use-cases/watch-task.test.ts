import { describe, expect, test } from "vitest";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemoryWakeUps } from "../memory/wake-ups.ts";
import type { Services } from "./services.ts";
import { watchTask } from "./watch-task.ts";

async function watching() {
  const wakeUps = createMemoryWakeUps();
  const { clock, pass, sleeping } = createHandClock();
  const watch = await watchTask({ wakeUps, clock } as unknown as Services, "t");
  let nexts = 0;
  const waitForNext = (readAt?: number) => void watch.next(readAt).then(() => (nexts += 1));
  return { wakeUps, watch, waitForNext, pass, sleeping, nexts: () => nexts };
}

describe("a watch", () => {
  test("waits until the task changes, or until it is woken, and leaves no timer behind", async () => {
    const { wakeUps, watch, waitForNext, pass, sleeping, nexts } = await watching();
    waitForNext();
    await pass(0);
    expect(nexts()).toBe(0);
    wakeUps.changed("t");
    await pass(0);
    expect(nexts()).toBe(1);
    waitForNext();
    watch.wake();
    await pass(0);
    expect(nexts()).toBe(2);
    expect(sleeping()).toEqual([]);
  });

  test("remembers one change that came while no one waited, however often it came", async () => {
    const { wakeUps, waitForNext, pass, nexts } = await watching();
    wakeUps.changed("t");
    wakeUps.changed("t");
    await pass(0);
    waitForNext();
    await pass(0);
    expect(nexts()).toBe(1);
    waitForNext();
    await pass(0);
    expect(nexts()).toBe(1);
  });

  test("is woken by changes newer than the last read, and by unknown ones; not by those that were read", async () => {
    for (const [change, expected] of [
      [{ revision: 4, isEnd: false }, 0],
      [{ revision: 5, isEnd: true }, 0],
      [{ revision: 6, isEnd: false }, 1],
      [undefined, 1],
    ] as const) {
      for (const isBefore of [true, false]) {
        const { wakeUps, waitForNext, pass, nexts } = await watching();
        if (isBefore) wakeUps.changed("t", change);
        await pass(0);
        waitForNext(5);
        await pass(0);
        if (!isBefore) wakeUps.changed("t", change);
        await pass(0);
        expect(nexts()).toBe(expected);
      }
    }
  });

  test("that waits for something newer also has the task read again after five seconds, and forgets earlier wake-ups", async () => {
    const { wakeUps, waitForNext, pass, nexts } = await watching();
    wakeUps.changed("t", { revision: 5, isEnd: false });
    await pass(0);
    waitForNext(5);
    await pass(5_000);
    expect(nexts()).toBe(1);
    waitForNext();
    await pass(0);
    expect(nexts()).toBe(1);
  });

  test("has the task read again after five seconds without a wake-up, which may have been lost", async () => {
    const { waitForNext, pass, nexts } = await watching();
    waitForNext();
    await pass(4_999);
    expect(nexts()).toBe(0);
    await pass(1);
    expect(nexts()).toBe(1);
  });

  test("forgets wake-ups from before it began: the first read sees those changes", async () => {
    const { clock, pass } = createHandClock();
    const wakeUps = {
      async watch(_taskId: string, onChange: () => void) {
        onChange();
        return () => undefined;
      },
    };
    const watch = await watchTask({ wakeUps, clock } as unknown as Services, "t");
    let isOver = false;
    void watch.next().then(() => (isOver = true));
    await pass(0);
    expect(isOver).toBe(false);
  });

  test("that is closed is no longer woken", async () => {
    const { wakeUps, watch, waitForNext, pass, nexts } = await watching();
    watch.close();
    waitForNext();
    wakeUps.changed("t");
    await pass(0);
    expect(nexts()).toBe(0);
    expect(wakeUps.isWatched("t")).toBe(false);
  });
});
