import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { CreateRequest, Observer, TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { JsonObject } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { type CreateTask, createTask, describeCall, newTaskId } from "./create-task.ts";
import { aCall, alice, bob, HOUR, inMemory, NOW_MS } from "./in-memory.fixture.ts";
import type { Services } from "./services.ts";

const DAY = 24 * HOUR;
const { graceMs, taskQuotas } = DEFAULT_SETTINGS;
const capabilities = { elicitation: { form: true, url: false } };
const anybody = callerNamed("anonymous", { authenticatedBy: "nobody" });
const plain = toolNamed("subject", async () => ({}));
const request: CreateTask = { caller: alice, arguments: { n: 1 }, capabilities, hidden: false };

const call = {
  kind: "tool",
  name: "subject",
  arguments: { n: 1 },
  principal: "alice",
  caller: { name: "alice" },
  capabilities,
  createdAtMs: NOW_MS,
  retentionMs: DAY,
  seed: "token 2",
  hidden: false,
  binding: '<{"arguments":{"n":1},"kind":"tool","name":"subject"} of 0-1>',
};

const calls = { kind: "tool", name: "subject" };

const unaudited = (services: Services): Services => {
  const { audit: _, ...rest } = services;
  return rest;
};

describe("a call", () => {
  test("that its caller did not make counts for none of their quotas, and takes no turn of theirs", async () => {
    const { services, requests, runs } = inMemory();
    await createTask(unaudited(services), plain, { ...request, isUncounted: true });
    expect(requests).toStrictEqual([["create", { taskId: "0-1", call: expect.objectContaining({ principal: "alice" }), graceMs }]]);
    expect(runs).toStrictEqual([{ taskId: "0-1", cause: "created", calls, run: 1 }]);
  });

  test("is written with its fact and its quotas, together with its first run, and observed", async () => {
    const told: unknown[] = [];
    const observer = { traceparent: () => undefined, created: (of: unknown) => void told.push(of) } as unknown as Observer;
    const { services, requests, runs, logged } = inMemory({ observer });
    const task = await createTask(services, plain, { ...request, door: "a door" });
    expect(task).toStrictEqual({
      id: "0-1",
      call,
      status: "working",
      revision: 1,
      run: 0,
      generation: 0,
      updatedAtMs: NOW_MS,
      asks: [],
    });
    const audit = { principal: "alice", door: "a door", action: "call", taskId: "0-1", tool: "tool subject", call: call.binding };
    expect(requests).toStrictEqual([["create", { taskId: "0-1", call, graceMs, quotas: taskQuotas, audit }]]);
    expect(runs).toStrictEqual([{ taskId: "0-1", cause: "created", calls, share: "principal:alice", run: 1 }]);
    expect(told).toStrictEqual([call]);
    expect(logged).toStrictEqual([["info", "task created", { taskId: "0-1", tool: "subject" }]]);
  });

  test("from a caller who cannot be told apart is not counted, and has no share", async () => {
    const { services, requests, runs } = inMemory();
    const { binding: _, caller: __, ...unbound } = { ...call, principal: "anonymous" };
    await createTask(unaudited(services), plain, { ...request, caller: anybody });
    expect(requests).toStrictEqual([["create", { taskId: "0-1", call: unbound, graceMs }]]);
    expect(runs).toStrictEqual([{ taskId: "0-1", cause: "created", calls, run: 1 }]);
  });

  test("keeps what the tool, the caller, the session and the trace provide, and omits what is absent", async () => {
    const observer = { traceparent: () => "00-trace", created: () => undefined } as unknown as Observer;
    const { services, requestsOf } = inMemory({ observer });
    const tool = toolNamed("subject", async () => ({}), { version: "2", earlyReplies: true, compensate: async () => undefined });
    const names = ["sub:7", "email:alice@acme.io", "username:al"];
    const caller = callerNamed("alice", { person: "a person", tenant: "acme", names, displayName: "Alice A." });
    const replies = { size: { action: "decline" } };
    const created = await createTask(services, tool, {
      ...request,
      caller,
      hidden: true,
      replies,
      request: { id: 7, progressToken: "p" },
      retentionMs: 2 * HOUR,
    });
    expect(created.call).toStrictEqual({
      ...call,
      version: "2",
      person: "a person",
      caller: { name: "Alice A.", email: "alice@acme.io", subject: "7" },
      tenant: "acme",
      hidden: true,
      compensates: true,
      traceparent: "00-trace",
      retentionMs: 2 * HOUR,
      replies,
      request: { id: 7, progressToken: "p" },
    });
    expect(requestsOf("create")).toMatchObject([{ audit: { tenant: "acme", toolVersion: "2" } }]);
  });

  test("drops early replies that its tool does not take", async () => {
    const { services, requestsOf } = inMemory();
    await createTask(services, plain, { ...request, replies: { size: { action: "decline" } } });
    expect(requestsOf("create")).toMatchObject([{ call: expect.not.objectContaining({ replies: expect.anything() }) }]);
  });

  test("has the id that was drawn before, and its further writes are sent with it", async () => {
    const { services, runs } = inMemory();
    const order: string[] = [];
    const beside = async () => void order.push("beside");
    expect(await createTask(services, plain, { ...request, taskId: "0-mine", beside })).toMatchObject({ id: "0-mine" });
    expect([order, runs]).toMatchObject([["beside"], [{ taskId: "0-mine" }]]);
  });

  test("with invalid arguments says what is wrong with which tool, and writes nothing", async () => {
    const { services, requests, runs } = inMemory();
    const violations = [{ path: "/n", message: "is not a known field" }];
    const tool = toolNamed("subject", async () => ({}), { readArguments: () => ({ ok: false, violations }) });
    await expect(createTask(services, tool, request)).rejects.toMatchObject({
      code: "INVALID_ARGUMENTS",
      message: "invalid arguments for tool subject: /n is not a known field",
      violations,
    });
    expect([requests, runs]).toStrictEqual([[], []]);
  });

  test("has a limit on its arguments and replies: at it, and one beyond", async () => {
    const { services } = inMemory({ settings: { ...DEFAULT_SETTINGS, storedValueMax: JSON.stringify({ n: "xx" }).length } });
    const tool = { ...plain, earlyReplies: true };
    const create = (args: JsonObject, replies: JsonObject) => createTask(services, tool, { ...request, arguments: args, replies });
    await create({ n: "xx" }, { n: "xx" });
    const says = "11 characters of JSON; the limit is 10 (PARLEY_STORED_VALUE_MAX)";
    await expect(create({ n: "xxx" }, {})).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: `the arguments of tool subject have ${says}`,
    });
    await expect(create({}, { n: "xxx" })).rejects.toMatchObject({
      code: "TOO_LARGE",
      message: `the answers that came with the call of tool subject have ${says}`,
    });
  });

  test("beyond a quota is refused with the quota, which is audited, and neither logged nor observed", async () => {
    const told: unknown[] = [];
    const observer = { traceparent: () => undefined, created: () => void told.push(1) } as unknown as Observer;
    const settings = { ...DEFAULT_SETTINGS, taskQuotas: { ...taskQuotas, principal: { tasks: 1, bytes: 1_000 } } };
    const { services, logged, facts } = inMemory({ settings, observer });
    await createTask(services, plain, request);
    for (const list of [told, logged]) list.length = 0;
    await expect(createTask(services, plain, request)).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
      message: "the caller has reached the maximum of 1 unfinished tasks (PARLEY_QUOTA_TASKS)",
    });
    expect([told, logged]).toStrictEqual([[], []]);
    const verdict = "the caller has reached the maximum of 1 unfinished tasks (PARLEY_QUOTA_TASKS)";
    expect(facts).toStrictEqual([{ principal: "alice", action: "quota", verdict }]);
  });
});

