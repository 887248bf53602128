/**
 * Shapes of published schemas: the structure of each field without names, texts and values, each shape once. They say how real servers spell their forms,
 * and hold nothing that anybody wrote. Those in shapes.jsonl are of 1,146 schemas that GitHub, Sentry, Notion and SchemaStore had published by November 2026.
 *
 *   node test/forms/shapes/derive.ts <files of tools, of JSON Schemas or of OpenAPI> > test/forms/shapes/shapes.jsonl
 *
 * Kept: types, references, compositions, limits, formats. Replaced: names, choices, constants, patterns, definitions. Dropped: texts, examples, defaults
 * beyond null, true and false, and what is within an object that is a field, because that is entered as JSON.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "@parley/core";

/** Kept as they are: none has words in it. */
const KEPT = ["type", "uniqueItems"];
/** Any other is one that nobody knows. */
const FORMATS = new Set("date-time date time duration email uri uri-reference uuid hostname ipv4 ipv6 regex".split(" "));
/** A limit is there or not: which one it is says nothing about the reader. A text of more than 150 characters has another control. */
const LIMITS: Readonly<Record<string, (limit: number) => number>> = {
  minLength: (limit) => Math.min(limit, 2),
  maxLength: (limit) => (limit > 150 ? 1_000 : 20),
  minimum: (limit) => Math.sign(limit),
  maximum: () => 100,
  exclusiveMinimum: () => 0,
  exclusiveMaximum: () => 100,
  multipleOf: (limit) => (Number.isInteger(limit) ? 1 : 0.01),
  minItems: (limit) => Math.min(limit, 1),
  maxItems: () => 5,
};
const COMPOSED = ["allOf", "anyOf", "oneOf"] as const;
const PATTERN = "^[a-z]+$";
/** A schema of configuration may refer to most of itself. What is larger says nothing about one field. */
const SHAPE_CHARS_MAX = 600;
const CHOICES_MAX = 3;

/** The schema of each field, with what it refers to, and the whole of a root that has more than fields. */
function shapesOf(schema: JsonObject): readonly JsonObject[] {
  const root = rootIn(schema);
  const fields = Object.values(isObject(root["properties"]) ? root["properties"] : {}).map((field): JsonObject => {
    const shape = createReducer(schema);
    const at = shape.reduce(field);
    return { ...(isObject(at) ? at : {}), ...shape.definitions() };
  });
  const { $schema: draft } = schema;
  return [...fields, ...rootShape(schema, root)]
    .map((shape) => sorted(typeof draft === "string" && needsDraft(shape) ? { $schema: draft, ...shape } : shape) as JsonObject)
    .filter((shape) => JSON.stringify(shape).length <= SHAPE_CHARS_MAX);
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}

/** Follows the references of the root itself. */
function rootIn(schema: JsonObject): JsonObject {
  const target = typeof schema["$ref"] === "string" ? at(schema, schema["$ref"]) : undefined;
  return isObject(target) ? target : schema;
}

/** The alternatives of a root, each with its fields by their number. */
function rootShape(schema: JsonObject, root: JsonObject): readonly JsonObject[] {
  const more = COMPOSED.filter((keyword) => Array.isArray(root[keyword]));
  const open = ["additionalProperties", "patternProperties"].filter((keyword) => isObject(root[keyword]) || root[keyword] === true);
  if (more.length === 0 && (open.length === 0 || isObject(root["properties"]))) return [];
  const names = new Map<string, string>();
  const nameOf = (name: string) => names.get(name) ?? names.set(name, `f${names.size}`).get(name)!;
  const shape = createReducer(schema, nameOf);
  const reduced = shape.reduce({ type: "object", ...root });
  return isObject(reduced) ? [{ isRoot: true, ...reduced, ...shape.definitions() }] : [];
}

interface Reducer {
  readonly reduce: (schema: Json) => Json;
  /** Of what was referred to, by its number. */
  readonly definitions: () => { readonly $defs?: JsonObject };
}

