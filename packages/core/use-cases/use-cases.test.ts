import { createValidator, sha256Digest, systemClock, createScope } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Catalogue, Tool } from "../catalogue.ts";
import type { Effects } from "../effects.ts";
import { ParleyError, RpcFailure, ToolError } from "../errors.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { Clock, Observer, RunQueue, RunRef } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { AskRequest, JsonObject } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { answerTask } from "./answer-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { createTask } from "./create-task.ts";
import { declareUnavailable } from "./declare-unavailable.ts";
import { getSettledTask, getTask } from "./get-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";
import { sweep } from "./sweep.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const alice = callerNamed("alice");
const size: AskRequest = {
  type: "form",
  message: "How many?",
  schema: { type: "object", properties: { n: { type: "integer", maximum: 20 } }, required: ["n"] },
};

/** A queue that the test empties itself, run by run. */
function handQueue(): RunQueue & { take(): RunRef | undefined; onAdd: () => void; readonly length: number } {
  const waiting = new Map<string, RunRef>();
  return {
    onAdd: () => undefined,
    async add(ref) {
      waiting.set(`${ref.taskId}.${ref.run}`, ref);
      this.onAdd();
    },
    take() {
      const [first] = waiting;
      if (first) waiting.delete(first[0]);
      return first?.[1];
    },
    get length() {
      return waiting.size;
    },
  };
}

/** An in-memory deployment of one tool, with a clock that the test turns. */
function deployment(run: (effects: Effects) => Promise<JsonObject>, overrides: Partial<Tool["settings"]> = {}) {
  let skippedMs = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const queue = handQueue();
  const logged: string[] = [];
  const write = (fields: object, message: string) => void logged.push(JSON.stringify({ ...fields, message }));
  let ids = 0;
  const services: Services = {
    store: createMemoryStore({ clock, wakeUps }),
    queue,
    wakeUps,
    scope: createScope(),
    clock,
    ids: { taskId: () => `0-${(ids += 1)}`, token: () => `token-${(ids += 1)}`, uuid: () => crypto.randomUUID(), random: () => 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: write, info: write, warn: write, error: write },
    settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 20, renewEveryMs: 10, settleGraceMs: 500 },
  };
  const tool = toolNamed("subject", run, {
    settings: { backoffMs: HOUR, ...overrides },
    readArguments(args) {
      if ("wrong" in args) return { ok: false, violations: [{ path: "/wrong", message: "is not a known field" }] };
      const { dropped: _, ...kept } = args;
      return { ok: true, args: kept };
    },
  });
  const catalogue: Catalogue = { tools: new Map([[tool.name, tool]]), prompts: new Map(), resources: new Map(), templates: [] };
  return {
    services,
    queue,
    catalogue,
    logged,
    skip: (ms: number) => (skippedMs += ms),
    create: (args: JsonObject = {}) =>
      createTask(services, tool, { caller: alice, arguments: args, capabilities: {}, hidden: false }).then(({ id }) => id),
    /** Performs every waiting run. */
    async work() {
      const reports: string[] = [];
      for (let ref = queue.take(); ref; ref = queue.take()) reports.push((await runTask(services, catalogue, ref)).type);
      return reports;
    },
    task: (taskId: string) => getTask(services, { taskId, caller: alice }),
    answer: (taskId: string, replies: Record<string, unknown>, options: { countRefusals?: boolean } = {}) =>
      answerTask(services, { taskId, caller: alice, replies, ...options }).then(({ receipts }) => Object.fromEntries(receipts)),
  };
}

const dinner = async ({ ask }: Effects): Promise<JsonObject> => {
  const answer = await ask("size", size);
  return { content: [{ type: "text", text: JSON.stringify(answer) }] };
};

/** The whole call, as workers receive it; other reads of a task omit the arguments. */
async function storedCall({ store, clock }: Services, taskId: string) {
  const begun = await store.begin({ taskId, run: 1, token: "reader", nowMs: clock.now(), leaseMs: 1_000 });
  if (begun.type !== "begun") throw new Error(`not begun: ${begun.reason}`);
  return begun.task.call;
}

