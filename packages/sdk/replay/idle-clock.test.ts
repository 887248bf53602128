import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createTestScope } from "./ports.ts";
import { createIdleClock } from "./idle-clock.ts";

const START_MS = 1_000;
const never = () => false;

/** A clock, and what starts work as the handler does. */
function watched() {
  const scope = createTestScope();
  const clock = createIdleClock(START_MS, scope);
  return { clock, start: (work: () => Promise<unknown>) => void scope.run({}, work) };
}

describe("a clock without people", () => {
  test("lets sleeps end one after the other, each at its time, and then is stuck", async () => {
    const { clock } = watched();
    const woken: [string, number][] = [];
    for (const [name, ms] of Object.entries({ late: 30, early: 10, middle: 20 })) {
      void clock.sleep(ms).then(() => woken.push([name, clock.now()]));
    }
    expect(await clock.pass({ isOver: never, patienceMs: 1_000 })).toBe("stuck");
    expect(woken).toEqual([
      ["early", START_MS + 10],
      ["middle", START_MS + 20],
      ["late", START_MS + 30],
    ]);
  });

  test("does not go back for a sleep that should have ended already", async () => {
    const { clock } = watched();
    void clock.sleep(20).then(() => clock.sleep(-5));
    expect(await clock.pass({ isOver: never, patienceMs: 1_000 })).toBe("stuck");
    expect(clock.now()).toBe(START_MS + 20);
  });

  test("ends a sleep when its signal is aborted, without any time, and keeps the others", async () => {
    const { clock } = watched();
    const stop = new AbortController();
    const woken: string[] = [];
    void clock.sleep(10, stop.signal).then(() => woken.push("stopped"));
    void clock.sleep(5, AbortSignal.abort()).then(() => woken.push("never begun"));
    void clock.sleep(20).then(() => woken.push("slept"));
    stop.abort();
    await clock.idle();
    expect([woken, clock.now()]).toEqual([["never begun", "stopped"], START_MS]);
    await clock.pass({ isOver: never, patienceMs: 1_000 });
    expect([woken, clock.now()]).toEqual([["never begun", "stopped", "slept"], START_MS + 20]);
  });

  test("gives work that a sleep woke many turns of the event loop before the next sleep ends", async () => {
    const { clock } = watched();
    let isDone = false;
    const work = async () => {
      for (let turn = 0; turn < 15; turn += 1) await nextTurn();
      isDone = true;
    };
    void clock.sleep(10).then(work);
    void clock.sleep(50);
    expect(await clock.pass({ isOver: () => isDone, patienceMs: 1_000 })).toBe("over");
    expect(clock.now()).toBe(START_MS + 10);
  });

  test("calls back after the microtasks", async () => {
    const { clock } = watched();
    const order: string[] = [];
    clock.afterMicrotasks(() => order.push("after"));
    void Promise.resolve()
      .then(() => order.push("first"))
      .then(() => order.push("second"));
    await clock.pass({ isOver: () => order.length === 3, patienceMs: 0 });
    expect(order).toEqual(["first", "second", "after"]);
  });

  test("stops as soon as it is over, before any time passes", async () => {
    const { clock } = watched();
    void clock.sleep(10);
    expect(await clock.pass({ isOver: () => true, patienceMs: 1_000 })).toBe("over");
    expect(clock.now()).toBe(START_MS);
  });

  test("lets no time pass as long as the handler waits for something outside that will end", async () => {
    const { clock, start } = watched();
    let isDone = false;
    void clock.sleep(10);
    start(() => wait(80).then(() => (isDone = true)));
    expect(await clock.pass({ isOver: () => isDone, patienceMs: 10_000 })).toBe("over");
    expect(clock.now()).toBe(START_MS);
  });

  test("forgets what has ended: the handler no longer waits for it", async () => {
    const { clock, start } = watched();
    start(() => wait(30));
    expect(await clock.pass({ isOver: never, patienceMs: 200 })).toBe("stuck");
  });

  test("names what is outside once its patience is over, each kind once", async () => {
    const { clock, start } = watched();
    const stop = new AbortController();
    start(() => Promise.allSettled([wait(60_000, "", { signal: stop.signal }), wait(60_000, "", { signal: stop.signal })]));
    expect(await clock.pass({ isOver: never, patienceMs: 10 })).toEqual({ outside: ["Timeout"] });
    stop.abort();
  });

  test("gives a reply that leaves no trace a moment, and ignores what others wait for", async () => {
    const { clock } = watched();
    let isDone = false;
    void clock.sleep(10);
    void wait(15).then(() => (isDone = true));
    expect(await clock.pass({ isOver: () => isDone, patienceMs: 1_000 })).toBe("over");
    void wait(60_000, undefined, { ref: false });
    expect(await watched().clock.pass({ isOver: never, patienceMs: 0 })).toBe("stuck");
  });

  test("is idle after a turn of the event loop", async () => {
    const { clock } = watched();
    let isTurned = false;
    setImmediate(() => (isTurned = true));
    await clock.idle();
    expect(isTurned).toBe(true);
    await clock.pass({ isOver: () => true, patienceMs: 0 });
  });

  test("no longer watches the process once it is over", async () => {
    let looks = 0;
    const clock = createIdleClock(START_MS, { get: () => void (looks += 1) });
    await wait(1);
    expect(looks).toBeGreaterThan(0);
    await clock.pass({ isOver: () => true, patienceMs: 0 });
    const before = looks;
    await wait(1);
    expect(looks).toBe(before);
  });
});
