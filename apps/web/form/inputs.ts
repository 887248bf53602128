/**
 * The form of a page: the control for each field, the typed values, and the content that they make. Only the server validates the content; the form rejects
 * values that cannot be read as their type or are missing.
 */
import {
  asShown,
  type Choice,
  type Field,
  fieldsOf,
  hasMore,
  isAny,
  kindOfItems,
  readAny,
  readJson,
  readTyped,
  simpleTypes,
  valueOf,
} from "@parley/core/form";
import type { Json, JsonObject } from "@parley/core/form";

export type Control =
  | "text"
  | "area"
  | "email"
  | "url"
  | "date"
  | "datetime"
  | "time"
  | "number"
  /** Of a boolean that has a default. */
  | "checkbox"
  /** Yes or no, with nothing chosen: a box that is not ticked would say no for the person. */
  | "tristate"
  /** By position: a choice may be the empty string, which is no choice. */
  | "select"
  | "checks"
  /** One entry per line. */
  | "lines"
  | "json";

export interface Input extends Field {
  readonly control: Control;
  /** An empty control means null: the field is required, and may be null. */
  readonly isNullIfEmpty: boolean;
  /** A description of the limits. */
  readonly hint: string;
  /** The object with all other members, which are beside the fields in the content. */
  readonly isRest?: true;
}

export type Typed = string | boolean | readonly string[];
/** By field. A missing field has not been changed. */
export type Draft = Readonly<Record<string, Typed>>;
export type Problems = Readonly<Record<string, string>>;

/** `hints`: of the question, which say whether it can be undone. */
export function inputsOf(schema: JsonObject, hints: Readonly<Record<string, unknown>> = {}): readonly Input[] {
  const inputs = fieldsOf(schema).map((each): Input => {
    const given = asShown(each, hints);
    const isNullIfEmpty = given.isRequired && given.isNullable === true;
    const field = { ...given, isRequired: given.isRequired && !isNullIfEmpty };
    return { ...field, isNullIfEmpty, control: controlOf(field), hint: hintOf(field) };
  });
  return hasMore(schema) && !inputs.some(({ name }) => name === REST.name)
    ? [...inputs, { ...REST, label: inputs.length > 0 ? "Other fields" : "Fields" }]
    : inputs;
}

/** What a schema allows or requires beyond its fields, by alternatives or by any name. */
const REST: Input = {
  name: "",
  label: "Fields",
  kind: "text",
  isRequired: false,
  choices: [],
  schema: { type: "object" },
  control: "json",
  isNullIfEmpty: false,
  hint: 'a JSON object, such as {"name": "value"}',
  isRest: true,
};

const FEW = 5;

/** Of a field with so few choices that all of them are shown at once: what its control has for each, and what is read. Undefined for any other. */
export function fewChoices(
  { control, choices, isRequired }: Input,
  words: { readonly yes: string; readonly no: string; readonly none: string; readonly titleOf: (choice: Choice) => string },
): readonly (readonly [value: string, title: string])[] | undefined {
  const none = isRequired ? [] : [["", words.none] as const];
  if (control === "tristate") return [...none, ["true", words.yes], ["false", words.no]];
  if (control !== "select" || choices.length > FEW) return undefined;
  return [...none, ...choices.map((choice, index) => [`${index}`, words.titleOf(choice)] as const)];
}

function controlOf(field: Field): Control {
  const { kind, schema, choices } = field;
  switch (kind) {
    case "boolean":
      return typeof field.default === "boolean" ? "checkbox" : "tristate";
    case "number":
    case "integer":
      return "number";
    case "choice":
      return "select";
    case "choices":
      return choices.length > 0 ? "checks" : kindOfItems(schema) !== undefined && canBeLines(field.default) ? "lines" : "json";
    case "text":
      return simpleTypes(schema) === undefined ? "json" : textControl(field);
  }
}

