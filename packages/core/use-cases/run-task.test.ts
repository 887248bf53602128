/** What a run does with its task: holds it, gives it back, takes it over, lets it begin anew. */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../caller.fixture.ts";
import type { Catalogue, Prompt, Tool } from "../catalogue.ts";
import type { Effects, StepAttempt } from "../effects.ts";
import { ParleyError, RpcFailure, ToolError } from "../errors.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { Clock, ParkRequest, RunRef, RunReport, TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import type { AskRequest, JsonObject } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { answerTask } from "./answer-task.ts";
import { createTask } from "./create-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { getSettledTask, getTask } from "./get-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";
import { sweep } from "./sweep.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const size: AskRequest = { type: "form", message: "How many?", schema: { type: "object", properties: { n: { type: "integer" } } } };
const text = (value: unknown): JsonObject => ({ content: [{ type: "text", text: String(value) }] });

interface Given {
  readonly tool?: Partial<Tool["settings"]>;
  readonly settings?: Partial<Settings>;
  readonly store?: (memory: TaskStore) => Partial<TaskStore>;
  readonly services?: Partial<Services>;
  /** What is drawn between 0 and 1. */
  readonly random?: number;
}

function deployment(run: (effects: Effects, args: JsonObject) => Promise<JsonObject>, given: Given = {}) {
  let skippedMs = 0;
  let stoppedAtMs: number | undefined;
  let ids = 0;
  const clock: Clock = { ...systemClock, now: () => (stoppedAtMs ?? Date.now()) + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const memory = createMemoryStore({ clock, wakeUps });
  const runs = new Map<string, RunRef>();
  const logged: { level: string; message: string; fields: object }[] = [];
  const write = (level: string) => (fields: object, message: string) => void logged.push({ level, message, fields });
  const store = { ...memory, ...given.store?.(memory) };
  const parked: ParkRequest[] = [];
  const services: Services = {
    store: { ...store, park: (request) => (parked.push(request), store.park(request)) },
    queue: { add: async (ref) => void runs.set(`${ref.taskId}.${ref.run}`, ref) },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => `0-${(ids += 1)}`, token: () => `token-${(ids += 1)}`, uuid: () => "uuid", random: () => given.random ?? 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 20, ...given.settings },
    ...given.services,
  };
  const tool = toolNamed("subject", run, {
    settings: { backoffMs: HOUR, ...given.tool },
    readArguments(args) {
      if ("wrong" in args) return { ok: false, violations: [{ path: "/wrong", message: "is not a known field" }] };
      const { dropped: _, ...kept } = args;
      return { ok: true, args: kept };
    },
  });
  const tools = new Map([[tool.name, tool]]);
  const prompt: Prompt = { ...tool, kind: "prompt", name: "greeting", arguments: [] };
  const prompts = new Map([[prompt.name, prompt]]);
  const catalogue: Catalogue = { tools, prompts, resources: new Map(), templates: [] };
  return {
    services,
    runs,
    tools,
    tool,
    prompts,
    prompt,
    logged,
    /** The lines of the log that say so. */
    saying: (message: string) => logged.filter((line) => line.message === message),
    /** What the store was told of runs that parked. */
    parked,
    /** How long after now the run that parked last is to be followed by the next one. */
    dueInMs: () => (parked.at(-1)?.dueAtMs ?? Number.NaN) - clock.now(),
    skip: (ms: number) => (skippedMs += ms),
    /** From now on time passes only by `skip`. */
    stopClock: () => (stoppedAtMs = Date.now()),
    create: async (args: JsonObject = {}, retentionMs?: number, runnable: Tool | Prompt = tool) =>
      (
        await createTask(services, runnable, {
          caller: callerNamed("alice"),
          arguments: args,
          capabilities: {},
          hidden: false,
          ...(retentionMs !== undefined && { retentionMs }),
        })
      ).id,
    run: (taskId: string, number: number, isSecondHand = false) =>
      runTask(services, catalogue, { taskId, run: number, ...(isSecondHand && { isSecondHand }) }),
    async work() {
      const reports: string[] = [];
      for (const [key, ref] of runs) {
        runs.delete(key);
        reports.push((await runTask(services, catalogue, ref)).type);
      }
      return reports;
    },
    sweep: () => sweep(services, { partition: 0 }),
    task: (taskId: string) => getTask(services, { taskId, caller: callerNamed("alice") }),
    answer: async (taskId: string, key: string) => {
      const { receipts } = await answerTask(services, { taskId, caller: callerNamed("alice"), replies: { [key]: { action: "decline" } } });
      return receipts.get(key);
    },
  };
}

describe("a hold (P6)", () => {
  test("a live holder is not displaced: the run is refused until its lease has run out", async () => {
    const release = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const subject = deployment(async ({ step }) => text(await step("work", () => (begun.resolve(), release.promise.then(() => "done")))));
    const taskId = await subject.create();
    const working = subject.work();
    await begun.promise;
    expect(await subject.run(taskId, 1)).toEqual({ type: "refused", reason: "held" });
    release.resolve();
    expect(await working).toEqual(["finished"]);
  });

  test("a holder that cannot renew its lease stops, and begins no further side effect", async () => {
    let away = false;
    let effects = 0;
    const refuse = async () => {
      throw new Error("away");
    };
    const subject = deployment(
      async ({ step }) => {
        // Ends with the lease; in the next run it is not stopped.
        await step("first", ({ signal }) =>
          away ? new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())) : undefined,
        );
        await step("second", () => (effects += 1));
        return text("done");
      },
      {
        settings: { leaseMs: 250, renewEveryMs: 60 },
        store: (memory) => ({
          renew: (request) => (away ? refuse() : memory.renew(request)),
          record: (request) => (away ? refuse() : memory.record(request)),
        }),
      },
    );
    const taskId = await subject.create();
    away = true;
    const began = Date.now();
    expect(await subject.work()).toEqual(["fenced"]);
    expect(Date.now() - began).toBeGreaterThanOrEqual(245);
    expect(effects).toBe(0);
    away = false;
    subject.skip(300);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(effects).toBe(1);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed" });
  });

  test("a holder whose lease has run out unnoticed renews it before its next side effect, or leaves it alone", async () => {
    for (const isStillMine of [true, false]) {
      let effects = 0;
      const subject: ReturnType<typeof deployment> = deployment(
        async ({ step }) => {
          subject.skip(2 * DEFAULT_SETTINGS.leaseMs); // the process stood still
          await step("act", () => (effects += 1));
          return text("done");
        },
        isStillMine ? {} : { store: () => ({ renew: async () => "refused" as const }) },
      );
      await subject.create();
      expect(await subject.work()).toEqual([isStillMine ? "finished" : "fenced"]);
      expect(effects).toBe(isStillMine ? 1 : 0);
    }
  });
});

