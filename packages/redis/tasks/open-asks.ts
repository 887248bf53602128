/** Open asks by their places, as lists show them: a script for many, which leaves out what else their tasks hold. */
import type { OpenAsk, Task, TaskStore } from "@parley/core";
import type { Redis } from "ioredis";
import { type Keys, partitionOf } from "../keys.ts";
import type { Encoding } from "../scripts/encoding.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Summaries } from "./summaries.ts";
import { ASK_FIELDS, askFields, type Fields, OPEN_ASK_FIELDS } from "./task-hash.ts";

/** Asks that one script reads: half a millisecond of Redis if they are short. */
const READ_TOGETHER = 64;

export type OpenAsks = TaskStore["openAsks"];

export interface OpenAsksOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly encoding: Encoding;
  readonly turn: Summaries["turn"];
  /** The task with these of its fields; without asks if it cannot be read. */
  readonly unpack: (taskId: string, fields: Fields) => Promise<Task | undefined>;
}

type Place = Parameters<OpenAsks>[0][number];
type Values = readonly (string | null)[] | null;

export function createOpenAsks({ redis, keys, encoding, turn, unpack }: OpenAsksOptions): OpenAsks {
  const scripts = loadScripts(redis, { names: ["read"], folder: "asked/", keyCount: () => undefined, encoding });

  /** Of one partition. */
  async function read(places: readonly Place[]): Promise<readonly (OpenAsk | undefined)[]> {
    const hashes = places.map(({ taskId }) => keys.task(taskId)?.[0] ?? "");
    const args = [OPEN_ASK_FIELDS.join(" "), ASK_FIELDS.join(" "), ...places.map(({ key }) => key)];
    const rows = (await turn(() => scripts.read([hashes.length, ...hashes, ...args]))) as readonly Values[];
    return await Promise.all(places.map((place, index) => openAsk(place, rows[index] ?? null)));
  }

  async function openAsk({ taskId, key }: Place, values: Values): Promise<OpenAsk | undefined> {
    if (!values) return undefined;
    const names = [...OPEN_ASK_FIELDS, ...askFields(key)];
    const fields = Object.fromEntries(names.flatMap((name, index) => (typeof values[index] === "string" ? [[name, values[index]]] : [])));
    const task = await unpack(taskId, fields);
    const ask = task?.asks[0];
    return task && ask && { call: task.call, ask };
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
