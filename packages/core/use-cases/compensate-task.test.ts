/**
 * Work in flight when its task is cancelled, and finished work: with real steps, a real clock and the rules of the
 * memory store.
 */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Catalogue, EndedWithout, Tool } from "../catalogue.ts";
import type { Effects, StepAttempt } from "../effects.ts";
import type { Entry } from "../journal.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import { ParleyError, ToolError } from "../errors.ts";
import type { Clock, ParkRequest, TaskStore } from "../ports.ts";
import { RunStopped } from "../run-stopped.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import type { Task } from "../task.ts";
import { answerTask } from "./answer-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { createTask } from "./create-task.ts";
import { doneOf } from "./compensate-task.ts";
import { owedBy } from "./finish-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";

const HOUR = 3_600_000;

interface Given {
  readonly run: (effects: Effects) => Promise<void>;
  readonly compensate?: (ended: EndedWithout, effects: Effects) => Promise<void>;
  readonly settings?: Partial<Settings>;
  readonly runTimeoutMs?: number;
  readonly stopping?: AbortSignal;
  readonly store?: (memory: TaskStore) => Partial<TaskStore>;
}

async function started({ run, compensate, settings, runTimeoutMs = 60_000, stopping, store }: Given) {
  let skippedMs = 0;
  let stoppedAtMs: number | undefined;
  let ids = 0;
  const clock: Clock = { ...systemClock, now: () => (stoppedAtMs ?? Date.now()) + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const logged: { level: string; message: string; fields: object }[] = [];
  const write = (level: string) => (fields: object, message: string) => void logged.push({ level, message, fields });
  const memory = createMemoryStore({ clock, wakeUps });
  const parked: ParkRequest[] = [];
  const kept = { ...memory, ...store?.(memory) };
  const services: Services = {
    store: { ...kept, park: (request) => (parked.push(request), kept.park(request)) },
    queue: { add: async () => undefined },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => "0-task", token: () => `token-${(ids += 1)}`, uuid: () => crypto.randomUUID(), random: () => 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
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
    /** Stops the clock: time passes only with `skip`. */
    stopClock: () => void (stoppedAtMs = Date.now()),
    /** Park requests that the store received, and how long after now the next run is due. */
    parked,
    dueInMs: () => (parked.at(-1)?.dueAtMs ?? Number.NaN) - clock.now(),
    work: (number: number, tools = [tool]) => runTask(services, catalogue(tools), { taskId, run: number }),
    /** Another worker, which is not shutting down. */
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

/** A step that waits to be stopped and then ends as `end` says. */
function stoppable(end: (reason: unknown) => unknown) {
  const begun = Promise.withResolvers<void>();
  const work = async ({ signal }: StepAttempt) => {
    begun.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    return end(signal.reason);
  };
  return { begun: begun.promise, work };
}

describe("a task that is cancelled during its run", () => {
  test("is cancelled at once; the step in flight learns why, its result is recorded, and undone", async () => {
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

  test("whose tool has no compensation ends as usual: the step learns why, and nothing is owed", async () => {
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
  test("is the run's time limit", async () => {
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

  test("is a failed branch, or the end of the tool", async () => {
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

  test("is the worker's shutdown: another worker continues at once, and finished work is not repeated", async () => {
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

  test("is the worker's shutdown after an answer: the next worker finds the answer where the step found it", async () => {
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

  test("is a takeover by another worker", async () => {
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

  test("waits for a worker that has the tool, and is given up after the maximum wait of a task", async () => {
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

  test("whose worker died as often as allowed is done", async () => {
    const { work, services, skip } = await started({ run: failing, compensate: async () => undefined, settings: { takeoversMax: 1 } });
    await work(1);
    await services.store.begin({ taskId: "0-task", run: 2, token: "a", nowMs: services.clock.now(), leaseMs: 1_000 });
    skip(1_001);
    expect(await work(2)).toEqual({ type: "compensated" });
  });

  test("whose workers die more often is given up", async () => {
    const { work, services, load, skip, logged } = await started({
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
    expect(logged.at(-1)).toMatchObject({
      level: "error",
      fields: {
        code: "POISONED",
        detail:
          "2 workers in a row lost this compensation: each died, or its event loop was blocked for longer than its lease (PARLEY_TAKEOVERS_MAX)",
      },
    });
  });

  test("that asks a question is given up", async () => {
    const { work, logged } = await started({
      run: failing,
      compensate: async (_ended, { sleep }) => sleep("long", 3_600_000),
    });
    await work(1);
    expect(await work(2)).toEqual({ type: "given-up" });
    expect(logged.at(-1)).toMatchObject({ fields: { code: "MISPLACED_EFFECT" } });
  });

  test("that is cut off by its time limit is retried", async () => {
    const slow = stoppable(() => Promise.reject(new Error("stopped")));
    let isFast = false;
    const { work, logged } = await started({
      run: failing,
      compensate: async (_ended, { step }) => void (isFast || (await step("slow", slow.work))),
      runTimeoutMs: 20,
    });
    await work(1);
    expect(await work(2)).toEqual({ type: "retrying" });
    expect(logged.at(-1)).toMatchObject({
      level: "warn",
      fields: { code: "RUN_TIMEOUT", detail: "the compensation worked longer than the tool's runTimeout" },
    });
    isFast = true;
    expect(await work(3)).toEqual({ type: "compensated" });
  });

  const fields = { taskId: "0-task", tool: "subject", why: "failed" };
  const stack: unknown = expect.any(Array);

  test("that is at work when its worker shuts down continues at once elsewhere, and its finished work is not repeated", async () => {
    const stopping = new AbortController();
    const slow = stoppable(() => "undone all the same");
    const done: unknown[] = [];
    const { work, elsewhere, parked, dueInMs, stopClock, load } = await started({
      stopping: stopping.signal,
      run: failing,
      async compensate(_, { step }) {
        done.push(await step("quick", () => `undone in try ${done.length + 1}`));
        done.push(await step("slow", slow.work));
      },
    });
    stopClock();
    await work(1);
    const undoing = work(2);
    await slow.begun;
    stopping.abort();
    expect(await undoing).toStrictEqual({ type: "fenced" });
    expect(parked.map(({ asks, attempt, entries }) => [asks, attempt, entries.map(({ key }) => key)])).toStrictEqual([
      [[], 0, ["step:compensation:/slow"]],
    ]);
    expect(dueInMs()).toBe(0);
    expect((await load()).owed).toBe("failed");
    expect(await elsewhere(3)).toStrictEqual({ type: "compensated" });
    expect(done).toStrictEqual(["undone in try 1", "undone in try 1", "undone all the same"]);
  });

  test("that another worker has taken over writes nothing more", async () => {
    const slow = stoppable(() => "late");
    const { work, services, parked, load } = await started({
      run: failing,
      compensate: async (_, { step }) => void (await step("slow", slow.work)),
    });
    await work(1);
    const undoing = work(2);
    await slow.begun;
    await services.store.begin({ taskId: "0-task", run: 2, token: "other", nowMs: services.clock.now() + 60_000, leaseMs: 60_000 });
    expect(await undoing).toStrictEqual({ type: "fenced" });
    expect(parked).toStrictEqual([]);
    expect((await load()).owed).toBe("failed");
  });

  test("that skips a step which it has recorded is given up as diverged", async () => {
    let tries = 0;
    const { work, logged } = await started({
      run: failing,
      settings: { divergenceWaitMs: 20 },
      async compensate(_, { step }) {
        tries += 1;
        await step(tries === 1 ? "release" : "refund", () => tries);
        if (tries === 1) throw new Error("no again");
      },
    });
    await work(1);
    expect(await work(2)).toStrictEqual({ type: "retrying" });
    expect(await work(3)).toStrictEqual({ type: "given-up" });
    expect(logged.at(-1)).toMatchObject({ message: "compensation given up", fields: { code: "REPLAY_DIVERGED", attempt: 2 } });
  });

  test("waits for a worker whose version of the tool compensates, and is done by the version that did the work", async () => {
    const done: string[] = [];
    const compensating = (name: string) => async () => void done.push(name);
    const version = (name: string, compensate?: Tool["compensate"]) =>
      toolNamed("subject", failing, { version: name, ...(compensate && { compensate }) });
    const { work } = await started({ run: failing, compensate: compensating("none"), settings: { missingToolRetryMs: 1 } });
    await work(1);
    // The task has no version, so that the oldest one runs it.
    const newest = (older: Tool): Tool => ({ ...version("2", compensating("2")), older: [older] });
    expect(await work(2, [newest(version("1"))])).toStrictEqual({ type: "unserved" });
    expect(done).toStrictEqual([]);
    expect(await work(3, [newest(version("1", compensating("1")))])).toStrictEqual({ type: "compensated" });
    expect(done).toStrictEqual(["1"]);
  });

  test("whose tool is missing is retried after an eighth of its wait so far, and given up at its limit", async () => {
    const { work, skip, stopClock, dueInMs, parked, logged } = await started({
      run: failing,
      compensate: async () => undefined,
      settings: { missingToolTimeoutMs: 12 * HOUR },
    });
    stopClock();
    await work(1);
    logged.length = 0;
    const waits: number[] = [];
    for (const [index, ms] of [0, 240_000, 1, 8 * HOUR - 240_009, 8, 4 * HOUR].entries()) {
      skip(ms);
      expect(await work(index + 2, [])).toStrictEqual({ type: "unserved" });
      waits.push(dueInMs());
    }
    expect(waits).toStrictEqual([30_000, 30_000, 30_001, HOUR - 1, HOUR, HOUR]);
    expect(parked.map(({ entries, asks, attempt }) => [entries, asks, attempt])).toStrictEqual(waits.map(() => [[], [], 0]));
    expect(logged[0]).toStrictEqual({
      level: "warn",
      message: "no such compensation on this worker, task put back",
      fields: { ...fields, run: 2 },
    });
    skip(1);
    expect(await work(8, [])).toStrictEqual({ type: "given-up" });
    expect(logged.at(-1)).toStrictEqual({
      level: "error",
      message: "compensation given up",
      fields: {
        ...fields,
        run: 8,
        attempt: 1,
        error: "ParleyError",
        code: "TOOL_NOT_FOUND",
        detail: "no worker compensates the tool subject",
        stack,
      },
    });
  });

  test("that waits for what may be a lock of its own is thrown away, which is no failed attempt", async () => {
    let attempts = 0;
    const { work, parked, dueInMs, stopClock } = await started({
      run: failing,
      async compensate(_ended, { branch, step }) {
        attempts += 1;
        const attempt = attempts;
        await Promise.all(
          ["a", "b"].map((item) =>
            branch(item, async () => {
              await systemClock.sleep(1);
              const isSlow = attempt === 2 && item === "a";
              await new Promise<void>((proceed) => void setTimeout(proceed, isSlow ? 300 : 1));
              await step("undo", () => item);
            }),
          ),
        );
        if (attempt === 1) throw new Error("not yet");
      },
      settings: { divergenceWaitMs: 20 },
    });
    await work(1);
    expect([await work(2), await work(3)]).toStrictEqual([{ type: "retrying" }, { type: "retrying" }]);
    stopClock();
    expect(dueInMs()).toBeLessThanOrEqual(0);
    expect(parked.slice(-2).map(({ attempt, entries, asks }) => [attempt, entries, asks])).toStrictEqual([
      [1, expect.anything(), []],
      [1, [], []],
    ]);
    expect(await work(4)).toStrictEqual({ type: "compensated" });
  });

  test("that failed is retried after a second, then twice as long each time, up to an hour, and says so", async () => {
    const { work, stopClock, dueInMs, parked, logged } = await started({
      run: failing,
      compensate: async () => Promise.reject(new TypeError("no again")),
      settings: { compensationAttempts: 14 },
    });
    stopClock();
    await work(1);
    logged.length = 0;
    const waits: number[] = [];
    for (let run = 2; run <= 14; run += 1) {
      expect(await work(run)).toStrictEqual({ type: "retrying" });
      waits.push(dueInMs());
    }
    expect(waits).toStrictEqual([...Array.from({ length: 12 }, (_, attempt) => 1_000 * 2 ** attempt), HOUR]);
    expect(parked.map(({ attempt, asks }) => [attempt, asks])).toStrictEqual(waits.map((_, index) => [index + 1, []]));
    const error = { error: "TypeError", detail: "no again", stack };
    expect(logged[0]).toStrictEqual({
      level: "warn",
      message: "compensation failed, will be retried",
      fields: { ...fields, run: 2, attempt: 1, ...error },
    });
    expect(await work(15)).toStrictEqual({ type: "given-up" });
    expect(logged.at(-1)).toStrictEqual({
      level: "error",
      message: "compensation given up",
      fields: { ...fields, run: 15, attempt: 14, ...error },
    });
  });

  test.each<[string, Error, string]>([
    ["an error of the code", new Error("no"), "retrying"],
    ["a ToolError that says so", new ToolError("busy", { retryable: true }), "retrying"],
    ["a ToolError", new ToolError("closed on Mondays"), "given-up"],
    ["what the catalogue names", new ParleyError("INVALID_NAME", "no"), "given-up"],
    ["a step's time", new ParleyError("STEP_TIMEOUT", "late"), "retrying"],
    ["the run's time", new ParleyError("RUN_TIMEOUT", "late"), "retrying"],
  ])("that fails with %s is retried only if that may help", async (_, error, type) => {
    const { work } = await started({ run: failing, compensate: () => Promise.reject(error) });
    await work(1);
    expect(await work(2)).toStrictEqual({ type });
  });

  test("has names of its own, and a failed step is retried with the next run", async () => {
    const worked: string[] = [];
    const { work } = await started({
      run: async ({ step }) => {
        await step("book", () => worked.push("booked"));
        throw new Error("no");
      },
      compensate: async (_ended, { step }) => {
        await step("book", ({ idempotencyKey }) => worked.push(idempotencyKey));
        await step("tell", () => (worked.push("told"), worked.length < 4 ? Promise.reject(new Error("busy")) : 1));
      },
    });
    await work(1);
    expect(await work(2)).toStrictEqual({ type: "retrying" });
    expect(await work(3)).toStrictEqual({ type: "compensated" });
    expect(worked).toStrictEqual(["booked", "0-task.compensation:/book", "told", "told"]);
  });

  test("that fails before it reaches its recorded steps is retried", async () => {
    const undone: string[] = [];
    let tries = 0;
    const { work } = await started({
      run: failing,
      compensate: async (_ended, { step }) => {
        tries += 1;
        if (tries === 2) throw new Error("no connection");
        await step("refund", () => undone.push("refund"));
        if (tries === 1) throw new Error("busy");
      },
      settings: { divergenceWaitMs: 1 },
    });
    await work(1);
    expect(await work(2)).toStrictEqual({ type: "retrying" });
    expect(await work(3)).toStrictEqual({ type: "retrying" });
    expect(await work(4)).toStrictEqual({ type: "compensated" });
    expect(undone).toStrictEqual(["refund"]);
  });

  test("reports that it is done, once it is written", async () => {
    const { work, logged } = await started({ run: failing, compensate: async () => undefined });
    await work(1);
    logged.length = 0;
    expect(await work(2)).toStrictEqual({ type: "compensated" });
    expect(logged).toStrictEqual([{ level: "info", message: "task compensated", fields: { ...fields, run: 2 } }]);
  });

  test.each<[string, (effects: Effects) => Promise<void>, string]>([
    ["waits", ({ sleep }) => sleep("long", HOUR), "a compensation cannot ask questions or restart"],
    ["begins again", ({ restart }) => restart({}), "a compensation cannot ask questions or restart"],
  ])("that %s is given up, and says why", async (_, compensate, detail) => {
    const { work, logged } = await started({ run: failing, compensate: (_ended, effects) => compensate(effects) });
    await work(1);
    expect(await work(2)).toStrictEqual({ type: "given-up" });
    expect(logged.at(-1)).toMatchObject({ fields: { code: "MISPLACED_EFFECT", detail } });
  });

  test.each<[string, () => Promise<void>, Partial<TaskStore>]>([
    ["done", async () => undefined, { settle: async () => "refused" }],
    ["to be given up", () => Promise.reject(new ToolError("no")), { settle: async () => "refused" }],
    ["to be tried again", () => Promise.reject(new Error("no")), { park: async () => ({ type: "refused" }) }],
  ])("that is %s and no longer this worker's is silently left to the holder", async (_, compensate, refusing) => {
    const { work, logged } = await started({ run: failing, compensate, store: () => refusing });
    await work(1);
    logged.length = 0;
    expect(await work(2)).toStrictEqual({ type: "fenced" });
    expect(logged.filter(({ level }) => level !== "warn")).toStrictEqual([]);
  });

  test("whose tool is missing and that is no longer this worker's is left to the holder", async () => {
    const { work } = await started({
      run: failing,
      compensate: async () => undefined,
      store: () => ({ park: async () => ({ type: "refused" }) }),
    });
    await work(1);
    expect(await work(2, [])).toStrictEqual({ type: "fenced" });
  });

  test("is not limited by its task: one whose journal is full has room for it", async () => {
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

test("finished steps are in the order in which they settled, then in which they arrived, also within one millisecond", () => {
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

test("finished steps are steps with a result: no questions, clock readings, or steps that failed or only began", () => {
  const journal = new Map<string, Entry>([
    ["step:late", { digest: "", calledAt: "0", outcome: { type: "value", value: 2 }, arrived: { atMs: 1, revision: 0 } }],
    ["step:told", { digest: "", calledAt: "0", outcome: { type: "value" }, place: 2 }],
    ["step:broken", { digest: "", calledAt: "0", outcome: { type: "error", name: "Error", message: "no" }, place: 1 }],
    ["step:begun", { digest: "", calledAt: "0o", outcome: { type: "begun" } }],
    ["now:now", { digest: "", calledAt: "0", outcome: { type: "value", value: 7 } }],
    ["ask:go", { digest: "", calledAt: "0", outcome: { type: "answer", answer: { action: "decline" } }, place: 3 }],
  ]);
  expect(doneOf(journal)).toStrictEqual([{ key: "told" }, { key: "late", value: 2 }]);
});

test.each([
  [true, new ParleyError("RUN_TIMEOUT", "late"), "timeout"],
  [true, new ParleyError("STEP_TIMEOUT", "late"), "failed"],
  [true, new Error("no"), "failed"],
  [false, new ParleyError("RUN_TIMEOUT", "late"), undefined],
  [false, new Error("no"), undefined],
])("a task whose tool compensates (%j) is owed compensation for %s as %j", (compensates, error, owed) => {
  const task = { call: compensates ? { compensates: true } : {} } as Task;
  expect(owedBy(task, error)).toBe(owed);
});
