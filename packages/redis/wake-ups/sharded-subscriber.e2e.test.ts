/** Wake-ups in a real cluster of three masters, which this file starts itself. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskChange } from "@parley/core";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { accept, aLife, anAsk, GRACE_MS } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { lackingCluster, startCluster } from "../../../test/topologies/cluster.ts";
import type { Topology } from "../../../test/topologies/topology.ts";
import { createIds } from "../tasks/ids.ts";
import { slotOf } from "./sharded-subscriber.ts";

const PARTITIONS = 16;
const CLASSIC = "no sharded pub/sub, wake-ups go to every node";

// Sharded pub/sub.
const why = lackingCluster({ major: 7 });
const newTaskId = () => createIds({ partitions: PARTITIONS }).taskId();

let directory: string;
let cluster: Topology;
let nodes: readonly Redis[];
const opened: OpenRedis[] = [];

beforeAll(async () => {
  if (why) return;
  directory = await mkdtemp(join(tmpdir(), "parley-sharded-"));
  cluster = await startCluster(directory, { nodeTimeoutMs: 60_000 });
  nodes = await cluster.open();
  for (const node of nodes) node.on("error", () => undefined); // it is restarted
});

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

afterAll(async () => {
  if (why) return;
  for (const node of nodes) node.disconnect();
  await cluster.close();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

async function open(settings: { shardedPubSub?: boolean; prefix?: string; url?: string } = {}): Promise<OpenRedis> {
  const one = await openRedis({ url: cluster.url, partitions: PARTITIONS, ...settings });
  // The one opened last under a prefix is closed last: it checks whether anything is left.
  opened.unshift(one);
  return one;
}

/** What the nodes have sent each other because of publications. */
async function messagesBetweenNodes(): Promise<number> {
  const infos = await Promise.all(nodes.map((node) => node.cluster("INFO")));
  return infos.reduce((sum, info) => {
    const sent = [...info.matchAll(/^cluster_stats_messages_publish(?:shard)?_sent:(\d+)/gm)];
    return sum + sent.reduce((each, [, count]) => each + Number(count), 0);
  }, 0);
}

/** How many listeners a sharded channel has, on any node. */
async function listenersOf(channel: string): Promise<number> {
  const counts = await Promise.all(nodes.map((node) => node.call("PUBSUB", "SHARDNUMSUB", channel) as Promise<[string, number]>));
  return counts.reduce((sum, [, count]) => sum + count, 0);
}

const answered = (on: OpenRedis, taskId: string, lane?: string) =>
  on.store.answer({
    taskId,
    key: "size",
    digest: "digest-of-size",
    answer: accept("4"),
    nowMs: on.now(),
    graceMs: GRACE_MS,
    ...(lane !== undefined && { lane }),
  });

/** A task in each partition, watched by one process and changed by another. */
async function wake(shardedPubSub: boolean): Promise<{ heard: number; messages: number }> {
  const changing = await open({ shardedPubSub });
  const watching = await open({ shardedPubSub, prefix: changing.prefix });
  const tasks = Array.from({ length: PARTITIONS }, (_, partition) => newTaskId().replace(/^\d+/, String(partition)));
  let heard = 0;
  await Promise.all(tasks.map((taskId) => watching.wakeUps.watch(taskId, () => (heard += 1))));
  const before = await messagesBetweenNodes();
  const life = aLife(changing.store, () => tasks.pop() ?? "");
  const ids: string[] = [];
  while (tasks.length > 0) ids.push(await life.create());
  await expect.poll(() => heard).toBe(PARTITIONS);
  const woken = { heard, messages: (await messagesBetweenNodes()) - before };
  for (const taskId of ids) await life.cancel(taskId);
  return woken;
}

