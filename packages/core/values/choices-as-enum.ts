/**
 * Choices with titles, which forms spell as `oneOf` or `anyOf` of `const`, as the equivalent `enum`: a validator compiles a thousand of them in no time
 * (and does not compile two thousand alternatives at all), and a wrong choice is one problem.
 *
 *   oneOf: [{ const: "a", title: "A" }, { const: "b" }]  →  enum: ["a", "b"]
 */
import type { JsonObject } from "./json.ts";
import { HOLDS_DATA, NAMES_SCHEMAS } from "./older-drafts.ts";

export function withChoicesAsEnum(schema: JsonObject): JsonObject {
  return REFERS_TO_ALTERNATIVE.test(JSON.stringify(schema)) ? schema : (rewritten(schema) as JsonObject);
}

/** What is referred to has to stay where it is. */
const REFERS_TO_ALTERNATIVE = /"\$ref":"[^"]*\/(?:any|one)Of\//;

function rewritten(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rewritten);
  if (!isObject(schema)) return schema;
  // A value must satisfy every list of choices, but a schema can have only one `enum`: with several lists nothing is rewritten.
  const [only, ...others] = ["enum", "oneOf", "anyOf"].filter((keyword) => keyword in schema);
  return mapped(schema, (value, keyword) => {
    if (HOLDS_DATA.has(keyword)) return [keyword, value];
    if (NAMES_SCHEMAS.has(keyword) && isObject(value)) return [keyword, mapped(value, (named, name) => [name, rewritten(named)])];
    const choices = keyword === only && others.length === 0 ? choicesOf(value) : undefined;
    return choices ? ["enum", choices] : [keyword, rewritten(value)];
  });
}

function mapped(object: object, map: (value: unknown, key: string) => readonly [string, unknown]): object {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => map(value, key)));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const ANNOTATES: ReadonlySet<string> = new Set(["const", "title", "description"]);

/** The values of the alternatives; undefined unless each is a single, distinct text, number or boolean with at most a title and a description. */
function choicesOf(alternatives: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(alternatives)) return undefined;
  const choices = alternatives.map((alternative: unknown) => {
    if (!isObject(alternative) || !("const" in alternative)) return undefined;
    return Object.keys(alternative).every((keyword) => ANNOTATES.has(keyword)) ? alternative.const : undefined;
  });
  return choices.length > 0 &&
    choices.every((choice) => ["string", "number", "boolean"].includes(typeof choice)) &&
    new Set(choices).size === choices.length
    ? choices
    : undefined;
}
