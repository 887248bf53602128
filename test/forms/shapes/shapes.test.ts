/**
 * Every shape of the schemas that servers and tools publish, as a form: a field where one would do, every value entered as it is, and page, terminal
 * and server of one mind. `derive.ts` says where the shapes come from.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { type Field, fieldsOf, type Json, type JsonObject } from "@parley/core";
import { createValidator } from "@parley/node";
import { describe, expect, test } from "vitest";
import { isBroken, readEntry } from "../../../apps/cli/questions/entry.ts";
import { contentIn, controlName, draftIn } from "../../../apps/server/routes/asks/form-body.ts";
import { contentOf, type Input, inputsOf } from "../../../apps/web/form/inputs.ts";
import { isChosen, pageWithoutScript, playground, prompts, ZONE } from "../doors.ts";

const SHAPES = readFileSync(new URL("shapes.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as JsonObject);
const validate = createValidator();

/** A form of the one field, of which the server takes at least one of the values below. */
interface Form {
  readonly shape: JsonObject;
  readonly schema: JsonObject;
  readonly values: readonly Json[];
}

const TEXTS =
  "text|ab|a, b|2|0.5|true|null|C:\\new|=|2026-12-24|2026-12-24T19:30:00Z|19:30:00|PT5M|ann@example.com|https://example.com/?a=1,2".split(
    "|",
  );
const NAMES = ["3f2b1c0a-9d8e-4f7a-8b6c-5d4e3f2a1b0c", "example.com", "127.0.0.1", "::1"];
const SIMPLE: readonly Json[] = [...TEXTS, ...NAMES, 0, 1, 2, 50, -1, 0.5, 19.99, true, false];
const VALUES: readonly Json[] = [
  ...SIMPLE,
  {},
  { a: 1 },
  [{}],
  [{ a: [1] }],
  [["a"]],
  [[{}]],
  ...SIMPLE.map((each) => [each]),
  ["ab", "cd"],
  [1, 2],
  [0.5, 3, 7],
];

/** What a shape itself names, alone and in a list. */
function namedIn(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value.flatMap(namedIn);
  if (typeof value !== "object" || value === null) return [];
  const { enum: choices, const: only } = value;
  const named = [...(Array.isArray(choices) ? choices : []), ...(only === undefined ? [] : [only])];
  return [...named, ...named.map((each) => [each]), ...Object.values(value).flatMap(namedIn)];
}

/** Whether the server takes it: a form judges what is in it alike, whether or not it must be there. */
function isAccepted(form: JsonObject, content: JsonObject): boolean {
  if (Object.keys(content).length === 0) return form["required"] === undefined;
  return validate({ ...form, required: ["at"] }, content).length === 0;
}

function formsOf({ $defs, $schema, ...shape }: JsonObject): readonly Form[] {
  const optional: JsonObject = {
    ...($schema !== undefined && { $schema }),
    ...($defs !== undefined && { $defs }),
    type: "object",
    properties: { at: shape },
  };
  const named = namedIn({ ...shape, $defs: $defs ?? {} });
  const judge = { ...optional, required: ["at"] };
  const values = [...VALUES, ...named].filter((at) => at !== null && validate(judge, { at }).length === 0);
  return values.length > 0 ? [judge, optional].map((schema) => ({ shape, schema, values })) : [];
}

const OF_FIELDS = SHAPES.filter(({ isRoot }) => isRoot !== true).map((shape) => ({ shape, forms: formsOf(shape) }));
const FORMS = OF_FIELDS.flatMap(({ forms }) => forms);

interface Types {
  readonly own: ReadonlySet<string>;
  readonly ofEntries: ReadonlySet<string> | undefined;
}

/** The types that a field may have, and those of its entries if it may be a list, by the keywords alone; undefined for any. */
function typesIn(schema: Json | undefined, root: JsonObject, depth = 0): Types | undefined {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema) || depth > 20) return undefined;
  const { $ref, type, enum: choices, const: only, items, allOf, anyOf, oneOf = anyOf } = schema;
  const of = (each: Json | undefined) => typesIn(each, root, depth + 1);
  const found: (Types | undefined)[] = [];
  if (typeof $ref === "string") found.push(of((root["$defs"] as JsonObject)[$ref.slice("#/$defs/".length)]));
  if (Array.isArray(allOf)) found.push(...allOf.map(of));
  if (Array.isArray(oneOf)) {
    const parts = oneOf.map(of);
    const entries = parts.flatMap((part) => (part?.own.has("array") ? [part.ofEntries] : []));
    const ofEntries = entries.every((each) => each !== undefined) ? new Set(entries.flatMap((each) => [...each])) : undefined;
    if (parts.every((part) => part !== undefined)) found.push({ own: new Set(parts.flatMap(({ own }) => [...own])), ofEntries });
  }
  const nameOf = (value: Json) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
  const named = choices ?? (only === undefined ? undefined : [only]);
  const ofEntries = isDeep(items) ? of(items)?.own : undefined;
  if (type !== undefined) found.push({ own: new Set([type].flat() as string[]), ofEntries });
  if (Array.isArray(named)) found.push({ own: new Set(named.map(nameOf)), ofEntries });
  const [first, ...others] = found.filter((each) => each !== undefined);
  if (!first) return undefined;
  const own = [...first.own].filter((each) =>
    others.every((other) => other.own.has(each) || (each === "integer" && other.own.has("number"))),
  );
  return { own: new Set(own), ofEntries: ofEntries ?? [first, ...others].find((each) => each.ofEntries)?.ofEntries };
}

