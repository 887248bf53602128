import {
  describeViolations,
  DISTINCT_ITEMS,
  inCurrentDraft,
  isSmall,
  type JsonObject,
  MULTIPLE_OF,
  ParleyError,
  type ValidateSchema,
  violationsIn,
  withChoicesAsEnum,
} from "@parley/core";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { fullFormats } from "ajv-formats/dist/formats.js";

/** Number of compiled schemas that are cached. Compiling takes about a millisecond, a compiled check a microsecond, and schemas recur. */
const KEPT = 1_000;

/**
 * Checks values against JSON Schema with string formats, of 2020-12 and, in other words, of older drafts. Unknown keywords and formats are annotations, as the specification says.
 * Throws INVALID_ASK for an invalid schema. (packages/sdk/schemas/validate-json.ts explains why there are two validators.)
 *
 * For a small value every problem is reported, so that a person can correct a form in one go. For a large value only the first problem is
 * reported, so that neither time nor memory depends on the number of problems.
 */
export function createValidator(): ValidateSchema {
  // Created on demand: each compiler first reads the meta-schemas, and most processes never see a large value.
  let checkAll: Compile | undefined;
  let checkFirst: Compile | undefined;
  return (schema, value) => {
    const compile = isSmall(value) ? (checkAll ??= compiler({ allErrors: true })) : (checkFirst ??= compiler({ allErrors: false }));
    const check = compile(schema);
    return check(value) ? [] : violationsIn(check.errors ?? []);
  };
}

type Compile = (schema: JsonObject) => ValidateFunction;

function compiler({ allErrors }: { readonly allErrors: boolean }): Compile {
  // strictNumbers: a JSON number such as 1e400 is parsed as Infinity, which could be stored only as null.
  // ownProperties: without it, a field named constructor, which every object inherits, could not be left out.
  const ajv = new Ajv2020({
    allErrors,
    ownProperties: true,
    strict: false,
    strictNumbers: true,
    validateFormats: true,
    addUsedSchema: false,
    logger: false,
    // A text may name both bounds, of which an error names one.
    verbose: true,
  });
  addFormats.default(ajv);
  likePeople(ajv);
  keepLinear(ajv);
  const compiled = new Map<string, { schema: JsonObject; check: ValidateFunction }>();

  return (original) => {
    const text = JSON.stringify(original);
    const known = compiled.get(text);
    if (known) return known.check;
    const schema = withChoicesAsEnum(inCurrentDraft(original));
    let check: ValidateFunction;
    try {
      check = ajv.compile(schema);
    } catch (cause) {
      const violations = [{ path: "", message: cause instanceof Error ? cause.message : "is not a JSON Schema" }];
      throw new ParleyError("INVALID_ASK", `not a usable JSON Schema: ${describeViolations(violations)}`, { violations, cause });
    }
    const oldest = compiled.entries().next().value;
    if (compiled.size >= KEPT && oldest) {
      compiled.delete(oldest[0]);
      ajv.removeSchema(oldest[1].schema);
    }
    compiled.set(text, { schema, check });
    return check;
  };
}

/** Replaces two checks of ajv that refuse what people write: decimal fractions, and a time of day without a zone, as `z.iso.time()` wants it. */
function likePeople(ajv: Ajv2020): void {
  ajv.removeKeyword(MULTIPLE_OF.keyword);
  ajv.addKeyword(MULTIPLE_OF);
  ajv.addFormat("time", fullFormats["iso-time"]);
}

/** Replaces two checks of ajv that take quadratic time: `uniqueItems` for items of any type, and ajv's own format `url`. */
function keepLinear(ajv: Ajv2020): void {
  ajv.removeKeyword(DISTINCT_ITEMS.keyword);
  ajv.addKeyword(DISTINCT_ITEMS);
  ajv.addFormat("url", (text) => URL.canParse(text));
}
