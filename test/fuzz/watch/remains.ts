/** What a run leaves behind: in the front ends' hands, in their memory, in Redis. */
import { connectRedis } from "@parley/redis";
import { everlasting } from "../../contract/open-redis.ts";
import { until } from "../../support/until.ts";
import { Http } from "../wire/http.ts";
import type { RunFinding } from "../rules.ts";
import type { FrontEnd, Member, State, System } from "../system.ts";

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const GROWTH_BYTES_MAX = 32 * 1_048_576;
/** Streams that were left in the last moment, and the calls behind them. */
const RELEASED_WITHIN_MS = 60_000;
const HELD = ["parley_calls_held", "parley_listens_open"];

/** Of streams and calls that nobody waits for any more. */
export async function stillHeld({ frontEnds }: System): Promise<RunFinding[]> {
  const findings = await Promise.all(
    frontEnds.map(async (frontEnd) => {
      let held = "";
      try {
        await until(async () => (held = await heldBy(frontEnd)) === "", { timeoutMs: RELEASED_WITHIN_MS, everyMs: 200 });
        return [];
      } catch {
        return [{ rule: "released" as const, what: `${RELEASED_WITHIN_MS} ms after all clients have left: ${held}` }];
      }
    }),
  );
  return findings.flat();
}

async function heldBy({ operator }: FrontEnd): Promise<string> {
  const http = new Http(operator);
  const { text } = await http.send({ method: "GET", path: "/metrics", headers: {} }, { timeoutMs: 5_000, bytesMax: 1_048_576 });
  http.close();
  return HELD.flatMap((name) => {
    const value = Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    return value === 0 ? [] : [`${name} ${value}`];
  }).join(", ");
}

/** Looks from inside, before and after. */
export async function looksOf({ members, look }: System): Promise<ReadonlyMap<Member, State>> {
  return new Map(await Promise.all(members.map(async (member) => [member, await look(member)] as const)));
}

export function grownSince(before: ReadonlyMap<Member, State>, after: ReadonlyMap<Member, State>): RunFinding[] {
  const sizeOf = (state: State | undefined) => (state ? state.heapBytes + state.externalBytes : 0);
  return [...after].flatMap(([member, state]) => {
    const findings: RunFinding[] = [];
    const grown = sizeOf(state) - sizeOf(before.get(member));
    // What a worker's tools keep is their authors' affair.
    if (member.kind === "front end" && grown > GROWTH_BYTES_MAX)
      findings.push({ rule: "memory", what: `a front end keeps ${mb(grown)} MB more than before` });
    if (state.changed.length > 0) findings.push({ rule: "pollution", what: `${member.kind}: ${state.changed.slice(0, 5).join(", ")}` });
    return findings;
  });
}

export function mb(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}

/** Ends every task, as their clients could, and names the keys that stay forever. */
export async function everlastingKeys({ deployment }: System): Promise<RunFinding[]> {
  const { redis, url, prefix, keys } = deployment.redis;
  const backend = await connectRedis({ url, prefix }, { log: silent });
  try {
    const unfinished = async () =>
      (await Promise.all((await keys()).filter((key) => key.endsWith(":due")).map((key) => redis.zrange(key, "0", "-1")))).flat();
    await until(
      async () => {
        const taskIds = await unfinished();
        await Promise.all(taskIds.map((taskId) => backend.store.cancel({ taskId, nowMs: backend.now(), message: "The run is over." })));
        return taskIds.length === 0;
      },
      { everyMs: 100 },
    );
    // Runs that were under way find that their task has ended.
    await until(async () => (await keys()).every((key) => !/:run:\d+-(\w{4}-)?[\w-]{22}\.\d+(\.overtaken)?$/.test(key)), {
      timeoutMs: 60_000,
      everyMs: 200,
    });
    const left = await everlasting(redis, await keys());
    return left.length === 0 ? [] : [{ rule: "expiry", what: `${left.length} keys, such as ${left.slice(0, 3).join(", ")}` }];
  } catch (error) {
    return [{ rule: "expiry", what: `tasks do not end: ${String(error)}` }];
  } finally {
    await backend.close();
  }
}