describe("what a run leaves behind", () => {
  test.each(["begun", "unreadable"] as const)("is nothing that waits on the worker: renewals end with it (%s)", async (type) => {
    const hand = createHandClock();
    const subject = deployment(async () => text("done"), {
      services: { clock: hand.clock },
      store: (memory) => ({
        async begin(request) {
          const begun = await memory.begin(request);
          return type === "unreadable" && begun.type === "begun" ? { type, task: begun.task, reason: "erased" } : begun;
        },
      }),
    });
    await subject.create();
    expect(await subject.work()).toStrictEqual(["finished"]);
    await systemClock.idle();
    expect(hand.sleeping()).toStrictEqual([]);
  });

  test("is a run that is deferred while another suspect is at work: it is not begun", async () => {
    const suspect = (memory: TaskStore): Partial<TaskStore> => ({
      async load(taskId) {
        const task = await memory.load(taskId);
        return task && { ...task, run: 1, takeovers: 1 };
      },
    });
    const subject = deployment(async () => text("never"), {
      services: { suspects: { takeOver: async () => "deferred" } },
      store: suspect,
    });
    const taskId = await subject.create();
    subject.logged.length = 0;
    expect(await subject.run(taskId, 1, true)).toStrictEqual({ type: "refused", reason: "deferred" });
    expect(subject.logged).toStrictEqual([
      { level: "debug", message: "run deferred, another suspect is at work", fields: { taskId, run: 1 } },
    ]);
    // One that nobody can have begun before is no suspect.
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "finished", status: "completed" });
    // Where nobody keeps suspects apart they run side by side.
    const apart = deployment(async () => text("done"), { store: suspect });
    expect(await apart.run(await apart.create(), 1, true)).toStrictEqual({ type: "finished", status: "completed" });
  });
});

describe("a poisonous task (P7)", () => {
  /** The worker dies in the middle of the run, as far as the store can tell. */
  async function die(subject: ReturnType<typeof deployment>, taskId: string) {
    const { store, clock, settings } = subject.services;
    const begun = await store.begin({ taskId, run: 1, token: crypto.randomUUID(), nowMs: clock.now(), leaseMs: settings.leaseMs });
    subject.skip(settings.leaseMs);
    return begun;
  }

  test("fails when its workers have died more often than allowed, at the limit and one beyond", async () => {
    for (const [deaths, end] of [
      [4, { status: "completed" }],
      [
        5,
        {
          status: "failed",
          outcome: {
            error: {
              message: "the worker died under this task 5 times in a row (PARLEY_TAKEOVERS_MAX)",
              data: { code: "POISONED" },
            },
          },
        },
      ],
    ] as const) {
      let ran = 0;
      const subject = deployment(async () => text((ran += 1)), { settings: { takeoversMax: 4 } });
      const taskId = await subject.create();
      for (let death = 0; death < deaths; death += 1) expect(await die(subject, taskId)).toMatchObject({ type: "begun", takeovers: death });
      await subject.sweep();
      expect(await subject.work()).toEqual(["finished"]);
      expect(await subject.task(taskId)).toMatchObject(end);
      expect(ran).toBe(deaths === 4 ? 1 : 0);
      expect(subject.saying("task taken over from a worker that fell silent")).toStrictEqual([
        {
          level: "warn",
          message: "task taken over from a worker that fell silent",
          fields: { taskId, run: 1, takeovers: deaths },
        },
      ]);
    }
  });

  test("is one only when it was taken over: a first run tells of no takeover", async () => {
    const subject = deployment(async () => text("done"));
    await subject.create();
    await subject.work();
    expect(subject.logged.filter(({ level }) => level === "warn")).toStrictEqual([]);
  });
});

describe("a task whose content cannot be read", () => {
  const parked = async (given: Given) => {
    const subject = deployment(async ({ ask }) => text((await ask("size", size, { timeoutMs: 3 * HOUR })).action), given);
    const taskId = await subject.create();
    await subject.work();
    return { subject, taskId };
  };

  test("for want of its key is left as it is, comes up again after a while, and continues when the key is back", async () => {
    let isMissing = false;
    const { subject, taskId } = await parked({
      store: (memory) => ({
        begin: async (request) => (isMissing ? { type: "refused", reason: "key_missing" } : await memory.begin(request)),
      }),
    });
    await subject.answer(taskId, "size");
    const before = await subject.task(taskId);
    isMissing = true;
    // Nobody took the run that the answer added: it comes due.
    expect(await subject.work()).toEqual(["refused"]);
    subject.skip(2_000);
    expect(await subject.sweep()).toBe(1);
    expect(await subject.work()).toEqual(["refused"]);
    subject.skip(10_000);
    expect(await subject.sweep()).toBe(0);
    expect(await subject.task(taskId)).toEqual(before);
    expect(subject.saying("no key for what the task was told, run put off")).toStrictEqual(
      [1, 2].map(() => ({ level: "warn", message: "no key for what the task was told, run put off", fields: { taskId, run: 2 } })),
    );

    isMissing = false;
    subject.skip(10_000);
    expect(await subject.sweep()).toBe(1);
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed" });
  });

  test.each([
    [0, 11_250],
    [0.25, 13_125],
    [0.250001, 13_126],
    [0.5, 15_000],
  ])("for want of its key is put off by a time of its own: where %d is drawn, by %d ms", async (random, ms) => {
    const postponed: unknown[] = [];
    const subject = deployment(async () => text("never"), {
      random,
      store: () => ({
        begin: async () => ({ type: "refused", reason: "key_missing" }),
        postpone: async (request) => void postponed.push(request),
      }),
    });
    subject.stopClock();
    const taskId = await subject.create();
    const nowMs = subject.services.clock.now();
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "refused", reason: "key_missing" });
    expect(postponed).toStrictEqual([{ taskId, nowMs, dueAtMs: nowMs + ms }]);
    expect(subject.saying("run refused")).toStrictEqual([]);
  });

  test.each([
    ["settled", { type: "given-up" }],
    ["refused", { type: "fenced" }],
  ] as const)(
    "has no compensation that could be done: what it is owed is given up, or left to who has it (%s)",
    async (settled, report) => {
      const subject = deployment(async ({ ask }) => text((await ask("size", size)).action), {
        store: (memory) => ({
          async begin(request) {
            const begun = await memory.begin(request);
            return begun.type === "begun" && request.run === 2 ? { type: "unreadable", task: begun.task, reason: "erased" } : begun;
          },
          settle: async (request) => (settled === "settled" ? await memory.settle(request) : "refused"),
        }),
      });
      const taskId = await subject.create({}, undefined, { ...subject.tool, compensate: async () => undefined });
      await subject.work();
      await cancelTask(subject.services, { taskId, caller: callerNamed("alice") });
      expect(await subject.run(taskId, 2)).toStrictEqual(report);
      const line = {
        level: "error",
        message: "compensation given up",
        fields: { taskId, run: 2, tool: "subject", problem: "what was said in the task cannot be read" },
      };
      expect(subject.saying("compensation given up")).toStrictEqual(settled === "settled" ? [line] : []);
      // It was not tried as a run, and the task's end is untouched.
      expect(await subject.task(taskId)).toMatchObject({ status: "cancelled" });
    },
  );

  test.each([
    ["erased", "CONTENT_ERASED"],
    ["damaged", "CONTENT_DAMAGED"],
  ] as const)("since it is %s ends with its own error, at once and once", async (reason, code) => {
    const { subject, taskId } = await parked({
      store: (memory) => ({
        async begin(request) {
          const begun = await memory.begin(request);
          return begun.type === "begun" && request.run === 2 ? { type: "unreadable", task: begun.task, reason } : begun;
        },
      }),
    });
    await subject.answer(taskId, "size");
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "failed", outcome: { error: { data: { code } } } });
    subject.skip(HOUR);
    expect(await subject.sweep()).toBe(0);
  });

  test.each([
    ["key_missing", "CONTENT_KEY_MISSING"],
    ["erased", "CONTENT_ERASED"],
    ["damaged", "CONTENT_DAMAGED"],
  ] as const)("(%s) says so to its owner alone, who can still cancel it", async (unreadable, code) => {
    const { subject, taskId } = await parked({
      store: (memory) => ({
        async load(id) {
          const task = await memory.load(id);
          return task && { ...task, asks: [], unreadable };
        },
      }),
    });
    const { services } = subject;
    const seenBy = (principal: string) => [
      getTask(services, { taskId, caller: callerNamed(principal) }),
      getSettledTask(services, { taskId, caller: callerNamed(principal) }),
      answerTask(services, { taskId, caller: callerNamed(principal), replies: { size: { action: "decline" } } }),
    ];
    const everybodyIsTold = async () => {
      for (const seen of seenBy("alice")) await expect(seen).rejects.toMatchObject({ code });
      for (const seen of [...seenBy("mallory"), cancelTask(services, { taskId, caller: callerNamed("mallory") })]) {
        await expect(seen).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
      }
    };
    await everybodyIsTold();
    // A task that this process watches already is read by another way.
    const stop = await services.wakeUps.watch(taskId, () => undefined);
    await everybodyIsTold();
    stop();
    expect(await cancelTask(services, { taskId, caller: callerNamed("alice") })).toBe("cancelled");
  });
});

