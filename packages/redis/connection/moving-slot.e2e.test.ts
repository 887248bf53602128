/** What happens to tasks while the slot of their partition moves from one node of a real cluster to another. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditFact } from "@parley/core";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accept, aCall, aLife, anAsk, aStep, GRACE_MS, HOUR_MS, LEASE_MS, newTaskId } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { lackingCluster, startCluster } from "../../../test/topologies/cluster.ts";
import type { Topology } from "../../../test/topologies/topology.ts";
import { slotOf } from "../wake-ups/sharded-subscriber.ts";

const why = lackingCluster();
let directory: string;
let cluster: Topology;
let nodes: readonly Redis[];
let opened: OpenRedis;
let life: ReturnType<typeof aLife>;
let slot: number;
/** The node that has the slot, and the one that it moves to, with their ids. */
let source: readonly [redis: Redis, id: string];
let target: readonly [redis: Redis, id: string];

beforeAll(async () => {
  if (why) return;
  directory = await mkdtemp(join(tmpdir(), "parley-moving-"));
  cluster = await startCluster(directory, { nodeTimeoutMs: 60_000 });
  nodes = await cluster.open();
  opened = await openRedis({ url: cluster.url });
  life = aLife(opened.store);
  slot = slotOf(`${opened.prefix}:{p0}`);
  const owner = (await nodes[0]!.cluster("SLOTS")).find(([first, last]) => first <= slot && slot <= last)?.[2]?.[2];
  const named = await Promise.all(nodes.map(async (node) => [node, String(await node.cluster("MYID"))] as const));
  source = named.find(([, id]) => id === owner)!;
  target = named.find(([, id]) => id !== owner)!;
}, 120_000);

afterAll(async () => {
  if (why) return;
  await opened.close();
  for (const node of nodes) node.disconnect();
  await cluster.close();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

/** As `redis-cli --cluster reshard` begins. */
async function beginMove(): Promise<void> {
  await target[0].cluster("SETSLOT", slot, "IMPORTING", source[1]);
  await source[0].cluster("SETSLOT", slot, "MIGRATING", target[1]);
}

async function endMove(): Promise<void> {
  for (const [node] of [source, target]) await node.cluster("SETSLOT", slot, "STABLE");
}

/** The keys of the slot with their contents, except those that workers and BullMQ write all the time. */
async function contents(): Promise<Readonly<Record<string, string>>> {
  const keys = (await source[0].cluster("GETKEYSINSLOT", slot, 1_000)) as string[];
  const ours = keys.filter((key) => /:(task|usage|audit|owner):|:due$/.test(key)).toSorted();
  const dumps = ours.map(async (key) => [key, (await source[0].dumpBuffer(key))?.toString("hex") ?? ""] as const);
  return Object.fromEntries(await Promise.all(dumps));
}

const audit: AuditFact = { action: "call", taskId: "0-task" };
const quotas = { principal: { tasks: 100, bytes: 1e6 }, tenant: { tasks: 100, bytes: 1e6 } };

/** The second run of a task that has every key a task always may have, while one of its questions is open. */
async function atWork() {
  const taskId = newTaskId();
  await opened.store.create({ taskId, call: aCall(), graceMs: GRACE_MS, quotas, audit });
  const first = { taskId, token: await life.begin({ taskId, run: 1 }), nowMs: Date.now(), leaseMs: LEASE_MS };
  await opened.store.record({ ...first, entries: [aStep("hold", 1)] });
  await opened.store.report({ ...first, items: [{ type: "progress", progress: 1 }] });
  await life.park(taskId, first.token, [anAsk("size")]);
  return { taskId, token: await life.begin({ taskId, run: 2 }), nowMs: Date.now(), leaseMs: LEASE_MS };
}

type Run = Awaited<ReturnType<typeof atWork>>;

describe.skipIf(why)(`while a slot moves${why ? ` (skipped: ${why})` : ""}`, () => {
  const answered = { key: "size", digest: "digest-of-size", answer: accept("4"), graceMs: GRACE_MS };
  const parked = { entries: [], asks: [], dueAtMs: Date.now() + HOUR_MS, attempt: 0, graceMs: GRACE_MS };

  test.each<[string, (run: Run) => Promise<unknown>]>([
    [
      "an answer that leaves a deposit",
      ({ taskId, nowMs }) => opened.store.answer({ ...answered, taskId, nowMs, audit, page: { deposit: "token" } }),
    ],
    ["a restart", (run) => opened.store.park({ ...parked, ...run, restart: { arguments: {} } })],
    ["the end of a task", ({ taskId, token }) => life.finish(taskId, token)],
  ])(
    "%s is refused as a whole, and made once the slot has come to rest",
    async (_what, change) => {
      const run = await atWork();
      const before = await contents();
      await beginMove();
      const refused = await change(run).catch((error: unknown) => error);
      await endMove();
      expect(refused).toMatchObject({ code: "UNAVAILABLE" });
      expect(await contents()).toEqual(before);
      await change(run);
      expect(await contents()).not.toEqual(before);
      await life.cancel(run.taskId);
    },
    30_000,
  );

  test("a sweep forgets no task that has not moved yet", async () => {
    const taskId = newTaskId();
    await opened.store.create({ taskId, call: aCall({ createdAtMs: Date.now() - HOUR_MS }), graceMs: 0 });
    const due = `${opened.prefix}:{p0}:due`;
    const move = (from: Redis, { options: { port } }: Redis) => from.call("MIGRATE", "127.0.0.1", String(port), due, "0", "5000");
    await beginMove();
    await move(source[0], target[0]);
    const swept = await opened.store.overdue({ partition: 0, nowMs: Date.now(), limit: 100 }).catch((error: unknown) => error);
    await source[0].cluster("SETSLOT", slot, "STABLE");
    await target[0].call("ASKING");
    await move(target[0], source[0]);
    await endMove();
    expect(swept).toMatchObject({ code: "UNAVAILABLE" });
    expect(await opened.store.overdue({ partition: 0, nowMs: Date.now(), limit: 100 })).toContainEqual({ taskId, run: 1 });
    await life.cancel(taskId);
  }, 30_000);
});
