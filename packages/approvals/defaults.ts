/**
 * Arguments with what the tool fills in itself. Tools of Parley's own SDK are stored with their defaults. A server behind the gateway gets what its
 * caller sent and fills in the rest by its schema, after the gate. Conditions and approvers see what it will have then: otherwise an argument that is
 * left out, because its default is the dangerous value, would pass them unseen.
 */
import type { Json, JsonObject, Prompt, Tool } from "@parley/core";

/** The same object if nothing is filled in. */
export function withDefaults(called: Tool | Prompt, args: JsonObject): JsonObject {
  if (called.kind !== "tool") return args;
  const root = called.inputSchema;
  const done = filled([root], args, { root, depth: 0, added: { count: 0 } });
  return isObject(done) ? done : args;
}

interface At {
  readonly root: JsonObject;
  readonly depth: number;
  readonly added: { count: number };
}

/** A schema may lead into itself, also by its defaults. Beyond these, nothing is filled in. */
const DEPTH_MAX = 32;
const ADDED_MAX = 1_000;

function filled(schemas: readonly unknown[], value: Json, at: At): Json {
  if (at.depth > DEPTH_MAX || typeof value !== "object" || value === null) return value;
  const whole = schemas.flatMap((schema) => partsOf(schema, at.root));
  const inner = { ...at, depth: at.depth + 1 };
  if (Array.isArray(value)) {
    const items = whole.flatMap(({ items: each }) => (isObject(each) ? [each] : []));
    const done = value.map((item) => filled(items, item, inner));
    return done.every((item, index) => item === value[index]) ? value : done;
  }
  const object = value as JsonObject;
  const added = new Map<string, Json>();
  for (const name of new Set(whole.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : [])))) {
    const of = whole.flatMap(({ properties }) => (isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []));
    const given = Object.hasOwn(object, name) ? object[name] : undefined;
    const before = given ?? of.flatMap((property) => partsOf(property, at.root)).find((part) => part["default"] !== undefined)?.["default"];
    if (given === null || before === undefined) continue;
    if (given === undefined && (at.added.count += 1) > ADDED_MAX) break;
    const done = filled(of, before, inner);
    if (done !== given) added.set(name, done);
  }
  // Not by assignment: a property may be called __proto__.
  return added.size === 0 ? object : Object.fromEntries([...Object.entries(object), ...added]);
}

/** The schema, what it refers to, and what holds with it; of alternatives the one that is left without null. */
function partsOf(schema: unknown, root: JsonObject, parts = new Set<JsonObject>()): readonly JsonObject[] {
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

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
