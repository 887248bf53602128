/** A Redis whose memory is full: it makes each change of a task as a whole, or refuses it as a whole, and a refusal says UNAVAILABLE. */
import type { AuditFact } from "@parley/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accept, aCall, aLife, anAsk, aStep, aWithdrawal, GRACE_MS, HOUR_MS, LEASE_MS, newToken } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { keysOf } from "../../../test/support/look.ts";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";

let server: SharedRedis;
let opened: OpenRedis;
let life: ReturnType<typeof aLife>;

beforeAll(async () => {
  server = await startOwnRedis();
  opened = await openRedis({ url: server.url });
  life = aLife(opened.store, opened.newTaskId);
});

afterAll(async () => {
  await opened.close();
  await server.close();
});

const audit: AuditFact = { action: "call", taskId: "0-task" };
const asks = [anAsk("size"), anAsk("name")];
const size = { key: "size", digest: "digest-of-size", graceMs: GRACE_MS, audit };

interface Held {
  readonly taskId: string;
  readonly token: string;
  readonly nowMs: number;
  readonly leaseMs: number;
}

/** The first run of a task, or the run after its questions. */
async function atWork(isAsking = false): Promise<Held> {
  const taskId = isAsking ? await life.parked(asks) : await life.create();
  const token = await life.begin({ taskId, run: isAsking ? 2 : 1 });
  return { taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS };
}

const create = (more: object = {}) => opened.store.create({ taskId: opened.newTaskId(), call: aCall(), graceMs: GRACE_MS, ...more });
const quotas = { principal: { tasks: 1e6, bytes: 1e9 }, tenant: { tasks: 1e6, bytes: 1e9 } };
const park = (run: Held, more: object = {}) =>
  opened.store.park({ ...run, entries: [], asks: [], dueAtMs: run.nowMs + HOUR_MS, attempt: 0, graceMs: GRACE_MS, ...more });

type Change = () => Promise<unknown>;

/** What prepares a change. */
const CHANGES: Readonly<Record<string, () => Promise<Change>>> = {
  create: async () => () => create(),
  "create, counted": async () => () => create({ quotas }),
  "create, audited": async () => () => create({ audit }),
  async begin() {
    const taskId = await life.create();
    return () => opened.store.begin({ taskId, run: 1, token: newToken(), nowMs: Date.now(), leaseMs: LEASE_MS });
  },
  async release() {
    const run = await atWork();
    return () => opened.store.release(run);
  },
  async renew() {
    const run = await atWork();
    return () => opened.store.renew(run);
  },
  async record() {
    const run = await atWork();
    return () => opened.store.record({ ...run, entries: [aStep("hold", 1)], asks });
  },
  async "record, with a withdrawal"() {
    const run = await atWork(true);
    return () => opened.store.record({ ...run, entries: [aWithdrawal("size", 1)] });
  },
  async report() {
    const run = await atWork();
    return () => opened.store.report({ ...run, items: [{ type: "progress", progress: 1 }], message: "halfway" });
  },
  async park() {
    const run = await atWork();
    return () => park(run, { entries: [aStep("hold", 1)], asks });
  },
  async "park, without a change"() {
    const run = await atWork();
    return () => park(run);
  },
  async restart() {
    const run = await atWork(true);
    return () => park(run, { restart: { arguments: {} } });
  },
  async answer() {
    const taskId = await life.parked(asks);
    return () => opened.store.answer({ ...size, taskId, answer: accept("3"), nowMs: Date.now() });
  },
  async "answer, late"() {
    const taskId = await life.create();
    await life.cancel(taskId);
    return () => opened.store.answer({ ...size, taskId, answer: accept("3"), nowMs: Date.now() });
  },
  async agree() {
    const taskId = await life.parked(asks);
    return () => opened.store.agree({ ...size, taskId, nowMs: Date.now() });
  },
  async refuse() {
    const taskId = await life.parked(asks);
    return () => opened.store.refuse({ ...size, taskId, violations: [], nowMs: Date.now() });
  },
  async thread() {
    const taskId = await life.parked(asks);
    return () => opened.store.writeThread({ ...size, taskId, thread: { comments: 0 }, history: [], nowMs: Date.now() });
  },
  async finish() {
    const { taskId, token } = await atWork(true);
    return () => life.finish(taskId, token);
  },
  async cancel() {
    const taskId = await life.parked(asks);
    return () => opened.store.cancel({ taskId, nowMs: Date.now(), message: "Cancelled.", owes: true, audit });
  },
  async postpone() {
    const taskId = await life.create();
    return () => opened.store.postpone({ taskId, nowMs: Date.now() + HOUR_MS, dueAtMs: Date.now() + 2 * HOUR_MS });
  },
};

/** Each key with its content. */
async function everything(): Promise<ReadonlyMap<string, string>> {
  const keys = await keysOf(opened.redis, opened.prefix);
  return new Map(await Promise.all(keys.map(async (key) => [key, (await opened.redis.dumpBuffer(key)).toString("hex")] as const)));
}

async function whileFull(change: Change): Promise<PromiseSettledResult<unknown>> {
  await opened.redis.config("SET", "maxmemory", "1");
  try {
    const [settled] = await Promise.allSettled([change()]);
    return settled;
  } finally {
    await opened.redis.config("SET", "maxmemory", "0");
  }
}

test.each(Object.entries(CHANGES))("%s", async (_name, prepare) => {
  const change = await prepare();
  // As before the first audit record of a partition.
  await opened.redis.del(`${opened.prefix}:{p0}:audit`);
  const before = await everything();

  const settled = await whileFull(change);

  if (settled.status === "fulfilled") return expect(await everything()).not.toStrictEqual(before);
  expect(settled.reason).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("used up its memory (maxmemory)") });
  expect(await everything()).toStrictEqual(before);
  // Nothing is left that would prevent it later.
  await change();
});
