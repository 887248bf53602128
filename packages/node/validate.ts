import {
  describeViolations,
  DISTINCT_ITEMS,
  isSmall,
  type JsonObject,
  ParleyError,
  schemaViolation,
  type ValidateSchema,
  VIOLATIONS_WANTED,
} from "@parley/core";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** Compiled schemas that are kept. Compiling takes about a millisecond, a compiled check a microsecond; tools ask the same things again. */
const KEPT = 1_000;

/**
 * Checks values against JSON Schema 2020-12 with string formats. Unknown keywords and formats are annotations, as the specification says.
 * Throws INVALID_ASK for an invalid schema. (packages/sdk/validate-json.ts says why there are two.)
 *
 * Everything wrong with a small value is reported, so that a person can fix a form at once. Of a large one only the first problem is, so that neither
 * time nor memory depends on how many there are.
 */
export function createValidator(): ValidateSchema {
  // Most processes never see a large value, and each compiler reads the meta-schemas first.
  let checkAll: Compile | undefined;
  let checkFirst: Compile | undefined;
  return (schema, value) => {
    const compile = isSmall(value) ? (checkAll ??= compiler({ allErrors: true })) : (checkFirst ??= compiler({ allErrors: false }));
    const check = compile(schema);
    return check(value) ? [] : (check.errors ?? []).slice(0, VIOLATIONS_WANTED).map(schemaViolation);
  };
}

type Compile = (schema: JsonObject) => ValidateFunction;

function compiler({ allErrors }: { readonly allErrors: boolean }): Compile {
  const ajv = new Ajv2020({ allErrors, strict: false, validateFormats: true, addUsedSchema: false, logger: false });
  addFormats.default(ajv);
  keepLinear(ajv);
  const compiled = new Map<string, { schema: JsonObject; check: ValidateFunction }>();

  return (asked) => {
    const text = JSON.stringify(asked);
    const known = compiled.get(text);
    if (known) return known.check;
    const schema = withChoicesAsEnum(asked) as JsonObject;
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
  };
}

/** Two checks of ajv's take time by the square of what they check: distinct items of any type, and its own format `url`. */
function keepLinear(ajv: Ajv2020): void {
  ajv.removeKeyword(DISTINCT_ITEMS.keyword);
  ajv.addKeyword(DISTINCT_ITEMS);
  ajv.addFormat("url", (text) => URL.canParse(text));
}

/**
 * Choices with titles, which forms spell `oneOf` or `anyOf` of `const`, as the `enum` that they are: one problem for a wrong choice and not one
 * for each choice, in words that name them all.
 */
function withChoicesAsEnum(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withChoicesAsEnum);
  if (!isObject(schema)) return schema;
  // Two lists of choices are both to be fulfilled; an object has one `enum`.
  const [only, ...others] = ["enum", "oneOf", "anyOf"].filter((keyword) => keyword in schema);
  return mapped(schema, (value, keyword) => {
    if (HOLDS_DATA.has(keyword)) return [keyword, value];
    if (NAMES_SCHEMAS.has(keyword) && isObject(value)) return [keyword, mapped(value, (named, name) => [name, withChoicesAsEnum(named)])];
    const choices = keyword === only && others.length === 0 ? choicesOf(value) : undefined;
    return choices ? ["enum", choices] : [keyword, withChoicesAsEnum(value)];
  });
}

function mapped(object: object, map: (value: unknown, key: string) => readonly [string, unknown]): object {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => map(value, key)));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const HOLDS_DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required"]);
/** Whose members are fields by their names, and no keywords. */
const NAMES_SCHEMAS: ReadonlySet<string> = new Set(["properties", "patternProperties", "dependentSchemas", "$defs"]);
const ANNOTATES: ReadonlySet<string> = new Set(["const", "title", "description"]);

/** Undefined unless each of the alternatives is one string, and says nothing else about it. */
function choicesOf(alternatives: unknown): readonly string[] | undefined {
  if (!Array.isArray(alternatives)) return undefined;
  const choices = alternatives.map((alternative: unknown) => {
    if (!isObject(alternative) || !("const" in alternative)) return undefined;
    return Object.keys(alternative).every((keyword) => ANNOTATES.has(keyword)) ? alternative.const : undefined;
  });
  return choices.length > 0 && choices.every((choice) => typeof choice === "string") && new Set(choices).size === choices.length
    ? choices
    : undefined;
}
