/**
 * JSON Schema 2020-12 and its older drafts by ajv, for schemas given as JSON: raw input schemas and the asks that a task keeps.
 *
 * Compiling takes about a millisecond, checking a microsecond, so compiled checks are cached: by object for schemas
 * in code, by text for those from a store, least recently used first out.
 *
 * packages/node has a validator too, for the processes. They stay separate: a tool's package depends on the sdk
 * alone, neither may import the other, and core imports nothing. The wording and number of violations come from core
 * for both.
 */
import { Ajv2020, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { fullFormats } from "ajv-formats/dist/formats.js";
import {
  DISTINCT_ITEMS,
  inCurrentDraft,
  isSmall,
  type JsonObject,
  MULTIPLE_OF,
  type ValidateSchema,
  violationsIn,
  withChoicesAsEnum,
} from "@parley/core";

const COMPILED_MAX = 500;

type Compile = (schema: JsonObject) => ValidateFunction;

function compiler(options: Options): Compile {
  const ajv = new Ajv2020({
    // Schemas may have foreign keywords (`enumNames`, `x-mcp-header`), which count as annotations.
    strict: false,
    // A JSON number such as 1e400 is parsed as Infinity, which could be stored only as null.
    strictNumbers: true,
    // Two schemas may have the same `$id`.
    addUsedSchema: false,
    logger: false,
    // A text may name both bounds, of which an error names one.
    verbose: true,
    ...options,
  });
  ajvFormats.default(ajv);
  // ajv's own refuse what people write: decimal fractions, and a time of day without a zone, as `z.iso.time()` wants it.
  ajv.removeKeyword(MULTIPLE_OF.keyword);
  ajv.addKeyword(MULTIPLE_OF);
  ajv.addFormat("time", fullFormats["iso-time"]);
  // Two of ajv's own checks take quadratic time: distinct items of any type, and the format `url`.
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
    const fits = byText.get(text) ?? ajv.compile(withChoicesAsEnum(inCurrentDraft(rest)));
    byText.delete(text);
    byText.set(text, fits);
    const [oldest] = byText.keys();
    if (byText.size > COMPILED_MAX && oldest !== undefined) byText.delete(oldest);
    byObject.set(schema, fits);
    return fits;
  };
}

/** Throws if `schema` is not a usable JSON Schema: a keyword of the wrong type, or an unresolved reference. */
export const compiled: Compile = compiler({ allErrors: true });
const compiledForFirst: Compile = compiler({});
const compiledForShape: Compile = compiler({ validateFormats: false });

/** Empty if `value` is valid. Throws ajv's error if `schema` is invalid. */
export const validateJson: ValidateSchema = (schema, value) => violations((isSmall(value) ? compiled : compiledForFirst)(schema), value);

/**
 * Checks a large value against the JSON Schema of an author's own schema, because the latter may report a problem for
 * each part. Formats are left to the author's schema, because libraries disagree about, for example, URIs. Empty if
 * the schema says nothing, or if ajv cannot read it.
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
  return fits(value) ? [] : violationsIn(fits.errors ?? []);
}
