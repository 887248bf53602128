/**
 * Two front ends behind a proxy without affinity, and what happens to them while a person has a question in front of them:
 *
 *   other       the front end that put it is killed; the person answers a second later, while the other one serves
 *   both        both are killed; the person answers while none serves; they are back some seconds later
 *   back        both are killed; the person answers two seconds after they are back
 *   elsewhere   the front end that put it is killed; somebody answers at the other one, and this person says the same twenty seconds later
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "../support/free-ports.ts";
import { type FrontEnd, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { startProxy } from "../support/proxy.ts";
import { openTestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { type Dialect, failedWith, type Told } from "../dialects/dialect.ts";
import type { Reply } from "../dialects/scenarios.ts";

export const OUTAGES = ["other", "both", "back", "elsewhere"] as const;
export type Outage = (typeof OUTAGES)[number];

const QUESTION = "Who are you?";
const REPLY: Reply = { action: "accept", content: { name: "Ann" } };
const LATER_MS = { other: 1_000, both: 500, back: 2_000, elsewhere: 20_000 } as const;
const DOWN_MS = 2_500;
/** SDKs of others end a call after a minute by themselves. */
const PATIENCE_MS = 75_000;

export interface Run {
  /** The MCP endpoint. */
  readonly url: string;
  /** Of the tool `greet`. */
  readonly args: { readonly marker: string };
  /** What the person does when they are asked. Resolves when they have decided. */
  respond(): Promise<Reply>;
}

export interface Seen {
  /** What the client ended with, and how long after the kill; undefined if it had not by then. */
  readonly told: Told | undefined;
  readonly afterMs: number;
  /** How often its person was asked. */
  readonly asked: number;
  /** How often the tool was called. */
  readonly calls: number;
  /** How many sessions the client opened. */
  readonly sessions: number;
  /** What became of the last call. */
  readonly status: string | undefined;
}

const NEVER = new Promise<never>(() => undefined);

/** A dialect as a client that knows nothing of what happens to the front ends. */
export function clientOf({ run }: Pick<Dialect, "run">): (run: Run) => Promise<Told> {
  const apart = { asked: NEVER, closed: () => NEVER, cut: () => NEVER, vanish: () => NEVER, back: () => undefined };
  return (call) => run({ ...apart, ...call, tool: "greet", meanwhile: undefined });
}

export interface Outages {
  play(outage: Outage, run: (run: Run) => Promise<Told>): Promise<Seen>;
  close(): Promise<void>;
}

export async function startOutages(redisUrl?: string): Promise<Outages> {
  const redis = openTestRedis(redisUrl);
  const env = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_TOOLS: join(import.meta.dirname, "../dialects/tools.ts") };
  const ports = await freePorts(2);
  const start = (index: number) => startFrontEnd({ ...env, PARLEY_PORT: String(ports[index]) });
  const serving = new Set<number>();
  const [worker, ...fronts] = await Promise.all([startWorkerProcess(env), start(0), start(1)]);
  fronts.forEach((_, index) => serving.add(index));
  let put = 0;
  const proxy = await startProxy(
    fronts.map(({ url }) => url),
    {
      serves: (index) => serving.has(index),
      onChunk(index, chunk) {
        if (chunk.includes(QUESTION)) put = index;
      },
    },
  );

  async function kill(index: number): Promise<void> {
    serving.delete(index);
    await (fronts[index] as FrontEnd).kill();
  }

  async function revive(): Promise<void> {
    await Promise.all(
      fronts.map(async (_, index) => {
        if (serving.has(index)) return;
        fronts[index] = await start(index);
        serving.add(index);
      }),
    );
  }

  const keys = async (pattern: RegExp) => (await redis.keys()).filter((key) => pattern.test(key));
  const tasks = () => keys(/:task:[\w-]+$/);
  const sessions = async () => (await keys(/:session:/)).length;
  const statusOf = async (key: string | undefined) => key && (await redis.redis.hget(key, "state"))?.split(" ")[0];

  async function answerElsewhere(key: string | undefined): Promise<void> {
    const taskId = key?.split(":").at(-1);
    const at = `${fronts[1 - put]?.url}/api/v1/asks/${taskId}/who`;
    const headers = { "content-type": "application/json" };
    const { status } = await fetch(at, { method: "POST", headers, body: JSON.stringify(REPLY) });
    if (status !== 200) throw new Error(`${at} was answered with ${status}`);
  }

  async function play(outage: Outage, run: (run: Run) => Promise<Told>): Promise<Seen> {
    const before = await tasks();
    const sessionsBefore = await sessions();
    const made = async () => (await tasks()).filter((key) => !before.includes(key));
    let [asked, killedAtMs] = [0, Date.now()];
    let back: Promise<void> = Promise.resolve();
    async function respond(): Promise<Reply> {
      asked += 1;
      if (asked === 1) {
        const [key] = await made();
        killedAtMs = Date.now();
        if (outage === "both" || outage === "back") {
          await Promise.all([kill(0), kill(1)]);
          back = sleep(DOWN_MS).then(revive);
        } else await kill(put);
        if (outage === "elsewhere") await answerElsewhere(key);
      }
      if (outage === "back") await back;
      await sleep(LATER_MS[outage]);
      return REPLY;
    }
    const timeout = sleep(PATIENCE_MS, undefined, { ref: false });
    const told = await Promise.race([run({ url: `${proxy.url}/mcp`, args: { marker: outage }, respond }).catch(failedWith), timeout]);
    const afterMs = Date.now() - killedAtMs;
    await back;
    await revive();
    // What the client sent last, such as a cancellation, may still be under way.
    const all = await made();
    const isOver = async () => !["working", "input_required", undefined].includes(await statusOf(all.at(-1)));
    await until(isOver, { timeoutMs: 3_000 }).catch(() => undefined);
    const opened = (await sessions()) - sessionsBefore;
    return { told, afterMs, asked, calls: all.length, sessions: opened, status: await statusOf(all.at(-1)) };
  }

  return {
    play,
    async close() {
      await proxy.close();
      await Promise.all([worker, ...fronts].map((each) => each.kill()));
      await redis.close();
    },
  };
}
