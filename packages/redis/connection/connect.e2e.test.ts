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
/** A third of one round: to connect again and to try a command takes less. */
const LATE_BYTES = (AT_ONCE / 3) * "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nx\r\n".length;

const why = lackingCluster();
let directory: string;
let cluster: Topology;
let masters: readonly Redis[];
let redis: Redis;
const sockets: Socket[] = [];

function opened(message: unknown): void {
  sockets.push((message as { readonly socket: Socket }).socket);
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
    const sent = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => redis.set(key, "x")));
    expect(new Set(sent.map((each) => each.status === "rejected" && String(each.reason)))).toEqual(new Set(["Error: Command timed out"]));
  }
}

/**
 * What this process has written to all servers. Not what they have received: a hung one receives what was sent in time, and how much that is
 * depends on how soon each connection is given up.
 */
function bytesWritten(): number {
  return sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0);
}

/** Stops the processes of masters while `work` runs. Returns how many bytes were written from its end until `key` could be set. */
async function whileHung(hung: readonly Redis[], key: string, work: () => Promise<void>): Promise<number> {
  const pids = await Promise.all(hung.map(async (each) => Number(/process_id:(\d+)/.exec(await each.info("server"))?.[1])));
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  let before: number;
  try {
    await work();
    before = bytesWritten();
  } finally {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  }
  await until(() => redis.set(key, "back").catch(() => undefined));
  return bytesWritten() - before;
}

test.skipIf(why)("commands to a master that hangs time out, and those that did are not sent again when it is back", async () => {
  const [hung] = masters as [Redis];
  for (let n = 0; n < 50; n += 1) await redis.set(`k${n}`, "x");
  const [key = ""] = await hung.keys("*");
  const sentLate = await whileHung([hung], key, () => manyTimeOut(key));
  expect(sentLate).toBeLessThan(LATE_BYTES);
});

test.skipIf(why)("commands to a cluster that is away time out, do not fill the memory, and are not sent when it is back", async () => {
  const sentLate = await whileHung(masters, "k", async () => {
    await until(async () => (await redis.get("k").catch(() => undefined)) === undefined && redis.status !== "ready");
    await manyTimeOut("k");
    const { offlineQueue } = redis as unknown as { readonly offlineQueue: { readonly length: number } };
    expect(offlineQueue.length).toBeLessThanOrEqual(2 * AT_ONCE);
  });
  expect(sentLate).toBeLessThan(LATE_BYTES);
});