function textControl({ schema, default: preset }: Field): Control {
  const { maxLength } = schema;
  // A control of one line would drop the line breaks.
  if (typeof preset === "string" && /[\r\n]/.test(preset)) return "area";
  switch (formatOf(schema)) {
    case "email":
      return "email";
    case "uri":
      return "url";
    case "date":
      return "date";
    case "date-time":
      return "datetime";
    case "time":
      return "time";
    default:
      return typeof maxLength === "number" && maxLength > 150 ? "area" : "text";
  }
}

/** Undefined where a number may stand in place of the text: the control of a format would not take it. */
function formatOf({ type, format }: JsonObject): Json | undefined {
  return type === "string" ? format : undefined;
}

/** Whether each entry of a default has a line to itself. */
function canBeLines(preset: Json | undefined): boolean {
  return (
    !Array.isArray(preset) || preset.every((item) => typeof item !== "object" && lineOf(item).trim() !== "" && !/[\r\n]/.test(lineOf(item)))
  );
}

function lineOf(item: Json): string {
  return typeof item === "string" ? item : JSON.stringify(item);
}

function hintOf({ kind, schema, choices }: Field): string {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, multipleOf, pattern, format } = schema;
  const said: string[] = [];
  const range = (low: Json | undefined, high: Json | undefined, unit: string) => {
    if (isBound(low) && isBound(high)) said.push(low === high ? `exactly ${low}${unit}` : `${low} to ${high}${unit}`);
    else if (isBound(low)) said.push(`at least ${low}${unit}`);
    else if (isBound(high)) said.push(`at most ${high}${unit}`);
  };
  if (kind === "integer") said.push("a whole number");
  range(minimum, maximum, "");
  if (typeof exclusiveMinimum === "number") said.push(`more than ${exclusiveMinimum}`);
  if (typeof multipleOf === "number") said.push(`in steps of ${multipleOf}`);
  range(minLength, maxLength, " characters");
  range(minItems, maxItems, choices.length > 0 ? " of these" : " entries");
  if (kind === "text" && formatOf(schema) === "date-time") said.push(`time zone ${zoneName()}`);
  // A format describes the same as its pattern, in fewer words.
  const [example] = Array.isArray(schema["examples"]) ? schema["examples"] : [];
  if (typeof pattern === "string" && format === undefined && typeof example === "string") said.push(`such as ${example}`);
  return said.join(", ");
}

/** Libraries add the bounds of JavaScript's safe integers to every integer schema. */
function isBound(bound: Json | undefined): bound is number {
  return typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
}

/** The initial value of a control. */
export function untouched(input: Input): Typed {
  const { control, choices, schema, default: preset } = input;
  switch (control) {
    case "checkbox":
      return preset === true;
    case "tristate":
      return "";
    case "select": {
      const index = choices.findIndex((choice) => isSame(valueOf(choice), preset));
      return index === -1 ? "" : `${index}`;
    }
    case "checks":
      return Array.isArray(preset)
        ? choices.filter((choice) => preset.some((item) => isSame(valueOf(choice), item))).map(({ value }) => value)
        : [];
    case "lines":
      return Array.isArray(preset) ? preset.map(lineOf).join("\n") : "";
    case "datetime":
      return typeof preset === "string" ? toLocal(preset) : "";
    case "json":
      return preset === undefined ? "" : JSON.stringify(preset, undefined, 2);
    default:
      if (typeof preset !== "string") return preset === undefined ? "" : JSON.stringify(preset);
      // A text that would be read as something else has its quotes.
      return isAny(input) && readAny(preset, schema)?.value !== preset ? JSON.stringify(preset) : preset;
  }
}

/** The content, or the problems of some fields. `locale`: how the person writes numbers. */
export function contentOf(
  inputs: readonly Input[],
  draft: Draft,
  locale = "en",
): { readonly content: JsonObject; readonly problems: Problems } {
  const content: [string, Json][] = [];
  const problems: [string, string][] = [];
  for (const input of inputs) {
    const typed = Object.hasOwn(draft, input.name) ? draft[input.name] : undefined;
    const read = unchanged(input, typed) ?? readControl(input, typed ?? untouched(input), locale);
    if ("problem" in read) problems.push([input.name, read.problem]);
    else if (input.isRest && read.value !== undefined) {
      if (isObject(read.value)) content.push(...Object.entries(read.value));
      else problems.push([input.name, 'must be a JSON object, such as {"name": "value"}']);
    } else if (read.value !== undefined) content.push([input.name, read.value]);
    else if (input.isNullIfEmpty) content.push([input.name, null]);
  }
  // A field may have the name `__proto__`.
  return { content: Object.fromEntries(content), problems: Object.fromEntries(problems) };
}

