/**
 * Many partitions on several masters on this machine: `node bench/cluster.ts [masters] [partitions] [workers] [lifecycles]`.
 *
 * The two front ends, the workers and the masters are separate processes. The nodes count commands, connections, keys, redirections and
 * their messages to each other. No speeds are printed, because those of so many processes on one machine mean nothing.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { startFrontEnd, startWorkerProcess } from "../test/support/processes.ts";
import { startCluster } from "../test/topologies/cluster.ts";
import { createClient } from "./client.ts";
import { lifecycle } from "./lifecycle.ts";
import { inParallel } from "./measure.ts";

const [masters = 8, partitions = 256, workerCount = 8, lifecycles = 2_000] = process.argv.slice(2).map(Number);
const CLIENTS = 20;
const IDLE_MS = 5_000;

interface NodeCounts {
  readonly commands: number;
  readonly connections: number;
  readonly keys: number;
  readonly partitions: number;
  /** Commands for keys of several slots, or of a slot that is somewhere else. */
  readonly crossSlot: number;
  readonly moved: number;
  /** Messages about what was published, to other nodes. */
  readonly published: number;
}

async function look(node: Redis): Promise<NodeCounts> {
  const [info, cluster, keys] = await Promise.all([node.info("everything"), node.cluster("INFO"), node.dbsize()]);
  const read = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count), 0);
  const metas = await scan(node, "*:run:meta");
  return {
    commands: read(info, /^total_commands_processed:(\d+)/gm),
    connections: read(info, /^connected_clients:(\d+)/gm),
    keys,
    partitions: metas,
    crossSlot: read(info, /^errorstat_CROSSSLOT:count=(\d+)/gm),
    moved: read(info, /^errorstat_MOVED:count=(\d+)/gm),
    published: read(cluster, /^cluster_stats_messages_publish(?:shard)?_sent:(\d+)/gm),
  };
}

async function scan(node: Redis, pattern: string): Promise<number> {
  let found = 0;
  let cursor = "0";
  do {
    const [next, keys] = await node.scan(cursor, "MATCH", pattern, "COUNT", 1_000);
    cursor = next;
    found += keys.length;
  } while (cursor !== "0");
  return found;
}

for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

/** Of the partitions: each is covered twice. */
const share = Math.ceil((2 * partitions) / workerCount);
const directory = await mkdtemp(join(tmpdir(), "parley-bench-cluster-"));
const ends: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true, maxRetries: 5 })];
const shown: string[] = [];
try {
  const cluster = await startCluster(directory, { masters, nodeTimeoutMs: 15_000 });
  ends.push(() => cluster.close());
  const nodes = await cluster.open();
  ends.push(async () => nodes.forEach((node) => node.disconnect()));
  const env = {
    REDIS_URL: cluster.url,
    PARLEY_TOOLS: "bench/tool.ts",
    PARLEY_PARTITIONS: String(partitions),
    PARLEY_WORKER_PARTITIONS: String(share),
    PARLEY_CONCURRENCY: String(2 * share),
    PARLEY_LOG_LEVEL: "info",
  };
  const frontEnds = [await startFrontEnd(env), await startFrontEnd(env)];
  for (const each of frontEnds) ends.push(() => each.stop());
  for (let count = 0; count < workerCount; count += 1) {
    const worker = await startWorkerProcess(env);
    ends.push(() => worker.stop());
  }
  await sleep(12_000); // workers that came first leave their share to those who came last

  const clients = frontEnds.map(({ url }) => createClient(`${url}/mcp`, CLIENTS));
  const idleFrom = await Promise.all(nodes.map(look));
  await sleep(IDLE_MS);
  const before = await Promise.all(nodes.map(look));
  const startedMs = performance.now();
  await inParallel(CLIENTS, lifecycles, async () => {
    const client = clients.shift();
    if (!client) throw new Error("no front end");
    clients.push(client); // each in turn
    await lifecycle(client);
  });
  const tookMs = performance.now() - startedMs;
  const after = await Promise.all(nodes.map(look));
  for (const client of clients) client.close();

  const idle = before.map((node, i) => (node.commands - (idleFrom[i]?.commands ?? 0)) / IDLE_MS);
  const rows = after.map((node, i) => {
    const commands = (node.commands - (before[i]?.commands ?? 0) - (idle[i] ?? 0) * tookMs) / lifecycles;
    return { ...node, commands, idle: (idle[i] ?? 0) * 1_000 };
  });
  const mean = rows.reduce((sum, { commands }) => sum + commands, 0) / rows.length;
  shown.push(
    "node  partitions  connections  keys    commands a lifecycle  against the mean  idle commands/s  MOVED  CROSSSLOT  published to others",
  );
  for (const [i, row] of rows.entries()) {
    const cells = [
      [String(i), 6],
      [String(row.partitions), 12],
      [String(row.connections), 13],
      [String(row.keys), 8],
      [row.commands.toFixed(1), 22],
      [(row.commands / mean).toFixed(2), 18],
      [row.idle.toFixed(0), 17],
      [String(row.moved), 7],
      [String(row.crossSlot), 11],
      [String(row.published), 0],
    ] as const;
    shown.push(cells.map(([text, width]) => text.padEnd(width)).join(""));
  }
  shown.push(`all   ${rows.reduce((sum, { commands }) => sum + commands, 0).toFixed(1)} commands a lifecycle, ${lifecycles} lifecycles`);
} finally {
  for (const end of ends.toReversed()) await end();
}
process.stdout.write(`${shown.join("\n")}\n`);
