/**
 * Which versions of tools workers serve. Each worker announces its versions while it lives; an announcement expires after a while.
 *
 *   parley:serving   zset   "book_dinner 2" -> until when, by Redis' clock
 *
 * The set holds versions rather than workers, because its readers ask whether any worker serves the version that a task waits for.
 */
import type { Serving } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { reached } from "../connection/unavailable.ts";

/** How long an announcement is valid; workers repeat it three times within that time. */
export const SERVED_FOR_MS = 30_000;

export interface ServedVersion {
  readonly tool: string;
  readonly version: string;
}

export interface ServingRegistry extends Serving {
  /** To be called again every third of `SERVED_FOR_MS`. */
  announce(served: readonly ServedVersion[]): Promise<void>;
  /** What some worker serves. */
  list(): Promise<readonly ServedVersion[]>;
}

export interface ServingOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "serving">;
  readonly now: () => number;
}

export function createServing({ redis, keys: { serving }, now }: ServingOptions): ServingRegistry {
  return {
    async announce(served) {
      if (served.length === 0) return;
      const nowMs = now();
      // "GT": a worker whose clock is behind must not shorten another's announcement.
      const members = served.flatMap(({ tool, version }) => [nowMs + SERVED_FOR_MS, `${tool} ${version}`]);
      await reached(
        redis
          .multi()
          .zadd(serving, "GT", ...members)
          .zremrangebyscore(serving, "-inf", nowMs)
          .pexpire(serving, 2 * SERVED_FOR_MS)
          .exec(),
      );
    },
    async isServed(tool, version) {
      const until = await reached(redis.zscore(serving, `${tool} ${version}`));
      return until !== null && Number(until) > now();
    },
    async list() {
      const members = await reached(redis.zrangebyscore(serving, `(${now()}`, "+inf"));
      return members.map((member) => {
        // Neither contains a space.
        const [tool = "", version = ""] = member.split(" ");
        return { tool, version };
      });
    },
  };
}
