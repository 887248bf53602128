import { describeViolations, type JsonObject, ParleyError, schemaViolation, type ValidateSchema } from "@parley/core";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** Compiled schemas that are kept. Compiling takes about a millisecond, a compiled check a microsecond; tools ask the same things again. */
const KEPT = 1_000;

/**
 * Checks values against JSON Schema 2020-12 with string formats. Unknown keywords and formats are annotations, as the specification says.
 * Throws INVALID_ASK for what is no schema. (packages/sdk/validate-json.ts says why there are two.)
 */
export function createValidator(): ValidateSchema {
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: true, addUsedSchema: false, logger: false });
  addFormats.default(ajv);
  const compiled = new Map<string, { schema: JsonObject; check: ValidateFunction }>();

  function compile(schema: JsonObject): ValidateFunction {
    const text = JSON.stringify(schema);
    const known = compiled.get(text);
    if (known) return known.check;
    let check: ValidateFunction;
    try {
      check = ajv.compile(schema);
    } catch (cause) {
      const violations = [{ path: "", message: cause instanceof Error ? cause.message : "is no JSON Schema" }];
      throw new ParleyError("INVALID_ASK", `not a usable JSON Schema: ${describeViolations(violations)}`, { violations, cause });
    }
    const oldest = compiled.entries().next().value;
    if (compiled.size >= KEPT && oldest) {
      compiled.delete(oldest[0]);
      ajv.removeSchema(oldest[1].schema);
    }
    compiled.set(text, { schema, check });
    return check;
  }

  return (schema, value) => {
    const check = compile(schema);
    return check(value) ? [] : (check.errors ?? []).map(schemaViolation);
  };
}
