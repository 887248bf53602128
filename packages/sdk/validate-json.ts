/**
 * JSON Schema 2020-12 by ajv, for schemas that come as JSON: raw input schemas and the asks that a task keeps.
 *
 * Compiling takes about a millisecond, checking a microsecond, so compiled checks are kept: by object for schemas that live in code, by text
 * for those that come out of a store, the least recently used dropped first.
 *
 * packages/node has a validator too, for what processes judge. They stay two: a tool's package comes with the sdk alone, neither may import
 * the other, and core imports nothing; what a violation says, and how many are told, is core's for both.
 */
import { Ajv2020, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { DISTINCT_ITEMS, isSmall, type JsonObject, schemaViolation, type ValidateSchema, VIOLATIONS_WANTED } from "@parley/core";

const COMPILED_MAX = 500;

type Compile = (schema: JsonObject) => ValidateFunction;

function compiler(options: Options): Compile {
  const ajv = new Ajv2020({
    // Schemas carry keywords of others (`enumNames`, `x-mcp-header`): they are annotations to us.
    strict: false,
    // Two schemas may carry the same `$id`.
    addUsedSchema: false,
    logger: false,
    ...options,
  });
  ajvFormats.default(ajv);
  // Two checks of ajv's take time by the square of what they check: distinct items of any type, and its own format `url`.
  ajv.removeKeyword(DISTINCT_ITEMS.keyword);
  ajv.addKeyword(DISTINCT_ITEMS);
  ajv.addFormat("url", (text) => URL.canParse(text));

  const byObject = new WeakMap<JsonObject, ValidateFunction>();
  const byText = new Map<string, ValidateFunction>();
  return (schema) => {
    const known = byObject.get(schema);
    if (known) return known;
    const { $schema: _dialect, ...rest } = schema;
    const text = JSON.stringify(rest);
    const fits = byText.get(text) ?? ajv.compile(rest);
    byText.delete(text);
    byText.set(text, fits);
    const [oldest] = byText.keys();
    if (byText.size > COMPILED_MAX && oldest !== undefined) byText.delete(oldest);
    byObject.set(schema, fits);
    return fits;
  };
}

/** Throws when `schema` is no JSON Schema that can be checked: a keyword of the wrong type, a reference to nowhere. */
export const compiled: Compile = compiler({ allErrors: true });
const compiledForFirst: Compile = compiler({});
const compiledForShape: Compile = compiler({ validateFormats: false });

/** Empty when `value` fits. Throws what ajv throws when `schema` itself is broken. */
export const validateJson: ValidateSchema = (schema, value) => violations((isSmall(value) ? compiled : compiledForFirst)(schema), value);

/**
 * What is wrong with a large value by the JSON Schema of an author's own schema, which may note a problem for each of its parts. Formats are
 * left to that one: libraries differ in what they take for a uri. Empty where the schema says nothing, and where ajv cannot read it.
 */
export const validateShape: ValidateSchema = (schema, value) => {
  if (isSmall(value)) return [];
  let fits: ValidateFunction;
  try {
    fits = compiledForShape(schema);
  } catch {
    return [];
  }
  return violations(fits, value);
};

function violations(fits: ValidateFunction, value: unknown): ReturnType<ValidateSchema> {
  return fits(value) ? [] : (fits.errors ?? []).slice(0, VIOLATIONS_WANTED).map(schemaViolation);
}
