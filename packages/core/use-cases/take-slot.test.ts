/** Limits of tools, as runs meet them, in an in-memory deployment with in-memory slots. */
import { createScope, createValidator, sha256Digest } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Catalogue } from "../catalogue.ts";
import type { Effects } from "../effects.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemorySlots, createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { ParkRequest, RunRef, RunReport } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Limit, Slots, SlotTaken, TakeSlot } from "../ports/slots.ts";
import type { JsonObject } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { answerTask } from "./answer-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { createTask } from "./create-task.ts";
import { getTask } from "./get-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";
import { sweep } from "./sweep.ts";
import { type SlotWanted, withSlot } from "./take-slot.ts";

const form = { type: "form", message: "Go?", schema: { type: "object", properties: {} } } as const;
const caller = callerNamed("alice");

/** Work that stays in a step until the test lets it continue. */
function gate() {
  const waiting: (() => void)[] = [];
  return {
    atWork: () => waiting.length,
    open: () => waiting.shift()?.(),
    pass: () => new Promise<null>((resolve) => waiting.push(() => resolve(null))),
  };
}

function deployment(
  limit: Partial<Limit>,
  run: (effects: Effects, args: JsonObject) => Promise<JsonObject>,
  slots: Slots = createMemorySlots(),
) {
  const turned = createHandClock();
  /** Runs take several turns of the event loop. */
  async function pass(ms: number) {
    for (let turn = 0; turn < 20; turn += 1) await turned.pass(0);
    await turned.pass(ms);
    for (let turn = 0; turn < 20; turn += 1) await turned.pass(0);
  }
  const hand = { clock: turned.clock, pass };
  const tool = toolNamed("limited", run, { limit: { keyOf: () => "", ...limit } });
  const catalogue: Catalogue = { tools: new Map([["limited", tool]]), prompts: new Map(), resources: new Map(), templates: [] };
  const wakeUps = createMemoryWakeUps();
  const reports: RunReport["type"][] = [];
  const added: (RunRef & { cause?: string })[] = [];
  let drawn = 0;
  const silent = () => undefined;
  const debugged: { readonly message: string; readonly fields: object }[] = [];
  const memory = createMemoryStore({ clock: hand.clock, wakeUps });
  const parked: ParkRequest[] = [];
  const services: Services = {
    store: { ...memory, park: (request) => (parked.push(request), memory.park(request)) },
    queue: {
      add: async (ref) => {
        added.push(ref);
        void runTask(services, catalogue, ref).then(({ type }) => reports.push(type));
      },
    },
    wakeUps,
    clock: hand.clock,
    scope: createScope(),
    ids: { taskId: () => `0-task-${(drawn += 1)}`, token: () => `token-${(drawn += 1)}`, uuid: () => "uuid", random: () => 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: (fields, message) => void debugged.push({ fields, message }), info: silent, warn: silent, error: silent },
    settings: { ...DEFAULT_SETTINGS, inlineSleepMaxMs: 0 },
    slots,
  };
  return {
    hand,
    services,
    reports,
    added,
    parked,
    debugged,
    run: (taskId: string, run: number) => runTask(services, catalogue, { taskId, run }),
    async call(args: JsonObject = {}) {
      const { id } = await createTask(services, tool, { caller, arguments: args, capabilities: {}, hidden: false });
      await hand.pass(1);
      return id;
    },
    get: (taskId: string) => getTask(services, { taskId, caller }),
    /** Lets time pass and sweeps. */
    async later(ms: number) {
      await hand.pass(ms);
      await sweep(services, { partition: 0 });
      await hand.pass(1);
    },
  };
}

test("a run beyond the limit parks, says so, and begins as soon as a slot is given back", async () => {
  const { pass, open, atWork } = gate();
  const { call, get, hand, reports } = deployment({ concurrency: 1 }, async ({ step }) => {
    await step("work", pass);
    return {};
  });
  const [first, second] = [await call(), await call()];
  expect(atWork()).toBe(1);
  expect(reports).toEqual(["limited"]);
  expect(await get(second)).toMatchObject({ status: "working", message: "Waiting for its turn: 1 of limited may run at once." });
  open();
  await hand.pass(1);
  expect((await get(first)).status).toBe("completed");
  expect(atWork()).toBe(1);
  expect((await get(second)).message).toBe("Running.");
  open();
  await hand.pass(1);
  expect((await get(second)).status).toBe("completed");
});

