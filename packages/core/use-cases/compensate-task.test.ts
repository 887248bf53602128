/** What becomes of work in flight when its task is cancelled, and of what was done: with real steps, a real clock and the rules of the memory store. */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../caller.fixture.ts";
import type { Catalogue, EndedWithout, Tool } from "../catalogue.ts";
import type { Effects, StepAttempt } from "../effects.ts";
import type { Entry } from "../journal.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { Clock } from "../ports.ts";
import { RunStopped } from "../run-stopped.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import { answerTask } from "./answer-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { createTask } from "./create-task.ts";
import { doneOf } from "./compensate-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";

interface Given {
  readonly run: (effects: Effects) => Promise<void>;
  readonly compensate?: (ended: EndedWithout, effects: Effects) => Promise<void>;
  readonly settings?: Partial<Settings>;
  readonly runTimeoutMs?: number;
  readonly stopping?: AbortSignal;
}

async function started({ run, compensate, settings, runTimeoutMs = 60_000, stopping }: Given) {
  let skippedMs = 0;
  let ids = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const logged: { message: string; fields: object }[] = [];
  const write = (fields: object, message: string) => void logged.push({ message, fields });
  const services: Services = {
    store: createMemoryStore({ clock, wakeUps }),
    queue: { add: async () => undefined },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => "0-task", token: () => `token-${(ids += 1)}`, uuid: () => crypto.randomUUID(), random: () => 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: write, info: write, warn: write, error: write },
    settings: { ...DEFAULT_SETTINGS, renewEveryMs: 5, ...settings },
    ...(stopping && { stopping }),
  };
  const tool = toolNamed(
    "subject",
    async (effects) => {
      await run(effects);
      return {};
    },
    { settings: { runTimeoutMs }, ...(compensate && { compensate: (_args, effects, ended) => compensate(ended, effects) }) },
  );
  const catalogue = (tools: readonly Tool[]): Catalogue => ({
    tools: new Map(tools.map((each) => [each.name, each])),
    prompts: new Map(),
    resources: new Map(),
    templates: [],
  });
  const caller = callerNamed("alice");
  const { id: taskId } = await createTask(services, tool, { caller, arguments: {}, capabilities: {}, hidden: false });
  return {
    services,
    logged,
    skip: (ms: number) => void (skippedMs += ms),
    work: (number: number, tools = [tool]) => runTask(services, catalogue(tools), { taskId, run: number }),
    /** By a worker that stays. */
    elsewhere(run: number) {
      const { stopping: _, ...others } = services;
      return runTask(others, catalogue([tool]), { taskId, run });
    },
    answer: (key: string) => answerTask(services, { taskId, caller, replies: { [key]: { action: "accept", content: {} } } }),
    cancel: () => cancelTask(services, { taskId, caller }),
    load: async () => {
      const task = await services.store.load(taskId);
      if (!task) throw new Error("the task is gone");
      return task;
    },
  };
}

/** A step that waits to be told to stop, and then ends as `end` says. */
function stoppable(end: (reason: unknown) => unknown) {
  const begun = Promise.withResolvers<void>();
  const work = async ({ signal }: StepAttempt) => {
    begun.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    return end(signal.reason);
  };
  return { begun: begun.promise, work };
}

describe("a task that is cancelled under its run", () => {
  test("is cancelled at once; the step in flight learns why, what it still comes to is noted, and undone", async () => {
    const reasons: unknown[] = [];
    const flight = stoppable((reason) => {
      reasons.push(reason);
      return "booked all the same";
    });
    const undone: unknown[] = [];
    const { work, cancel, load } = await started({
      run: async ({ step }) => {
        await step("hotel", () => "hotel");
        await step("flight", flight.work);
        await step("never", () => reasons.push("never"));
      },
      async compensate({ why, done }) {
        undone.push(why, done);
      },
    });
    const running = work(1);
    await flight.begun;
    expect(await cancel()).toBe("cancelled");
    expect(await load()).toMatchObject({ status: "cancelled", owed: "cancelled" });
    expect(await running).toEqual({ type: "fenced" });
    expect(reasons).toEqual([expect.objectContaining({ name: "RunStopped", why: "cancelled" })]);
    expect(undone).toEqual([]);

    expect(await work(2)).toEqual({ type: "compensated" });
    expect(undone).toEqual([
      "cancelled",
      [
        { key: "hotel", value: "hotel" },
        { key: "flight", value: "booked all the same" },
      ],
    ]);
    expect((await load()).owed).toBeUndefined();
    expect(await work(3)).toEqual({ type: "refused", reason: "finished" });
  });

  test("whose tool has nothing to undo ends as usual: the step learns why, and nothing is owed", async () => {
    const reasons: unknown[] = [];
    const flight = stoppable((reason) => reasons.push(reason));
    const { work, cancel, load } = await started({ run: async ({ step }) => void (await step("flight", flight.work)) });
    const running = work(1);
    await flight.begun;
    await cancel();
    expect(await running).toEqual({ type: "fenced" });
    expect(reasons).toEqual([expect.any(RunStopped)]);
    expect(await load()).not.toHaveProperty("owed");
  });
});