describe("a task's life", () => {
  test("it is created, asks, is answered, and completes", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    expect(await subject.task(taskId)).toMatchObject({ status: "working", run: 0 });
    expect(await subject.work()).toEqual(["parked"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size" }] });
    expect(await subject.answer(taskId, { size: { action: "accept", content: { n: 4 } } })).toEqual({ size: { type: "accepted" } });
    expect(await subject.task(taskId)).toMatchObject({ status: "working", asks: [] });
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({
      status: "completed",
      outcome: { type: "result", result: { content: [{ text: '{"action":"accept","content":{"n":4}}' }] } },
    });
  });

  test("keeps the arguments as they were sent, without what the tool drops", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create({ note: "kept", dropped: "x".repeat(DEFAULT_SETTINGS.storedValueMax) });
    expect((await storedCall(subject.services, taskId)).arguments).toEqual({ note: "kept" });
  });

  test("is refused before anything is written if its stored form is too large, at the limit and one beyond", async () => {
    const subject = deployment(dinner);
    const { create } = subject.services.store;
    let written = 0;
    Object.assign(subject.services.store, { create: (request: Parameters<typeof create>[0]) => ((written += 1), create(request)) });
    const filling = (length: number) => ({ note: "x".repeat(length - '{"note":""}'.length) });
    await subject.create(filling(DEFAULT_SETTINGS.storedValueMax));
    await expect(subject.create(filling(DEFAULT_SETTINGS.storedValueMax + 1))).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: "the arguments of tool subject have 262145 characters of JSON; the limit is 262144 (PARLEY_STORED_VALUE_MAX)",
    });
    expect([written, subject.queue.take(), subject.queue.take()]).toEqual([1, expect.anything(), undefined]);
  });

  test("bounds its early replies, if the tool takes them", async () => {
    const { services, catalogue } = deployment(dinner);
    const tool = catalogue.tools.get("subject");
    if (!tool) throw new Error("no tool");
    const create = (earlyReplies: boolean, length: number) => {
      const replies = { size: { action: "accept", content: { n: "x".repeat(length) } } };
      return createTask(services, { ...tool, earlyReplies }, { caller: alice, arguments: {}, capabilities: {}, hidden: false, replies });
    };
    const frame = JSON.stringify({ size: { action: "accept", content: { n: "" } } }).length;
    const { storedValueMax } = services.settings;
    expect((await storedCall(services, (await create(true, storedValueMax - frame)).id)).replies).toBeDefined();
    await expect(create(true, storedValueMax - frame + 1)).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: expect.stringMatching(/^the answers that came with the call of tool subject have 262145 characters/),
    });
    expect((await storedCall(services, (await create(false, storedValueMax)).id)).replies).toBeUndefined();
  });

  test("invalid arguments are refused before anything is written", async () => {
    const subject = deployment(dinner);
    await expect(subject.create({ wrong: 1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS", violations: [{ path: "/wrong" }] });
    expect(subject.queue.length).toBe(0);
  });

  test("a client may set how long its finished task is kept, within bounds; otherwise the tool does", async () => {
    const subject = deployment(async () => ({ content: [] }));
    const { services, catalogue } = subject;
    const { retentionMinMs, retentionMaxMs } = services.settings;
    const tool = catalogue.tools.get("subject");
    if (!tool) throw new Error("no tool");
    const wanted = [undefined, HOUR, 90_000.4, 0, -1, 2 ** 53, Infinity];
    const kept = [DAY, HOUR, 90_001, retentionMinMs, retentionMinMs, retentionMaxMs, retentionMaxMs];
    const tasks = [];
    for (const retentionMs of wanted) {
      const wish = retentionMs === undefined ? {} : { retentionMs };
      tasks.push(await createTask(services, tool, { caller: alice, arguments: {}, capabilities: {}, hidden: false, ...wish }));
    }
    expect(tasks.map(({ call }) => call.retentionMs)).toEqual(kept);
    expect(tasks.map(({ expiresAtMs }) => expiresAtMs)).toEqual(tasks.map(() => undefined));

    await subject.work();
    for (const [i, { id }] of tasks.entries()) {
      const task = await subject.task(id);
      expect(task.expiresAtMs).toBe(task.updatedAtMs + (kept[i] ?? 0));
    }
  });

  test("without a client's wish, a finished task is kept as its tool or the deployment says, and never longer than the operator allows", async () => {
    const subject = deployment(async () => ({ content: [] }));
    const tool = subject.catalogue.tools.get("subject");
    if (!tool) throw new Error("no tool");
    const keptBy = async (ofTool: number | undefined, settings: Partial<typeof DEFAULT_SETTINGS>) => {
      const { retentionMs: _, ...rest } = tool.settings;
      const runnable = { ...tool, settings: { ...rest, ...(ofTool !== undefined && { retentionMs: ofTool }) } };
      const services = { ...subject.services, settings: { ...subject.services.settings, ...settings } };
      const call = { caller: alice, arguments: {}, capabilities: {}, hidden: false };
      return (await createTask(services, runnable, call)).call.retentionMs;
    };
    expect(await keptBy(undefined, { retentionMs: 5 * HOUR })).toBe(5 * HOUR);
    expect(await keptBy(2 * HOUR, { retentionMs: 5 * HOUR })).toBe(2 * HOUR);
    expect(await keptBy(1, { retentionMs: 5 * HOUR })).toBe(1);
    expect(await keptBy(30 * DAY, { retentionMaxMs: HOUR })).toBe(HOUR);
    expect(await keptBy(undefined, { retentionMs: DAY, retentionMaxMs: HOUR })).toBe(HOUR);
  });

  test.each([
    { tool: undefined, deployment: false, keeps: undefined },
    { tool: true, deployment: false, keeps: true },
    { tool: undefined, deployment: true, keeps: true },
    { tool: true, deployment: true, keeps: true },
  ] as const)("a finished task keeps its content if its tool or the deployment wants it: $tool, $deployment", async (each) => {
    const subject = deployment(async () => ({ content: [] }));
    const tool = subject.catalogue.tools.get("subject");
    if (!tool) throw new Error("no tool");
    const runnable = { ...tool, settings: { ...tool.settings, ...(each.tool && { keepContent: each.tool }) } };
    const services = { ...subject.services, settings: { ...subject.services.settings, keepContent: each.deployment } };
    const { id, call } = await createTask(services, runnable, { caller: alice, arguments: {}, capabilities: {}, hidden: false });
    expect(call.keepsContent).toBe(each.keeps);
    await subject.work();
    expect((await subject.services.store.recorded(id)) !== undefined).toBe(each.keeps ?? false);
  });

  test("a foreign task is as unknown as one that never existed (I10)", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    for (const ref of [
      { taskId, caller: callerNamed("mallory") },
      { taskId: "0-nowhere", caller: alice },
    ]) {
      await expect(getTask(subject.services, ref)).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
      await expect(cancelTask(subject.services, ref)).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
      await expect(answerTask(subject.services, { ...ref, replies: {} })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    }
  });

  test("a read right after the answer waits a moment for the task to settle", async () => {
    const subject = deployment(dinner);
    subject.queue.onAdd = () => setImmediate(() => void subject.work());
    const taskId = await subject.create();
    expect(await getSettledTask(subject.services, { taskId, caller: alice })).toMatchObject({ status: "input_required" });
    await subject.answer(taskId, { size: { action: "decline" } });
    expect(await getSettledTask(subject.services, { taskId, caller: alice })).toMatchObject({ status: "completed" });
  });
});

describe("answers", () => {
  test("an answer that breaks the schema is refused with the violations, and the question stays open", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    const wrong = async (reply: unknown) => (await subject.answer(taskId, { size: reply }))["size"];
    expect(await wrong({ action: "accept", content: { n: 21 } })).toEqual({
      type: "invalid",
      violations: [{ path: "/content/n", message: "must be at most 20" }],
    });
    expect(await wrong({ action: "accept" })).toMatchObject({
      type: "invalid",
      violations: [{ path: "/content/n", message: "is required" }],
    });
    expect(await wrong({ action: "maybe" })).toMatchObject({ type: "invalid", violations: [{ path: "/action" }] });
    expect(await wrong(12345)).toMatchObject({ type: "invalid" });
    expect(await wrong(null)).toMatchObject({ type: "invalid" });
    expect(await subject.task(taskId)).toMatchObject({ status: "input_required" });
    expect(subject.queue.length).toBe(0);
  });

  test("a counted refusal is stored with the open ask, bounded, and wakes the front end that asks it again", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    const woken = Promise.withResolvers<void>();
    await subject.services.wakeUps.watch(taskId, () => woken.resolve());

    expect(await subject.answer(taskId, { size: { action: "accept", content: { n: 21 } } }, { countRefusals: true })).toEqual({
      size: { type: "invalid", violations: [{ path: "/content/n", message: "must be at most 20" }] },
    });
    await woken.promise;
    expect((await subject.task(taskId)).asks).toMatchObject([
      { key: "size", refused: { count: 1, violations: [{ path: "/content/n", message: "must be at most 20" }] } },
    ]);

    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${i}${"x".repeat(1_000)}`, true]));
    const strict: AskRequest = { ...size, schema: { ...size.schema, additionalProperties: false } };
    const other = deployment(async ({ ask }) => ({ content: [{ type: "text", text: JSON.stringify(await ask("size", strict)) }] }));
    const otherId = await other.create();
    await other.work();
    await other.answer(otherId, { size: { action: "accept", content: { n: 1, ...many } } }, { countRefusals: true });
    const [ask] = (await other.task(otherId)).asks;
    expect(ask?.refused?.count).toBe(1);
    expect(JSON.stringify(ask?.refused).length).toBeLessThan(5_000);
  });

  test("a client that automatically answers wrongly is asked ten times, then its question counts as cancelled", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    const wrong = async () => (await subject.answer(taskId, { size: "nonsense" }, { countRefusals: true }))["size"]?.type;

    for (let i = 1; i < 10; i += 1) expect(await wrong()).toBe("invalid");
    expect(await wrong()).toBe("accepted");

    expect(await subject.work()).toEqual(["finished"]);
    expect((await subject.task(taskId)).outcome).toMatchObject({ result: { content: [{ text: '{"action":"cancel"}' }] } });
    expect(subject.logged.some((line) => line.includes("question cancelled"))).toBe(true);
    expect(await subject.answer(taskId, { size: { action: "cancel" } })).toEqual({ size: { type: "duplicate" } });
  });

  test("a wrong reply that comes after the right one is late, and the question is not asked again", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    const right = subject.answer(taskId, { size: { action: "accept", content: { n: 4 } } });
    const wrong = subject.answer(taskId, { size: { action: "accept", content: { n: 21 } } }, { countRefusals: true });
    expect(await right).toEqual({ size: { type: "accepted" } });
    expect(await wrong).toEqual({ size: { type: "late" } });
    expect(await subject.task(taskId)).toMatchObject({ status: "working", asks: [] });
  });

  test("the same answer again is a duplicate, a different one is late, an unknown key is unknown", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    const reply = { action: "accept", content: { n: 2 } };
    expect(await subject.answer(taskId, { size: reply, other: reply })).toEqual({ size: { type: "accepted" }, other: { type: "unknown" } });
    expect(await subject.answer(taskId, { size: reply })).toEqual({ size: { type: "duplicate" } });
    expect(await subject.answer(taskId, { size: { action: "decline" } })).toEqual({ size: { type: "late" } });
    await subject.work();
    expect(await subject.answer(taskId, { size: reply })).toEqual({ size: { type: "duplicate" } });
    expect((await subject.task(taskId)).outcome).toMatchObject({ result: { content: [{ text: expect.stringContaining('"n":2') }] } });
  });

  test("accepting without content, again, is a duplicate: for a form that needs none, and for a URL", async () => {
    const asked = {
      form: { type: "form", message: "Sure?", schema: { type: "object", properties: { note: { type: "string" } } } },
      url: { type: "url", message: "Sign in.", url: "https://example.com/" },
    } as const;
    const subject = deployment(async ({ ask }) => {
      for (const [key, request] of Object.entries(asked)) await ask(key, request);
      return { content: [] };
    });
    const taskId = await subject.create();
    for (const key of Object.keys(asked)) {
      await subject.work();
      expect(await subject.answer(taskId, { [key]: { action: "accept" } })).toEqual({ [key]: { type: "accepted" } });
      for (const content of [undefined, {}]) {
        const again = { action: "accept", ...(content && { content }) };
        expect(await subject.answer(taskId, { [key]: again })).toEqual({ [key]: { type: "duplicate" } });
      }
      expect(await subject.answer(taskId, { [key]: { action: "decline" } })).toEqual({ [key]: { type: "late" } });
    }
    expect(await subject.answer(taskId, { form: { action: "accept", content: { note: "x" } } })).toEqual({ form: { type: "late" } });
    expect(await subject.answer(taskId, { form: { action: "ACCEPT" } })).toEqual({ form: { type: "unknown" } });
  });

  test("an ask that the client cannot handle ends for its tool, and races with answers like an answer", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    const declare = () => declareUnavailable(subject.services, { taskId, caller: alice, key: "size" });

    expect(await Promise.all([declare(), declare()])).toEqual([{ type: "accepted" }, { type: "duplicate" }]);
    expect(await subject.answer(taskId, { size: { action: "decline" } })).toEqual({ size: { type: "late" } });
    expect(await declare()).toEqual({ type: "duplicate" });
    expect(await subject.work()).toEqual(["finished"]);
    expect((await subject.task(taskId)).outcome).toMatchObject({ result: { content: [{ text: '{"action":"unavailable"}' }] } });
  });

  test("an earlier answer stays, and a later declaration that the client cannot be asked is late", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    await subject.answer(taskId, { size: { action: "decline" } });
    expect(await declareUnavailable(subject.services, { taskId, caller: alice, key: "size" })).toEqual({ type: "late" });
    expect(await declareUnavailable(subject.services, { taskId, caller: alice, key: "never" })).toEqual({ type: "unknown" });
    await expect(declareUnavailable(subject.services, { taskId, caller: callerNamed("mallory"), key: "size" })).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
  });

  test("of a hundred racing answers one is accepted (I2)", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    const replies = Array.from({ length: 100 }, (_, n) => subject.answer(taskId, { size: { action: "accept", content: { n: n % 20 } } }));
    const receipts = (await Promise.all(replies)).map(({ size: receipt }) => receipt?.type);
    expect(receipts.filter((receipt) => receipt === "accepted")).toHaveLength(1);
    expect(receipts.filter((receipt) => receipt === "duplicate")).toHaveLength(4);
    expect(receipts.filter((receipt) => receipt === "late")).toHaveLength(95);
  });

  test("an answer that was recorded but whose run was never added is resumed by the sweep, or by sending it again", async () => {
    const subject = deployment(dinner);
    const reply = { action: "accept", content: { n: 2 } };
    for (const resume of [
      () => (subject.skip(1_001), sweep(subject.services, { partition: 0 })),
      (taskId: string) => subject.answer(taskId, { size: reply }),
    ]) {
      const taskId = await subject.create();
      await subject.work();
      await subject.answer(taskId, { size: reply });
      subject.queue.take(); // the front end died between "recorded" and "queued"
      expect(await subject.work()).toEqual([]);
      await resume(taskId);
      expect(await subject.work()).toEqual(["finished"]);
    }
  });

  test("an answer to one of two questions resumes its branch, and the other stays open", async () => {
    const subject = deployment(async ({ ask }) => {
      await Promise.all([ask("a", size), ask("b", size)]);
      return { content: [] };
    });
    const taskId = await subject.create();
    await subject.work();
    await subject.answer(taskId, { a: { action: "decline" } });
    expect(await subject.task(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "b" }] });
    expect(await subject.work()).toEqual(["parked"]);
    await subject.answer(taskId, { b: { action: "decline" } });
    expect(await subject.work()).toEqual(["finished"]);
  });
});

describe("time", () => {
  test("an unanswered ask ends at its deadline, also after thirty days (I7)", async () => {
    const subject = deployment(async ({ ask }) => ({
      content: [{ type: "text", text: (await ask("size", size, { timeoutMs: 30 * DAY })).action }],
    }));
    const taskId = await subject.create();
    await subject.work();
    subject.skip(30 * DAY - HOUR);
    expect(await sweep(subject.services, { partition: 0 })).toBe(0);
    expect(await subject.task(taskId)).toMatchObject({ status: "input_required" });
    subject.skip(HOUR);
    expect(await sweep(subject.services, { partition: 0 })).toBe(1);
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "timeout" }] } } });
    expect(await subject.answer(taskId, { size: { action: "decline" } })).toEqual({ size: { type: "late" } });
    subject.skip(DAY + 1);
    await expect(subject.task(taskId)).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });

  test("a long sleep parks the task and the sweep wakes it", async () => {
    const subject = deployment(async ({ sleep }) => (await sleep("night", 8 * HOUR), { content: [] }));
    const taskId = await subject.create();
    expect(await subject.work()).toEqual(["parked"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "working" });
    subject.skip(8 * HOUR);
    await sweep(subject.services, { partition: 0 });
    expect(await subject.work()).toEqual(["finished"]);
  });

  test("a run that exceeds its time limit is ended", async () => {
    const subject = deployment(() => new Promise(() => undefined), { runTimeoutMs: 5 });
    const taskId = await subject.create();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({
      status: "failed",
      outcome: { error: { code: -32603, data: { code: "RUN_TIMEOUT" } } },
    });
  });
});

describe("cancellation", () => {
  test("a waiting task is cancelled for good; a later answer is late", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    expect(await cancelTask(subject.services, { taskId, caller: alice })).toBe("cancelled");
    expect(await cancelTask(subject.services, { taskId, caller: alice })).toBe("finished");
    expect(await subject.answer(taskId, { size: { action: "decline" } })).toEqual({ size: { type: "late" } });
    expect(await subject.task(taskId)).toMatchObject({ status: "cancelled", asks: [] });
    expect(await subject.work()).toEqual([]);
  });

  test("an active run notices: its signal is aborted and its writes are refused", async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const subject = deployment(({ signal }) => {
      started.resolve(signal);
      return new Promise(() => undefined);
    });
    const taskId = await subject.create();
    const working = subject.work();
    const signal = await started.promise;
    await cancelTask(subject.services, { taskId, caller: alice });
    expect(await working).toEqual(["fenced"]);
    expect(signal.aborted).toBe(true);
    expect(await subject.task(taskId)).toMatchObject({ status: "cancelled" });
  });
});

describe("workers that die", () => {
  test("a run whose worker died is taken over after its lease, and the old worker's writes are refused (I5)", async () => {
    let steps = 0;
    const stuck = Promise.withResolvers<void>();
    const isStuck = Promise.withResolvers<void>();
    let first = true;
    const subject = deployment(async ({ step }) => {
      await step("once", () => (steps += 1));
      if (first) {
        first = false;
        isStuck.resolve();
        await stuck.promise;
      }
      await step("twice", () => (steps += 1));
      return { content: [{ type: "text", text: String(steps) }] };
    });
    const taskId = await subject.create();
    const dead = subject.work();
    await isStuck.promise;
    subject.skip(DEFAULT_SETTINGS.leaseMs + 1);
    await sweep(subject.services, { partition: 0 });
    expect(await subject.work()).toEqual(["finished"]);
    stuck.resolve();
    expect(await dead).toEqual(["fenced"]);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "2" }] } } });
  });

  test("duplicate deliveries of a run are refused", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    await subject.work();
    for (const run of [1, 3]) {
      expect(await runTask(subject.services, subject.catalogue, { taskId, run })).toEqual({ type: "refused", reason: "stale" });
    }
    expect(await runTask(subject.services, subject.catalogue, { taskId: "0-gone", run: 1 })).toEqual({
      type: "refused",
      reason: "unknown",
    });
  });

  test("a worker that does not serve the tool puts the task back", async () => {
    const subject = deployment(dinner);
    const taskId = await subject.create();
    const nothing: Catalogue = { ...subject.catalogue, tools: new Map() };
    expect(await runTask(subject.services, nothing, subject.queue.take() ?? { taskId, run: 1 })).toEqual({ type: "unserved" });
    subject.skip(DEFAULT_SETTINGS.missingToolRetryMs);
    await sweep(subject.services, { partition: 0 });
    expect(await subject.work()).toEqual(["parked"]);
  });
});

describe("tools that fail", () => {
  test.each([
    [
      "a ToolError is a result with isError",
      new ToolError("closed on Mondays"),
      { status: "completed", outcome: { result: { isError: true, content: [{ text: "closed on Mondays" }] } } },
    ],
    [
      "any other error too, without its words",
      new TypeError("x is undefined"),
      {
        status: "completed",
        outcome: {
          result: { isError: true, content: [{ text: expect.stringMatching(/^tool subject failed\. .* under defect [0-9a-f-]{36}\.$/) }] },
        },
      },
    ],
    [
      "an RpcFailure fails the task with its code",
      new RpcFailure(-32099, "no", { a: 1 }),
      { status: "failed", outcome: { error: { code: -32099, message: "no", data: { a: 1 } } } },
    ],
    [
      "what the catalogue names fails the task and says what to do",
      new ParleyError("INVALID_OUTPUT", "no"),
      { status: "failed", outcome: { error: { code: -32603, data: { code: "INVALID_OUTPUT", hint: expect.any(String) } } } },
    ],
  ])("%s", async (_, error, expected) => {
    const subject = deployment(async () => Promise.reject(error));
    const taskId = await subject.create();
    await subject.work();
    expect(await subject.task(taskId)).toMatchObject(expected);
  });

  test("an error is retried after the backoff, doubled, within the tool's attempts", async () => {
    let tries = 0;
    const subject = deployment(
      async () => {
        tries += 1;
        throw new Error("flaky");
      },
      { attempts: 3, backoffMs: HOUR },
    );
    const taskId = await subject.create();
    expect(await subject.work()).toEqual(["retrying"]);
    for (const [waitMs, report] of [
      [HOUR, "retrying"],
      [2 * HOUR, "finished"],
    ] as const) {
      subject.skip(waitMs - 1_000);
      expect(await sweep(subject.services, { partition: 0 })).toBe(0);
      subject.skip(1_000);
      await sweep(subject.services, { partition: 0 });
      expect(await subject.work()).toEqual([report]);
    }
    expect(tries).toBe(3);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed", outcome: { result: { isError: true } } });
  });

  test("names of unknown tasks and questions stay out of the log, and no line grows with them", async () => {
    let restarts = 0;
    const subject = deployment(async ({ ask, restart }) => {
      if ((restarts += 1) === 1) await restart({});
      await ask("size", size);
      return { content: [] };
    });
    const taskId = await subject.create();
    await subject.work();
    const long = "k4y".repeat(5_000);
    const reply = { action: "decline" };
    expect(await subject.answer(taskId, { [long]: reply, [`${long}@7`]: reply })).toEqual({
      [long]: { type: "late" },
      [`${long}@7`]: { type: "unknown" },
    });
    await expect(subject.answer(`0-${long}`, { size: reply })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    for (const line of subject.logged) expect(line.length).toBeLessThan(1_000);
  });

  test("answers and arguments stay out of the log, even if they are attached to an error", async () => {
    const subject = deployment(async ({ ask }) => {
      const answer = await ask("size", size);
      throw Object.assign(new Error("cannot seat them"), { answer, config: { data: "SECRET" }, issues: [{ input: "SECRET" }] });
    });
    const taskId = await subject.create({ note: "SECRET" });
    await subject.work();
    await subject.answer(taskId, { size: { action: "accept", content: { n: 17 } } });
    await subject.work();
    expect(subject.logged.length).toBeGreaterThan(3);
    expect(subject.logged.join("\n")).toContain("cannot seat them");
    expect(subject.logged.join("\n").replaceAll(/"(stack|defectId)":(\[.*?\]|".*?")/g, "")).not.toMatch(/SECRET|17/);
  });
});

describe("an observer", () => {
  test("sees a task created, run and answered, and puts the trace into its call", async () => {
    const subject = deployment(dinner);
    const seen: unknown[] = [];
    const observer: Observer = {
      traceparent: () => "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      created: ({ name, traceparent }) => void seen.push(["created", name, traceparent]),
      async answering({ key, ask }, work) {
        const receipt = await work();
        seen.push(["answered", key, ask?.key, receipt.type]);
        return receipt;
      },
      async running({ task, journal }, work) {
        const report = await work();
        seen.push(["ran", task.run, journal.size, report]);
        return report;
      },
    };
    Object.assign(subject.services, { observer });
    const taskId = await subject.create();
    await subject.work();
    await subject.answer(taskId, { size: { action: "accept", content: { n: 4 } }, other: { action: "cancel" } });
    await subject.work();
    // The two answers of one request are taken at once.
    expect([...seen.slice(0, 2), ...seen.slice(2, 4).map(String).toSorted(), ...seen.slice(4)]).toEqual([
      ["created", "subject", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
      ["ran", 1, 0, { type: "parked" }],
      "answered,other,,unknown",
      "answered,size,size,accepted",
      ["ran", 2, 1, { type: "finished", status: "completed" }],
    ]);
  });

  test("receives the catalogue error that ended a task", async () => {
    let name = "first";
    const subject = deployment(async ({ ask }) => {
      await ask(name, size);
      return { content: [] };
    });
    const reports: unknown[] = [];
    Object.assign(subject.services, {
      observer: { traceparent: () => undefined, created: () => undefined, answering: (_told: unknown, work: () => unknown) => work() },
    });
    const taskId = await subject.create();
    const running: Observer["running"] = async (_begun, work) => {
      const report = await work();
      reports.push(report);
      return report;
    };
    Object.assign(subject.services.observer as object, { running });
    await subject.work();
    await subject.answer(taskId, { first: { action: "accept", content: { n: 4 } } });
    name = "second";
    await subject.work();
    expect(reports).toEqual([{ type: "parked" }, { type: "finished", status: "failed", code: "REPLAY_DIVERGED" }]);
  });
});

describe("a store that becomes unreachable during a run", () => {
  const away = () => Promise.reject(new ParleyError("UNAVAILABLE", "Redis: Command timed out"));

  test("does not end the renewals of a run that needs it only later", async () => {
    const again = Promise.withResolvers<void>();
    const subject = deployment(async ({ step }) => {
      await step("long", () => again.promise);
      return { content: [] };
    });
    const { renew } = subject.services.store;
    let renewals = 0;
    Object.assign(subject.services.store, {
      async renew(request: Parameters<typeof renew>[0]) {
        renewals += 1;
        if (renewals === 1) return await away();
        if (renewals === 3) again.resolve();
        return await renew(request);
      },
    });
    await subject.create();
    expect(await subject.work()).toEqual(["finished"]);
  });
});
