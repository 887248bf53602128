/** The message that the person who is asked reads. */
import { aboutOf, type Ask, type AskRequest, contextText, fieldAt, problemAt } from "@parley/core";

type Worded = Extract<AskRequest, { message: string }>;

const VIOLATIONS_SHOWN = 5;

/**
 * The question with its context; how urgent it is; for a quorum, how many have accepted it; and the problems of the last
 * answer, by the labels of the form. Clients show a message and a form, so everything else is in the message.
 */
export function messageOf(ask: Ask & { readonly request: Worded }): string {
  const { request, refused, audience, tally } = ask;
  const { context = [] } = aboutOf(request) ?? {};
  const question = [
    request.message,
    ...(context.length > 0 ? [contextText(context)] : []),
    ...urgencyText(ask),
    ...(tally ? [`${tallyText(tally.accepted, audience?.quorum)} so far.`] : []),
  ].join("\n\n");
  if (!refused || refused.violations.length === 0) return question;
  const labelOf = (path: string) => (request.type === "form" ? fieldAt(request.schema, path)?.label : undefined) ?? nameIn(path);
  const problems = refused.violations.slice(0, VIOLATIONS_SHOWN).map(({ path, message }) => problemAt(labelOf(path), message));
  return `${question}\n\nThe last answer could not be taken: ${problems.join("; ")}.`;
}

/** `Priority: urgent. Please answer by 2026-12-24 18:00 UTC.` */
function urgencyText({ request, askedAtMs }: Ask): string[] {
  const { priority, dueMs } = aboutOf(request) ?? {};
  const parts = [
    ...(priority === undefined ? [] : [`Priority: ${priority}.`]),
    ...(dueMs === undefined ? [] : [`Please answer by ${new Date(askedAtMs + dueMs).toISOString().slice(0, 16).replace("T", " ")} UTC.`]),
  ];
  return parts.length === 0 ? [] : [parts.join(" ")];
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
