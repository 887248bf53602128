/** A value as text: typed or changed in one line of a prompt, or given as a flag. */
import {
  describeInexact,
  type Field,
  inexactNumber,
  isAny,
  type Json,
  kindOfItems,
  readAny,
  readJson,
  readTyped,
  simpleTypes,
} from "@parley/core";
import { clean } from "../terminal/terminal.ts";

/** The text that the default of a field is shown as. */
export function entryOf(field: Field): string {
  const { default: preset } = field;
  if (preset === undefined) return "";
  // A text that would be read as something else has its quotes.
  if (isAny(field) && typeof preset === "string" && readText(preset, field) !== preset) return clean(JSON.stringify(preset));
  return clean(hasLines(field) ? escapedLines(`${preset as string}`) : typeof preset === "string" ? preset : JSON.stringify(preset));
}

/** What a person typed, by the field's schema. Undefined if the field is left out. A default that nobody changed stays what it is. */
export function readEntry(given: string, field: Field): Json | undefined {
  if (given !== "" && field.default !== undefined && given === entryOf(field)) return field.default;
  const typed = hasLines(field) ? unescapedLines(given) : given;
  if (typed === "") return field.isRequired && field.kind === "text" && field.schema["type"] === "string" ? "" : undefined;
  return readText(typed, field);
}

/** What a flag says, by the field's schema. A flag is never empty by accident, and has no other way to say null. */
export function readFlag(given: string, field: Field): Json {
  const number = isRounded(given, field) ? inexactNumber(given) : undefined;
  if (number !== undefined) throw new Error(`${field.name} ${describeInexact(number)}`);
  return field.isNullable && given === "null" ? null : readText(given, field);
}

/** As JSON where the schema wants an object or a list of them, or takes any type; otherwise as the field's type. */
function readText(typed: string, field: Field): Json {
  const { kind, choices, schema } = field;
  if (isAny(field)) return (readAny(typed, schema) ?? { value: typed }).value;
  if (schema["type"] === "object") return parsed(typed);
  if (kind !== "choices" || choices.some(({ value }) => value === typed)) return readTyped(typed, field);
  const value = parsed(typed);
  if (Array.isArray(value) || !isJson(field)) return Array.isArray(value) ? value : readTyped(typed, field);
  // A list of anything: one entry, or several that are separated by commas.
  return value === typed ? (readTyped(typed, field) as readonly string[]).map(parsed) : [value];
}

/** The prompt has one line, which would drop the line breaks of a default. */
export function hasLines({ default: preset }: Field): boolean {
  return typeof preset === "string" && /[\r\n]/.test(preset);
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "YYYY-MM-DD",
  "date-time": "such as 2026-12-24T19:30:00Z",
  time: "such as 19:30:00",
};

/** How to write a value of the field's format. A refusal names only the format. */
export function formatHint({ schema }: Pick<Field, "schema">): string | undefined {
  const { format } = schema;
  return typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
}

/** How to enter the value, where its label does not say it. */
export function entryHint(field: Field): string | undefined {
  if (isJson(field)) return "as JSON";
  return field.kind === "choices" && field.choices.length === 0 ? "separated by commas, or as JSON" : formatHint(field);
}

/** Objects, and lists of more than words and numbers, are entered as JSON. */
function isJson({ kind, choices, schema }: Field): boolean {
  return kind === "choices" ? choices.length === 0 && kindOfItems(schema) === undefined : schema["type"] === "object";
}

/** Whether it is JSON with a number that would be another one on its way. */
export function isRounded(typed: string, field: Field): boolean {
  return inexactNumber(typed) !== undefined && (isJson(field) || (isAny(field) && /^\s*[{["]/.test(typed)));
}

/** Whether it was meant as JSON and is none. */
export function isBroken(typed: string, field: Field): boolean {
  return isJson(field) || (isAny(field) && simpleTypes(field.schema) === undefined && readAny(typed, field.schema) === undefined);
}

export function parsed(typed: string): Json {
  const read = readJson(typed);
  return read ? read.value : typed;
}

function escapedLines(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\r", "\\r").replaceAll("\n", "\\n");
}

function unescapedLines(text: string): string {
  return text.replaceAll(/\\([\\rn])/g, (_, letter: string) => (letter === "n" ? "\n" : letter === "r" ? "\r" : "\\"));
}
