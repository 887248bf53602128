/**
 * JSON Schema 2020-12 by ajv, for schemas that come as JSON: raw input schemas and the asks that a task keeps.
 *
 * Compiling takes about a millisecond, checking a microsecond, so compiled checks are kept: by object for schemas that live in code, by text
 * for those that come out of a store, the least recently used dropped first.
 *
 * packages/node has a validator too, for what processes judge. They stay two: a tool's package comes with the sdk alone, neither may import
 * the other, and core imports nothing; what a violation says is core's for both.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { type JsonObject, schemaViolation, type ValidateSchema } from "@parley/core";

const COMPILED_MAX = 500;

const ajv = new Ajv2020({
  allErrors: true,
  // Schemas carry keywords of others (`enumNames`, `x-mcp-header`): they are annotations to us.
  strict: false,
  // Two schemas may carry the same `$id`.
  addUsedSchema: false,
  logger: false,
});
ajvFormats.default(ajv);

const byObject = new WeakMap<JsonObject, ValidateFunction>();
const byText = new Map<string, ValidateFunction>();

/** Empty when `value` fits. Throws what ajv throws when `schema` itself is broken. */
export const validateJson: ValidateSchema = (schema, value) => {
  const fits = compiled(schema);
  return fits(value) ? [] : (fits.errors ?? []).map(schemaViolation);
};

/** Throws when `schema` is no JSON Schema that can be checked: a keyword of the wrong type, a reference to nowhere. */
export function compiled(schema: JsonObject): ValidateFunction {
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
}