function isDeep(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const FIELDS = new Set(["string", "number", "integer", "boolean", "null"]);

test("values are known that fit each shape but null, and alternatives that only names would tell apart", () => {
  const without = OF_FIELDS.filter(({ forms }) => forms.length === 0).map(({ shape }) => shape);
  const isUntold = (shape: JsonObject) => /"oneOf":\[.*"type":"object"/.test(JSON.stringify(shape));
  expect(without.filter((shape) => !isUntold(shape))).toEqual([{ type: "null" }]);
  expect(without.length).toBeLessThan(10);
  expect(SHAPES.length).toBeGreaterThan(800);
});

/** Its type takes back one of its alternatives. */
const CONTRADICTS = /"oneOf":\[\{"items":\{"type":"string"\},"type":"array"\},\{"type":"string"\}\],"type":\["array","null"\]/;

test("no JSON box where a field would do", () => {
  const boxes = FORMS.filter(({ schema, shape }) => {
    const { own = new Set(["any"]), ofEntries = new Set(["any"]) } = typesIn(shape, schema) ?? {};
    const isField = [...own].every((type) => FIELDS.has(type));
    // A list beside something else, and one of several types, has no one way to be typed.
    const isList =
      [...own].filter((type) => type !== "null").join() === "array" &&
      ofEntries.size === 1 &&
      [...ofEntries].every((type) => FIELDS.has(type));
    return (isField || isList) && !CONTRADICTS.test(JSON.stringify(schema)) && inputsOf(schema)[0]?.control === "json";
  });
  expect([...new Set(boxes.map(({ shape, schema }) => JSON.stringify({ shape, $defs: schema["$defs"] })))]).toEqual([]);
});

/** Whether the value arrived. Where a field may be a text of any kind, what is typed is that text. */
function isKept(schema: JsonObject, at: Json, read: unknown): boolean {
  const asText = (value: Json) => (typeof value === "string" || typeof value === "object" ? value : JSON.stringify(value));
  const typed = Array.isArray(at) ? at.map(asText) : asText(at);
  const isRead = (each: Json) => JSON.stringify(read) === JSON.stringify({ at: each });
  return isRead(at) || (isRead(typed) && isAccepted(schema, { at: typed }));
}

describe("every value of every shape arrives as it is", () => {
  test.each([
    ["in the playground", playground],
    ["on a page without script", pageWithoutScript],
    ["at the prompts of a terminal", prompts],
  ])("%s", (_where, door) => {
    const lost = FORMS.flatMap(({ shape, schema, values }) =>
      values.flatMap((at) => {
        // It looks like the default, which nobody has changed.
        if (at === JSON.stringify(shape["default"])) return [];
        const read = door({ schema, content: { at } });
        return isKept(schema, at, read) ? [] : [JSON.stringify({ schema, at, read })];
      }),
    );
    expect(lost).toEqual([]);
  });
});

/** What is typed, and what each door makes of it if they differ; undefined where a door refuses it. */
type Reading = readonly [typed: string, contents: readonly (JsonObject | undefined)[]];

function differencesOf(input: Input, field: Field): readonly Reading[] {
  if (isChosen(field) || input.control === "lines" || input.control === "datetime") return [];
  const readings = [...TEXTS, "{", "[1,2]", '"a"', " ", "1,5", "２０", "1e2"].map((typed): Reading => {
    const read = contentOf([input], { at: typed });
    const words = { zone: ZONE, locale: "en", skipped: "skipped" };
    const sent = contentIn([input], draftIn([input], new URLSearchParams([[controlName(0), typed]])), words);
    const onPages = [read, sent].map(({ content, problems }) => (Object.keys(problems).length > 0 ? undefined : content));
    const entry = readEntry(typed, field);
    const atPrompt = entry === undefined || (entry === typed && isBroken(typed, field)) ? undefined : { at: entry };
    return [typed, [...onPages, ...(field.kind === "choices" ? [] : [atPrompt])]];
  });
  return readings.filter(([, contents]) => new Set(contents.map((each) => JSON.stringify(each))).size > 1);
}

test("what is typed into a field of every shape is taken alike by page, page without script and prompt, or refused by each", () => {
  // The doors look at the field alone, which many shapes share. The server judges by the whole schema.
  const known = new Map<string, readonly Reading[]>();
  // Something is typed, so that it does not matter whether the field is required.
  const required = OF_FIELDS.flatMap(({ forms }) => forms.slice(0, 1));
  const apart = required.flatMap(({ schema }) => {
    const [input] = inputsOf(schema);
    const [field] = fieldsOf(schema);
    if (!input || !field) return [JSON.stringify({ schema, has: "no field" })];
    const text = JSON.stringify([input, field]);
    const differences = known.get(text) ?? differencesOf(input, field);
    known.set(text, differences);
    return differences.flatMap(([typed, contents]) => {
      const all = contents.map((each) => JSON.stringify(each && isAccepted(schema, each) ? each : "refused"));
      return new Set(all).size === 1 ? [] : [JSON.stringify({ schema, typed, all })];
    });
  });
  expect(apart).toEqual([]);
});

// ── what a root says beyond its fields ─────────────────────────────────────────────────────────────────────────────

/** The mark is a keyword that nobody knows. */
const ROOTS = SHAPES.filter(({ isRoot }) => isRoot === true);

/** The root and what it is made of. */
function partsOf(schema: Json | undefined, root: JsonObject, depth = 0): readonly JsonObject[] {
  if (!isDeep(schema) || depth > 10) return [];
  const { $ref, allOf, anyOf, oneOf } = schema;
  const referred = typeof $ref === "string" ? [(root["$defs"] as JsonObject)[$ref.slice("#/$defs/".length)]] : [];
  const more = [...referred, ...[allOf, anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each : []))];
  return [schema, ...more.flatMap((each) => partsOf(each, root, depth + 1))];
}

/** The required fields of each part, and all of them. */
function contentsOf(root: JsonObject): readonly JsonObject[] {
  const parts = partsOf(root, root);
  const properties = Object.fromEntries(parts.flatMap((part) => Object.entries(isDeep(part["properties"]) ? part["properties"] : {})));
  const valueOf = (name: string) => {
    const form = { $defs: root["$defs"] ?? {}, type: "object", properties: { at: properties[name] ?? true }, required: ["at"] };
    return [...namedIn(properties[name] ?? null), ...VALUES].find((at) => validate(form, { at }).length === 0) ?? null;
  };
  const filled = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, valueOf(name)]));
  const required = parts.map((part) => (Array.isArray(part["required"]) ? (part["required"] as string[]) : []));
  const all = parts.map((part) => Object.keys(isDeep(part["properties"]) ? part["properties"] : {}));
  const beside = VALUES.map((each) => ({ ab: each }));
  const drawn = [...required, ...all, required.flat(), ...all.flat().map((name) => [name])].map(filled);
  return [...drawn, ...beside].filter((content) => Object.keys(content).length > 0 && validate(root, content).length === 0);
}

