/** The stored form of a task's arguments, from which every run parses the same values. */
import { isDeepStrictEqual } from "node:util";
import type { ArgumentsRead, Json, JsonObject } from "@parley/core";
import { plainJson } from "../values/plain-data.ts";
import { check, type Schema } from "./schema.ts";
import { knownOf, withoutDropped } from "./without-dropped.ts";
import { isObject } from "../values/is-object.ts";

/** `read` is the output of `schema` for `given`. */
export async function keptArguments(schema: Schema, given: JsonObject, read: unknown): Promise<ArgumentsRead> {
  if (isDeepStrictEqual(read, given)) return { ok: true, args: given };
  const sent = await withoutDropped(schema, given, read);
  const args = await settled(schema, { given, sent, read });
  return isObject(args) ? { ok: true, args, sent } : { ok: true, args: sent };
}

/** What is kept of an answer or an event, if the schema does not leave it as it was given. `isDrawn`: reading it again gives something else. */
export async function keptAnswer(
  schema: Schema,
  given: Json,
  read: unknown,
): Promise<{ readonly content: Json; readonly isDrawn: boolean } | undefined> {
  if (isDeepStrictEqual(read, given)) return undefined;
  const content = await settled(schema, { given, sent: given, read });
  return content === undefined ? undefined : { content, isDrawn: !(await isReadAs(schema, given, read)) };
}

interface Read {
  readonly given: Json;
  /** What was given, without what the schema drops. */
  readonly sent: Json;
  readonly read: unknown;
}

/** The form that the schema reads as the same; undefined if that is only what was sent. */
async function settled(schema: Schema, { given, sent, read }: Read): Promise<Json | undefined> {
  for (const form of [asJson(read), filled(knownOf(given, read), read), filled(sent, read)]) {
    if (isDeepStrictEqual(form, sent)) return undefined;
    if (form !== undefined && (await isReadAs(schema, form, read))) return form;
  }
  return undefined;
}

/** A transform may throw on its own output, or draw a new value. */
async function isReadAs(schema: Schema, args: Json, read: unknown): Promise<boolean> {
  try {
    const again = await check(schema, args);
    // Deep equality ignores the private state of a class; its JSON may show it.
    return again.ok && isDeepStrictEqual(again.value, read) && textOf(again.value) === textOf(read);
  } catch {
    return false;
  }
}

/** JSON has no large integers, but schemas make them. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? String(item) : item));
}

/** Undefined if JSON cannot represent it. */
function asJson(read: unknown): Json | undefined {
  try {
    return plainJson("the arguments", read);
  } catch {
    return undefined;
  }
}

/** Adds the properties that only `read` has. */
function filled(sent: Json, read: unknown): Json {
  if (Array.isArray(sent)) {
    return Array.isArray(read) && read.length === sent.length ? sent.map((item, index) => filled(item, read[index])) : sent;
  }
  if (!isObject(sent) || typeof read !== "object" || read === null || Array.isArray(read)) return sent;
  const made = new Map(Object.entries(read));
  const kept = Object.entries(sent).map(([key, item]) => [key, filled(item, made.get(key))] as const);
  const added = [...made].flatMap(([key, value]) => {
    const json = Object.hasOwn(sent, key) ? undefined : asJson(value);
    return json === undefined ? [] : [[key, json] as const];
  });
  return Object.fromEntries([...kept, ...added]);
}