describe("a task whose tool no worker has", () => {
  test("waits ever longer, says so, keeps its deadlines and its attempts, and continues when the tool is back", async () => {
    const subject = deployment(async ({ ask }) => text((await ask("size", size, { timeoutMs: 3 * HOUR })).action));
    const taskId = await subject.create();
    await subject.work();
    await subject.answer(taskId, "nothing");
    const { store } = subject.services;
    subject.tools.clear();
    subject.skip(3 * HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["unserved"]);
    // The question is closed at its deadline although nobody can run the tool.
    expect(await subject.task(taskId)).toMatchObject({ asks: [], message: "Waiting for a worker that serves the tool subject." });
    const waits: number[] = [];
    for (let tries = 0; tries < 70; tries += 1) {
      let waitedMs = 0;
      while ((await store.overdue({ partition: 0, nowMs: subject.services.clock.now(), limit: 1 })).length === 0) {
        subject.skip(30_000);
        waitedMs += 30_000;
      }
      waits.push(waitedMs);
      await subject.sweep();
      expect(await subject.work()).toEqual(["unserved"]);
    }
    expect(waits[0]).toBeLessThanOrEqual(MINUTE);
    expect(Math.max(...waits)).toBeGreaterThan(50 * MINUTE);
    expect(Math.max(...waits)).toBeLessThanOrEqual(HOUR + MINUTE);
    subject.tools.set("subject", subject.tool);
    subject.skip(HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed", outcome: { result: { content: [{ text: "timeout" }] } } });
  });

  test("is tried again after an eighth of what it has waited, to the millisecond: half a minute at least, an hour at most", async () => {
    const subject = deployment(async () => text("never"));
    subject.stopClock();
    subject.tools.clear();
    const taskId = await subject.create();
    const waits: [passedMs: number, dueInMs: number][] = [];
    for (const [run, passedMs] of [0, 4 * MINUTE, 1, 8 * HOUR - 4 * MINUTE - 9, 8, 1].entries()) {
      subject.skip(passedMs);
      expect(await subject.run(taskId, run + 1)).toStrictEqual({ type: "unserved" });
      waits.push([passedMs, subject.dueInMs()]);
    }
    expect(waits).toStrictEqual([
      [0, 30_000],
      [4 * MINUTE, 30_000],
      [1, 30_001],
      [8 * HOUR - 4 * MINUTE - 9, HOUR - 1],
      [8, HOUR],
      [1, HOUR],
    ]);
    // It says so once: what it has waited for counts from there.
    expect(subject.parked.map(({ message }) => message)).toStrictEqual([
      "Waiting for a worker that serves the tool subject.",
      ...Array.from({ length: 5 }, () => undefined),
    ]);
    expect(subject.saying("no such tool on this worker, task put back")[0]).toStrictEqual({
      level: "warn",
      message: "no such tool on this worker, task put back",
      fields: { taskId, tool: "subject" },
    });
  });

  test("comes up at the deadline of its question if that is sooner, and stays at its try", async () => {
    const subject = deployment(
      async ({ ask, sleep }) => {
        const asked = ask("size", size, { timeoutMs: 10 * MINUTE });
        await sleep("pause", MINUTE);
        await asked;
        throw new Error("network");
      },
      { tool: { attempts: 3, backoffMs: 1 } },
    );
    subject.stopClock();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    subject.tools.clear();
    subject.skip(MINUTE);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "unserved" });
    expect(subject.dueInMs()).toBe(30_000);
    subject.skip(9 * MINUTE - 20_000);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "unserved" });
    expect(subject.dueInMs()).toBe(20_000);
    subject.tools.set("subject", subject.tool);
    subject.skip(20_000);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "retrying" });
    subject.tools.clear();
    expect(await subject.run(taskId, 5)).toStrictEqual({ type: "unserved" });
    expect(subject.parked.map(({ attempt, asks }) => [attempt, asks.length])).toStrictEqual([
      [0, 1],
      [0, 0],
      [0, 0],
      [1, 0],
      [1, 0],
    ]);
  });

  test.each([
    ["tool", "subject", "TOOL_NOT_FOUND"],
    ["prompt", "greeting", "PROMPT_NOT_FOUND"],
  ] as const)("fails when it has waited as long as it may, and not a millisecond before (%s)", async (kind, name, code) => {
    const subject = deployment(async () => text("never"), { settings: { missingToolTimeoutMs: DAY } });
    subject.stopClock();
    const taskId = await subject.create({}, undefined, subject[kind]);
    subject.tools.clear();
    subject.prompts.clear();
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "unserved" });
    subject.skip(DAY);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "unserved" });
    expect(await subject.task(taskId)).toMatchObject({ message: `Waiting for a worker that serves the ${kind} ${name}.` });
    subject.skip(1);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "finished", status: "failed", code });
    expect(await subject.task(taskId)).toMatchObject({
      status: "failed",
      outcome: { error: { message: `no worker has served the ${kind} ${name} for ${DAY + 1} ms`, data: { code } } },
    });
  });

  test("says that it runs again, and one that did not wait for a worker keeps what it said", async () => {
    const subject = deployment(async ({ ask, status }) => {
      status("At the door.");
      await ask("size", size);
      await ask("sure", size);
      return text("done");
    });
    const said = async (taskId: string) => (await subject.task(taskId)).message;
    const reported: unknown[] = [];
    const { report } = subject.services.store;
    Object.assign(subject.services.store, {
      report: (request: Parameters<typeof report>[0]) => (reported.push([request.message, request.items]), report(request)),
    });
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    await subject.answer(taskId, "size");
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "parked" });
    expect(await said(taskId)).toBe("At the door.");
    await subject.answer(taskId, "sure");
    subject.tools.clear();
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "unserved" });
    expect(await said(taskId)).toBe("Waiting for a worker that serves the tool subject.");
    subject.tools.set("subject", subject.tool);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "finished", status: "completed" });
    expect(await said(taskId)).toBe("Running again.");
    expect(reported).toStrictEqual([
      ["At the door.", []],
      ["Running again.", []],
    ]);
  });
});

