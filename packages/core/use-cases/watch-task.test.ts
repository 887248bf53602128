import { describe, expect, test } from "vitest";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemoryEvents } from "../memory/events.ts";
import type { Services } from "./services.ts";
import { watchTask } from "./watch-task.ts";

async function watching() {
  const events = createMemoryEvents();
  const { clock, pass, sleeping } = createHandClock();
  const watch = await watchTask({ events, clock } as unknown as Services, "t");
  let nexts = 0;
  const waitForNext = () => void watch.next().then(() => (nexts += 1));
  return { events, watch, waitForNext, pass, sleeping, nexts: () => nexts };
}

describe("a watch", () => {
  test("waits until the task changes, or until somebody wakes it, and keeps no timer behind", async () => {
    const { events, watch, waitForNext, pass, sleeping, nexts } = await watching();
    waitForNext();
    await pass(0);
    expect(nexts()).toBe(0);
    events.changed("t");
    await pass(0);
    expect(nexts()).toBe(1);
    waitForNext();
    watch.wake();
    await pass(0);
    expect(nexts()).toBe(2);
    expect(sleeping()).toEqual([]);
  });

  test("remembers one change that came while nobody waited, however often it came", async () => {
    const { events, waitForNext, pass, nexts } = await watching();
    events.changed("t");
    events.changed("t");
    await pass(0);
    waitForNext();
    await pass(0);
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

  test("forgets what woke it before it began: the first read sees that", async () => {
    const { clock, pass } = createHandClock();
    const events = {
      async watch(_taskId: string, onChange: () => void) {
        onChange();
        return () => undefined;
      },
    };
    const watch = await watchTask({ events, clock } as unknown as Services, "t");
    let isOver = false;
    void watch.next().then(() => (isOver = true));
    await pass(0);
    expect(isOver).toBe(false);
  });

  test("that is closed is woken by no change", async () => {
    const { events, watch, waitForNext, pass, nexts } = await watching();
    watch.close();
    waitForNext();
    events.changed("t");
    await pass(0);
    expect(nexts()).toBe(0);
    expect(events.isWatched("t")).toBe(false);
  });
});
