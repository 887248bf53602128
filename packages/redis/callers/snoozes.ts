/**
 * What people have put aside: one hash for each person, which expires with the last of its entries. It is in a slot of its own, apart from all
 * tasks: what they do knows nothing of it, and a person who puts nothing aside has none.
 */
import { type Snooze, SNOOZES_MAX, type Snoozes, type SnoozingPerson } from "@parley/core";
import type { Redis } from "ioredis";
import type { ContentCodec } from "../content/codec.ts";
import { reached } from "../connection/unavailable.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";

export interface SnoozesOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "snoozes">;
  /** The person is digested as an audience is: while content is sealed, who reads Redis cannot confirm guesses. */
  readonly codec: Pick<ContentCodec, "lookUps">;
}

/** Throws UNAVAILABLE. */
export function createSnoozes({ redis, keys, codec }: SnoozesOptions): Snoozes {
  const scripts = loadScripts(redis, { names: ["put"], folder: "snooze/", keyCount: () => 1 });

  /** One for each data key of the tenant. New entries go to the first. */
  async function hashesOf({ tenant, person }: SnoozingPerson): Promise<readonly string[]> {
    return (await codec.lookUps(tenant)).map((digest) => keys.snoozes(digest(`snoozed ${person}`)));
  }

  /** The first that has an ask counts: a new entry is written before an older one of the same ask is removed. */
  async function entriesOf(hashes: readonly string[], nowMs: number): Promise<readonly Snooze[]> {
    const found = await Promise.all(hashes.map((hash) => reached(redis.hgetall(hash))));
    const entries = new Map(found.toReversed().flatMap((each) => Object.entries(each)));
    return [...entries].map(snoozeOf).filter(({ untilMs }) => untilMs > nowMs);
  }

  return {
    async put(person, { taskId, key, untilMs, sinceMs, seen }, nowMs) {
      const [first = "", ...others] = await hashesOf(person);
      const member = `${taskId} ${key}`;
      // Under older keys they only become fewer, so nobody can take the places that are left to the script.
      const elsewhere = (await entriesOf(others, nowMs)).filter((each) => `${each.taskId} ${each.key}` !== member).length;
      const most = Math.max(0, SNOOZES_MAX - elsewhere);
      const times = [Math.floor(untilMs), Math.floor(sinceMs)];
      const became = (await reached(scripts.put([first, member, ...times, seen, Math.floor(nowMs), most]))) as "snoozed" | "full";
      if (became === "snoozed") await Promise.all(others.map((hash) => reached(redis.hdel(hash, member))));
      return became;
    },
    async remove(person, { taskId, key }) {
      const hashes = await hashesOf(person);
      await Promise.all(hashes.map((hash) => reached(redis.hdel(hash, `${taskId} ${key}`))));
    },
    async list(person, nowMs) {
      return await entriesOf(await hashesOf(person), nowMs);
    },
  };
}

function snoozeOf([member, value]: [string, string]): Snooze {
  const space = member.indexOf(" ");
  const [untilMs, sinceMs, seen = ""] = value.split(" ");
  return { taskId: member.slice(0, space), key: member.slice(space + 1), untilMs: Number(untilMs), sinceMs: Number(sinceMs), seen };
}
