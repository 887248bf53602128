/**
 * What people read about a value that does not fit, for every JSON Schema validator. To translate: write another
 * `ViolationTexts` and give it to `schemaViolation`.
 *
 *   { keyword: "maximum", params: { limit: 20 }, parentSchema: { minimum: 1, maximum: 20 } }  →  "must be between 1 and 20"
 *
 * Each text follows the name of a field ("Party size must be at most 20") and stands alone beside one. It never shows
 * a regular expression, a JSON pointer or a keyword.
 */

/** A problem as a JSON Schema validator reports it, in ajv's shape with `verbose`. */
export interface SchemaProblem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  readonly message?: string | undefined;
  /** The schema that has the keyword: a text may name both of its bounds. */
  readonly parentSchema?: unknown;
}

export interface ViolationTexts {
  readonly isRequired: string;
  readonly isUnknown: string;
  /** Any one of these texts, made true, would do. */
  readonly or: (texts: readonly string[]) => string;
  /** Of any other keyword. Undefined if the text of the validator is to be used. */
  readonly of: (problem: Omit<SchemaProblem, "instancePath">) => string | undefined;
}

type Schema = { readonly [keyword: string]: unknown };

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

const FORMATS: Readonly<Record<string, string>> = {
  email: "an e-mail address, such as ann@example.com",
  uri: "a complete address, such as https://example.com",
  url: "a complete address, such as https://example.com",
  date: "a date that exists, such as 2026-12-24",
  "date-time": "a date and a time with its zone, such as 2026-12-24T19:30:00Z",
  time: "a time, such as 19:30:00",
  duration: "a duration, such as PT1H30M",
  uuid: "a UUID, such as 2f1b9c1e-4d5a-4c0b-9a53-0f7f3f1d2c11",
  ipv4: "an IPv4 address, such as 192.0.2.1",
  ipv6: "an IPv6 address, such as 2001:db8::1",
  hostname: "a host name, such as example.com",
};

/** Longer lists of choices are not read to their end. */
const CHOICES_SHOWN = 10;

export const ENGLISH: ViolationTexts = {
  isRequired: "is required",
  isUnknown: "is not a known field",
  or: (texts) => texts.join(", or "),
  of({ keyword, params, parentSchema }) {
    const schema = (typeof parentSchema === "object" && parentSchema !== null ? parentSchema : {}) as Schema;
    const limit = Number(params["limit"]);
    switch (keyword) {
      case "type":
        return `must be ${orOf(typesText(listOf(params["type"])))}`;
      case "enum":
        return kindsText([], listOf(params["allowedValues"]));
      case "const":
        return `must be ${JSON.stringify(params["allowedValue"])}`;
      case "minimum":
      case "maximum":
        return `must be ${range(schema["minimum"], schema["maximum"], keyword, limit)}`;
      case "exclusiveMinimum":
        return `must be more than ${limit}`;
      case "exclusiveMaximum":
        return `must be less than ${limit}`;
      case "multipleOf":
        return schema["multipleOf"] === 1 ? "must be a whole number" : `must be a multiple of ${Number(schema["multipleOf"])}`;
      case "minLength":
      case "maxLength":
        return counted(schema["minLength"], schema["maxLength"], keyword === "minLength", limit, ["character", "characters"]);
      case "minItems":
      case "maxItems":
        return counted(schema["minItems"], schema["maxItems"], keyword === "minItems", limit, ["entry", "entries"]);
      case "minProperties":
      case "maxProperties":
        return counted(schema["minProperties"], schema["maxProperties"], keyword === "minProperties", limit, ["field", "fields"]);
      case "pattern":
        return `is not written as expected${exampleIn(schema)}`;
      case "format": {
        const format = String(params["format"]);
        return Object.hasOwn(FORMATS, format) ? `must be ${FORMATS[format]}` : `is not written as ${format} requires`;
      }
      case "uniqueItems":
        return "must not hold the same item twice";
      case "anyOf":
      case "oneOf":
        if (Array.isArray(params["types"])) return kindsText(listOf(params["types"]), listOf(params["choices"]));
        return Array.isArray(params["passingSchemas"]) ? "fits more than one of its alternatives" : "fits none of its alternatives";
      case "not":
      case "false schema":
        return "is not allowed here";
      case "if":
        return "does not go with the other fields";
      case "contains":
        return "lacks an entry that it must have";
      case "propertyNames":
        return "has a field with a name that is not allowed";
      default:
        return undefined;
    }
  },
};

function range(least: unknown, most: unknown, keyword: "minimum" | "maximum", limit: number): string {
  if (isBound(least) && isBound(most)) return least === most ? `exactly ${least}` : `between ${least} and ${most}`;
  return keyword === "minimum" ? `at least ${limit}` : `at most ${limit}`;
}

function counted(least: unknown, most: unknown, isTooFew: boolean, limit: number, [one, many]: readonly [string, string]): string {
  const noun = (count: number) => `${count} ${count === 1 ? one : many}`;
  if (isBound(least) && isBound(most) && least > 0)
    return `must have ${least === most ? `exactly ${noun(least)}` : `between ${least} and ${noun(most)}`}`;
  if (!isTooFew && limit === 0) return "must be empty";
  return `must have ${isTooFew ? "at least" : "at most"} ${noun(limit)}`;
}

/** Libraries add the bounds of JavaScript's safe integers to every integer. */
function isBound(bound: unknown): bound is number {
  return typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
}

function typesText(types: readonly string[]): readonly string[] {
  return types.map((type) => TYPES[type] ?? type);
}

/** Of alternatives (`alternatives.ts`): types and single values that would do. */
function kindsText(types: readonly string[], choices: readonly unknown[]): string {
  if (choices.length === 0) return `must be ${orOf(typesText(types))}`;
  const values = choices.length === 1 ? JSON.stringify(choices[0]) : `one of ${choicesText(choices)}`;
  return `must be ${orOf([...typesText(types), values])}`;
}

function choicesText(values: readonly unknown[]): string {
  const shown = values.slice(0, CHOICES_SHOWN).map((value) => JSON.stringify(value));
  const more = values.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

function exampleIn({ examples }: Schema): string {
  const [example] = Array.isArray(examples) ? (examples as readonly unknown[]) : [];
  return typeof example === "string" && example !== "" && example.length <= 60 ? `, such as ${example}` : "";
}

function orOf(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

export function listOf(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]) as readonly string[];
}

/**
 * One sentence about a field. A text of ours follows the name; an author's is a sentence of its own: "Party size must
 * be at most 20", "Return: the return must not be before the start".
 */
export function problemAt(label: string, message: string): string {
  return CONTINUES.test(message) ? `${label} ${message}` : `${label}: ${message}`;
}

const CONTINUES = /^(must|is|are|has|have|fits|lacks|does|can|cannot|needs|holds|was|breaks|names) /;