test("a task that asks a person holds no slot in the meantime, and precedes new ones when it is answered", async () => {
  const { pass, open, atWork } = gate();
  const { call, get, hand, services } = deployment({ concurrency: 1 }, async ({ ask, step }, { asks }) => {
    if (asks === true) await ask("go", form);
    await step("work", pass);
    return {};
  });
  const asking = await call({ asks: true });
  const [second, third] = [await call(), await call()];
  expect((await get(asking)).status).toBe("input_required");
  expect(atWork()).toBe(1);
  await answerTask(services, { taskId: asking, caller, replies: { go: { action: "decline" } } });
  await hand.pass(1);
  expect((await get(asking)).message).toContain("Waiting for its turn");
  open();
  await hand.pass(1);
  expect((await get(second)).status).toBe("completed");
  expect((await get(asking)).message).toBe("Running.");
  expect((await get(third)).message).toContain("Waiting for its turn");
  open();
  await hand.pass(1);
  open();
  await hand.pass(1);
  expect((await get(third)).status).toBe("completed");
});

test("a slot is kept while its run works for longer than its lease, and is given back by one that fails", async () => {
  const { pass, open, atWork } = gate();
  const { call, get, hand, later } = deployment({ concurrency: 1 }, async ({ step }) => {
    await step("work", pass);
    throw new Error("a bug");
  });
  const first = await call();
  const second = await call();
  await later(DEFAULT_SETTINGS.leaseMs * 3);
  expect(atWork()).toBe(1);
  open();
  await hand.pass(1);
  expect((await get(first)).outcome).toMatchObject({ type: "result", result: { isError: true } });
  expect(atWork()).toBe(1);
  open();
  await hand.pass(1);
  expect((await get(second)).outcome).toBeDefined();
});

test("a run that lost its task does not give back the slot of the run that took it over", async () => {
  const { pass, open, atWork } = gate();
  const { call, hand, later, services } = deployment({ concurrency: 1 }, async ({ step }) => {
    await step("work", pass);
    return {};
  });
  await call();
  await call();
  const { renew } = services.store;
  Object.assign(services.store, { renew: () => Promise.reject(new Error("away")) });
  await later(DEFAULT_SETTINGS.leaseMs);
  Object.assign(services.store, { renew });
  // The step of the run that lost the task, and that of the run that has it.
  expect(atWork()).toBe(2);
  open();
  await hand.pass(1);
  expect(atWork()).toBe(1);
  open();
  await hand.pass(1);
  // Now it is the other task's turn.
  expect(atWork()).toBe(1);
  open();
  await hand.pass(1);
});

test("a waiting task that is cancelled is skipped", async () => {
  const { pass, open, atWork } = gate();
  const { call, get, hand, later, services } = deployment({ concurrency: 1 }, async ({ step }) => {
    await step("work", pass);
    return {};
  });
  await call();
  const [second, third] = [await call(), await call()];
  await cancelTask(services, { taskId: second, caller });
  open();
  await hand.pass(1);
  expect(atWork()).toBe(0);
  await later(DEFAULT_SETTINGS.leaseMs * 3);
  expect(atWork()).toBe(1);
  open();
  await hand.pass(1);
  expect((await get(third)).status).toBe("completed");
});

test("a rate counts tasks and not runs, and the next begins when it is its turn", async () => {
  const { call, get, later, services, hand } = deployment({ rate: { count: 1, windowMs: 60_000 } }, async ({ ask }) => {
    await ask("go", form);
    return {};
  });
  const [first, second] = [await call(), await call()];
  expect(await get(second)).toMatchObject({ status: "working", message: "Waiting for its turn: 1 of limited may begin within 60 s." });
  await answerTask(services, { taskId: first, caller, replies: { go: { action: "decline" } } });
  await hand.pass(1);
  expect((await get(first)).status).toBe("completed");
  await later(58_000);
  expect((await get(second)).status).toBe("working");
  await later(2_000);
  expect((await get(second)).status).toBe("input_required");
});

test("each key has its own limit, and an invalid key ends the task", async () => {
  const { pass, atWork } = gate();
  const { call, get, hand } = deployment({ concurrency: 1, keyOf: ({ key }) => key as string }, async ({ step }) => {
    await step("work", pass);
    return {};
  });
  await call({ key: "a" });
  await call({ key: "b" });
  const again = await call({ key: "a" });
  expect(atWork()).toBe(2);
  expect((await get(again)).message).toContain("Waiting");
  await call({ key: "x".repeat(256) });
  expect(atWork()).toBe(3);
  for (const key of ["x".repeat(257), 7, null]) {
    const { outcome } = await get(await call({ key }));
    expect(outcome).toMatchObject({ type: "error", error: { data: { code: "INVALID_LIMIT" } } });
  }
  await hand.pass(1);
});

test("a slot that cannot be given back does not harm the task", async () => {
  const memory = createMemorySlots();
  const broken: Slots = { ...memory, give: () => Promise.reject(new Error("Redis is away")) };
  const { call, get, later } = deployment({ concurrency: 1 }, async () => ({}), broken);
  const [first, second] = [await call(), await call()];
  expect((await get(first)).status).toBe("completed");
  expect((await get(second)).status).toBe("working");
  await later(DEFAULT_SETTINGS.leaseMs + 1_000);
  expect((await get(second)).status).toBe("completed");
});

