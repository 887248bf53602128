/** Limits of tools, as runs meet them: the deployment is in memory, its keeper of slots as well. */
import { createScope, createValidator, sha256Digest } from "@parley/node";
import { expect, test } from "vitest";
import { callerNamed } from "../caller.fixture.ts";
import type { Catalogue } from "../catalogue.ts";
import type { Effects } from "../effects.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemorySlots, createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { RunRef, RunReport } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Limit, Slots } from "../slots.ts";
import type { JsonObject } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { answerTask } from "./answer-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { createTask } from "./create-task.ts";
import { getTask } from "./get-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";
import { sweep } from "./sweep.ts";

const form = { type: "form", message: "Go?", schema: { type: "object", properties: {} } } as const;
const caller = callerNamed("alice");

/** Work that is at a step until the test lets it continue. */
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
  /** Runs take some turns of the event loop. */
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
  const services: Services = {
    store: createMemoryStore({ clock: hand.clock, wakeUps }),
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
    log: { debug: silent, info: silent, warn: silent, error: silent },
    settings: { ...DEFAULT_SETTINGS, inlineSleepMaxMs: 0 },
    slots,
  };
  return {
    hand,
    services,
    reports,
    added,
    async call(args: JsonObject = {}) {
      const { id } = await createTask(services, tool, { caller, arguments: args, capabilities: {}, hidden: false });
      await hand.pass(1);
      return id;
    },
    get: (taskId: string) => getTask(services, { taskId, caller }),
    /** Time goes by, and what is overdue is found. */
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
  expect(await get(second)).toMatchObject({ status: "working", message: "Waiting for its turn: 1 of limited run at once." });
  open();
  await hand.pass(1);
  expect((await get(first)).status).toBe("completed");
  expect(atWork()).toBe(1);
  expect((await get(second)).message).toBe("Running.");
  open();
  await hand.pass(1);
  expect((await get(second)).status).toBe("completed");
});

test("a task that asks a person holds no slot meanwhile, and comes before new ones when it is answered", async () => {
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

test("one that is cancelled in line is passed over", async () => {
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
  expect(await get(second)).toMatchObject({ status: "working", message: "Waiting for its turn: 1 of limited begin within 60 s." });
  await answerTask(services, { taskId: first, caller, replies: { go: { action: "decline" } } });
  await hand.pass(1);
  expect((await get(first)).status).toBe("completed");
  await later(58_000);
  expect((await get(second)).status).toBe("working");
  await later(2_000);
  expect((await get(second)).status).toBe("input_required");
});

test("each key has its own limit, and a key that is none ends the task", async () => {
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

test("a tool without a limit asks nobody for a slot", async () => {
  const untouched = { take: () => Promise.reject(new Error("asked")) } as unknown as Slots;
  const { services } = deployment({}, async () => ({}), untouched);
  const free = toolNamed("free", async () => ({}));
  const catalogue: Catalogue = { tools: new Map([["free", free]]), prompts: new Map(), resources: new Map(), templates: [] };
  const idle = { ...services, queue: { add: async () => undefined } };
  const { id: taskId } = await createTask(idle, free, { caller, arguments: {}, capabilities: {}, hidden: false });
  expect(await runTask(idle, catalogue, { taskId, run: 1 })).toMatchObject({ type: "finished", status: "completed" });
});
