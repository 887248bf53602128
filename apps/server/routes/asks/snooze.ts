/** The form with which a person puts a question aside (snooze-ask.ts in core): its markup, and what was chosen in it. It works without script. */
import { DAY_MS, HOUR_MS } from "@parley/web/times";
import { filled, type Reader, zoneOf } from "../../texts/texts.ts";
import { type Html, markup, say } from "./html.ts";
import { moment } from "./moment.ts";
import { inZone, toZone } from "./wall-clock.ts";

/** What the buttons of the form send as their action begins with this. */
export const SNOOZE = "snooze:";
const CHOICES = ["hour", "hours", "tomorrow", "monday"] as const;

export interface SnoozeView {
  readonly action: string;
  readonly hidden: Html;
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** Shown again. */
  readonly draft?: SnoozeDraft | undefined;
}

/** What was chosen, and what is wrong with it. */
export interface SnoozeDraft {
  readonly until: string;
  readonly problem: string;
}

/** In the morning. */
const HOUR = "T09:00:00";

function untilMsOf(choice: (typeof CHOICES)[number], nowMs: number, zone: string): number | undefined {
  if (choice === "hour") return nowMs + HOUR_MS;
  if (choice === "hours") return nowMs + 4 * HOUR_MS;
  const today = new Date(`${toZone(nowMs, zone).slice(0, 10)}T00:00:00Z`);
  // Tomorrow has its own name, also if it is a Monday.
  const days = choice === "tomorrow" ? 1 : (8 - today.getUTCDay()) % 7 || 7;
  if (choice === "monday" && days === 1) return undefined;
  const until = inZone(`${new Date(today.getTime() + days * DAY_MS).toISOString().slice(0, 10)}${HOUR}`, zone);
  return until === undefined ? undefined : Date.parse(until);
}

/** Undefined if the form is not this one. */
export function readSnooze(reader: Reader, body: URLSearchParams, nowMs: number): { readonly untilMs: number } | SnoozeDraft | undefined {
  // The one that the form named: the browser may have got another since.
  const zone = zoneOf(body.get("zone") ?? undefined) ?? reader.zone ?? "UTC";
  const wanted = body.get("action")?.slice(SNOOZE.length);
  if (wanted !== "until") {
    const choice = CHOICES.find((each) => each === wanted);
    const untilMs = choice && untilMsOf(choice, nowMs, zone);
    return untilMs === undefined ? undefined : { untilMs };
  }
  const until = body.get("until")?.trim() ?? "";
  const at = until.length > 40 ? undefined : inZone(until, zone);
  return at === undefined ? { until: "", problem: reader.texts.snooze.notThen } : { untilMs: Date.parse(at) };
}

export function snoozeView(reader: Reader, { action, hidden, nowMs, deadlineMs, draft }: SnoozeView): Html {
  const { snooze: words } = reader.texts;
  const { zone = "UTC" } = reader;
  const choices = CHOICES.flatMap((choice) => {
    const untilMs = untilMsOf(choice, nowMs, zone);
    return untilMs === undefined || untilMs >= deadlineMs ? [] : [choice];
  });
  const problem = draft && markup`<p class="problem" id="snooze-problem">${draft.problem}</p>`;
  const form = markup`<form class="join flow" method="post" action="${action}">${hidden}<input type="hidden" name="zone" value="${zone}">`;
  // A form for each way: Enter in the field presses the first button of its form.
  return markup`<details class="snooze"${draft && markup` open`}><summary data-key="s">${words.title}</summary><div class="flow">
<p class="quiet">${words.note}</p>
${choices.length === 0 ? undefined : markup`${form}<p class="actions">${choices.map((choice) => markup`<button name="action" value="${SNOOZE}${choice}">${words[choice]}</button>`)}</p></form>`}
${form}<div class="field"><label for="snooze-until">${words.other}</label><input id="snooze-until" name="until" type="datetime-local" value="${draft?.until ?? ""}" dir="ltr" max="${toZone(deadlineMs, zone).slice(0, 16)}" required aria-describedby="${draft ? "snooze-problem " : ""}snooze-zone"${draft && markup` aria-invalid="true"`}>
<p class="quiet" id="snooze-zone">${filled(words.zone, { zone })}</p>${problem}</div>
<p><button name="action" value="${SNOOZE}until">${words.send}</button></p></form></div></details>`;
}

/** Of what is put aside already. */
export function snoozedView(reader: Reader, { action, hidden }: Pick<SnoozeView, "action" | "hidden">, untilMs: number): Html {
  const { snooze: words } = reader.texts;
  return markup`<form class="join" method="post" action="${action}">${hidden}<p>${say(words.is, { when: moment(reader, untilMs) })}</p><p><button name="action" value="unsnooze" data-key="s">${words.back}</button></p></form>`;
}
