import { describe, expect, test } from "vitest";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemoryWakeUps } from "../memory/wake-ups.ts";
import type { TaskChange } from "../ports.ts";
import type { Task } from "../task.ts";
import type { Services } from "./services.ts";
import { watchNewTask, watchTask } from "./watch-task.ts";

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

describe("what a watch has heard", () => {
  const task = { revision: 5 } as Task;
  /** A change that says all of it. */
  const told = (revision: number): TaskChange => ({
    revision,
    isEnd: false,
    apply: (before) => (before.revision + 1 === revision ? { ...before, revision } : undefined),
  });
  const after = async (...changes: (TaskChange | undefined)[]) => {
    const { wakeUps, watch, pass } = await watching();
    for (const change of changes) wakeUps.changed("t", change);
    await pass(0);
    return { wakeUps, watch, pass };
  };

  test("is the task after all changes since it was read, once", async () => {
    const { watch } = await after(told(4), told(5), told(6), told(7));
    expect(watch.heard(task)).toEqual({ revision: 7 });
    expect(watch.heard(task)).toBeUndefined();
  });

  test("is nothing if nothing newer was heard, one change is missing, one does not say all, or anything may have happened", async () => {
    for (const changes of [[], [told(5)], [told(7)], [told(6), { revision: 7, isEnd: false }], [told(6), undefined, told(7)]]) {
      const { watch } = await after(...changes);
      expect(watch.heard(task)).toBeUndefined();
    }
  });

  test("counts again from the next read on, after anything may have happened", async () => {
    const { wakeUps, watch, pass } = await after(undefined);
    expect(watch.heard(task)).toBeUndefined();
    wakeUps.changed("t", told(6));
    await pass(0);
    expect(watch.heard(task)).toEqual({ revision: 6 });
  });

  test("is at most 16 changes: a task that changes more often is read", async () => {
    const changes = Array.from({ length: 17 }, (_, index) => told(6 + index));
    expect((await after(...changes.slice(0, 16))).watch.heard(task)).toEqual({ revision: 21 });
    expect((await after(...changes)).watch.heard(task)).toBeUndefined();
  });

  test("is not lost when the watch is woken for another reason", async () => {
    const { watch } = await after(told(6));
    watch.wake();
    await watch.next(5);
    expect(watch.heard(task)).toEqual({ revision: 6 });
  });
});

describe("a watch of a task that is about to be created", () => {
  function watchingNew() {
    const { clock, pass, sleeping } = createHandClock();
    const attempts: PromiseWithResolvers<() => void>[] = [];
    let hear: (change?: TaskChange) => void = () => undefined;
    let left = 0;
    const wakeUps = {
      async watch(_taskId: string, onChange: typeof hear) {
        hear = onChange;
        const attempt = Promise.withResolvers<() => void>();
        attempts.push(attempt);
        return await attempt.promise;
      },
    };
    const watch = watchNewTask({ wakeUps, clock } as unknown as Services, "t");
    let nexts = 0;
    return {
      watch,
      attempts,
      pass,
      sleeping,
      confirm: () => attempts.at(-1)?.resolve(() => void (left += 1)),
      changed: (revision: number) => hear({ revision, isEnd: false }),
      waitForNext: () => void watch.next(1).then(() => (nexts += 1)),
      nexts: () => nexts,
      left: () => left,
    };
  }

  test("waits for later changes if it hears of the creation, whether that comes before or after the confirmation", async () => {
    for (const isConfirmedFirst of [true, false]) {
      const subject = watchingNew();
      if (isConfirmedFirst) subject.confirm();
      subject.waitForNext();
      await subject.pass(1);
      subject.changed(1);
      subject.confirm();
      await subject.pass(1_000);
      expect(subject.nexts()).toBe(0);
      subject.changed(2);
      await subject.pass(0);
      expect([subject.nexts(), subject.sleeping()]).toEqual([1, []]);
    }
  });

  test("has the task read once if it hears nothing: it may have been created, and changed, before the subscription", async () => {
    const subject = watchingNew();
    subject.waitForNext();
    await subject.pass(100);
    expect(subject.nexts()).toBe(0);
    subject.confirm();
    await subject.pass(1);
    expect(subject.nexts()).toBe(0);
    await subject.pass(1);
    expect(subject.nexts()).toBe(1);

    subject.waitForNext();
    await subject.pass(100);
    expect(subject.nexts()).toBe(1);
    subject.changed(2);
    await subject.pass(0);
    expect(subject.nexts()).toBe(2);
  });

  test("remembers what changed before anyone waits, and takes it as proof", async () => {
    const subject = watchingNew();
    subject.confirm();
    subject.changed(3);
    subject.waitForNext();
    await subject.pass(0);
    expect(subject.nexts()).toBe(1);
    subject.waitForNext();
    await subject.pass(100);
    expect(subject.nexts()).toBe(1);
  });

  test("retries a failed subscription after a second; the task is read every five seconds until it succeeds, and then once", async () => {
    const subject = watchingNew();
    for (let each = 0; each < 6; each += 1) {
      subject.waitForNext();
      subject.attempts.at(-1)?.reject(new Error("not confirmed"));
      await subject.pass(999);
      expect(subject.attempts).toHaveLength(each + 1);
      await subject.pass(1);
      expect(subject.attempts).toHaveLength(each + 2);
    }
    expect(subject.nexts()).toBeGreaterThan(0);
    const before = subject.nexts();
    subject.waitForNext();
    subject.confirm();
    await subject.pass(2);
    expect(subject.nexts()).toBeGreaterThan(before);
  });

  test("that is closed unsubscribes, at once or as soon as its subscription is confirmed, and leaves no timer behind", async () => {
    const confirmed = watchingNew();
    confirmed.confirm();
    await confirmed.pass(0);
    confirmed.watch.close();
    expect(confirmed.left()).toBe(1);

    const pending = watchingNew();
    pending.watch.close();
    expect(pending.left()).toBe(0);
    pending.confirm();
    await pending.pass(0);
    expect(pending.left()).toBe(1);

    const failed = watchingNew();
    failed.attempts[0]?.reject(new Error("not confirmed"));
    await failed.pass(0);
    failed.watch.close();
    await failed.pass(1_000);
    expect([failed.attempts.length, failed.sleeping()]).toEqual([1, []]);
  });
});
