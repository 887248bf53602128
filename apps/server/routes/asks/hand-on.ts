/** The form with which a person hands a question on to others (join-thread.ts in core): its markup, and what was typed in it. It works without script. */
import {
  type Addressees,
  type Audience,
  DELEGATED_NAMES_MAX,
  DELEGATION_REASON_CHARS_MAX,
  delegationProblems,
  shownName,
} from "@parley/core";
import { filled, type Reader } from "../../texts/texts.ts";
import { type Html, markup } from "./html.ts";

const KINDS = ["people", "groups", "roles"] as const;

/** Longest text with names. As many as there may be, each as long as it may be, with what separates them. */
const NAMES_CHARS_MAX = DELEGATED_NAMES_MAX * 258;

/** What was typed, and what is wrong with it. */
export interface HandOnDraft {
  readonly kind: (typeof KINDS)[number];
  readonly names: string;
  readonly reason: string;
  readonly problems: { readonly names?: string | undefined; readonly reason?: string | undefined };
}

export interface HandingOn {
  readonly to: Addressees;
  readonly reason: string;
}

/** Undefined if the form is not this one. */
export function readHandOn({ texts }: Reader, body: URLSearchParams): HandingOn | HandOnDraft | undefined {
  const kind = KINDS.find((each) => each === body.get("kind"));
  const [typed, reason] = [body.get("names"), body.get("reason")?.replaceAll("\r\n", "\n").trim()];
  if (kind === undefined || typed === null || reason === undefined) return undefined;
  const names = [...new Set(typed.split(/[,;\n]/).map((name) => name.trim()))].filter((name) => name !== "");
  const to = { [kind]: names };
  const { handOn: words } = texts;
  const problems = {
    ...(names.length === 0
      ? { names: words.nobody }
      : delegationProblems(to).length > 0 && { names: filled(words.tooMany, { count: DELEGATED_NAMES_MAX }) }),
    ...(reason === ""
      ? { reason: words.noReason }
      : reason.length > DELEGATION_REASON_CHARS_MAX && { reason: filled(words.long, { count: DELEGATION_REASON_CHARS_MAX }) }),
  };
  return Object.keys(problems).length === 0 ? { to, reason } : { kind, names: typed.slice(0, NAMES_CHARS_MAX), reason, problems };
}

export interface HandOnView {
  readonly action: string;
  readonly hidden: Html;
  /** Shown again. */
  readonly draft?: HandOnDraft | undefined;
}

/** Folded, so that it is in nobody's way. */
export function handOnView({ texts: { handOn: words } }: Reader, { action, hidden, draft }: HandOnView): Html {
  const { kind = "people", names = "", reason = "", problems = {} } = draft ?? {};
  const fault = (id: string, problem: string | undefined) =>
    problem === undefined ? undefined : markup`<p class="problem" id="${id}">${problem}</p>`;
  const marks = (id: string, problem: string | undefined, note?: string) =>
    markup` aria-describedby="${[problem === undefined ? undefined : id, note].filter(Boolean).join(" ")}"${problem === undefined ? undefined : markup` aria-invalid="true"`}`;
  return markup`<details class="hand-on"${draft && markup` open`}><summary data-key="e">${words.title}</summary><form class="join flow" method="post" action="${action}">${hidden}
<p class="quiet">${words.note}</p>
<div class="field"><label for="hand-on-kind">${words.kind}</label><select id="hand-on-kind" name="kind">${KINDS.map((each) => markup`<option value="${each}"${each === kind ? markup` selected` : undefined}>${words.kinds[each]}</option>`)}</select></div>
<div class="field"><label for="hand-on-names">${words.names}</label><input id="hand-on-names" name="names" value="${names}" required dir="auto" autocomplete="off" spellcheck="false" maxlength="${NAMES_CHARS_MAX}"${marks("hand-on-names-problem", problems.names, "hand-on-note")}>
<p class="quiet" id="hand-on-note">${words.namesNote}</p>${fault("hand-on-names-problem", problems.names)}</div>
<div class="field"><label for="hand-on-reason">${words.reason}</label><textarea id="hand-on-reason" name="reason" rows="2" dir="auto" required maxlength="${DELEGATION_REASON_CHARS_MAX}"${marks("hand-on-reason-problem", problems.reason, "hand-on-reason-note")}>
${reason}</textarea>
<p class="quiet" id="hand-on-reason-note">${words.reasonNote}</p>${fault("hand-on-reason-problem", problems.reason)}</div>
<p><button name="action" value="delegate">${words.send}</button></p></form></details>`;
}

/** Of one who handed their part on. */
export function takeBackView({ texts: { handOn: words } }: Reader, { action, hidden }: HandOnView): Html {
  return markup`<form class="join" method="post" action="${action}">${hidden}<button name="action" value="takeBack" data-key="e">${words.takeBack}</button></form>`;
}

/** To whom something was handed on, in words. */
export function namesText({ texts }: Reader, to: Audience["to"]): string {
  if (to === "tenant") return texts.question.forTenant;
  const { people = [], groups = [], roles = [] } = to;
  return [...people.map(shownName), ...groups, ...roles].join(", ");
}
