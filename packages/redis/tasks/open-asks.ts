/** Open asks by their places, as lists show them: a script for many, which leaves out what else their tasks hold. */
import type { OpenAsk, TaskStore } from "@parley/core";
import type { Redis } from "ioredis";
import { type Keys, partitionOf } from "../keys.ts";
import type { Encoding } from "../scripts/encoding.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Summaries } from "./summaries.ts";
import { LISTED_FIELDS, type unpackListed } from "./task-hash.ts";

/** Asks that one script reads: half a millisecond of Redis if they are short. */
const READ_TOGETHER = 64;

export type OpenAsks = TaskStore["openAsks"];

export interface OpenAsksOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly encoding: Encoding;
  readonly turn: Summaries["turn"];
  /** Undefined if it cannot be read. */
  readonly unpack: (place: Place, values: Values) => Promise<OpenAsk | undefined>;
}

type Place = Parameters<OpenAsks>[0][number];
type Values = Parameters<typeof unpackListed>[2];

export function createOpenAsks({ redis, keys, encoding, turn, unpack }: OpenAsksOptions): OpenAsks {
  const scripts = loadScripts(redis, { names: ["read"], folder: "asked/", keyCount: () => undefined, encoding });

  /** Of one partition. */
  async function read(places: readonly Place[]): Promise<readonly (OpenAsk | undefined)[]> {
    const hashes = places.map(({ taskId }) => keys.task(taskId)?.[0] ?? "");
    const args = [LISTED_FIELDS.ofTask.join(" "), LISTED_FIELDS.ofAsk.join(" "), ...places.map(({ key }) => key)];
    const rows = (await turn(() => scripts.read([hashes.length, ...hashes, ...args]))) as readonly (Values | null)[];
    return await Promise.all(
      places.map(async (place, index) => {
        const values = rows[index];
        return values ? await unpack(place, values) : undefined;
      }),
    );
  }

  return async (places) => {
    const found = new Map<Place, OpenAsk | undefined>();
    const known = places.filter(({ taskId }) => keys.task(taskId));
    const readAll = async (ofPartition: readonly Place[]) => {
      for (let from = 0; from < ofPartition.length; from += READ_TOGETHER) {
        const part = ofPartition.slice(from, from + READ_TOGETHER);
        const asks = await read(part);
        for (const [index, place] of part.entries()) found.set(place, asks[index]);
      }
    };
    const parts = Map.groupBy(known, ({ taskId }) => partitionOf(taskId));
    await Promise.all([...parts.values()].map(readAll));
    return places.map((place) => found.get(place));
  };
}
