/**
 * Open asks by the names in their audiences: two sorted sets for each name and partition, merged while a page is read.
 * scripts/task.lua writes them in the change that opens or closes an ask; they only narrow, core's policy decides.
 *
 * Partitions are read in parallel, in turns with all other lists of this process. A script never reads more than
 * NAMES_TOGETHER sets, so a token with thousands of groups blocks no one.
 */
import { type AskedRequest, type AskPlace, inAskOrder } from "@parley/core";
import type { Redis } from "ioredis";
import type { ContentCodec } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Summaries } from "./summaries.ts";

/** Sets that one script reads: 1 to 2 ms of Redis. */
const NAMES_TOGETHER = 256;

export interface AskedList {
  page(request: AskedRequest): Promise<readonly AskPlace[]>;
}

export interface AskedListOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: number;
  readonly codec: Pick<ContentCodec, "lookUps">;
  readonly turn: Summaries["turn"];
}

export function createAskedList({ redis, keys, partitions, codec, turn }: AskedListOptions): AskedList {
  const scripts = loadScripts(redis, { names: ["page"], folder: "asked/", keyCount: () => undefined });

  async function read(partition: number, digests: readonly string[], { order, limit, after }: AskedRequest): Promise<AskPlace[]> {
    const sets = digests.map((digest) => keys.asked(partition, digest, order === "deadline" ? "deadline" : "age"));
    const from = after ? [after.atMs, `${after.taskId} ${after.key}`] : ["", ""];
    const rest = [order === "newest" ? -1 : 1, limit, ...from, keys.taskPrefix(partition)];
    for (;;) {
      const [gone, ...flat] = (await turn(() => scripts.page([sets.length, ...sets, ...rest]))) as [number, ...string[]];
      // What it removed made room for others behind.
      if (gone > 0) continue;
      return Array.from({ length: flat.length / 2 }, (_, index) => placeOf(flat[2 * index] ?? "", flat[2 * index + 1] ?? ""));
    }
  }

  return {
    async page(request) {
      const { tenant, names, order, limit } = request;
      const lookUps = await codec.lookUps(tenant);
      const digests = lookUps.flatMap((digest) => names.map(digest));
      const parts = Array.from({ length: Math.ceil(digests.length / NAMES_TOGETHER) }, (_, part) =>
        digests.slice(part * NAMES_TOGETHER, (part + 1) * NAMES_TOGETHER),
      );
      const found = await Promise.all(
        Array.from({ length: partitions }, (_, partition) => parts.map((part) => read(partition, part, request))).flat(),
      );
      const sorted = found.flat().toSorted((a, b) => inAskOrder(order, a, b));
      return sorted.filter((place, index) => !isSame(place, sorted[index - 1])).slice(0, limit);
    },
  };
}

export function placeOf(member: string, atMs: string): AskPlace {
  const space = member.indexOf(" ");
  return { atMs: Number(atMs), taskId: member.slice(0, space), key: member.slice(space + 1) };
}

function isSame(a: AskPlace, b: AskPlace | undefined): boolean {
  return a.taskId === b?.taskId && a.key === b.key;
}