describe.skipIf(why)(`a wake-up in a cluster${why ? ` (skipped: ${why})` : ""}`, () => {
  test("stays on its node, while a classic one goes to every other", async () => {
    expect(await wake(true)).toEqual({ heard: PARTITIONS, messages: 0 });
    expect(await wake(false)).toEqual({ heard: PARTITIONS, messages: 2 * PARTITIONS });
  });

  test("says what has changed only if it stays on its node (ADR 23)", async () => {
    for (const shardedPubSub of [true, false]) {
      const on = await open({ shardedPubSub });
      const taskId = newTaskId();
      const changes: (TaskChange | undefined)[] = [];
      await on.wakeUps.watch(taskId, (change) => changes.push(change));
      const life = aLife(on.store, () => taskId);
      await life.parked([anAsk("size")]);
      const asked = await until(() => changes.find((change) => change?.revision === 2));
      expect(asked?.apply !== undefined).toBe(shardedPubSub);
      await life.cancel(taskId);
    }
  });

  test("arrives again after its node was unreachable, and listeners learn that something may be missing", async () => {
    const watching = await open();
    const tasks = Array.from({ length: PARTITIONS }, (_, partition) => newTaskId().replace(/^\d+/, String(partition)));
    const heard = new Set<string>();
    await Promise.all(tasks.map((taskId) => watching.wakeUps.watch(taskId, () => heard.add(taskId))));

    for (const _ of nodes) await cluster.outage("SIGKILL", 300);
    await until(() => heard.size === PARTITIONS);

    heard.clear();
    const life = aLife(watching.store, () => tasks.pop() ?? "");
    while (tasks.length > 0) await life.cancel(await life.create());
    await until(() => heard.size === PARTITIONS);
  });

  test("is received on the node that its slot has moved to", async () => {
    const watching = await open();
    // In a partition without a queue: nothing is stored in the slot yet, so it can move as it is.
    const taskId = newTaskId().replace(/^\d+/, "900");
    let heard = 0;
    await watching.wakeUps.watch(taskId, () => (heard += 1));
    const slot = slotOf(`${watching.prefix}:{p${taskId.split("-")[0]}}`);
    const ids = await Promise.all(nodes.map((node) => node.cluster("MYID")));
    const owner = (await nodes[0]!.cluster("SLOTS")).find(([first, last]) => first <= slot && slot <= last)?.[2]?.[2];
    const target = ids.findIndex((id) => id !== owner);
    await nodes[target]!.cluster("SETSLOT", slot, "NODE", ids[target]!);
    for (const node of nodes) await node.cluster("SETSLOT", slot, "NODE", ids[target]!);

    await until(() => heard > 0);
    heard = 0;
    const life = aLife(watching.store, () => taskId);
    await life.create();
    await until(() => heard > 0);
    await life.cancel(taskId);
  });

  test("offers an answer to a worker, which classic pub/sub could not confirm", async () => {
    const on = await open();
    const run = vi.fn(async () => undefined);
    await on.consumeRuns({ concurrency: 32, run, sweep: async () => undefined });
    const taskId = await aLife(on.store, newTaskId).parked([anAsk("size")]);
    const lane = await until(() => on.queue.lane?.({ taskId, cause: "answered" }));
    // A worker is known before its lanes are subscribed; until then runs come through the queue.
    await until(async () => (await listenersOf(lane)) > 0);
    expect(await answered(on, taskId, lane)).toEqual({ receipt: "accepted" });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);
    await aLife(on.store).cancel(taskId);

    const classic = await open({ shardedPubSub: false });
    await classic.consumeRuns({ concurrency: 32, run, sweep: async () => undefined });
    const laneOf = ({ queue }: OpenRedis) => queue.lane?.({ taskId: newTaskId(), cause: "answered" });
    expect(laneOf(classic)).toBeUndefined();
    // The worker can be found: a process with sharded pub/sub, which asked later, finds it.
    const sharded = await open({ prefix: classic.prefix });
    await until(() => laneOf(sharded));
    expect(laneOf(classic)).toBeUndefined();
    expect(classic.logged.map(({ message }) => message)).not.toContain(CLASSIC);
  });

  test("goes to every node, and the log says so, if the user may not publish on shards", async () => {
    for (const node of nodes) await node.acl("SETUSER", "classic", "on", ">secret", "~*", "&*", "+@all", "-spublish");
    const on = await open({ url: cluster.url.replace("://", "://classic:secret@") });
    expect(on.lines).toContainEqual(["info", { error: expect.stringContaining("NOPERM") }, CLASSIC]);
    await on.consumeRuns({ concurrency: 32, run: async () => undefined, sweep: async () => undefined });
    expect(on.queue.lane?.({ taskId: newTaskId(), cause: "answered" })).toBeUndefined();
    let heard = 0;
    const taskId = newTaskId();
    await on.wakeUps.watch(taskId, () => (heard += 1));
    const life = aLife(on.store, () => taskId);
    await life.cancel(await life.create());
    await until(() => heard > 0);
  });
});

test.skipIf(why)("slots are computed as the cluster does", async () => {
  for (const key of ["", "a", "{p0}", "parley:{p12}:task:12-x", "parley:{p1}{p2}", "{}empty", "schön:{ü}", "open{brace"]) {
    expect([key, slotOf(key)]).toEqual([key, await nodes[0]!.cluster("KEYSLOT", key)]);
  }
});
