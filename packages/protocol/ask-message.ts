/** What a person reads who is asked. */
import type { Ask, AskRequest } from "@parley/core";
import { isObject, own } from "./json-rpc.ts";

type Worded = Extract<AskRequest, { message: string }>;

const VIOLATIONS_SHOWN = 5;

/** The question, and what was wrong with the last answer to it, by the names that the form shows. */
export function messageOf(ask: Ask & { readonly request: Worded }): string {
  const { request, refused } = ask;
  if (!refused || refused.violations.length === 0) return request.message;
  const properties = request.type === "form" ? request.schema["properties"] : undefined;
  const problems = refused.violations.slice(0, VIOLATIONS_SHOWN).map(({ path, message }) => `${labelOf(path, properties)} ${message}`);
  return `${request.message}\n\nThe last answer could not be taken: ${problems.join("; ")}.`;
}

/** `/content/partySize` is the field that the form calls "Party size". */
function labelOf(path: string, properties: unknown): string {
  const [, , pointer] = path.split("/");
  if (pointer === undefined) return "the answer";
  const name = pointer.replaceAll("~1", "/").replaceAll("~0", "~");
  const field = isObject(properties) ? own(properties, name) : undefined;
  const title = isObject(field) ? own(field, "title") : undefined;
  return typeof title === "string" ? title : name;
}