describe("a task whose version this worker lacks", () => {
  async function asking(given: Given & { readonly elsewhere?: boolean; readonly newest?: string; readonly timeoutMs?: number } = {}) {
    const { elsewhere, newest = "2", timeoutMs = 30 * DAY } = given;
    const told: unknown[] = [];
    const subject = deployment(async ({ ask }) => text((await ask("size", size, { timeoutMs })).action), {
      ...given,
      services: { ...(elsewhere !== undefined && { serving: { isServed: async () => elsewhere } }) },
      store: (memory) => ({
        report: (request) => {
          told.push({ items: request.items, version: request.version, message: request.message });
          return memory.report(request);
        },
        ...given.store?.(memory),
      }),
    });
    subject.stopClock();
    const { version: _, ...unversioned } = subject.tool;
    subject.tools.set("subject", { ...unversioned, version: "1" });
    const taskId = await subject.create({}, undefined, { ...subject.tool, version: "1" });
    await subject.run(taskId, 1);
    subject.tools.set("subject", newest === "" ? unversioned : { ...unversioned, version: newest });
    subject.logged.length = 0;
    return { subject, taskId, told };
  }

  test.each([
    [0, 500],
    [0.25, 750],
    [0.2501, 751],
    [0.5, 1_000],
  ])("is passed on to a worker that has it after a time of its own: where %d is drawn, after %d ms", async (random, ms) => {
    const { subject, taskId } = await asking({ random, elsewhere: true });
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "passed_on" });
    expect(subject.dueInMs()).toBe(ms);
    expect(subject.parked.at(-1)).toMatchObject({ entries: [], asks: [], attempt: 0 });
    expect(subject.parked.at(-1)?.message).toBeUndefined();
    expect(subject.logged).toStrictEqual([
      {
        level: "debug",
        message: "another worker serves the task's version, run passed on",
        fields: { taskId, tool: "subject", version: "1" },
      },
    ]);
  });

  test("is passed on by the deadline of its question, and not by a worker that has lost it", async () => {
    const { subject, taskId } = await asking({ elsewhere: true, timeoutMs: 600 });
    await subject.run(taskId, 2);
    expect(subject.dueInMs()).toBe(600);
    Object.assign(subject.services.store, { park: async () => ({ type: "refused" }) });
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "fenced" });
  });

  test.each([
    ["2", false],
    ["", undefined],
  ])("waits as long as it may, and moves to the newest (%j) a millisecond later", async (newest, elsewhere) => {
    const { subject, taskId, told } = await asking({
      newest,
      ...(elsewhere !== undefined && { elsewhere }),
      settings: { missingVersionTimeoutMs: DAY },
    });
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "version_unserved" });
    subject.skip(DAY);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "version_unserved" });
    subject.skip(1);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "parked" });
    const of = { taskId, tool: "subject", version: "1" };
    const putBack = { level: "warn", message: "no worker serves the task's version, task put back", fields: of };
    expect(subject.logged.slice(0, 3).map(({ level, message, fields }) => ({ level, message, fields }))).toStrictEqual([
      { ...putBack, fields: { taskId, tool: "subject", version: "1" } },
      { ...putBack, fields: { taskId, tool: "subject", version: "1" } },
      {
        level: "warn",
        message: "no worker serves the task's version, task moves to the newest",
        fields: { ...of, to: newest, waitedMs: DAY + 1 },
      },
    ]);
    expect(told[0]).toStrictEqual({ items: [], version: newest, message: undefined });
  });

  test("fails with how long nobody served it, where the deployment wants that", async () => {
    const { subject, taskId } = await asking({ settings: { missingVersionTimeoutMs: DAY, missingVersion: "fail" } });
    await subject.run(taskId, 2);
    subject.skip(DAY);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "version_unserved" });
    subject.skip(1);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "finished", status: "failed", code: "VERSION_NOT_FOUND" });
    expect(await subject.task(taskId)).toMatchObject({
      outcome: { error: { message: `no worker has served version 1 of the tool subject for ${DAY + 1} ms` } },
    });
  });
});

describe("a task of newer code than its worker's", () => {
  test("names all the patches that are not known here", async () => {
    let isNew = true;
    const subject = deployment(
      async ({ ask, patched }) => {
        if (isNew) patched("one");
        if (isNew) patched("two");
        return text((await ask("go", size)).action);
      },
      { settings: { divergenceWaitMs: 1 } },
    );
    const taskId = await subject.create();
    await subject.work();
    isNew = false;
    await subject.answer(taskId, "go");
    expect(await subject.work()).toEqual(["unserved"]);
    expect((await subject.task(taskId)).message).toBe("Waiting for a worker whose tool subject knows the patch one, two.");
  });

  /** Half of a deployment knows the change, and its name. */
  function halfDeployed(settings: Partial<Settings> = {}) {
    let isNew = true;
    const subject = deployment(
      async ({ ask, patched, step }) => {
        const way = isNew && patched("other-way") ? "new" : "old";
        await ask("go", size, { timeoutMs: 30 * DAY });
        return text(JSON.stringify(await step("work", () => way)));
      },
      { settings: { divergenceWaitMs: 1, ...settings } },
    );
    return { subject, deploy: (next: boolean) => (isNew = next) };
  }

  test("is put back, unharmed, for one that knows the patch", async () => {
    const { subject, deploy } = halfDeployed();
    const taskId = await subject.create();
    await subject.work();
    deploy(false);
    await subject.answer(taskId, "go");
    expect(await subject.work()).toEqual(["unserved"]);
    expect(await subject.task(taskId)).toMatchObject({
      status: "working",
      message: "Waiting for a worker whose tool subject knows the patch other-way.",
    });
    expect(subject.logged).toContainEqual({
      level: "warn",
      message: "the task is of newer code than this worker's, task put back",
      fields: { taskId, tool: "subject", patches: ["other-way"] },
    });
    deploy(true);
    subject.skip(HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed", outcome: { result: { content: [{ text: `"new"` }] } } });
  });

  test("fails as diverged when none has come for as long as a task waits for its tool", async () => {
    const { subject, deploy } = halfDeployed({ missingToolTimeoutMs: DAY });
    const taskId = await subject.create();
    await subject.work();
    deploy(false);
    await subject.answer(taskId, "go");
    expect(await subject.work()).toEqual(["unserved"]);
    subject.skip(DAY + HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "failed", outcome: { error: { data: { code: "REPLAY_DIVERGED" } } } });
  });
});

