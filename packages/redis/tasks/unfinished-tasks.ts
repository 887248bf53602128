/**
 * All unfinished tasks, in no order, for operators. A task that stays unfinished throughout is returned at least
 * once.
 */
import type { CallFacts } from "@parley/core";
import type { Redis } from "ioredis";
import type { ContentCodec } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import type { Reads } from "./reads.ts";
import { callOf } from "./task-hash.ts";
import { reached } from "../connection/unavailable.ts";

/** Tasks to read together. */
const BATCH = 500;

export interface WaitingTask {
  readonly taskId: string;
  readonly call: Pick<CallFacts, "kind" | "name" | "version">;
}

export interface WaitingOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly codec: ContentCodec;
  readonly reads: Pick<Reads, "fields">;
}

export function createWaiting({ redis, keys, codec, reads }: WaitingOptions) {
  async function look(taskId: string): Promise<WaitingTask[]> {
    const taskKeys = keys.task(taskId);
    if (!taskKeys) return [];
    const [call, version] = await reads.fields(taskKeys[0], ["call", "version"]);
    return typeof call === "string" ? [{ taskId, call: callOf(codec.of(taskId), call, version) }] : [];
  }

  /** Throws UNAVAILABLE. */
  return async function* waiting(partition: number): AsyncGenerator<readonly WaitingTask[]> {
    let cursor = "0";
    do {
      const [next, flat] = await reached(redis.zscan(keys.due(partition), cursor, "COUNT", BATCH));
      const found = await reached(Promise.all(flat.filter((_, index) => index % 2 === 0).map(look)));
      yield found.flat();
      cursor = next;
    } while (cursor !== "0");
  };
}