function createReducer(root: JsonObject, nameOf?: (name: string) => string): Reducer {
  const known = new Map<string, { readonly name: string; shape: Json }>();

  function refer(reference: string, hasNames: boolean): Json {
    const target = at(root, reference);
    // Of another document, which is not at hand.
    if (target === undefined) return {};
    const before = known.get(reference);
    if (before) return { $ref: `#/$defs/${before.name}` };
    const entry = { name: `d${known.size}`, shape: {} as Json };
    known.set(reference, entry);
    entry.shape = reduced(target, hasNames);
    return { $ref: `#/$defs/${entry.name}` };
  }

  function reduced(schema: Json, hasNames: boolean): Json {
    if (!isObject(schema)) return typeof schema === "boolean" ? schema : {};
    const shape: Record<string, Json> = {};
    for (const keyword of KEPT) if (schema[keyword] !== undefined) shape[keyword] = schema[keyword] ?? null;
    for (const [keyword, limited] of Object.entries(LIMITS)) {
      const limit = schema[keyword];
      if (typeof limit === "number") shape[keyword] = limited(limit);
      // Of draft-04, where it says what kind of bound the other keyword is.
      else if (limit === true) shape[keyword] = limit;
    }
    const { $ref, enum: choices, const: only, pattern, format, items, prefixItems, default: preset } = schema;
    if (typeof $ref === "string") Object.assign(shape, refer($ref, hasNames));
    if (Array.isArray(choices)) shape["enum"] = [...replaced(choices)];
    if (only !== undefined) shape["const"] = replaced([only])[0] ?? null;
    if (typeof format === "string") shape["format"] = FORMATS.has(format) ? format : "x-other";
    else if (typeof pattern === "string") shape["pattern"] = PATTERN;
    if (preset === null || typeof preset === "boolean") shape["default"] = preset;
    if (items !== undefined) shape["items"] = Array.isArray(items) ? items.map((each) => reduced(each, false)) : reduced(items, false);
    if (Array.isArray(prefixItems)) shape["prefixItems"] = prefixItems.map((each) => reduced(each, false));
    for (const keyword of COMPOSED) {
      const parts = schema[keyword];
      // The third of a kind says no more than the second.
      if (Array.isArray(parts)) shape[keyword] = told(parts.map((each) => reduced(each, hasNames)));
    }
    if (hasNames && nameOf) Object.assign(shape, named(schema, nameOf));
    else if (isObject(schema["properties"]) && schema["type"] === undefined) shape["properties"] = {};
    return shape;
  }

  /** The fields of one of the root's alternatives. */
  function named(schema: JsonObject, rename: (name: string) => string): JsonObject {
    const { properties, required, additionalProperties, patternProperties } = schema;
    return {
      ...(isObject(properties) && {
        properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [rename(name), reduced(each, false)])),
      }),
      ...(Array.isArray(required) && { required: required.flatMap((name) => (typeof name === "string" ? [rename(name)] : [])) }),
      ...(additionalProperties !== undefined && { additionalProperties: reduced(additionalProperties, false) }),
      ...(isObject(patternProperties) && {
        patternProperties: { [PATTERN]: reduced(Object.values(patternProperties)[0] ?? true, false) },
      }),
    };
  }

  /** Without what was within them, one object cannot be told from another. */
  function told(parts: readonly Json[]): Json[] {
    const isBare = (part: Json): boolean => {
      if (!isObject(part)) return false;
      if (typeof part["$ref"] === "string")
        return isBare([...known.values()].find(({ name }) => part["$ref"] === `#/$defs/${name}`)?.shape ?? null);
      return (
        part["type"] === "object" ||
        isObject(part["properties"]) ||
        COMPOSED.some((keyword) => Array.isArray(part[keyword]) && part[keyword].every(isBare))
      );
    };
    return distinct(nameOf ? parts : parts.map((part) => (isBare(part) ? { type: "object" } : part)));
  }

  return {
    reduce: (schema) => reduced(schema, nameOf !== undefined),
    definitions: () => (known.size === 0 ? {} : { $defs: Object.fromEntries([...known.values()].map(({ name, shape }) => [name, shape])) }),
  };
}