type Read = { readonly value: Json | undefined } | { readonly problem: string };

function readControl(input: Input, typed: Typed, locale: string): Read {
  const { control, isRequired, default: preset } = input;
  if (typeof typed === "boolean") return { value: typed };
  // A box has one value, and what came in its place is no yes.
  if (control === "checkbox") return { problem: NOT_OFFERED };
  // A list that was left out would get its default, and a person who has emptied it wants none of it.
  const mayLeaveOut = !isRequired && !(Array.isArray(preset) && preset.length > 0);
  if (typeof typed !== "string") {
    return typed.length === 0 && mayLeaveOut ? { value: undefined } : { value: typed.map((each) => chosen(input.choices, each)) };
  }
  if (control === "lines") {
    const kind = kindOfItems(input.schema) ?? "text";
    const lines = typed.split("\n").filter((line) => line.trim() !== "");
    if (kind === "number" && lines.some((line) => isAmbiguous(line, locale))) return { problem: AMBIGUOUS };
    const read = lines.map((line) => readTyped(kind === "number" ? withPoint(line, locale) : line, { kind }));
    return lines.length === 0 && mayLeaveOut ? { value: undefined } : { value: read };
  }
  if (typed === "") {
    if (!isRequired) return { value: undefined };
    return input.default === "" ? { value: "" } : { problem: "is required" };
  }
  switch (control) {
    case "number": {
      if (input.kind === "number" && isAmbiguous(typed, locale)) return { problem: AMBIGUOUS };
      const value = readTyped(input.kind === "number" ? withPoint(typed, locale) : typed, input);
      if (typeof value === "number") return { value };
      if (/^\s*[+-]?\p{Nd}+\s*$/u.test(typed)) return { problem: TOO_MANY_DIGITS };
      return { problem: input.kind === "integer" ? "must be a whole number, in digits only" : "must be a number, such as 1234.5" };
    }
    case "tristate":
      return typed === "true" || typed === "false" ? { value: typed === "true" } : { problem: NOT_OFFERED };
    case "select": {
      const choice = /^\d+$/.test(typed) ? input.choices[Number(typed)] : undefined;
      return choice ? { value: valueOf(choice) } : { problem: NOT_OFFERED };
    }
    case "datetime": {
      // JavaScript reads "1" as a day of 2001, and 30 February as one of March.
      if (!isMoment(typed)) return { problem: "must be a date and a time" };
      const at = new Date(typed);
      if (isSkipped(typed, at)) return { problem: "does not exist: the clock is moved forward then" };
      // Schemas that allow only whole seconds refuse even `.000`.
      return { value: at.toISOString().replace(".000Z", "Z") };
    }
    case "json":
      return (isAny(input) && !input.isRest && readAny(typed, input.schema)) || readJson(typed) || { problem: problemOf(typed) };
    default:
      return (isAny(input) && readAny(typed, input.schema)) || { value: typed };
  }
}