test("what a root allows by alternatives or by names of any kind is entered in fields, or beside them", () => {
  const forms = ROOTS.map((schema) => ({ schema, contents: contentsOf(schema) }));
  const lost = forms.flatMap(({ schema, contents }) => {
    const inputs = inputsOf(schema);
    const rest = inputs.find(({ isRest }) => isRest);
    return contents.flatMap((content) => {
      const isField = (name: string) => inputs.some((input) => input.name === name && !input.isRest);
      const others = Object.entries(content).filter(([name]) => !isField(name));
      if (others.length > 0 && !rest)
        return isNamed(
          schema,
          others.map(([name]) => name),
        )
          ? [JSON.stringify({ schema, content })]
          : [];
      const own = Object.fromEntries(Object.entries(content).filter(([name]) => isField(name)));
      const read = playground({ schema, content: own }, others.length > 0 ? { "": JSON.stringify(Object.fromEntries(others)) } : {});
      return isDeepStrictEqual(read, { ...defaultsOf(inputs), ...content }) ? [] : [JSON.stringify({ schema, content, read })];
    });
  });
  expect(lost).toEqual([]);
  expect(forms.filter(({ contents }) => contents.length > 0).length).toBeGreaterThan(ROOTS.length * 0.9);
});

/** A box that is not ticked says no. */
function defaultsOf(inputs: ReturnType<typeof inputsOf>): JsonObject {
  return Object.fromEntries(inputs.flatMap(({ name, default: preset }) => (typeof preset === "boolean" ? [[name, preset]] : [])));
}

/** Nobody expects a field for a name that no schema has, where any is allowed because none is forbidden. */
function isNamed(schema: JsonObject, names: readonly string[]): boolean {
  return partsOf(schema, schema).some((part) =>
    names.some((name) => Object.hasOwn(isDeep(part["properties"]) ? part["properties"] : {}, name)),
  );
}
