/** A connection to a real cluster of three masters, of which one hangs, or all do. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { lackingCluster, startCluster } from "../../../test/topologies/cluster.ts";
import type { Topology } from "../../../test/topologies/topology.ts";
import { openConnection } from "./connect.ts";

const WITHIN_MS = 500;
const AT_ONCE = 600;
const ROUNDS = 5;
/** The value that the commands set which are to time out. */
const NEVER = "never";

const why = lackingCluster();
let directory: string;
let cluster: Topology;
let masters: readonly Redis[];
let redis: Redis;
/** How often this process has written such a command to any server. */
let written = 0;

function opened(message: unknown): void {
  const { socket } = message as { readonly socket: Socket };
  // Node takes back its own write when it connects.
  socket.once("connect", () => {
    const write = socket.write.bind(socket) as (chunk: string | Uint8Array, ...more: unknown[]) => boolean;
    socket.write = (chunk: string | Uint8Array, ...more: unknown[]) => {
      written += Buffer.from(chunk).toString("latin1").split(NEVER).length - 1;
      return write(chunk, ...more);
    };
  });
}

beforeAll(async () => {
  if (why) return;
  subscribe("net.client.socket", opened);
  directory = await mkdtemp(join(tmpdir(), "parley-connect-"));
  cluster = await startCluster(directory, { nodeTimeoutMs: 60_000 });
  masters = await cluster.open();
  for (const master of masters) master.on("error", () => undefined);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const options = { commandTimeout: WITHIN_MS, socketTimeout: WITHIN_MS, maxRetriesPerRequest: null };
  redis = openConnection(cluster.url, { log, name: "commands", options });
});

afterAll(async () => {
  if (why) return;
  unsubscribe("net.client.socket", opened);
  for (const each of [redis, ...masters]) each.disconnect();
  await cluster.close();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

async function manyTimeOut(key: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const sent = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => redis.set(key, NEVER)));
    expect(new Set(sent.map((each) => each.status === "rejected" && String(each.reason)))).toEqual(new Set(["Error: Command timed out"]));
  }
}

/**
 * Stops the processes of masters while `work` runs. Returns how many of the commands that timed out were written from its end until `key` could be
 * set. Not what the servers receive: a hung one receives what was sent in time.
 */
async function whileHung(hung: readonly Redis[], key: string, work: () => Promise<void>): Promise<number> {
  const pids = await Promise.all(hung.map(async (each) => Number(/process_id:(\d+)/.exec(await each.info("server"))?.[1])));
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  let before: number;
  try {
    await work();
    before = written;
  } finally {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  }
  await until(() => redis.set(key, "back").catch(() => undefined));
  return written - before;
}

test.skipIf(why)("commands to a master that hangs time out, and those that did are not sent again when it is back", async () => {
  const [hung] = masters as [Redis];
  for (let n = 0; n < 50; n += 1) await redis.set(`k${n}`, "x");
  const [key = ""] = await hung.keys("*");
  const sentLate = await whileHung([hung], key, () => manyTimeOut(key));
  expect(sentLate).toBe(0);
});

test.skipIf(why)("commands to a cluster that is away time out, do not fill the memory, and are not sent when it is back", async () => {
  const sentLate = await whileHung(masters, "k", async () => {
    await until(async () => (await redis.get("k").catch(() => undefined)) === undefined && redis.status !== "ready");
    await manyTimeOut("k");
    const { offlineQueue } = redis as unknown as { readonly offlineQueue: { readonly length: number } };
    expect(offlineQueue.length).toBeLessThanOrEqual(2 * AT_ONCE);
  });
  expect(sentLate).toBe(0);
});
