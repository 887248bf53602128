/** The message that the person who is asked reads. */
import { type Ask, type AskRequest, fieldAt, problemAt } from "@parley/core";

type Worded = Extract<AskRequest, { message: string }>;

const VIOLATIONS_SHOWN = 5;

/** The question; for a quorum, how many have accepted it; and the problems of the last answer, by the labels of the form. */
export function messageOf(ask: Ask & { readonly request: Worded }): string {
  const { request, refused, audience, tally } = ask;
  const question = tally ? `${request.message}\n\n${tallyText(tally.accepted, audience?.quorum)} so far.` : request.message;
  if (!refused || refused.violations.length === 0) return question;
  const labelOf = (path: string) => (request.type === "form" ? fieldAt(request.schema, path)?.label : undefined) ?? nameIn(path);
  const problems = refused.violations.slice(0, VIOLATIONS_SHOWN).map(({ path, message }) => problemAt(labelOf(path), message));
  return `${question}\n\nThe last answer could not be taken: ${problems.join("; ")}.`;
}

/** `1 of 2 has accepted`. */
export function tallyText(accepted: number, quorum: number | undefined): string {
  return `${accepted} of ${quorum} ${accepted === 1 ? "has" : "have"} accepted`;
}

/** The name for a path that is no field of the form. */
function nameIn(path: string): string {
  const [, , pointer] = path.split("/");
  return pointer === undefined ? "the answer" : pointer.replaceAll("~1", "/").replaceAll("~0", "~");
}
