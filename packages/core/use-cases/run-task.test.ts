/** What a run does with its task: holds it, gives it back, takes it over, lets it begin anew. */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../caller.fixture.ts";
import type { Catalogue, Tool } from "../catalogue.ts";
import type { Effects } from "../effects.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { Clock, RunRef, TaskStore } from "../ports.ts";
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
}

function deployment(run: (effects: Effects, args: JsonObject) => Promise<JsonObject>, given: Given = {}) {
  let skippedMs = 0;
  let stoppedAtMs: number | undefined;
  let ids = 0;
  const clock: Clock = { ...systemClock, now: () => (stoppedAtMs ?? Date.now()) + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const memory = createMemoryStore({ clock, wakeUps });
  const runs = new Map<string, RunRef>();
  const logged: { message: string; fields: object }[] = [];
  const write = (fields: object, message: string) => void logged.push({ message, fields });
  const services: Services = {
    store: { ...memory, ...given.store?.(memory) },
    queue: { add: async (ref) => void runs.set(`${ref.taskId}.${ref.run}`, ref) },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => `0-${(ids += 1)}`, token: () => `token-${(ids += 1)}`, uuid: () => crypto.randomUUID(), random: () => 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: write, info: write, warn: write, error: write },
    settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 20, ...given.settings },
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
  const catalogue: Catalogue = { tools, prompts: new Map(), resources: new Map(), templates: [] };
  return {
    services,
    runs,
    tools,
    tool,
    logged,
    skip: (ms: number) => (skippedMs += ms),
    /** From now on time passes only by `skip`. */
    stopClock: () => (stoppedAtMs = Date.now()),
    create: async (args: JsonObject = {}, retentionMs?: number) =>
      (
        await createTask(services, tool, {
          caller: callerNamed("alice"),
          arguments: args,
          capabilities: {},
          hidden: false,
          ...(retentionMs !== undefined && { retentionMs }),
        })
      ).id,
    run: (taskId: string, number: number) => runTask(services, catalogue, { taskId, run: number }),
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
      [5, { status: "failed", outcome: { error: { data: { code: "POISONED" } } } }],
    ] as const) {
      let ran = 0;
      const subject = deployment(async () => text((ran += 1)), { settings: { takeoversMax: 4 } });
      const taskId = await subject.create();
      for (let death = 0; death < deaths; death += 1) expect(await die(subject, taskId)).toMatchObject({ type: "begun", takeovers: death });
      await subject.sweep();
      expect(await subject.work()).toEqual(["finished"]);
      expect(await subject.task(taskId)).toMatchObject(end);
      expect(ran).toBe(deaths === 4 ? 1 : 0);
    }
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
    expect(subject.logged).toContainEqual({ message: "no key for what the task was told, run put off", fields: { taskId, run: 2 } });

    isMissing = false;
    subject.skip(10_000);
    expect(await subject.sweep()).toBe(1);
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed" });
  });

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

  test("fails when it has waited as long as it may", async () => {
    const subject = deployment(async () => text("never"), { settings: { missingToolTimeoutMs: DAY } });
    subject.tools.clear();
    const taskId = await subject.create();
    await subject.work();
    subject.skip(DAY - MINUTE);
    await subject.sweep();
    expect(await subject.work()).toEqual(["unserved"]);
    subject.skip(HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "failed", outcome: { error: { data: { code: "TOOL_NOT_FOUND" } } } });
  });
});

describe("a task of newer code than its worker's", () => {
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
    expect(await subject.task(taskId)).toMatchObject({ status: "failed", outcome: { error: { data: { code: "INVALID_ARGUMENTS" } } } });
  });
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
});