test("a call is refused while the store has almost no room, before anything is read or written, and accepted again after that", async () => {
  const { services, requests } = inMemory();
  let isScarce = true;
  const scarce = { ...services, room: { isScarce: () => isScarce, bytes: () => undefined } };
  await expect(createTask(scarce, plain, request)).rejects.toMatchObject({ code: "STORAGE_SCARCE" });
  expect(requests).toEqual([]);
  isScarce = false;
  expect(await createTask(scarce, plain, request)).toMatchObject({ status: "working" });
});

test("a call is written with what its share may keep of the room that there is, and the settings where that is more", async () => {
  const { services, requestsOf } = inMemory();
  const room = { isScarce: () => false, bytes: () => ({ free: 1_000, all: 100_000 }) };
  const { taskQuotas } = services.settings;
  await createTask({ ...services, room }, plain, request);
  await createTask(services, plain, { ...request, taskId: "0-2" });
  const within = { ...taskQuotas, principal: { ...taskQuotas.principal, stored: 280 } };
  expect(requestsOf("create")).toMatchObject([{ quotas: within }, { quotas: taskQuotas }]);
});

describe("a listening worker", () => {
  const listening = ({ lane, created }: { readonly lane?: string; readonly created?: "delivered" }) => {
    const told: unknown[] = [];
    const added: unknown[] = [];
    const queue = { add: async (run: object) => void added.push(run), lane: (run: object) => (told.push(run), lane) };
    const replace = ({ create }: TaskStore) => ({ create: async (given: CreateRequest) => created ?? (await create(given)) });
    return { ...inMemory({ queue, replace }), told, added };
  };
  const first = { taskId: "0-1", cause: "created", share: "principal:alice", calls: { kind: "tool", name: plain.name } };

  test("is offered the first run by the store, and the queue has none", async () => {
    const { services, told, added, requestsOf } = listening({ lane: "an ear", created: "delivered" });
    await createTask(services, plain, request);
    expect([told, added]).toStrictEqual([[first], []]);
    expect(requestsOf("create")).toMatchObject([{ lane: "an ear" }]);
  });

  test("that did not receive it finds the run in the queue", async () => {
    const { services, added } = listening({ lane: "an ear" });
    await createTask(services, plain, request);
    expect(added).toStrictEqual([{ ...first, run: 1 }]);
  });

  test("is not offered anything if the queue names none: one run is added, with the task", async () => {
    const { services, added, requestsOf } = listening({});
    await createTask(services, plain, request);
    expect(added).toStrictEqual([{ ...first, run: 1 }]);
    expect(requestsOf("create")[0]).not.toHaveProperty("lane");
  });
});

