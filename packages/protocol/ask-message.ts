/** What a person reads who is asked. */
import { type Ask, type AskRequest, fieldAt } from "@parley/core";

type Worded = Extract<AskRequest, { message: string }>;

const VIOLATIONS_SHOWN = 5;

/** The question, and what was wrong with the last answer to it, by the names that the form shows. */
export function messageOf(ask: Ask & { readonly request: Worded }): string {
  const { request, refused } = ask;
  if (!refused || refused.violations.length === 0) return request.message;
  const labelOf = (path: string) => (request.type === "form" ? fieldAt(request.schema, path)?.label : undefined) ?? nameIn(path);
  const problems = refused.violations.slice(0, VIOLATIONS_SHOWN).map(({ path, message }) => `${labelOf(path)} ${message}`);
  return `${request.message}\n\nThe last answer could not be taken: ${problems.join("; ")}.`;
}

/** Where the form has no such field: what was answered in its place. */
function nameIn(path: string): string {
  const [, , pointer] = path.split("/");
  return pointer === undefined ? "the answer" : pointer.replaceAll("~1", "/").replaceAll("~0", "~");
}