describe("waiting is not expiring (P9)", () => {
  test("after a week without a worker, 1,000 waiting and 1,000 tasks that have not begun are there and continue, with any ttl", async () => {
    const subject = deployment(async ({ ask }) => text((await ask("size", size)).action));
    const waiting = await Promise.all(Array.from({ length: 1_000 }, () => subject.create({}, MINUTE)));
    await subject.work();
    const fresh = await Promise.all(Array.from({ length: 1_000 }, () => subject.create({}, MINUTE)));
    subject.runs.clear(); // the queue is lost, too
    subject.skip(7 * DAY - MINUTE);
    for (const taskId of waiting) expect(await subject.answer(taskId, "size")).toEqual({ type: "accepted" });
    subject.runs.clear();
    subject.skip(MINUTE);
    while ((await subject.sweep()) > 0) await subject.work();
    for (const taskId of waiting) expect(await subject.task(taskId)).toMatchObject({ status: "completed" });
    for (const taskId of fresh) expect(await subject.task(taskId)).toMatchObject({ status: "input_required" });
    subject.skip(MINUTE + 1);
    await expect(subject.task(waiting[0] ?? "")).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });
});

describe("attempts", () => {
  test("a failed run that is to be tried again does not postpone the deadline of an open question", async () => {
    let fails = false;
    const subject = deployment(
      async ({ ask, sleep }) => {
        const asked = ask("size", size, { timeoutMs: 10 * MINUTE });
        await sleep("pause", 5 * MINUTE);
        if (fails) throw new Error("network");
        return text((await asked).action);
      },
      { tool: { attempts: 3, backoffMs: HOUR } },
    );
    const taskId = await subject.create();
    await subject.work();
    fails = true;
    subject.skip(5 * MINUTE);
    await subject.sweep();
    expect(await subject.work()).toEqual(["retrying"]);
    fails = false;
    subject.skip(5 * MINUTE);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "timeout" }] } } });
  });
});

describe("questions whose deadline has passed", () => {
  const twice = (handler: (effects: Effects, first: string) => Promise<JsonObject>, given: Given = {}) => {
    const subject = deployment(async (effects) => {
      const { ask } = effects;
      const first = await Promise.race(
        ["z", "a"].map((name) => ask(name, size, { timeoutMs: MINUTE }).then(({ action }) => `${name} ${action}`)),
      );
      return await handler(effects, first);
    }, given);
    subject.stopClock();
    return subject;
  };

  test("are over at their deadline, and not a millisecond before", async () => {
    const subject = twice(async (_, first) => text(first));
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE - 1);
    expect(await subject.run(taskId, 2)).toEqual({ type: "parked" });
    subject.skip(1);
    expect(await subject.run(taskId, 3)).toEqual({ type: "finished", status: "completed" });
  });

  test("are over in the order in which they were put, if they have one deadline", async () => {
    const subject = twice(async (_, first) => text(first));
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    await subject.run(taskId, 2);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "z timeout" }] } } });
  });

  test("are over behind an answer that came in the same millisecond, but before them", async () => {
    const subject = twice(async (_, first) => text(first));
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    expect(await subject.answer(taskId, "a")).toEqual({ type: "accepted" });
    await subject.run(taskId, 2);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "a decline" }] } } });
  });

  test("bring no next try forward", async () => {
    const subject = twice(() => Promise.reject(new Error("network")), { tool: { attempts: 2, backoffMs: HOUR } });
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    expect(await subject.run(taskId, 2)).toEqual({ type: "retrying" });
    const due = () => subject.services.store.overdue({ partition: 0, nowMs: subject.services.clock.now(), limit: 10 });
    subject.skip(HOUR - 1);
    expect(await due()).toEqual([]);
    subject.skip(1);
    expect(await due()).toEqual([{ taskId, run: 3 }]);
  });

  test("are closed by the holder of the task alone, once, however often that is sent", async () => {
    const closed: unknown[] = [];
    const subject = twice(async (_, first) => text(first), {
      store: (memory) => ({
        async answer(request) {
          closed.push({ key: request.key, token: request.token });
          await memory.answer(request);
          return await memory.answer(request); // its first reply was lost
        },
      }),
    });
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    let token = "";
    const begin = subject.services.store.begin.bind(subject.services.store);
    Object.assign(subject.services.store, {
      begin: (request: Parameters<typeof begin>[0]) => begin({ ...request, token: (token = request.token) }),
    });
    expect(await subject.run(taskId, 2)).toEqual({ type: "finished", status: "completed" });
    expect(closed).toEqual(["z", "a"].map((key) => ({ key, token })));
  });

  test("are answered by who came a moment earlier", async () => {
    const subject = twice(async (_, first) => text(first), {
      store: (memory) => ({
        async answer({ token, ...request }) {
          if (token !== undefined) await memory.answer({ ...request, answer: { action: "decline" } });
          return await memory.answer({ ...request, ...(token !== undefined && { token }) });
        },
      }),
    });
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    await subject.run(taskId, 2);
    await subject.run(taskId, 3);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "z decline" }] } } });
  });
});

