/** What a person reads who is asked. */
import { type Ask, type AskRequest, fieldAt } from "@parley/core";

type Worded = Extract<AskRequest, { message: string }>;

const VIOLATIONS_SHOWN = 5;

/** The question, how many have accepted it of several who must, and what was wrong with the last answer to it, by the names that the form shows. */
export function messageOf(ask: Ask & { readonly request: Worded }): string {
  const { request, refused, audience, tally } = ask;
  const question = tally ? `${request.message}\n\n${tallyText(tally.accepted, audience?.quorum)} so far.` : request.message;
  if (!refused || refused.violations.length === 0) return question;
  const labelOf = (path: string) => (request.type === "form" ? fieldAt(request.schema, path)?.label : undefined) ?? nameIn(path);
  const problems = refused.violations.slice(0, VIOLATIONS_SHOWN).map(({ path, message }) => `${labelOf(path)} ${message}`);
  return `${question}\n\nThe last answer could not be taken: ${problems.join("; ")}.`;
}

/** `1 of 2 has accepted`. */
export function tallyText(accepted: number, quorum: number | undefined): string {
  return `${accepted} of ${quorum} ${accepted === 1 ? "has" : "have"} accepted`;
}

/** Where the form has no such field: what was answered in its place. */
function nameIn(path: string): string {
  const [, , pointer] = path.split("/");
  return pointer === undefined ? "the answer" : pointer.replaceAll("~1", "/").replaceAll("~0", "~");
}
