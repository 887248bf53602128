/** What a run does with its task: holds it, gives it back, takes it over, restarts it. */
import { createScope, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { importAnew } from "../../../test/support/import-anew.ts";
import type { Tool } from "../catalogue.ts";
import type { Effects, StepAttempt } from "../effects.ts";
import { ParleyError, RpcFailure, ToolError } from "../errors.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import type { RunReport, TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import type { JsonObject } from "../task.ts";
import type * as Fixture from "./run-task.fixture.ts";
import { deployment, size, text } from "./run-task.fixture.ts";
import { createSuspects } from "./suspects.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("the lease of a run", () => {
  test("protects a live holder: another run is refused until the lease has expired", async () => {
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

  test("that cannot be renewed stops its holder, which begins no further side effect", async () => {
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

  test("that expired unnoticed is renewed before the next side effect, or the effect is not started", async () => {
    for (const isStillMine of [true, false]) {
      let effects = 0;
      const subject: ReturnType<typeof deployment> = deployment(
        async ({ step }) => {
          subject.skip(2 * DEFAULT_SETTINGS.leaseMs); // the process was frozen
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

describe("a run leaves behind", () => {
  test.each(["begun", "unreadable"] as const)("nothing that waits on the worker: renewals end with it (%s)", async (type) => {
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

  test("a deferred run if another suspect is active: it does not begin", async () => {
    const suspect = (memory: TaskStore): Partial<TaskStore> => ({
      async load(taskId) {
        const task = await memory.load(taskId);
        return task && { ...task, run: 1, takeovers: 1 };
      },
    });
    const subject = deployment(async () => text("never"), {
      services: { suspects: { ...createSuspects(systemClock), takeOver: async () => "deferred" } },
      store: suspect,
    });
    const taskId = await subject.create();
    subject.logged.length = 0;
    expect(await subject.run(taskId, 1, true)).toStrictEqual({ type: "refused", reason: "deferred" });
    expect(subject.logged).toStrictEqual([
      { level: "debug", message: "run deferred, another suspect is at work", fields: { taskId, run: 1 } },
    ]);
    // A run that no worker can have begun before is not a suspect.
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "finished", status: "completed" });
    // Without `suspects` they run concurrently.
    const apart = deployment(async () => text("done"), { store: suspect });
    expect(await apart.run(await apart.create(), 1, true)).toStrictEqual({ type: "finished", status: "completed" });
  });
});

describe("a poisonous task (I12)", () => {
  /** The worker dies during the run, as far as the store can tell. */
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
              message:
                "5 workers in a row lost this task: each died, or its event loop was blocked for longer than its lease (PARLEY_TAKEOVERS_MAX)",
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

  test("that blocks the event loop until its lease has expired is told apart from one whose worker died", async () => {
    const suspects = createSuspects(systemClock);
    const blocking = async () => {
      for (const untilMs = Date.now() + 700; Date.now() < untilMs;);
      return await new Promise<never>(() => undefined);
    };
    const subject = deployment(blocking, {
      settings: { takeoversMax: 0, leaseMs: 60, renewEveryMs: 20 },
      services: { suspects },
      // The reply of a real store comes after the timers that are overdue.
      store: () => ({ renew: () => new Promise(() => undefined) }),
    });
    const taskId = await subject.create();
    expect(await subject.run(taskId, 1)).toEqual({ type: "fenced" });
    expect(await subject.run(taskId, 1, true)).toMatchObject({ type: "finished", code: "POISONED" });
    expect(await subject.task(taskId)).toMatchObject({
      outcome: {
        error: {
          message:
            "code blocked the event loop of a worker for longer than its lease (PARLEY_LEASE); a worker lost this task (PARLEY_TAKEOVERS_MAX)",
        },
      },
    });
  });

  test.each<[string, (memory: TaskStore, away: () => void) => Partial<TaskStore>, Partial<Settings>]>([
    [
      "as it begins",
      (memory, away) => ({ begin: async (request) => (await memory.begin(request), away(), await memory.begin(request)) }),
      {},
    ],
    ["before its handler starts", (memory, away) => ({ answer: async (request) => (away(), await memory.answer(request)) }), {}],
    ["as it is failed", (memory, away) => ({ finish: async (request) => (away(), await memory.finish(request)) }), { takeoversMax: -1 }],
  ])("is not one whose store was unreachable %s, however often", async (_, replace, settings) => {
    let isAway = false;
    let ran = 0;
    const away = () => {
      if (isAway) throw new ParleyError("UNAVAILABLE", "0 of 1 replicas have it");
    };
    const subject = deployment(
      async ({ ask }) => {
        ran += 1;
        return text((await ask("size", size, { timeoutMs: MINUTE })).action);
      },
      { store: (memory) => replace(memory, away), settings },
    );
    const taskId = await subject.create();
    if (settings.takeoversMax === undefined) await subject.work();
    const ranBefore = ran;
    isAway = true;
    subject.skip(MINUTE);
    for (let time = 0; time < 6; time += 1) {
      await subject.sweep();
      await expect(subject.work()).rejects.toMatchObject({ code: "UNAVAILABLE" });
      subject.skip(subject.services.settings.leaseMs);
    }
    expect(ran).toBe(ranBefore);
    expect((await subject.task(taskId)).takeovers).toBeUndefined();
    isAway = false;
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(subject.saying("task taken over from a worker that fell silent")).toStrictEqual([]);
  });

  test("is only one that was taken over: a first run reports no takeover", async () => {
    const subject = deployment(async () => text("done"));
    await subject.create();
    await subject.work();
    expect(subject.logged.filter(({ level }) => level === "warn")).toStrictEqual([]);
  });
});

describe("attempts", () => {
  test("a failed run that is to be retried does not postpone the deadline of an open question", async () => {
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

  /** A handler that reads its configuration, outside ctx, in each run; `readings` says which of them fail. */
  function configured(readings: readonly (Error | undefined)[]) {
    const done: string[] = [];
    const left = [...readings];
    const subject = deployment(
      async ({ ask, step }) => {
        const error = left.shift();
        if (error) throw error;
        await step("book", () => done.push("book"));
        return text((await ask("size", size)).action);
      },
      { tool: { attempts: 3, backoffMs: 1 }, settings: { divergenceWaitMs: 1 } },
    );
    return { subject, done };
  }

  test("count for an error that comes before what an earlier run recorded", async () => {
    const { subject, done } = configured([undefined, new Error("no connection"), new Error("no connection")]);
    const taskId = await subject.create();
    await subject.work();
    await subject.answer(taskId, "size");
    expect(await subject.work()).toEqual(["retrying"]);
    expect(await subject.run(taskId, 3)).toEqual({ type: "retrying" });
    expect(await subject.run(taskId, 4)).toEqual({ type: "finished", status: "completed" });
    expect(done).toEqual(["book"]);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "decline" }] } } });
  });

  test("are as many as they may be, although a run in between took what is slow for a lock and was thrown away", async () => {
    let runs = 0;
    const subject = deployment(
      async ({ branch, step }) => {
        const run = (runs += 1);
        const save = (item: string, takesMs: number) =>
          branch(item, async () => {
            await systemClock.sleep(1);
            await new Promise<void>((proceed) => void setTimeout(proceed, takesMs));
            await step("save", () => item);
          });
        await Promise.all([save("a", run === 2 ? 5_000 : 1), save("b", 20)]);
        throw new Error("network");
      },
      { tool: { attempts: 2, backoffMs: 1 } },
    );
    const taskId = await subject.create();
    const one = await subject.run(taskId, 1);
    const two = await subject.run(taskId, 2);
    const three = await subject.run(taskId, 3);
    expect([one, two, three].map(({ type }) => type)).toEqual(["retrying", "parked", "finished"]);
  });

  test("do not help code that has changed: such an error led to the divergence, and the log has it", async () => {
    const gone = new ToolError("this tool is gone");
    const { subject } = configured([undefined, gone]);
    const taskId = await subject.create();
    await subject.work();
    await subject.answer(taskId, "size");
    expect(await subject.run(taskId, 2)).toEqual({ type: "finished", status: "failed", code: "REPLAY_DIVERGED" });
    expect(subject.saying("replay diverged")).toMatchObject([{ fields: { cause: { error: "ToolError" } } }]);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { error: { data: { defectId: "uuid" } } } });
  });
});

describe("a restart", () => {
  test("starts the same task again with its arguments, for as many rounds as it likes", async () => {
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

  test("with invalid arguments ends the task", async () => {
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
          message: "the arguments of the restart are invalid for tool subject: /wrong is not a known field",
          data: { code: "INVALID_ARGUMENTS", violations: [{ path: "/wrong", message: "is not a known field" }] },
        },
      },
    });
  });

  test("is due at once, keeps nothing of the previous round, and says so", async () => {
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
    expect(subject.saying("task restarted")).toStrictEqual([
      { level: "info", message: "task restarted", fields: { taskId, run: 1, asks: 0 } },
    ]);
    expect(subject.runs.get(`${taskId}.2`)).toStrictEqual({ taskId, run: 2, cause: "overtaken", share: "principal:alice" });
  });
});

test.each<[boolean, object]>([
  [true, { arguments: { by: "2" }, version: "2" }],
  [false, { arguments: { round: 1 } }],
])("a restarted task moves to the newest version if that accepts its arguments (%j)", async (takes, restart) => {
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

/** Throws at any access. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

test("a task whose handler throws a revoked proxy ends and is compensated", async () => {
  const subject = deployment(() => Promise.reject(revoked() as Error));
  subject.tools.set("subject", { ...subject.tool, compensate: async () => undefined });
  const taskId = await subject.create({}, undefined, subject.tools.get("subject"));
  expect(await subject.run(taskId, 1)).toStrictEqual({ type: "finished", status: "completed" });
  expect(await subject.run(taskId, 2)).toStrictEqual({ type: "compensated" });
});

test.each<[string, unknown, RunReport["type"]]>([
  ["an error of the code", new Error("network"), "retrying"],
  ["something that is not an error", "network", "retrying"],
  ["a proxy of nothing", revoked(), "retrying"],
  ["a ToolError that says so", new ToolError("busy", { retryable: true }), "retrying"],
  ["a ToolError", new ToolError("closed on Mondays"), "finished"],
  ["an RpcFailure", new RpcFailure(-32_099, "no"), "finished"],
  ["what the catalogue names", new ParleyError("INVALID_OUTPUT", "no"), "finished"],
])("%s is retried only if that may help", async (_, error, report) => {
  const subject = deployment(() => Promise.reject(error as Error), { tool: { attempts: 2 } });
  await subject.create();
  expect(await subject.work()).toStrictEqual([report]);
});

test.each([
  ["event", "EVENTS_UNAVAILABLE", "this worker issues no event tokens"],
  ["deposit", "DEPOSIT_UNREADABLE", "this worker cannot read the deposits of pages"],
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
    // A failed step is recorded by its message alone, and the log has the code.
    expect(subject.saying("step failed")).toMatchObject([{ fields: { code, detail: message } }]);
    expect([status, outcome]).toMatchObject(["completed", { type: "result", result: { isError: true, content: [{ text: message }] } }]);
  }
});

test("a worker has exactly the services for its tools that it was given", async () => {
  const announced: unknown[] = [];
  const found: unknown[] = [];
  const opened: unknown[] = [];
  const handler = async ({ openFile, accessToken, deposit, announce, step }: Effects) => {
    announce({ type: "tools" });
    await step("read", async () => void found.push(await deposit("page")));
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

test.each<[string, Partial<Tool>, boolean]>([
  ["is followed", {}, true],
  ["is not followed if it makes its calls one after the other", { isSequential: true }, false],
])("what a handler awaits %s", async (_what, tool, isFollowed) => {
  // A run that an earlier file abandoned as if its process had died still follows promises. The engine is loaded anew, without it.
  const anew = await importAnew<typeof Fixture>(import.meta.resolve("./run-task.fixture.ts"));
  const scope = createScope();
  let followed = 0;
  let left = 0;
  const promises: typeof scope.promises = {
    createHook(callbacks) {
      followed += 1;
      const removed = scope.promises.createHook(callbacks);
      return () => {
        left += 1;
        removed();
      };
    },
  };
  const subject = anew.deployment(
    async ({ step }) => {
      for (let each = 0; each < 3; each += 1) await step("work", async () => each);
      return text("done");
    },
    { services: { scope: { ...scope, promises } } },
  );
  subject.tools.set("subject", { ...subject.tool, ...tool });
  const taskId = await subject.create();
  await subject.work();
  expect(await subject.task(taskId)).toMatchObject({ status: "completed" });
  expect([followed > 0, left]).toStrictEqual([isFollowed, followed]);
});

describe("a run that no longer has its task", () => {
  const refused = { park: async () => ({ type: "refused" }) as const };

  test.each<[string, (effects: Effects) => Promise<JsonObject>]>([
    ["parks", async ({ ask }) => text((await ask("size", size)).action)],
    ["is to be tried again", () => Promise.reject(new Error("network"))],
    ["restarts", ({ restart }) => restart({})],
  ])("is fenced if it %s, and adds no run", async (_, handler) => {
    const subject = deployment(handler, { tool: { attempts: 2 }, store: () => refused });
    await subject.create();
    expect(await subject.work()).toStrictEqual(["fenced"]);
    expect(subject.runs.size).toBe(0);
    expect(subject.saying("task parked")).toStrictEqual([]);
  });

  test("is fenced if its tool is missing", async () => {
    const subject = deployment(async () => text("never"), { store: () => refused });
    await subject.create();
    subject.tools.clear();
    expect(await subject.work()).toStrictEqual(["fenced"]);
  });

  test.each<[string, (effects: Effects) => Promise<unknown>]>([
    ["result", async () => undefined],
    ["error", () => Promise.reject(new Error("network"))],
  ])("returns its finished work with an %s that is refused, for the compensation", async (_, end) => {
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

test("a run that exceeds its time limit ends as timed out", async () => {
  const heeds = ({ signal }: StepAttempt) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  const subject = deployment(async ({ step }) => text(await step("work", heeds)), { tool: { runTimeoutMs: 20 } });
  const taskId = await subject.create();
  expect(await subject.work()).toStrictEqual(["finished"]);
  expect(await subject.task(taskId)).toMatchObject({
    status: "failed",
    outcome: { error: { message: "tool subject worked longer than 20 ms in one run", data: { code: "RUN_TIMEOUT" } } },
  });
});