describe("a restart (P10)", () => {
  test("begins anew as the same task, with its arguments, and keeps going for as many rounds as it likes", async () => {
    const subject = deployment(async ({ ask, restart }, { round = 0 }) => {
      await ask("round", size);
      return (round as number) < 50 ? await restart({ round: (round as number) + 1 }) : text(`round ${round as number}`);
    });
    const taskId = await subject.create();
    await subject.work();
    for (let round = 0; round <= 50; round += 1) {
      const key = round === 0 ? "round" : `round@${round}`;
      expect(await subject.task(taskId)).toMatchObject({ generation: round, asks: [{ key }] });
      expect(await subject.answer(taskId, key)).toEqual({ type: "accepted" });
      while (subject.runs.size > 0) await subject.work();
    }
    expect(await subject.task(taskId)).toMatchObject({ status: "completed", outcome: { result: { content: [{ text: "round 50" }] } } });
    expect(await subject.answer(taskId, "round@7")).toEqual({ type: "late" });
  });

  test("with arguments that do not fit ends the task", async () => {
    const seen: unknown[] = [];
    const tidy = deployment(async ({ restart }, args) => {
      seen.push(args);
      return args["round"] === 1 ? text("done") : await restart({ round: 1, dropped: 2 });
    });
    await tidy.create();
    await tidy.work();
    expect(seen.at(-1)).toEqual({ round: 1 });

    const subject = deployment(async ({ restart }) => await restart({ wrong: 1 }));
    const taskId = await subject.create();
    await subject.work();
    expect(await subject.task(taskId)).toMatchObject({
      status: "failed",
      outcome: {
        error: {
          message: "the arguments of the restart do not fit tool subject: /wrong is not a known field",
          data: { code: "INVALID_ARGUMENTS", violations: [{ path: "/wrong", message: "is not a known field" }] },
        },
      },
    });
  });

  test("is due at once, keeps nothing of the round before, and says so", async () => {
    const subject = deployment(async ({ step, restart }, { round }) => {
      await step("work", () => 1);
      return round === 1 ? text("done") : await restart({ round: 1 });
    });
    subject.stopClock();
    const taskId = await subject.create();
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "parked" });
    expect(subject.dueInMs()).toBe(0);
    expect(subject.parked).toMatchObject([{ entries: [], asks: [], attempt: 0 }]);
    expect(subject.parked[0]?.restart).toStrictEqual({ arguments: { round: 1 } });
    expect(subject.saying("task begins anew")).toStrictEqual([
      { level: "info", message: "task begins anew", fields: { taskId, run: 1, asks: 0 } },
    ]);
    expect(subject.runs.get(`${taskId}.2`)).toStrictEqual({ taskId, run: 2, cause: "overtaken" });
  });
});

test.each<[boolean, object]>([
  [true, { arguments: { by: "2" }, version: "2" }],
  [false, { arguments: { round: 1 } }],
])("a task that begins anew takes the newest version where that takes its arguments (%j)", async (takes, restart) => {
  const subject = deployment(({ restart: begin }) => begin({ round: 1 }));
  const old: Tool = { ...subject.tool, version: "1" };
  const newest: Tool = {
    ...subject.tool,
    version: "2",
    older: [old],
    readArguments: () => (takes ? { ok: true, args: { by: "2" } } : { ok: false, violations: [] }),
  };
  subject.tools.set("subject", newest);
  const taskId = await subject.create({}, undefined, old);
  expect(await subject.run(taskId, 1)).toStrictEqual({ type: "parked" });
  expect(subject.parked[0]?.restart).toStrictEqual(restart);
});

test("an answer that is larger than a stored value may be is refused, and the question stays open", async () => {
  const subject = deployment(async ({ ask }) => text((await ask("size", size)).action), { settings: { storedValueMax: 200 } });
  const taskId = await subject.create();
  await subject.work();
  const reply = (length: number) => ({ size: { action: "accept", content: { note: "x".repeat(length) } } });
  const answer = async (length: number) =>
    (await answerTask(subject.services, { taskId, caller: callerNamed("alice"), replies: reply(length) })).receipts.get("size");
  const envelope = JSON.stringify({ action: "accept", content: { note: "" } }).length;
  expect(await answer(201 - envelope)).toMatchObject({
    type: "invalid",
    violations: [{ message: expect.stringContaining("200 characters") }],
  });
  expect(await answer(200 - envelope)).toEqual({ type: "accepted" });
});

test("an answer that is larger than a stored value may be is not looked at any further", async () => {
  const subject = deployment(async ({ ask }) => text((await ask("size", size)).action), { settings: { storedValueMax: 200 } });
  const taskId = await subject.create();
  await subject.work();
  const answer = async (note: string) => {
    const replies = { size: { action: "accept", content: { n: "no number", note } } };
    return (await answerTask(subject.services, { taskId, caller: callerNamed("alice"), replies })).receipts.get("size");
  };
  const rest = JSON.stringify({ n: "no number", note: "" }).length;
  expect(await answer("x".repeat(200 - rest))).toMatchObject({ type: "invalid", violations: [{ path: "/content/n" }] });
  expect(await answer("x".repeat(201 - rest))).toEqual({
    type: "invalid",
    violations: [{ path: "/content", message: expect.stringContaining("200 characters") }],
  });
});

describe("what a tool logs", () => {
  const logging = async ({ report, status }: Effects) => {
    status("busy");
    report({ type: "log", level: "notice", data: { seat: "12A" }, logger: "seats" });
    report({ type: "log", level: "alert", data: "on fire" });
    report({ type: "progress", progress: 1 });
    return text("done");
  };

  test("stands in the operator's log where the deployment wants it, at its level, and not otherwise", async () => {
    for (const logTools of [true, false]) {
      const { create, run, logged } = deployment(logging, { settings: { logTools } });
      const taskId = await create();
      await run(taskId, 1);
      const about = { taskId, run: 1, tool: "subject" };
      expect(logged.filter(({ message }) => message === "tool log").map(({ fields }) => fields)).toEqual(
        logTools
          ? [
              { ...about, level: "notice", logger: "seats", data: { seat: "12A" } },
              { ...about, level: "alert", data: "on fire" },
            ]
          : [],
      );
      expect(JSON.stringify(logged).includes("12A")).toBe(logTools);
    }
  });

  test.each([
    ["debug", "debug"],
    ["info", "info"],
    ["notice", "info"],
    ["warning", "warn"],
    ["error", "error"],
    ["critical", "error"],
    ["alert", "error"],
    ["emergency", "error"],
  ] as const)("as %s is %s for the operator", async (level, logged) => {
    const subject = deployment(
      async ({ report }) => {
        report({ type: "log", level, data: 1 });
        return text("done");
      },
      { settings: { logTools: true } },
    );
    const taskId = await subject.create();
    await subject.work();
    expect(subject.saying("tool log")).toStrictEqual([
      { level: logged, message: "tool log", fields: { taskId, run: 1, tool: "subject", level, data: 1 } },
    ]);
  });
});