describe("the reason of a step's signal", () => {
  test("is the run's time", async () => {
    const reasons: unknown[] = [];
    const slow = stoppable((reason) => reasons.push(reason));
    const undone: unknown[] = [];
    const { work } = await started({
      run: async ({ step }) => void (await step("slow", slow.work)),
      compensate: async ({ why, done }) => void undone.push(why, done.length),
      runTimeoutMs: 20,
    });
    expect(await work(1)).toMatchObject({ type: "finished", code: "RUN_TIMEOUT" });
    expect(reasons).toMatchObject([{ why: "timeout" }]);
    await work(2);
    expect(undone).toEqual(["timeout", 1]);
  });

  test("is a branch that failed, or the end of the tool", async () => {
    for (const [why, end] of [
      ["failed", () => Promise.reject(new Error("no"))],
      ["ended", async () => undefined],
    ] as const) {
      const reasons: unknown[] = [];
      const slow = stoppable((reason) => reasons.push(reason));
      const { work } = await started({
        run: async ({ step }) => {
          void step("slow", slow.work);
          await slow.begun;
          await end();
        },
      });
      await work(1);
      expect(reasons).toMatchObject([{ why }]);
    }
  });

  test("is the worker's end: another one continues at once, and what was done is not done again", async () => {
    const stopping = new AbortController();
    const reasons: unknown[] = [];
    const slow = stoppable((reason) => reasons.push(reason));
    const runs: unknown[] = [];
    const { work, load, elsewhere } = await started({
      stopping: stopping.signal,
      run: async ({ step }) => {
        runs.push(await step("quick", () => `done in run ${runs.length + 1}`));
        runs.push(await step("slow", slow.work));
      },
    });
    const running = work(1);
    await slow.begun;
    stopping.abort();
    expect(await running).toEqual({ type: "fenced" });
    expect(reasons).toMatchObject([{ why: "draining" }]);
    expect(await load()).toMatchObject({ status: "working", run: 1 });
    // The next worker need not wait for the lease.
    expect(await elsewhere(2)).toStrictEqual({ type: "finished", status: "completed" });
    expect(runs).toEqual(["done in run 1", "done in run 1", 1]);
  });

  test("is the worker's end behind an answer: another one finds the answer where the step found it", async () => {
    const stopping = new AbortController();
    const slow = stoppable(() => "done all the same");
    const seen: unknown[] = [];
    const { work, answer, elsewhere } = await started({
      stopping: stopping.signal,
      run: async ({ ask, step }) => {
        await ask("may", { type: "form", message: "May I?", schema: { type: "object", properties: {} } });
        seen.push(await step("slow", slow.work));
      },
      settings: { divergenceWaitMs: 20 },
    });
    expect(await work(1)).toEqual({ type: "parked" });
    await answer("may");
    const running = work(2);
    await slow.begun;
    stopping.abort();
    expect(await running).toEqual({ type: "fenced" });
    expect(await elsewhere(3)).toMatchObject({ type: "finished", status: "completed" });
    expect(seen).toEqual(["done all the same"]);
  });

  test("is another worker that has the task", async () => {
    const reasons: unknown[] = [];
    const slow = stoppable((reason) => reasons.push(reason));
    const { work, services, load } = await started({ run: async ({ step }) => void (await step("slow", slow.work)) });
    const running = work(1);
    await slow.begun;
    const { id: taskId } = await load();
    const nowMs = Date.now() + 60_000;
    await services.store.begin({ taskId, run: 1, token: "other", nowMs, leaseMs: 60_000 });
    expect(await running).toEqual({ type: "fenced" });
    expect(reasons).toMatchObject([{ why: "lost" }]);
  });
});

