/**
 * Builds answers from `--set field=value`, by the schema of the ask: "4" becomes a number if the field is a number. Only the server validates the answer.
 */
import { describeInexact, fieldsOf, inexactNumber, type Json, type JsonObject } from "@parley/core";
import { readFlag } from "./entry.ts";

export interface Form {
  readonly mode?: "form";
  readonly message: string;
  readonly requestedSchema: JsonObject;
  /** `parley/hints`: how to show the question. */
  readonly _meta?: JsonObject;
}

/** Asks the person to visit a page. */
export interface Visit {
  readonly mode: "url";
  readonly message: string;
  readonly url: string;
}

export type Elicitation = Form | Visit;

export type Content = Record<string, Json>;

export type Reply = { action: "accept"; content?: Content } | { action: "decline"; reason?: string } | { action: "cancel" };

export function isVisit(asked: Elicitation): asked is Visit {
  return asked.mode === "url";
}

/** `["partySize=4", "seats=inside,window"]` → the content of an answer, by the form's types. Throws an Error if an item is not an assignment or names no field. */
export function contentOf(assignments: readonly string[], { requestedSchema }: Form): Content {
  const fields = fieldsOf(requestedSchema);
  const content: Content = {};
  for (const assignment of assignments) {
    const [name, given] = split(assignment);
    const field = fields.find((each) => each.name === name);
    if (!field) throw new Error(`the question has no field ${name}; it has ${fields.map((each) => each.name).join(", ") || "none"}`);
    const before = content[name];
    const value = readFlag(given, field);
    content[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }
  return content;
}

/** Splits `name=value`. */
export function split(assignment: string): [name: string, value: string] {
  const at = assignment.indexOf("=");
  if (at < 1) throw new Error(`${assignment} does not have the form name=value`);
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}

/** Parses a JSON object from the command line. Throws an Error that names the option. */
export function objectOf(text: string, option: string): JsonObject {
  const number = inexactNumber(text);
  if (number !== undefined) throw new Error(`${option} ${describeInexact(number)}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${option} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${option} takes a JSON object, such as '{"name":"value"}'`);
  return value as JsonObject;
}