describe("a call with an idempotency key", () => {
  const once = { ...request, idempotencyKey: "k" };
  const key = '<["default","alice","k"]>';

  test("that is repeated returns the first one's task, and is noted", async () => {
    const { services, requestsOf, facts, logged, real } = inMemory();
    const first = await createTask(services, plain, once);
    let beside = 0;
    const again = await createTask(services, plain, { ...once, door: "a door", beside: async () => (beside += 1) });
    expect(again).toStrictEqual(await real.load(first.id));
    expect(beside).toBe(1);
    expect(requestsOf("create")).toMatchObject([
      { once: { key, fingerprint: call.binding } },
      { once: { key, fingerprint: call.binding.replace("0-1", "0-3") } },
    ]);
    expect(facts).toStrictEqual([{ principal: "alice", door: "a door", action: "call", taskId: "0-1", verdict: "repeated" }]);
    expect(logged.slice(1)).toStrictEqual([["info", "call repeated, its task is there", { taskId: "0-1" }]]);
  });

  test("is bound to what was sent, also if the schema draws a value for it", async () => {
    const { services, facts, requestsOf } = inMemory();
    let drawn = 0;
    const drawing = toolNamed("subject", async () => ({}), {
      readArguments: (sent) => ({ ok: true, args: { ...sent, id: (drawn += 1) }, sent }),
    });
    const first = await createTask(services, drawing, once);
    expect((await createTask(services, drawing, once)).id).toBe(first.id);
    expect(facts).toMatchObject([{ verdict: "repeated" }]);
    expect(requestsOf("create")).toMatchObject([{ call: { arguments: { id: 1 }, binding: call.binding } }, {}]);
    await expect(createTask(services, drawing, { ...once, arguments: { n: 2 } })).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
  });

  test("that belongs to a different call is refused", async () => {
    const { services, facts } = inMemory();
    await createTask(services, plain, once);
    await expect(createTask(services, plain, { ...once, arguments: { n: 2 } })).rejects.toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
      message: "the idempotency key belongs to a call other than tool subject with these arguments",
    });
    expect(facts).toStrictEqual([]);
  });

  test("draws its id for that key, and for the tenant", async () => {
    const drawn: unknown[] = [];
    const { services } = inMemory();
    const ids = { ...services.ids, taskId: (...of: unknown[]) => (drawn.push(of), "0-1") };
    const acme = callerNamed("bob", { tenant: "acme" });
    expect(await newTaskId({ ...services, ids }, { caller: acme, idempotencyKey: "k" })).toBe("0-1");
    await newTaskId({ ...services, ids }, { caller: bob });
    await createTask({ ...services, ids }, plain, once);
    expect(drawn).toStrictEqual([
      ["acme", '<["acme","bob","k"]>'],
      ["default", undefined],
      ["default", key],
    ]);
  });
});

test("the retention of a finished task is clamped to the bounds, in whole milliseconds", async () => {
  const settings = { ...DEFAULT_SETTINGS, retentionMinMs: 1_000, retentionMaxMs: 2_000 };
  const { services } = inMemory({ settings });
  const kept = async (retentionMs: number) => (await createTask(services, plain, { ...request, retentionMs })).call.retentionMs;
  expect(await Promise.all([999, 1_000, 1_000.2, 1_999.5, 2_000, 2_001, Infinity].map(kept))).toStrictEqual([
    1_000, 1_000, 1_001, 2_000, 2_000, 2_000, 2_000,
  ]);
});

test("a call is described without a binding if there is no audit", () => {
  const { services } = inMemory();
  const of = { taskId: "0-1", args: {}, sent: {}, caller: alice, capabilities: {}, hidden: false };
  expect(describeCall(unaudited(services), plain, of)).toStrictEqual(
    aCall({ retentionMs: DAY, seed: "token 1", caller: { name: "alice" } }),
  );
});