describe("a compensation", () => {
  const failing = async () => Promise.reject(new Error("no"));

  test("waits for a worker that has the tool, and is given up when it has waited as long as a task may", async () => {
    const { work, skip, load, logged } = await started({
      run: failing,
      compensate: async () => undefined,
      settings: { missingToolTimeoutMs: 60_000, missingToolRetryMs: 1 },
    });
    await work(1);
    expect(await work(2, [])).toEqual({ type: "unserved" });
    expect((await load()).owed).toBe("failed");
    skip(60_001);
    expect(await work(3, [])).toEqual({ type: "given-up" });
    expect((await load()).owed).toBeUndefined();
    expect(logged.at(-1)).toMatchObject({ message: "compensation given up", fields: { tool: "subject", why: "failed" } });
  });

  test("is tried ten times, and not an eleventh time", async () => {
    let tries = 0;
    const { work } = await started({
      run: failing,
      async compensate() {
        tries += 1;
        throw new Error("no again");
      },
    });
    await work(1);
    const reports: string[] = [];
    for (let run = 2; run <= 11; run += 1) reports.push((await work(run)).type);
    expect(reports).toEqual([...Array.from({ length: 9 }, () => "retrying"), "given-up"]);
    expect(tries).toBe(10);
    expect(await work(12)).toEqual({ type: "refused", reason: "finished" });
  });

  test("that its workers die of is given up", async () => {
    const { work, services, load, skip } = await started({
      run: failing,
      compensate: async () => undefined,
      settings: { takeoversMax: 1 },
    });
    await work(1);
    const { id: taskId } = await load();
    for (const token of ["a", "b"]) {
      await services.store.begin({ taskId, run: 2, token, nowMs: services.clock.now(), leaseMs: 1_000 });
      skip(1_001);
    }
    expect(await work(2)).toEqual({ type: "given-up" });
  });

  test("asks nobody: one that does is given up", async () => {
    const { work, logged } = await started({
      run: failing,
      compensate: async (_ended, { sleep }) => sleep("long", 3_600_000),
    });
    await work(1);
    expect(await work(2)).toEqual({ type: "given-up" });
    expect(logged.at(-1)).toMatchObject({ fields: { code: "MISPLACED_EFFECT" } });
  });

  test("that is cut off by its time is tried again", async () => {
    const slow = stoppable(() => Promise.reject(new Error("stopped")));
    let isFast = false;
    const { work } = await started({
      run: failing,
      compensate: async (_ended, { step }) => void (isFast || (await step("slow", slow.work))),
      runTimeoutMs: 20,
    });
    await work(1);
    expect(await work(2)).toEqual({ type: "retrying" });
    isFast = true;
    expect(await work(3)).toEqual({ type: "compensated" });
  });

  test("is not given what its tool does not own: a task whose journal is full has room for it", async () => {
    let undone = 0;
    const { work } = await started({
      run: async ({ step }) => {
        for (let n = 0; n < 5; n += 1) await step("fill", () => n);
      },
      async compensate({ done }, { step }) {
        for (const { key } of done.slice(0, 4)) await step(key.replace("#", "-"), () => (undone += 1));
      },
      settings: { journalEntriesMax: 4 },
    });
    expect(await work(1)).toMatchObject({ code: "JOURNAL_FULL" });
    expect(await work(2)).toEqual({ type: "compensated" });
    expect(undone).toBe(4);
  });
});

test("what was done is in the order in which it settled, then in which it arrived, also within one millisecond", () => {
  const at = (key: string, entry: object) =>
    [`step:${key}`, { calledAt: "0", outcome: { type: "value", value: key }, ...entry }] as [string, Entry];
  const journal = new Map([
    at("later", { arrived: { atMs: 9_007_199_254_740_000, revision: 6 } }),
    at("late", { arrived: { atMs: 9_007_199_254_740_000, revision: 5 } }),
    at("early", { arrived: { atMs: 1, revision: 7 } }),
    at("second", { place: 2 }),
    at("first", { place: 1 }),
    ["ask:q", { place: 3, calledAt: "0", outcome: { type: "answer", answer: { action: "decline" } } }] as [string, Entry],
  ]);
  expect(doneOf(journal).map(({ key }) => key)).toEqual(["first", "second", "early", "late", "later"]);
});
