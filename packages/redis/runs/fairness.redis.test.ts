/**
 * A quiet caller beside one that has taken every place: its runs begin at once, whatever the other's runs were made due
 * by, through store, lanes, BullMQ and worker.
 */
import { shareOf } from "@parley/core";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { aCall, aLife, anAsk, accept, GRACE_MS, LEASE_MS, newTaskId, newToken } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";

const ROOMY = { tasks: 1_000_000, bytes: 1_000_000_000 };
const PLACES = 4;
/** Long enough that a victim that waits for one of them to end is noticed on a busy machine. */
const NOISY_MS = 1_000;

let opened: OpenRedis;
/** Task → when its newest run began. */
const began = new Map<string, number>();
const noisy = new Set<string>();
let stop: AbortController;

beforeEach(async () => {
  opened = await openRedis();
  stop = new AbortController();
  began.clear();
  noisy.clear();
  await opened.consumeRuns({
    concurrency: PLACES,
    async run({ taskId, run }) {
      const token = newToken();
      const begun = await opened.store.begin({ taskId, run, token, nowMs: Date.now(), leaseMs: LEASE_MS });
      if (begun.type !== "begun") return;
      began.set(taskId, performance.now());
      if (noisy.has(taskId)) await sleep(NOISY_MS, undefined, { signal: stop.signal }).catch(() => undefined);
      await aLife(opened.store).finish(taskId, token);
    },
    sweep: async () => undefined,
  });
});
afterEach(async () => {
  stop.abort();
  await opened.close();
});

const ofTenant = (tenant: string) => aCall({ principal: `u of ${tenant}`, tenant });

/** As a front end creates it. */
async function create(tenant: string, taskId = newTaskId()): Promise<string> {
  const { store, queue } = opened;
  const call = ofTenant(tenant);
  const first = { taskId, cause: "created", share: shareOf(call) } as const;
  const lane = queue.lane?.(first);
  const quotas = { principal: ROOMY, tenant: ROOMY };
  const created = await store.create({ taskId, call, graceMs: GRACE_MS, quotas, ...(lane !== undefined && { lane }) });
  if (created !== "delivered") await queue.add({ ...first, run: 1 });
  return taskId;
}

/** As a front end records an answer. */
async function answer(tenant: string, taskId: string): Promise<void> {
  const { store, queue } = opened;
  const answered = { taskId, cause: "answered", share: shareOf(ofTenant(tenant)) } as const;
  const lane = queue.lane?.(answered);
  const given = { key: "size", digest: "digest-of-size", answer: accept("4"), nowMs: Date.now(), graceMs: GRACE_MS };
  const { nextRun } = await store.answer({ taskId, ...given, ...(lane !== undefined && { lane }) });
  if (nextRun !== undefined) await queue.add({ ...answered, run: nextRun });
}

interface Wait {
  readonly ms: number;
  /** How many runs of the noisy tenant began meanwhile: however slow the machine is, a turn that is taken wrongly shows in it. */
  readonly turns: number;
}

async function waitForRun(tenant: string): Promise<Wait> {
  const startedAt = performance.now();
  const taskId = await create(tenant);
  const at = await until(() => began.get(taskId), { everyMs: 1 });
  await until(async () => (await opened.store.load(taskId))?.status === "completed", { everyMs: 5 });
  const turns = [...noisy].filter((each) => (began.get(each) ?? 0) > startedAt && (began.get(each) ?? Infinity) < at).length;
  return { ms: at - startedAt, turns };
}

/** Of a few calls, one after the other: the median of their waits, and the most turns that one of them waited. */
async function waits(tenant: string): Promise<{ readonly p50: number; readonly mostTurns: number }> {
  const all: Wait[] = [];
  for (let call = 0; call < 9; call += 1) all.push(await waitForRun(tenant));
  return { p50: all.map(({ ms }) => ms).toSorted((a, b) => a - b)[4] ?? Number.NaN, mostTurns: Math.max(...all.map(({ turns }) => turns)) };
}

/** Waits until workers are known, so that runs are offered. */
async function ready(): Promise<void> {
  await until(() => opened.queue.lane?.({ taskId: newTaskId(), cause: "answered" }) !== undefined);
}

test("eighty answered tasks of a second do not delay another tenant's new calls", async () => {
  await ready();
  const alone = await waits("quiet");
  const life = aLife(opened.store);
  const parked: string[] = [];
  for (let task = 0; task < 80; task += 1) {
    const taskId = newTaskId();
    noisy.add(taskId);
    parked.push(taskId);
    await opened.store.create({ taskId, call: ofTenant("noisy"), graceMs: GRACE_MS, quotas: { principal: ROOMY, tenant: ROOMY } });
    await life.park(taskId, await life.begin({ taskId, run: 1 }), [anAsk("size")]);
  }
  await Promise.all(parked.map((taskId) => answer("noisy", taskId)));
  await until(() => [...noisy].filter((taskId) => began.has(taskId)).length >= PLACES);
  const beside = await waits("quiet");
  // In order of causes, answers first, it would wait for all of them: twenty seconds.
  expect(alone.p50).toBeLessThan(NOISY_MS / PLACES / 2);
  expect(beside.p50).toBeLessThan(NOISY_MS / PLACES / 2);
  expect(beside.mostTurns).toBeLessThanOrEqual(PLACES);
});

test("a tenant whose running tasks hold every place does not delay another tenant's calls", async () => {
  await ready();
  for (let task = 0; task < 40; task += 1) {
    const taskId = newTaskId();
    noisy.add(taskId);
    await create("noisy", taskId);
  }
  await until(() => [...noisy].filter((taskId) => began.has(taskId)).length >= PLACES);
  const beside = await waits("quiet");
  expect(beside.p50).toBeLessThan(NOISY_MS / PLACES / 2);
  expect(beside.mostTurns).toBeLessThanOrEqual(PLACES);
  // The noisy tenant's own next task has no place in reserve.
  const waiting = await create("noisy");
  await waitForRun("calm");
  expect(began.has(waiting)).toBe(false);
});