test("a tool without a limit takes no slot", async () => {
  const untouched = { take: () => Promise.reject(new Error("asked")) } as unknown as Slots;
  const { services } = deployment({}, async () => ({}), untouched);
  const free = toolNamed("free", async () => ({}));
  const catalogue: Catalogue = { tools: new Map([["free", free]]), prompts: new Map(), resources: new Map(), templates: [] };
  const idle = { ...services, queue: { add: async () => undefined } };
  const { id: taskId } = await createTask(idle, free, { caller, arguments: {}, capabilities: {}, hidden: false });
  expect(await runTask(idle, catalogue, { taskId, run: 1 })).toMatchObject({ type: "finished", status: "completed" });
});

describe("the keeper of slots", () => {
  /** Notes its requests, and returns what it is told to. */
  function keeper(taken: () => SlotTaken = () => ({ type: "taken" }), given: readonly RunRef[] = []) {
    const asked: (readonly [what: string, request: Partial<TakeSlot>])[] = [];
    const slots: Slots = {
      take: async (request) => (asked.push(["take", request]), taken()),
      keep: async (request) => void asked.push(["keep", request]),
      give: async (request) => (asked.push(["give", request]), given),
    };
    return { asked, slots };
  }

  test("receives the slot's limit and run, and whether the task has begun before", async () => {
    const rate = { count: 1, windowMs: 1_000 };
    const { asked, slots } = keeper();
    const { call, services, hand } = deployment(
      { concurrency: 2, rate, keyOf: ({ key }) => key as string },
      async ({ ask, restart }, { key, round }) => {
        if (round === undefined) await ask("go", form);
        return round === undefined ? await restart({ key: key ?? "", round: 1 }) : {};
      },
      slots,
    );
    const startedAtMs = hand.clock.now();
    const taskId = await call({ key: "a" });
    await hand.pass(500);
    await answerTask(services, { taskId, caller, replies: { go: { action: "decline" } } });
    await hand.pass(1);
    const limit = { id: '["limited","a"]', concurrency: 2, rate };
    const { leaseMs } = DEFAULT_SETTINGS;
    const of = { limit, taskId, createdAtMs: startedAtMs, leaseMs };
    const later = startedAtMs + 501;
    expect(asked).toStrictEqual([
      ["take", { ...of, token: "token-3", nextRun: 2, isNew: true, nowMs: startedAtMs }],
      ["give", { limit, taskId, token: "token-3", nowMs: startedAtMs }],
      ["take", { ...of, token: "token-4", nextRun: 3, isNew: false, nowMs: later }],
      ["give", { limit, taskId, token: "token-4", nowMs: later }],
      ["take", { ...of, token: "token-5", nextRun: 4, isNew: false, nowMs: later }],
      ["give", { limit, taskId, token: "token-5", nowMs: later }],
    ]);
  });

  test.each<[string, object, boolean]>([
    ["has done nothing", {}, true],
    ["was taken over from another worker", { takeovers: 1 }, false],
    ["has recorded something", { journal: new Map([["step:a", {}]]) }, false],
    ["has an open question", { task: { asks: [{ key: "go", calledAt: "" }] } }, false],
    ["has restarted", { task: { generation: 1 } }, false],
  ])("learns whether the task is new: one that %s", async (_, change: { task?: object }, isNew) => {
    const { asked, slots } = keeper();
    const { services } = deployment({ concurrency: 1, keyOf: () => "" }, async () => ({}), slots);
    const task = { id: "0-task", run: 1, generation: 0, call: { createdAtMs: 1, arguments: {} }, asks: [], ...change.task };
    const begun = { type: "begun", journal: new Map(), takeovers: 0, attempt: 0, ...change, task };
    const runnable = { name: "limited", limit: { concurrency: 1, keyOf: () => "" } };
    const wanted = { runnable, begun, asks: [], lease: {}, fail: async () => ({ type: "fenced" }) } as unknown as SlotWanted;
    await withSlot(services, wanted, async () => ({ type: "fenced" }));
    expect(asked[0]).toMatchObject(["take", { taskId: "0-task", isNew }]);
  });

  test("is asked to keep the slot as often as the lease is renewed, even if that fails, and not after its end", async () => {
    const { pass, open } = gate();
    const { asked, slots } = keeper();
    const { call, hand } = deployment(
      { concurrency: 1 },
      async ({ step }) => {
        await step("work", pass);
        return {};
      },
      { ...slots, keep: async (request) => (await slots.keep(request), Promise.reject(new Error("away"))) },
    );
    const startedAtMs = hand.clock.now();
    const taskId = await call();
    const { renewEveryMs, leaseMs } = DEFAULT_SETTINGS;
    await hand.pass(2 * renewEveryMs);
    const limit = { id: '["limited",""]', concurrency: 1 };
    expect(asked.slice(1)).toStrictEqual(
      [1, 2].map((times) => ["keep", { limit, taskId, token: "token-3", nowMs: startedAtMs + times * renewEveryMs, leaseMs }]),
    );
    open();
    await hand.pass(10 * renewEveryMs);
    expect(asked.slice(3).map(([what]) => what)).toStrictEqual(["give"]);
  });

  test("returns the runs whose turn it is when a slot is given back: they are added", async () => {
    const { slots } = keeper(undefined, [{ taskId: "0-next", run: 7 }]);
    const { call, added } = deployment({ concurrency: 1 }, async () => ({}), slots);
    await call();
    expect(added.slice(1)).toStrictEqual([{ taskId: "0-next", run: 7, cause: "overdue" }]);
  });

  test("that is unreachable when the slot is given back is logged", async () => {
    const { slots } = keeper();
    const { call, debugged } = deployment({ concurrency: 1 }, async () => ({}), {
      ...slots,
      give: () => Promise.reject(new Error("Redis is away")),
    });
    const taskId = await call();
    expect(debugged).toMatchObject([{ fields: { taskId, detail: "Redis is away" }, message: "slot not given back, its lease runs out" }]);
  });

  test("says how long a run has to wait: to the millisecond, up to the deadline of its question", async () => {
    let isFree = true;
    const taken = (): SlotTaken => (isFree ? { type: "taken" } : { type: "wait", by: "concurrency", retryMs: 60_000.5 });
    const { slots } = keeper(taken);
    const { call, hand, run, parked, debugged, get } = deployment(
      { concurrency: 1 },
      async ({ ask }) => {
        await ask("go", form, { timeoutMs: 90_000 });
        return {};
      },
      slots,
    );
    const askedAtMs = hand.clock.now();
    const taskId = await call();
    isFree = false;
    const waits: unknown[] = [];
    for (const [index, ms] of [0, 20_000, 20_000].entries()) {
      await hand.pass(ms);
      expect(await run(taskId, index + 2)).toStrictEqual({ type: "limited" });
      const { entries, asks, attempt, dueAtMs, message } = parked.at(-1) as ParkRequest;
      waits.push([entries, asks, attempt, dueAtMs - hand.clock.now(), message]);
    }
    const message = "Waiting for its turn: 1 of limited may run at once.";
    expect(waits).toStrictEqual([
      [[], [], 0, 60_001, message],
      [[], [], 0, 60_001, undefined],
      [[], [], 0, askedAtMs + 90_000 - hand.clock.now(), undefined],
    ]);
    expect(debugged.find(({ message: line }) => line.startsWith("no slot"))).toStrictEqual({
      message: "no slot is free, task waits for its turn",
      fields: { taskId, run: 2, tool: "limited", retryMs: 60_000.5 },
    });
    expect((await get(taskId)).message).toBe(message);
  });

  test("makes a task wait that another worker has by then: the run is fenced", async () => {
    const { slots } = keeper(() => ({ type: "wait", by: "rate", retryMs: 1 }));
    const { call, services, reports } = deployment({ rate: { count: 3, windowMs: 1_500 } }, async () => ({}), slots);
    Object.assign(services.store, { park: async () => ({ type: "refused" }) });
    await call();
    expect(reports).toStrictEqual(["fenced"]);
  });
});

