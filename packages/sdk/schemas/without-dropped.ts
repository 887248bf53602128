/**
 * Arguments without what their schema drops: zod's objects ignore unknown keys, and a task would keep them for days.
 *
 * What was sent counts here, not what the schema made of it. A key counts as dropped when the parsed value has none of that name, and when the
 * arguments without it are read as the same: a transform may have moved it. A schema that refuses unknown keys refuses them, and one that
 * keeps them (passthrough, catchall, plain JSON Schema) keeps them.
 */
import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "@parley/core";
import { check, type Schema } from "./schema.ts";

/** `read` is what `schema` made of `args`. */
export async function withoutDropped(schema: Schema, args: JsonObject, read: unknown): Promise<JsonObject> {
  const kept = knownOf(args, read) as JsonObject;
  if (kept === args) return args;
  // A transform may have moved or renamed what looks dropped.
  const again = await check(schema, kept);
  return again.ok && isDeepStrictEqual(again.value, read) ? kept : args;
}

/** What `read` has of `given`: the same object where it has everything, which is almost always. */
export function knownOf(given: Json, read: unknown): Json {
  if (given === read) return given;
  if (Array.isArray(given)) {
    if (!Array.isArray(read) || read.length !== given.length) return given;
    const items = given.map((item, index) => knownOf(item, read[index]));
    return items.every((item, index) => item === given[index]) ? given : items;
  }
  if (typeof given !== "object" || given === null || typeof read !== "object" || read === null) return given;
  const entries = Object.entries(given);
  const kept = entries
    .filter(([key]) => Object.hasOwn(read, key))
    .map(([key, item]) => [key, knownOf(item, (read as { readonly [key: string]: unknown })[key])] as const);
  const isWhole = kept.length === entries.length && kept.every(([key, item]) => item === given[key]);
  return isWhole ? given : Object.fromEntries(kept);
}
