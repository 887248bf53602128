/** Checks everything that a run left in Redis, once nothing is in progress, and reports what should not be there. */
import type { Redis } from "ioredis";
import { WITHOUT_TTL, keysOf } from "../contract/open-redis.ts";
import { until } from "../support/until.ts";
import type { Finding } from "./story.ts";
import type { System } from "./system.ts";

export interface Audit {
  readonly findings: readonly Finding[];
  readonly tasks: number;
  /** Tasks whose call nobody acknowledged: the client was told that the outcome is unknown. */
  readonly unacknowledged: number;
}

/** A due time this far back is one that the sweep should have seen to. */
const OVERDUE_MS = 5_000;
const SWEPT_WITHIN_MS = 5_000;
const FINISHED = new Set(["completed", "failed", "cancelled"]);
/** What BullMQ keeps of a queue without jobs. */
const EMPTY_QUEUE = /:run:(id|meta|events|marker|stalled|stalled-check)$/;

interface StoredTask {
  readonly id: string;
  readonly partition: string;
  readonly status: string;
  readonly open: readonly string[];
}

export async function audit(system: System, acknowledged: ReadonlySet<string>): Promise<Audit> {
  const nodes = await system.topology.open();
  try {
    const each = await Promise.all(nodes.map((node) => auditNode(node, system)));
    const tasks = each.flatMap((node) => node.tasks);
    return {
      findings: each.flatMap(({ findings }) => findings),
      tasks: tasks.length,
      unacknowledged: tasks.filter(({ id }) => !acknowledged.has(id)).length,
    };
  } finally {
    for (const node of nodes) node.disconnect();
  }
}

/** Whether anything is still on its way: a task at work or overdue, or a job. */
export async function isAtRest(system: System): Promise<boolean> {
  const { findings } = await audit(system, new Set());
  return findings.every(({ rule }) => rule !== "rest" && rule !== "due" && rule !== "queues");
}

async function auditNode(redis: Redis, { prefix }: System): Promise<{ findings: Finding[]; tasks: StoredTask[] }> {
  const findings: Finding[] = [];
  const keys = await keysOf(redis, prefix);
  const expiries = await expiriesOf(redis, keys);
  const tasks = await tasksOf(redis, keys);

  const dueKeys = keys.filter((key) => key.endsWith(":due"));
  const due = new Map<string, number>();
  for (const key of dueKeys) {
    const members = await redis.zrange(key, "0", "-1", "WITHSCORES");
    for (let i = 0; i + 1 < members.length; i += 2) due.set(members[i] ?? "", Number(members[i + 1]));
  }

  for (const [key, atMs] of expiries) {
    const [, task, taskId] = /^(.*:task:([^:]+))(?::journal|:feed)?$/.exec(key) ?? [];
    // An unfinished task never expires: the due set sees to it that it ends.
    const neverExpires = taskId === undefined ? WITHOUT_TTL.some((allowed) => allowed.test(key)) : due.has(taskId);
    if (atMs === -1 && !neverExpires) findings.push({ rule: "expiry", where: key, what: "never expires" });
    if (atMs !== -1 && taskId !== undefined && due.has(taskId))
      findings.push({ rule: "expiry", where: key, what: "expires, and its task is unfinished" });
    if (task !== undefined && expiries.get(task) !== atMs) {
      findings.push({ rule: "expiry", where: key, what: `expires at ${atMs}, its task at ${expiries.get(task)}` });
    }
    if (/:run:/.test(key) && !EMPTY_QUEUE.test(key)) findings.push({ rule: "queues", where: key, what: "is left of a run queue" });
  }

  const nowMs = Date.now();
  const unfinished = new Set<string>();
  for (const { id, status, open } of tasks) {
    if (!FINISHED.has(status)) unfinished.add(id);
    if (status === "working") findings.push({ rule: "rest", where: `task ${id}`, what: "is still working" });
    if ((status === "input_required") !== open.length > 0) {
      findings.push({ rule: "open", where: `task ${id}`, what: `is ${status} with ${open.length} open asks` });
    }
    if (!FINISHED.has(status) && !due.has(id))
      findings.push({ rule: "due", where: `task ${id}`, what: "is unfinished and not in the due set" });
  }
  for (const [id, atMs] of due) {
    if (!unfinished.has(id)) findings.push({ rule: "due", where: `task ${id}`, what: "is in the due set and has ended, or is gone" });
    else if (atMs < nowMs - OVERDUE_MS) findings.push({ rule: "due", where: `task ${id}`, what: `is overdue since ${nowMs - atMs} ms` });
  }
  for (const partition of new Set(tasks.map((task) => task.partition))) {
    const isSwept = async () => (await redis.exists(`${partition}:swept`)) === 1;
    await until(isSwept, { timeoutMs: SWEPT_WITHIN_MS }).catch(() =>
      findings.push({ rule: "queues", where: partition, what: `was not swept within ${SWEPT_WITHIN_MS} ms` }),
    );
  }
  return { findings, tasks };
}

/** Key → time of its expiry; −1 for never. What expired meanwhile is left out. */
async function expiriesOf(redis: Redis, keys: readonly string[]): Promise<Map<string, number>> {
  const times = await piped(redis, keys, (pipeline, key) => pipeline.pexpiretime(key));
  return new Map(keys.flatMap((key, i) => (Number(times[i]) === -2 ? [] : [[key, Number(times[i])] as const])));
}

async function tasksOf(redis: Redis, keys: readonly string[]): Promise<StoredTask[]> {
  const taskKeys = keys.filter((key) => /:task:[^:]+$/.test(key));
  const hashes = await piped(redis, taskKeys, (pipeline, key) => pipeline.hgetall(key));
  return taskKeys.map((key, i) => {
    const fields = hashes[i] as Record<string, string>;
    const [partition = "", id = ""] = key.split(":task:");
    const open = Object.keys(fields).filter((field) => field.startsWith("ask:"));
    return { id, partition, status: fields["state"]?.split(" ")[0] ?? "", open };
  });
}

type Pipeline = ReturnType<Redis["pipeline"]>;

async function piped(redis: Redis, keys: readonly string[], add: (pipeline: Pipeline, key: string) => Pipeline): Promise<unknown[]> {
  const replies: unknown[] = [];
  for (let from = 0; from < keys.length; from += 1_000) {
    const pipeline = redis.pipeline();
    for (const key of keys.slice(from, from + 1_000)) add(pipeline, key);
    for (const [error, reply] of (await pipeline.exec()) ?? []) {
      if (error) throw error;
      replies.push(reply);
    }
  }
  return replies;
}