test("a worker without slots runs a tool with a limit", async () => {
  const { services, call, get } = deployment({ concurrency: 0 }, async () => ({}));
  delete (services as { slots?: Slots }).slots;
  expect((await get(await call())).status).toBe("completed");
});

test.each([
  ["x".repeat(257), "a string of 257 characters"],
  [7, "number"],
  [null, "object"],
])("a key of %j ends the task, and says what it is", async (key, what) => {
  const { call, get } = deployment({ concurrency: 1, keyOf: ({ key: given }) => given as string }, async () => ({}));
  expect((await get(await call({ key }))).outcome).toMatchObject({
    type: "error",
    error: {
      message: `limit.per of tool limited returned ${what}; it must return a string of at most 256 characters`,
      data: { code: "INVALID_LIMIT" },
    },
  });
});

test("the status message of a task that did not wait is unchanged", async () => {
  const { call, get, services, hand } = deployment({ concurrency: 1 }, async ({ ask, status }) => {
    status("At the door.");
    await ask("go", form);
    await ask("on", form);
    return {};
  });
  const taskId = await call();
  await answerTask(services, { taskId, caller, replies: { go: { action: "decline" } } });
  await hand.pass(1);
  expect(await get(taskId)).toMatchObject({ status: "input_required", message: "At the door." });
});
