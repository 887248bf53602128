/** Classic elicitations that wait in one worker: the memory of each, and the memory that remains after they were answered. */
import { type Client, createClient } from "../client.ts";
import { liveHeapBytes } from "../heap.ts";
import { ACCEPTED } from "../lifecycle.ts";
import { inParallel } from "../measure.ts";
import type { GatewayDeployment } from "./deployment.ts";

export interface Held {
  readonly calls: number;
  /** Bytes of the worker, per call: JavaScript objects that are alive, and resident memory. */
  readonly heapPerCall: number;
  readonly residentPerCall: number;
  /** Live bytes of the worker before, and after all calls have ended. */
  readonly heapBefore: number;
  readonly heapAfter: number;
  /** Keys in Redis that say who holds a call, and sessions that are open at the upstream, after all have ended. */
  readonly holderKeysHeld: number;
  readonly holderKeysAfter: number;
  readonly sessionsAfter: number;
}

const CLIENTS = 20;
const WARM_UP = 200;
const LOOK_EVERY_MS = 500;

export async function heldCalls(deployment: GatewayDeployment, calls: number): Promise<Held> {
  const { url, worker, openSessions } = deployment;
  const client = createClient(url, CLIENTS);
  try {
    await answerAll(client, await askedCalls(client, WARM_UP));
    const sessionsBefore = await untilSteady(openSessions);
    const [heapBefore, residentBefore] = [await liveHeapBytes(worker.inspectorPort), worker.memoryBytes()];
    const tasks = await askedCalls(client, calls);
    const [heapHeld, residentHeld] = [await liveHeapBytes(worker.inspectorPort), worker.memoryBytes()];
    const holderKeysHeld = await holderKeys(deployment);
    await answerAll(client, tasks);
    const sessionsAfter = (await untilSteady(openSessions)) - sessionsBefore;
    return {
      calls,
      heapPerCall: (heapHeld - heapBefore) / calls,
      residentPerCall: (residentHeld - residentBefore) / calls,
      heapBefore,
      heapAfter: await liveHeapBytes(worker.inspectorPort),
      holderKeysHeld,
      holderKeysAfter: await holderKeys(deployment),
      sessionsAfter,
    };
  } finally {
    client.close();
  }
}

/** Resolves when all of them are asked. */
async function askedCalls(client: Client, calls: number): Promise<readonly string[]> {
  const tasks: string[] = [];
  await inParallel(CLIENTS, calls, async () => void tasks.push((await client.call("up_ask", { text: "held" })).taskId));
  await untilAll(client, tasks, "input_required");
  return tasks;
}

async function answerAll(client: Client, tasks: readonly string[]): Promise<void> {
  const left = [...tasks];
  await inParallel(CLIENTS, tasks.length, async () => void (await client.answer(left.pop() ?? "", { "question-1": ACCEPTED })));
  await untilAll(client, tasks, "completed");
}

async function untilAll(client: Client, tasks: readonly string[], status: string): Promise<void> {
  const left = [...tasks];
  await inParallel(CLIENTS, tasks.length, async () => {
    const taskId = left.pop() ?? "";
    for (;;) {
      const task = await client.get(taskId);
      if (task.status === status) return;
      if (task.status === "failed") throw new Error(`${taskId} failed: ${task.error?.message}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  });
}

/** Once it stays as it is for longer than a prepared session is kept. */
async function untilSteady(count: () => Promise<number>): Promise<number> {
  let last = await count();
  for (let sinceMs = Date.now(); Date.now() - sinceMs < 12_000;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const now = await count();
    if (now !== last) sinceMs = Date.now();
    last = now;
  }
  return last;
}

async function holderKeys({ redis }: GatewayDeployment): Promise<number> {
  let found = 0;
  for await (const keys of redis.scanStream({ match: "*:holder", count: 1_000 })) found += (keys as string[]).length;
  for (const key of await redis.keys("*:gateway:calls:*")) found += await redis.hlen(key);
  return found;
}
