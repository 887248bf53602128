/**
 * Arguments with what the tool fills in itself. Tools of Parley's own SDK are stored with their defaults. A server behind the gateway gets what its
 * caller sent and fills in the rest by its schema, after the gate. Conditions and approvers see what it will have then: otherwise an argument that is
 * left out, because its default is the dangerous value, would pass them unseen.
 */
import type { Json, JsonObject, Prompt, Tool } from "@parley/core";

/** The same object if nothing is filled in. */
export function withDefaults(called: Tool | Prompt, args: JsonObject): JsonObject {
  return called.kind === "tool" ? filled(called.inputSchema, args) : args;
}

function filled(schema: unknown, args: JsonObject): JsonObject {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  if (!isObject(properties)) return args;
  const added: (readonly [string, Json])[] = [];
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) continue;
    const given = Object.hasOwn(args, name) ? args[name] : undefined;
    if (given === undefined) {
      if (property["default"] !== undefined) added.push([name, property["default"]]);
    } else if (isObject(given)) {
      const inner = filled(property, given);
      if (inner !== given) added.push([name, inner]);
    }
  }
  // Not by assignment: a property may be called __proto__.
  return added.length === 0 ? args : Object.fromEntries([...Object.entries(args), ...added]);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
