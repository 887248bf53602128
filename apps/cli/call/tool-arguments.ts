/** Reads the arguments of a call from flags named after the properties of the tool's input schema: `--date 2026-12-24 --window --no-smoking`. */
import { type Field, fieldsOf, type Json, type JsonObject, readTyped } from "@parley/core";
import { parsed, readFlag } from "../questions/entry.ts";
import { objectOf, split } from "../questions/form.ts";

export interface GivenArguments {
  /** `name=value`, read as `--name value` is; a value for a name that the tool does not list is JSON, or else a text. */
  readonly arg: readonly string[];
  /** All arguments as JSON. */
  readonly args?: string | undefined;
  /** The flags that commander does not know. */
  readonly flags: readonly string[];
}

/** Calls `schema` only if an argument needs it. Throws an Error that names the flag. */
export async function argumentsOf({ arg, args, flags }: GivenArguments, schema: () => Promise<JsonObject>): Promise<Record<string, Json>> {
  const fields = arg.length === 0 ? [] : fieldsOf(await schema());
  const given: Record<string, Json> = {};
  for (const [name, value] of arg.map(split)) {
    const field = fields.find((each) => each.name === name);
    given[name] = added(given[name], field ? readFlag(value, field) : parsed(value));
  }
  return {
    ...(args === undefined ? {} : objectOf(args, "--args")),
    ...(flags.length === 0 ? {} : fromFlags(flags, await schema())),
    ...given,
  };
}

export function fromFlags(flags: readonly string[], schema: JsonObject): Record<string, Json> {
  const fields = fieldsOf(schema);
  const byFlag = new Map(fields.flatMap((field) => [...new Set([field.name, kebab(field.name)])].map((name) => [name, field] as const)));
  const values: Record<string, Json> = {};
  for (let at = 0; at < flags.length; at += 1) {
    const flag = flags[at] ?? "";
    if (!flag.startsWith("--")) throw new Error(`${flag} is unexpected: pass arguments as --name value`);
    const [name = "", joined] = flag.slice(2).split(/=(.*)/s);
    const field = byFlag.get(name);
    const negated = field ? undefined : byFlag.get(name.replace(/^no-/, ""));
    if (negated?.kind === "boolean" && joined === undefined) values[negated.name] = false;
    else if (!field) throw new Error(`the tool has no argument ${name.slice(0, 64)}; it has ${namesOf(fields)}`);
    else if (field.kind === "boolean" && joined === undefined && !isBoolean(flags[at + 1])) values[field.name] = true;
    else {
      const value = joined ?? flags[(at += 1)];
      if (value === undefined) throw new Error(`--${name} needs a value`);
      values[field.name] = added(values[field.name], readFlag(value, field));
    }
  }
  return values;
}

function isBoolean(next: string | undefined): boolean {
  return next !== undefined && !next.startsWith("--") && typeof readTyped(next, { kind: "boolean" }) === "boolean";
}

function added(before: Json | undefined, value: Json): Json {
  return Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
}

function kebab(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
}

function namesOf(fields: readonly Field[]): string {
  return fields.map(({ name }) => name).join(", ") || "none";
}
