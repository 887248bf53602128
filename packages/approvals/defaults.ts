/**
 * Arguments with what the tool fills in itself. Tools of Parley's own SDK are stored with their defaults. A server behind the gateway gets what its
 * caller sent and fills in the rest by its schema, after the gate. Conditions and approvers see what it will have then: otherwise an argument that is
 * left out, because its default is the dangerous value, would pass them unseen.
 */
import type { Json, JsonObject, Prompt, Tool } from "@parley/core";
import { isObject } from "./arguments.ts";

/** The same object if nothing is filled in. Undefined if it is too much to follow: nobody can say then what the tool will have. */
export function withDefaults(called: Tool | Prompt, args: JsonObject): JsonObject | undefined {
  if (called.kind !== "tool") return args;
  const root = called.inputSchema;
  try {
    return filled(partsOf(root, root), args, { root, depth: 0, known: new Map(), added: { count: 0 } }) as JsonObject;
  } catch (error) {
    if (error instanceof TooMuch) return undefined;
    throw error;
  }
}

class TooMuch extends Error {}

/** As deep as arguments may be. A schema may also lead into itself by its defaults. */
const DEPTH_MAX = 1_000;
export const ADDED_MAX = 10_000;

interface At {
  readonly root: JsonObject;
  readonly depth: number;
  /** Long lists have one schema. */
  readonly known: Map<Parts, Within>;
  readonly added: { count: number };
}

/** What a schema consists of. */
type Parts = readonly JsonObject[];

interface Within {
  readonly named: ReadonlyMap<string, { readonly parts: Parts; readonly byDefault: Json | undefined }>;
  /** Of members without a schema of their own. */
  readonly others: Parts;
  readonly first: readonly Parts[];
  readonly items: Parts;
}

function filled(parts: Parts, value: Json, at: At): Json {
  if (parts.length === 0 || typeof value !== "object" || value === null) return value;
  if (at.depth > DEPTH_MAX) throw new TooMuch();
  const { named, others, first, items } = withinOf(parts, at);
  const inner = { ...at, depth: at.depth + 1 };
  if (Array.isArray(value)) {
    const done = value.map((item, index) => filled(first[index] ?? items, item, inner));
    return done.every((item, index) => item === value[index]) ? value : done;
  }
  const object = value as JsonObject;
  const added = new Map<string, Json>();
  const put = (name: string, before: Json, of: Parts) => {
    const done = filled(of, before, inner);
    if (!Object.hasOwn(object, name) || done !== object[name]) added.set(name, done);
  };
  for (const [name, { parts: of, byDefault }] of named) {
    if (Object.hasOwn(object, name)) put(name, object[name] as Json, of);
    else if (byDefault !== undefined) {
      if ((at.added.count += 1) > ADDED_MAX) throw new TooMuch();
      put(name, byDefault, of);
    }
  }
  if (others.length > 0) for (const [name, given] of Object.entries(object)) if (!named.has(name)) put(name, given as Json, others);
  // Not by assignment: a property may be called __proto__.
  return added.size === 0 ? object : Object.fromEntries([...Object.entries(object), ...added]);
}

function withinOf(parts: Parts, { root, known }: At): Within {
  const before = known.get(parts);
  if (before) return before;
  const all = (schemas: readonly unknown[]): Parts => schemas.flatMap((schema) => partsOf(schema, root));
  const properties = parts.flatMap((part) => (isObject(part["properties"]) ? [part["properties"]] : []));
  const named = new Map(
    [...new Set(properties.flatMap((each) => Object.keys(each)))].map((name) => {
      const of = all(properties.filter((each) => Object.hasOwn(each, name)).map((each) => each[name]));
      return [name, { parts: of, byDefault: of.find((part) => part["default"] !== undefined)?.["default"] }] as const;
    }),
  );
  const tuples = parts.flatMap(({ prefixItems }) => (Array.isArray(prefixItems) ? [prefixItems] : []));
  const length = Math.max(0, ...tuples.map((tuple) => tuple.length));
  const found: Within = {
    named,
    others: all(parts.map(({ additionalProperties }) => additionalProperties)),
    first: Array.from({ length }, (_, index) => all(tuples.map((tuple) => tuple[index]))),
    items: all(parts.map(({ items }) => items)),
  };
  known.set(parts, found);
  return found;
}

/** The schema, what it refers to, and what holds with it; of alternatives the one that is left without null. */
function partsOf(schema: unknown, root: JsonObject, parts = new Set<JsonObject>()): Parts {
  if (!isObject(schema) || parts.has(schema)) return [...parts];
  parts.add(schema);
  const { $ref, allOf, anyOf, oneOf } = schema;
  const alternatives = [anyOf, oneOf].flatMap((all) => {
    const possible = Array.isArray(all) ? all.filter((each) => !(isObject(each) && each["type"] === "null")) : [];
    return possible.length === 1 ? possible : [];
  });
  const beside = [typeof $ref === "string" ? referredTo(root, $ref) : undefined, ...(Array.isArray(allOf) ? allOf : []), ...alternatives];
  for (const part of beside) partsOf(part, root, parts);
  return [...parts];
}

/** What a reference within the schema leads to. */
function referredTo(root: JsonObject, reference: string): unknown {
  if (!reference.startsWith("#/")) return reference === "#" ? root : undefined;
  let found: unknown = root;
  for (const segment of reference.slice(2).split("/")) {
    const name = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}
