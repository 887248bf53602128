/**
 * Schemas as authors write them: any Standard Schema that can be converted to JSON Schema (zod 4, valibot with its
 * converter, ArkType …), or plain JSON Schema.
 *
 * Clients see the JSON Schema. Values are validated by the author's own schema, so refinements and transforms apply
 * as well.
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { describeViolations, isKnownDraft, type JsonObject, type Violation, VIOLATIONS_WANTED } from "@parley/core";
import { DefinitionError } from "../failures.ts";
import { type Flags, gatherFlags, judgePatterns, needsFlags } from "./patterns.ts";
import { compiled, validateJson } from "./validate-json.ts";

/** A Standard Schema that can be converted to JSON Schema. */
export interface Schema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** The type that a schema accepts. */
export type InputOf<S extends Schema> = StandardSchemaV1.InferInput<S>;
/** The type that a schema returns. */
export type OutputOf<S extends Schema> = StandardSchemaV1.InferOutput<S>;

export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly violations: readonly Violation[] };

const verbatim = new WeakSet<object>();

/** For schemas with patterns that are safe only up to a length: refuses longer strings. */
const guards = new WeakMap<object, (value: unknown) => readonly Violation[]>();

/**
 * Uses JSON Schema as it is, of 2020-12 or an older draft: clients see exactly this object. Pass the described type, or a Standard Schema
 * that validates instead. Throws DefinitionError if the schema is invalid.
 */
export function jsonSchema<T = JsonObject>(schema: JsonObject, judge?: StandardSchemaV1<unknown, T>): Schema<T> {
  if (!isKnownDraft(schema))
    throw new DefinitionError(
      `this schema names ${JSON.stringify(schema["$schema"])}, which is not read here: only JSON Schema of draft-04, 06, 07, 2019-09 and 2020-12 is`,
    );
  try {
    compiled(schema);
  } catch (cause) {
    throw new DefinitionError(`this is not a valid JSON Schema: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
  const validate = (value: unknown): StandardSchemaV1.Result<T> | Promise<StandardSchemaV1.Result<T>> => {
    const violations = validateJson(schema, value);
    if (violations.length > 0) return { issues: violations.map(({ path, message }) => ({ message, path: segments(path) })) };
    return judge ? judge["~standard"].validate(value) : { value: value as T };
  };
  const converter = { input: () => schema, output: () => schema };
  const made: Schema<T> = { "~standard": { version: 1, vendor: "parley", validate, jsonSchema: converter } };
  verbatim.add(made);
  return made;
}

/** Whether it is a Standard Schema. ArkType's schemas are functions. */
export function isSchema(given: unknown): given is Schema {
  return ((typeof given === "object" && given !== null) || typeof given === "function") && "~standard" in given;
}

/**
 * The JSON Schema of one side of `schema`, without generator noise that no client needs. Throws DefinitionError,
 * naming `what`, also for input patterns with which a caller could block a process.
 */
export function jsonOf(what: string, schema: Schema, side: "input" | "output"): JsonObject {
  if (!isSchema(schema)) throw new DefinitionError(`${what} must be a schema, such as z.object({ … }) or jsonSchema({ … })`);
  const converter: StandardJSONSchemaV1.Converter | undefined = schema["~standard"].jsonSchema;
  if (!converter) {
    const { vendor } = schema["~standard"];
    const [given, cure] =
      vendor === "zod" ? ["schemas of zod before version 4", "use zod 4, or convert"] : [`${vendor} schemas`, "convert"];
    throw new DefinitionError(
      `${what}: ${given} cannot be converted to JSON Schema automatically; ${cure} it and pass jsonSchema(converted, schema)`,
    );
  }
  let json: JsonObject;
  const { flags, libraryOptions } = gatherFlags();
  try {
    const isZod = schema["~standard"].vendor === "zod";
    json = converter[side]({ target: "draft-2020-12", ...(isZod && { libraryOptions }) }) as JsonObject;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const [, type = ""] = /^(\w+) cannot be represented/.exec(why) ?? [];
    const cure = Object.hasOwn(IN_JSON, type) ? `; use ${IN_JSON[type]}` : "";
    throw new DefinitionError(`${what} has no JSON Schema: ${why}${cure}`, { cause });
  }
  if (side === "input") {
    const { problems: violations, tooLong } = judgePatterns(json, flags);
    if (violations.length > 0) throw new DefinitionError(`${what}: ${describeViolations(violations)}`, { violations });
    if (tooLong) guards.set(schema, tooLong);
  }
  if (verbatim.has(schema)) return json;
  const { $schema: _dialect, ...rest } = tidy(json, flags) as JsonObject;
  return rest;
}

/** zod does not say what else to use. */
const IN_JSON: Readonly<Record<string, string>> = {
  BigInt: "z.int() or z.string()",
  Date: "z.iso.date() or z.iso.datetime()",
  Map: "z.record()",
  Set: "z.array()",
};

/** Formats that generators also spell out as a long pattern. */
const PATTERNED_FORMATS = new Set(["date", "time", "date-time", "duration", "email", "uuid", "ipv4", "ipv6", "uri"]);

/**
 * Drops the bounds of safe integers and patterns that repeat a format: they are noise to models and people. Drops
 * patterns with flags too, because JSON Schema has no flags: without its flag, `/^ab$/i` would refuse "AB". The
 * author's schema checks them all.
 */
function tidy(json: unknown, flags: Flags): unknown {
  if (Array.isArray(json)) return json.map((item) => tidy(item, flags));
  if (typeof json !== "object" || json === null) return json;
  const node = json as JsonObject;
  const kept = Object.entries(node).filter(([keyword, value]) => {
    if (keyword === "maximum") return value !== Number.MAX_SAFE_INTEGER;
    if (keyword === "minimum") return value !== Number.MIN_SAFE_INTEGER;
    if (keyword !== "pattern") return true;
    const repeatsFormat = typeof node["format"] === "string" && PATTERNED_FORMATS.has(node["format"]);
    return !repeatsFormat && !(typeof value === "string" && needsFlags(flags, value));
  });
  // Data stays unchanged: a default or an example may look like a schema.
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, DATA_KEYWORDS.has(keyword) ? value : tidy(value, flags)]));
}

const DATA_KEYWORDS = new Set(["default", "const", "enum", "examples", "required"]);

/** Validates `value` with the author's own schema. */
export async function check<S extends Schema>(schema: S, value: unknown): Promise<Checked<OutputOf<S>>> {
  const tooLong = guards.get(schema)?.(value) ?? [];
  if (tooLong.length > 0) return { ok: false, violations: tooLong };
  const result = await schema["~standard"].validate(value);
  if (result.issues) {
    const issues = result.issues.slice(0, VIOLATIONS_WANTED);
    return { ok: false, violations: issues.map(({ path, message }) => ({ path: pointer(path ?? []), message })) };
  }
  return { ok: true, value: result.value as OutputOf<S> };
}

function pointer(path: readonly (PropertyKey | StandardSchemaV1.PathSegment)[]): string {
  return path
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

function segments(path: string): string[] {
  return path
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}