describe("the log of a run", () => {
  const lines = ({ logged }: ReturnType<typeof deployment>) =>
    logged.map(({ level, message, fields }) => [level, message, fields] as const);
  const stack: unknown = expect.any(Array);

  test("tells that it parked, with how many questions, that another one is refused, and how the task ended", async () => {
    const subject = deployment(async ({ ask }) => {
      await Promise.all([ask("size", size), ask("sure", size)]);
      return text("done");
    });
    const taskId = await subject.create();
    subject.logged.length = 0;
    await subject.run(taskId, 1);
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "refused", reason: "stale" });
    await subject.answer(taskId, "size");
    await subject.answer(taskId, "sure");
    subject.logged.splice(2);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    expect(lines(subject)).toStrictEqual([
      ["info", "task parked", { taskId, run: 1, asks: 2 }],
      ["debug", "run refused", { taskId, run: 1, reason: "stale" }],
      ["info", "task finished", { taskId, run: 2, status: "completed" }],
    ]);
  });

  test("tells of an error in each try, and of the last one with the id that the caller is given", async () => {
    const subject = deployment(() => Promise.reject(new TypeError("network")), { tool: { attempts: 2, backoffMs: HOUR } });
    subject.stopClock();
    const taskId = await subject.create();
    subject.logged.length = 0;
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "retrying" });
    expect(subject.dueInMs()).toBe(HOUR);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    const of = { taskId, tool: "subject" };
    const error = { error: "TypeError", detail: "network", stack };
    expect(lines(subject)).toStrictEqual([
      ["warn", "run failed, to be tried again", { ...of, run: 1, attempt: 1, ...error }],
      ["info", "task parked", { taskId, run: 1, asks: 0 }],
      ["warn", "task finished with an error", { ...of, run: 2, status: "completed", defectId: "uuid", ...error }],
    ]);
  });

  test("tells of a step that failed whether it is tried again, and warns unless the tool meant it", async () => {
    const subject = deployment(async ({ step }) => {
      await step("flaky", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("network")) : 1), { attempts: 2, backoffMs: 1 });
      await step("closed", () => Promise.reject(new ToolError("closed on Mondays"))).catch(() => undefined);
      await step("broken", () => Promise.reject(new Error("no such host"))).catch(() => undefined);
      return text("done");
    });
    const taskId = await subject.create();
    await subject.work();
    const of = { taskId, run: 1, tool: "subject", attempt: 1, defectId: expect.stringMatching(/^[0-9a-f-]{36}$/), stack };
    expect(lines(subject).filter(([, message]) => message.startsWith("step"))).toStrictEqual([
      ["info", "step failed, to be tried again", { ...of, step: "flaky", error: "Error", detail: "network" }],
      ["info", "step failed", { ...of, step: "closed", error: "ToolError" }],
      ["warn", "step failed", { ...of, step: "broken", error: "Error", detail: "no such host" }],
    ]);
    // Each under an id of its own.
    expect(new Set(lines(subject).flatMap(([, , fields]) => ("defectId" in fields ? [fields.defectId] : []))).size).toBe(3);
  });

  test("tells of code that has diverged", async () => {
    let isChanged = false;
    const subject = deployment(
      async ({ ask }) => {
        await ask("size", isChanged ? { ...size, message: "How few?" } : size);
        return text("done");
      },
      { settings: { divergenceWaitMs: 1 } },
    );
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    isChanged = true;
    await subject.answer(taskId, "size");
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "failed", code: "REPLAY_DIVERGED" });
    expect(subject.saying("replay diverged")).toMatchObject([
      { level: "error", fields: { taskId, run: 2, tool: "subject", code: "REPLAY_DIVERGED" } },
    ]);
  });

  test("has no token of an event, and neither has what the caller is told", async () => {
    const secret = "s".repeat(43);
    const subject = deployment(
      async ({ event, step }) => {
        const { url } = event("paid", { type: "event", schema: {} });
        await step("hand-over", () => Promise.reject(new Error(`POST ${url} failed`))).catch(() => undefined);
        throw new Error(`POST ${url} failed`);
      },
      {
        tool: { attempts: 2 },
        settings: { showErrors: true },
        services: {
          eventTokens: {
            tokenOf: (taskId) => ({ token: `${taskId}.paid.${secret}`, url: `https://parley.test/${taskId}.paid.${secret}` }),
            read: () => undefined,
          },
        },
      },
    );
    const taskId = await subject.create();
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "retrying" });
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    const message = "POST https://parley.test/[event token] failed";
    for (const line of ["step failed", "run failed, to be tried again", "task finished with an error"]) {
      expect(subject.saying(line)).toMatchObject([{ level: "warn", fields: { detail: message } }]);
    }
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: message }] } } });
    expect(JSON.stringify(subject.logged)).not.toContain(secret);
  });
});

test.each<[string, unknown, RunReport["type"]]>([
  ["an error of the code", new Error("network"), "retrying"],
  ["what is no error", "network", "retrying"],
  ["a ToolError that says so", new ToolError("busy", { retryable: true }), "retrying"],
  ["a ToolError", new ToolError("closed on Mondays"), "finished"],
  ["an RpcFailure", new RpcFailure(-32_099, "no"), "finished"],
  ["what the catalogue names", new ParleyError("INVALID_OUTPUT", "no"), "finished"],
])("%s is tried again only where that may help", async (_, error, report) => {
  const subject = deployment(() => Promise.reject(error as Error), { tool: { attempts: 2 } });
  await subject.create();
  expect(await subject.work()).toStrictEqual([report]);
});

test.each([
  ["event", "EVENTS_UNAVAILABLE", "this worker gives out no tokens for events"],
  ["deposit", "DEPOSIT_UNREADABLE", "this worker reads nothing that was left on pages"],
] as const)("a worker that was not given what it takes says so: %s", async (what, code, message) => {
  const subject = deployment(async ({ event, deposit, step }) => {
    if (what === "deposit") await step("read", () => deposit("page"));
    else event("paid", { type: "event", schema: {} });
    return text("done");
  });
  const taskId = await subject.create();
  await subject.work();
  const { status, outcome } = await subject.task(taskId);
  if (what === "event") {
    expect([status, outcome]).toMatchObject(["failed", { type: "error", error: { message, data: { code } } }]);
  } else {
    // A step that failed is known by its message alone, and the log knows the code.
    expect(subject.saying("step failed")).toMatchObject([{ fields: { code, detail: message } }]);
    expect([status, outcome]).toMatchObject(["completed", { type: "result", result: { isError: true, content: [{ text: message }] } }]);
  }
});

test("a worker has for its tools what it was given, and nothing in place of what it was not", async () => {
  const announced: unknown[] = [];
  const found: unknown[] = [];
  const opened: unknown[] = [];
  const handler = async ({ openFile, accessToken, deposit, announce, step }: Effects) => {
    announce({ type: "tools" });
    found.push(await step("read", () => deposit("page")));
    found.push(
      openFile && (await openFile("file-1")),
      accessToken && (await accessToken("grant", "old").catch((error: ParleyError) => error.code)),
    );
    return text("done");
  };
  const given = deployment(handler, {
    services: {
      deposits: { open: async (taskId, key) => (opened.push([taskId, key]), `${taskId} ${key}`), replace: async () => true },
      files: { open: async (taskId: string, id: string) => `${taskId} ${id}` } as never,
      oauth: {} as never,
    },
  });
  Object.assign(given.services.wakeUps, { announce: async (announcement: unknown) => void announced.push(announcement) });
  const taskId = await given.create();
  expect(await given.work()).toStrictEqual(["finished"]);
  expect(found).toStrictEqual([`${taskId} page`, `${taskId} file-1`, "DEPOSIT_UNREADABLE"]);
  expect(announced).toStrictEqual([{ type: "tools" }]);
  expect(opened).toStrictEqual([
    [taskId, "page"],
    [taskId, "grant"],
  ]);

  found.length = 0;
  const bare = deployment(handler, { services: { deposits: { open: async () => "here", replace: async () => true } } });
  await bare.create();
  await bare.work();
  expect(found).toStrictEqual(["here", undefined, undefined]);
});

