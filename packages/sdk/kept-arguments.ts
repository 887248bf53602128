/**
 * The arguments of a task as they are stored: every run reads the same from them.
 *
 * A default may draw an id, and a transform may read the clock ("today" becomes a date). If each run read what the caller sent, the handler would
 * see another value after every wait, and the idempotency keys that it builds from that value would change. So the schema decides once, when
 * the arguments arrive, and what it made of them is stored in a form that it reads as the same. These are tried in turn:
 *
 *   what the schema made, as JSON      {} → {"id":"3f…"}    " Ada " → "Ada"    "today" → "2026-12-24"
 *   what was sent, with its additions  {"on":"2026-12-24"} → {"on":"2026-12-24","id":"3f…"}, if the schema refuses its own result for `on`
 *   what was sent
 *
 * The last one remains for a transform into something that the schema does not accept, such as a Map: each run applies it again, so it must be pure.
 * The test kit finds those that are not (purity.ts). What binds a call (idempotency keys, the audit) is always what was sent.
 */
import { isDeepStrictEqual } from "node:util";
import type { ArgumentsRead, Json, JsonObject } from "@parley/core";
import { plainJson } from "./plain-data.ts";
import { check, type Schema } from "./schema.ts";
import { knownOf, withoutDropped } from "./without-dropped.ts";

/** `read` is what `schema` made of `given`. */
export async function keptArguments(schema: Schema, given: JsonObject, read: unknown): Promise<ArgumentsRead> {
  if (isDeepStrictEqual(read, given)) return { ok: true, args: given };
  const sent = await withoutDropped(schema, given, read);
  for (const args of [asJson(read), filled(knownOf(given, read), read), filled(sent, read)]) {
    if (isDeepStrictEqual(args, sent)) break;
    if (isObject(args) && (await isReadAs(schema, args, read))) return { ok: true, args, sent };
  }
  return { ok: true, args: sent };
}

/** A transform may throw when it is given its own result, or draw again. */
async function isReadAs(schema: Schema, args: JsonObject, read: unknown): Promise<boolean> {
  try {
    const again = await check(schema, args);
    // Deep equality does not see the private state of a class; its JSON may.
    return again.ok && isDeepStrictEqual(again.value, read) && JSON.stringify(again.value) === JSON.stringify(read);
  } catch {
    return false;
  }
}

/** Undefined for what JSON cannot hold. */
function asJson(read: unknown): Json | undefined {
  try {
    return plainJson("the arguments", read);
  } catch {
    return undefined;
  }
}

/** With the properties that only `read` has. */
function filled(sent: Json, read: unknown): Json {
  if (Array.isArray(sent)) {
    return Array.isArray(read) && read.length === sent.length ? sent.map((item, index) => filled(item, read[index])) : sent;
  }
  if (!isObject(sent) || typeof read !== "object" || read === null || Array.isArray(read)) return sent;
  const made = new Map(Object.entries(read));
  const kept = Object.entries(sent).map(([key, item]) => [key, filled(item, made.get(key))] as const);
  const added = [...made].flatMap(([key, value]) => {
    const json = Object.hasOwn(sent, key) || value === undefined ? undefined : asJson(value);
    return json === undefined ? [] : [[key, json] as const];
  });
  return Object.fromEntries([...kept, ...added]);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