/** Choices of the same types, and as many of them as tell one from several. Texts that a prompt may take for something else keep that. */
function replaced(values: readonly Json[]): readonly Json[] {
  const made = values.map((value, index): Json => {
    if (typeof value === "number") return Number.isInteger(value) ? index : index + 0.5;
    if (typeof value !== "string") return typeof value === "object" && value !== null ? (Array.isArray(value) ? [] : {}) : value;
    if (value === "") return "";
    if (/^-?\d+(\.\d+)?$/.test(value)) return `${index}`;
    if (value === "true" || value === "false" || value === "null") return value;
    return `${String.fromCharCode(97 + (index % 26))}${value.includes(",") ? ", " : value.includes(" ") ? " " : ""}${index > 25 ? index : "x"}`;
  });
  const kinds = new Map<string, number>();
  return distinct(made).filter((value) => {
    const kind = `${typeof value} ${typeof value === "string" ? value.replaceAll(/[a-z0-9]/g, "") : ""}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    return (kinds.get(kind) ?? 0) <= CHOICES_MAX;
  });
}

function distinct<T extends Json>(values: readonly T[]): T[] {
  return values.filter((value, index) => values.findIndex((each) => isDeepStrictEqual(each, value)) === index);
}

/** Whether it means something else, or nothing, in the newest draft. */
function needsDraft(shape: Json): boolean {
  if (Array.isArray(shape)) return shape.some(needsDraft);
  if (!isObject(shape)) return false;
  const { items, exclusiveMinimum, exclusiveMaximum } = shape;
  return (
    [exclusiveMinimum, exclusiveMaximum].some((each) => typeof each === "boolean") ||
    Array.isArray(items) ||
    Object.values(shape).some(needsDraft)
  );
}

function at(root: JsonObject, reference: string): Json | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let target: Json | undefined = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    target = isObject(target) ? target[name] : Array.isArray(target) ? target[Number(name)] : undefined;
  }
  return target;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The input schemas in a file: of a list of tools, of one tool, of the operations of an OpenAPI document; or the file is one itself. */
function schemasIn(file: Json): readonly JsonObject[] {
  if (Array.isArray(file)) return file.flatMap(schemasIn);
  if (!isObject(file)) return [];
  if (isObject(file["inputSchema"])) return [file["inputSchema"]];
  const { paths, components } = file;
  if (!isObject(paths)) return [file];
  return Object.values(paths).flatMap((path) =>
    Object.values(isObject(path) ? path : {}).flatMap((operation) =>
      isObject(operation) ? [inputOf(operation, { components: components ?? {} })] : [],
    ),
  );
}

/** As servers make a tool of an operation: its parameters and the fields of its body. */
function inputOf(operation: JsonObject, whole: JsonObject): JsonObject {
  const found = (given: Json): JsonObject => {
    const target = isObject(given) && typeof given["$ref"] === "string" ? at(whole, given["$ref"]) : given;
    return isObject(target) ? target : {};
  };
  const content = found(operation["requestBody"] ?? {})["content"];
  const [media] = Object.values(isObject(content) ? content : {});
  const body = found((isObject(media) ? media["schema"] : undefined) ?? {});
  const parameters = (Array.isArray(operation["parameters"]) ? operation["parameters"] : []).map(found);
  return {
    ...whole,
    ...body,
    type: "object",
    properties: {
      ...Object.fromEntries(parameters.map((each) => [each["name"] as string, each["schema"] ?? {}])),
      ...(isObject(body["properties"]) ? body["properties"] : {}),
    },
    required: [
      ...parameters.filter((each) => each["required"] === true).map((each) => each["name"] ?? null),
      ...(Array.isArray(body["required"]) ? body["required"] : []),
    ],
  };
}

if (import.meta.main) {
  const shapes = new Set<string>();
  let schemas = 0;
  let fields = 0;
  for (const path of process.argv.slice(2)) {
    try {
      for (const schema of schemasIn(JSON.parse(readFileSync(path, "utf8")) as Json)) {
        schemas += 1;
        for (const shape of shapesOf(schema)) {
          fields += 1;
          shapes.add(JSON.stringify(shape));
        }
      }
    } catch (error) {
      process.stderr.write(`${path}: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  process.stderr.write(`${schemas} schemas, ${fields} fields, ${shapes.size} shapes\n`);
  process.stdout.write(
    [...shapes]
      .sort()
      .map((shape) => `${shape}\n`)
      .join(""),
  );
}
