/**
 * What people do around a question besides answering it: who is on it and what they say, above the form, and what the person can do, below it,
 * so that it is in nobody's way. It works without script.
 */
import { type Around, type AskSummary, COMMENT_CHARS_MAX, type Happened } from "@parley/core";
import { durationText, filled, type Reader } from "../../texts/texts.ts";
import { handOnView, type HandOnView, namesText } from "./hand-on.ts";
import { type Html, markup, say } from "./html.ts";
import { moment } from "./moment.ts";
import { snoozedView, snoozeView, type SnoozeView } from "./snooze.ts";

export interface AroundView extends Around {
  readonly claimedBy?: AskSummary["claimedBy"];
  readonly askedBack?: AskSummary["askedBack"];
  /** The person got it from somebody. */
  readonly got?: Happened | undefined;
  /** How the person's part went to others: they may not answer. */
  readonly gone?: Happened | undefined;
  /** The forms with which the person joins. Undefined if the question is closed, or asks nobody else. */
  readonly joining?: Joining | undefined;
  /** The form with which the person hands it on. Undefined if they may not. */
  readonly handOn?: HandOnView | undefined;
  /** The form with which the person puts it aside. Undefined if they may not answer it. */
  readonly snooze?: SnoozeView | undefined;
  /** Until when the person has put it aside. */
  readonly snoozedUntilMs?: number | undefined;
}

export interface Joining {
  readonly action: string;
  readonly hidden: Html;
  /** Who only reads it has nothing to claim. */
  readonly mayClaim: boolean;
  /** Whether the person may ask the one who made the call something first, or is that one and wanted to reply. */
  readonly askingBack?: "ask" | "reply" | undefined;
}

/** What to know before answering. An element of its own also if it is empty, for the script to fill. */
export function heardView(reader: Reader, { claimedBy, askedBack, comments }: AroundView): Html {
  const { around } = reader.texts;
  const claim = claimedBy && (claimedBy.isCaller ? around.mine : around.other);
  return markup`<div class="heard flow">
<p class="claim" role="status">${claimedBy && claim !== undefined ? markup`<span class="tag wait">${say(claim, { name: markup`<bdi translate="no">${nameOf(reader, claimedBy)}</bdi>`, when: moment(reader, claimedBy.untilMs) })}</span>` : undefined}</p>
${askedBack && markup`<p class="done waits">${say(askedBack.by.isCaller ? around.waitingYou : around.waiting, { name: markup`<bdi translate="no">${nameOf(reader, askedBack.by)}</bdi>` })}${askedBack.isPaused ? ` ${around.paused}` : undefined}</p>`}
${comments.length === 0 ? undefined : markup`<h2>${around.comments}</h2><ol class="comments">${comments.map(({ by, atMs, text, as }) => markup`<li><p class="quiet"><strong><bdi translate="no">${nameOf(reader, by)}</bdi></strong> ${as === undefined ? undefined : markup`<span class="tag wait">${around.as[as]}</span> `}${moment(reader, atMs)}</p><p class="text" dir="auto">${text}</p></li>`)}</ol>`}
</div>`;
}

export function aroundView(reader: Reader, { claimedBy, history, joining, handOn, snooze, snoozedUntilMs }: AroundView): Html | undefined {
  const { around } = reader.texts;
  if (!joining && !handOn && !snooze && history.length < 2) return undefined;
  const isMine = claimedBy?.isCaller === true;
  return markup`<section class="around" aria-label="${around.title}">
${!joining?.mayClaim ? undefined : markup`<form class="join claiming" method="post" action="${joining.action}">${joining.hidden}<button name="action" value="${isMine ? "release" : "claim"}" data-key="c">${isMine ? around.release : around.claim}</button></form>`}
<div class="asking-back">${joining?.askingBack && askingBackView(reader, joining, joining.askingBack)}</div>
${
  joining &&
  markup`<details class="comment"><summary data-key="m">${around.comment}</summary><form class="join" method="post" action="${joining.action}">${joining.hidden}
<div class="field"><label for="comment">${around.label}</label><textarea id="comment" name="text" rows="3" dir="auto" required maxlength="${COMMENT_CHARS_MAX}" aria-describedby="comment-note"></textarea>
<p class="quiet" id="comment-note">${around.note}</p></div>
<p><button name="action" value="comment">${around.send}</button></p></form></details>`
}
${handOn && handOnView(reader, handOn)}
${snooze && markup`<div class="snoozing">${snoozedUntilMs === undefined ? snoozeView(reader, snooze) : snoozedView(reader, snooze, snoozedUntilMs)}</div>`}
<div class="happened">${history.length < 2 ? undefined : markup`<details class="history"><summary>${around.history}</summary><ol>${history.map((each, index) => markup`<li>${happened(reader, each, history[index - 1]?.atMs)}</li>`)}</ol></details>`}</div>
</section>`;
}

/** A question to the person who made the call, or their reply. One form: nobody is both. */
function askingBackView({ texts: { around } }: Reader, { action, hidden }: Joining, as: "ask" | "reply"): Html {
  const words = around[as];
  return markup`<details class="comment asking"${as === "reply" ? markup` open` : undefined}><summary data-key="q">${words.title}</summary><form class="join" method="post" action="${action}">${hidden}
<div class="field"><label for="asking-back">${words.label}</label><textarea id="asking-back" name="said" rows="3" dir="auto" required maxlength="${COMMENT_CHARS_MAX}" aria-describedby="asking-back-note"></textarea>
<p class="quiet" id="asking-back-note">${words.note}</p></div>
<p><button name="action" value="${as === "ask" ? "askBack" : "reply"}">${words.send}</button></p></form></details>`;
}

export function nameOf({ texts: { around } }: Reader, { name, principal, isCaller }: NonNullable<Happened["by"]>): string {
  return isCaller ? around.you : (name ?? principal);
}

/** `beforeMs`: when the last thing before it happened. */
function happened(reader: Reader, { what, by, atMs, to = {}, reason = "" }: Happened, beforeMs: number | undefined): Html {
  const { around } = reader.texts;
  const who = by === undefined ? around.somebody : by.isCaller ? around.you : (by.name ?? by.principal);
  const words = by?.isCaller ? around.youDid : around.did;
  return markup`${filled(words[what], { name: who, to: namesText(reader, to), reason })}${atMs === undefined ? undefined : markup` <span class="quiet">${moment(reader, atMs)}${beforeMs === undefined || atMs < beforeMs ? "" : `, ${filled(around.later, { time: durationText(reader, atMs - beforeMs) })}`}</span>`}`;
}