describe("a run that no longer has its task", () => {
  const refused = { park: async () => ({ type: "refused" }) as const };

  test.each<[string, (effects: Effects) => Promise<JsonObject>]>([
    ["parks", async ({ ask }) => text((await ask("size", size)).action)],
    ["is to be tried again", () => Promise.reject(new Error("network"))],
    ["begins anew", ({ restart }) => restart({})],
  ])("is fenced where it %s, and adds no run", async (_, handler) => {
    const subject = deployment(handler, { tool: { attempts: 2 }, store: () => refused });
    await subject.create();
    expect(await subject.work()).toStrictEqual(["fenced"]);
    expect(subject.runs.size).toBe(0);
    expect(subject.saying("task parked")).toStrictEqual([]);
  });

  test("is fenced where its tool is missing", async () => {
    const subject = deployment(async () => text("never"), { store: () => refused });
    await subject.create();
    subject.tools.clear();
    expect(await subject.work()).toStrictEqual(["fenced"]);
  });

  test.each<[string, (effects: Effects) => Promise<unknown>]>([
    ["result", async () => undefined],
    ["error", () => Promise.reject(new Error("network"))],
  ])("hands in what it has done with an %s that is refused, for who undoes it", async (_, end) => {
    const subject = deployment(
      async (effects) => {
        effects.now("began");
        await end(effects);
        return text("done");
      },
      { store: () => ({ finish: async () => "refused" as const }) },
    );
    subject.stopClock();
    await subject.create();
    expect(await subject.work()).toStrictEqual(["fenced"]);
    expect(subject.parked.map(({ entries, asks, attempt }) => [entries.map(({ key }) => key), asks, attempt])).toStrictEqual([
      [["now:began"], [], 0],
    ]);
    expect(subject.dueInMs()).toBe(0);
  });
});

test("a run that works longer than it may ends with its time", async () => {
  const heeds = ({ signal }: StepAttempt) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  const subject = deployment(async ({ step }) => text(await step("work", heeds)), { tool: { runTimeoutMs: 20 } });
  const taskId = await subject.create();
  expect(await subject.work()).toStrictEqual(["finished"]);
  expect(await subject.task(taskId)).toMatchObject({
    status: "failed",
    outcome: { error: { message: "tool subject worked longer than 20 ms in one run", data: { code: "RUN_TIMEOUT" } } },
  });
});

test("a task that asks and sleeps is due at what comes first", async () => {
  const dues: number[] = [];
  for (const [askMs, sleepMs] of [
    [2 * HOUR, HOUR],
    [HOUR, 2 * HOUR],
  ] as const) {
    const subject = deployment(async ({ ask, sleep }) => {
      await Promise.all([ask("size", size, { timeoutMs: askMs }), sleep("pause", sleepMs)]);
      return text("done");
    });
    subject.stopClock();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    dues.push(subject.dueInMs());
  }
  expect(dues).toStrictEqual([HOUR, HOUR]);
});

describe("a question that several must accept, at its deadline", () => {
  test("is told from others of the same words that are open, and is late where its task is gone", async () => {
    for (const isGone of [false, true]) {
      let answered = 0;
      const subject: ReturnType<typeof deployment> = deployment(
        async ({ ask }) => {
          const audience = { to: "tenant", quorum: 2 } as const;
          const first = await Promise.race([
            ask("other", size, { timeoutMs: HOUR, audience }),
            ask("approve", size, { timeoutMs: MINUTE, audience }),
          ]);
          return text(JSON.stringify(first.accepted?.map(({ by }) => by)));
        },
        {
          store: (memory) => ({
            load: async (id) => (isGone && answered > 0 ? undefined : await memory.load(id)),
            async answer(request) {
              if (request.token === undefined) return await memory.answer(request);
              if ((answered += 1) > 1) return await memory.answer(request);
              if (!isGone) await accepts(subject, request.taskId, "bob");
              return { receipt: "overtaken" };
            },
          }),
        },
      );
      subject.stopClock();
      const taskId = await subject.create();
      await subject.run(taskId, 1);
      await answerTask(subject.services, {
        taskId,
        caller: callerNamed("carol"),
        replies: { other: { action: "accept", content: { n: 1 } } },
      });
      subject.skip(MINUTE);
      expect(await subject.run(taskId, 2)).toStrictEqual(isGone ? { type: "parked" } : { type: "finished", status: "completed" });
      if (!isGone) expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: '["bob"]' }] } } });
      expect(answered).toBe(isGone ? 1 : 2);
    }
  });

  const approve = async ({ ask }: Effects) => {
    const { action, accepted } = await ask("approve", size, { timeoutMs: MINUTE, audience: { to: "tenant", quorum: 2 } });
    return text(JSON.stringify([action, accepted?.map(({ by }) => by)]));
  };
  const accepts = (subject: ReturnType<typeof deployment>, taskId: string, name: string) =>
    answerTask(subject.services, { taskId, caller: callerNamed(name), replies: { approve: { action: "accept", content: { n: 1 } } } });

  test("ends with those who had accepted, and with who was counted in the last moment", async () => {
    let isLast = false;
    const subject: ReturnType<typeof deployment> = deployment(approve, {
      store: (memory) => ({
        async answer(request) {
          if (request.token !== undefined && !isLast) {
            isLast = true;
            await accepts(subject, request.taskId, "carol");
          }
          return await memory.answer(request);
        },
      }),
    });
    subject.stopClock();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    subject.skip(MINUTE);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: `["timeout",["carol"]]` }] } } });
  });

  test("is answered by the one whom it still needed, if that one was a moment earlier", async () => {
    let isLast = false;
    const subject: ReturnType<typeof deployment> = deployment(approve, {
      store: (memory) => ({
        async answer(request) {
          if (request.token !== undefined && !isLast) {
            isLast = true;
            await accepts(subject, request.taskId, "bob");
            await accepts(subject, request.taskId, "carol");
            return { receipt: "overtaken" };
          }
          return await memory.answer(request);
        },
      }),
    });
    subject.stopClock();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    subject.skip(MINUTE);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "parked" });
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "finished", status: "completed" });
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: `["accept",["bob","carol"]]` }] } } });
  });
});
