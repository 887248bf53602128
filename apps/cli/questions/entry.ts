/** A value as one line of text that a person types or changes on a terminal. */
import { type Field, type Json, kindOfItems, readTyped } from "@parley/core";
import { formatHint } from "./form.ts";
import { clean } from "../terminal/terminal.ts";

/** The text that the default of a field is shown as. */
export function entryOf(field: Field): string {
  const { default: preset } = field;
  if (preset === undefined) return "";
  return clean(hasLines(field) ? escapedLines(`${preset as string}`) : typeof preset === "string" ? preset : JSON.stringify(preset));
}

/** What a person typed, by the field's schema. Undefined if the field is left out. */
export function readEntry(given: string, field: Field): Json | undefined {
  const typed = hasLines(field) ? unescapedLines(given) : given;
  if (typed === "") return field.isRequired && field.kind === "text" && field.schema["type"] === "string" ? "" : undefined;
  const isAny = field.kind === "text" && field.schema["type"] === undefined;
  const isList = field.kind === "choices" && /^\s*\[/.test(typed);
  return isJson(field) || isAny || isList ? parsed(typed) : readTyped(typed, field);
}

/** The prompt has one line, which would drop the line breaks of a default. */
export function hasLines({ default: preset }: Field): boolean {
  return typeof preset === "string" && /[\r\n]/.test(preset);
}

/** How to enter the value, where its label does not say it. */
export function entryHint(field: Field): string | undefined {
  if (isJson(field)) return "as JSON";
  return field.kind === "choices" && field.choices.length === 0 ? "separated by commas, or as JSON" : formatHint(field);
}

/** Objects, and lists of more than words and numbers, are entered as JSON. */
export function isJson({ kind, choices, schema }: Field): boolean {
  return kind === "choices" ? choices.length === 0 && kindOfItems(schema) === undefined : schema["type"] === "object";
}

export function parsed(typed: string): Json {
  try {
    return JSON.parse(typed) as Json;
  } catch {
    return typed;
  }
}

function escapedLines(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\r", "\\r").replaceAll("\n", "\\n");
}

function unescapedLines(text: string): string {
  return text.replaceAll(/\\([\\rn])/g, (_, letter: string) => (letter === "n" ? "\n" : letter === "r" ? "\r" : "\\"));
}