function problemOf(typed: string): string {
  try {
    JSON.parse(typed);
    return TOO_MANY_DIGITS;
  } catch (error) {
    return `is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function hasDecimalComma(locale: string): boolean {
  return (1.5).toLocaleString(locale).includes(",");
}

/** "10.000" is ten thousand where numbers have a decimal comma, and ten to whoever reads it as JSON does. */
function isAmbiguous(typed: string, locale: string): boolean {
  return /^\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+\s*$/.test(typed) && hasDecimalComma(locale);
}

/** With a decimal comma before three digits as a point: elsewhere these are thousands. */
function withPoint(typed: string, locale: string): string {
  return /^\s*[+-]?\d+,\d{3}\s*$/.test(typed) && hasDecimalComma(locale) ? typed.replace(",", ".") : typed;
}

const AMBIGUOUS = "can be read in two ways: no points between thousands, please";
const TOO_MANY_DIGITS = "has more digits than a number can have";
/** No control sends it, and it is neither a no nor nothing: the form was sent without its page, or by one that is older than the question. */
const NOT_OFFERED = "is none of the choices";

/** A local time as `datetime-local` writes it, or a moment with its zone, of a day that exists. Browsers without the control let people type a space for the `T`. */
export function isMoment(typed: string): boolean {
  const [, day] = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?$/.exec(typed) ?? [];
  if (day === undefined || Number.isNaN(Date.parse(typed))) return false;
  return new Date(`${day}T00:00Z`).toISOString().startsWith(day);
}

/** A default that nobody changed is sent as it is: a control may show less of it, such as a local time without fractions of a second. */
function unchanged(input: Input, typed: Typed | undefined): Read | undefined {
  const { default: preset } = input;
  if (preset === undefined) return undefined;
  const shown = untouched(input);
  const isEmpty = shown === "" || shown === false || (Array.isArray(shown) && shown.length === 0);
  return !isEmpty && isSame((typed ?? shown) as Json, shown as Json) && !isPartial(input) ? { value: preset } : undefined;
}

/** Whether the control cannot show all of the default, such as a choice that is no longer offered: the person would send what they do not see. */
function isPartial({ control, choices, default: preset }: Input): boolean {
  return control === "checks" && Array.isArray(preset) && preset.some((item) => !choices.some((choice) => isSame(valueOf(choice), item)));
}

function isSame(one: Json, other: Json | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function chosen(choices: readonly Choice[], value: string): Json {
  const found = choices.find((choice) => choice.value === value);
  return found ? valueOf(found) : value;
}

/** Whether the clock leaves out the time, as when summer time begins. JavaScript then takes the time an hour later. */
function isSkipped(typed: string, at: Date): boolean {
  return (
    !Number.isNaN(at.getTime()) &&
    /^\d{4}-\d\d-\d\d[T ][\d:.]+$/.test(typed) &&
    toLocal(at.toISOString()).slice(0, 16) !== typed.slice(0, 16).replace(" ", "T")
  );
}

/** What to know about a value that is valid as it is typed; empty if there is nothing. */
export function noteOf({ control }: Input, typed: Typed): string {
  if (control !== "datetime" || typeof typed !== "string") return "";
  const at = new Date(typed);
  if (Number.isNaN(at.getTime())) return "";
  // A clock that is set back, by half an hour or an hour, shows the same again.
  const isRepeated = [1_800_000, 3_600_000].some(
    (later) => toLocal(new Date(at.getTime() + later).toISOString()) === toLocal(at.toISOString()),
  );
  return isRepeated ? "the clock shows this time twice: the first one is meant" : "";
}

/** The zone in which a date and time is entered, such as `Europe/Berlin`. */
function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Converts to the format of `datetime-local`, in the person's time zone. */
function toLocal(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/**
 * Groups violations by field, from JSON pointers such as `/content/size`, `/<ask>/content/size`, or `/size` for arguments. Violations that name no field are
 * under `""`.
 */
export function problemsIn(violations: readonly { readonly path: string; readonly message: string }[], inputs: readonly Input[]): Problems {
  const problems = new Map<string, string>();
  for (const { path, message } of violations) {
    const segments = path
      .split("/")
      .slice(1)
      .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
    const at = segments.indexOf("content");
    const [field = "", ...rest] = at === 0 || at === 1 ? segments.slice(at + 1) : segments;
    const name = inputs.some((input) => input.name === field) ? field : "";
    const below = name === "" ? [field, ...rest].filter((segment) => segment !== "") : rest;
    const said = `${below.map(placeOf).join("")}${message}`;
    problems.set(name, problems.has(name) ? `${problems.get(name)}; ${said}` : said);
  }
  return Object.fromEntries(problems);
}

/** Of what is in a list or an object: "entry 2: must be a number". */
function placeOf(segment: string): string {
  return /^\d+$/.test(segment) ? `entry ${Number(segment) + 1}: ` : `${segment}: `;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
