/**
 * Answers on their way. Each waits some seconds, in which it can be taken back, and is sent once. What the person can come back to is sent at once:
 *
 *   judged ──▶ waiting ──5 s, or the page is left──▶ sent ──▶ counted · refused · too late
 *                 └──undo──▶ back in the form         └──no reply that says──▶ sent again, until the person gives it up
 *
 * Sending an answer twice is safe, because the first one counts and the server says so to the second.
 */
import { cut } from "@parley/core/cut";
import { onLeaving, othersSent } from "../leaving.ts";
import { forgetDraft, leaveDraft } from "./drafts.ts";
import { load, type Loaded } from "./load.ts";
import { button, find, make, say } from "./page.ts";
import { lasting, type Toast, toast } from "./toasts.ts";
import { typedView } from "./typed.ts";

const UNDO_SECONDS = 5;
/** From one attempt to the next, twice as long each time. */
const AGAIN_MS = 3_000;
const AGAIN_MS_MAX = 30_000;
/** However long a server tells to wait, which may be a mistake. */
const TOLD_MS_MAX = 120_000;
const QUESTION_CHARS = 60;
const LOGOUT_MS = 3_000;

export interface Sending {
  /** Of the question, or of the batch. */
  readonly ask: string;
  /** The questions of a batch. */
  readonly asked: readonly string[];
  readonly url: string;
  /** Address of the page on which it was given. */
  readonly from: string;
  readonly body: URLSearchParams;
  readonly question: string;
  /** What the person typed into the form. */
  readonly typed: string;
  /** What was typed is wanted again: the person goes back a page. */
  readonly keepsDraft: boolean;
  /** Nothing needs to be taken back. */
  readonly isAtOnce: boolean;
  /** Whether the answer would be told to the person in the place of its question. Then there is no message about it. */
  readonly isShown: () => boolean;
  /** The person took it back. */
  readonly onUndo: () => void;
  /** The server has replied. */
  readonly onReply: (reply: Loaded) => void;
  /** The person wants to see the question again. */
  readonly onOpen: () => void;
}

interface Waiting extends Sending {
  readonly toast: Toast;
  readonly back: HTMLButtonElement;
  /** Counts down. Screen readers hear once that there is time. */
  readonly count: HTMLElement;
  /** 0 while it is on its way. */
  timer: number;
  seconds: number;
  attempts: number;
  /** Sent without a reply that says what became of it. */
  isHeldUp: boolean;
}

/** An answer that the person gave, and that the server has not judged yet. */
export type Judged = Pick<Sending, "ask" | "url" | "from" | "body" | "keepsDraft">;

let counted: Toast | undefined;

const waiting = new Map<string, Waiting>();
const judging = new Set<Judged>();

/** If the page is left before, it is sent all the same: the server judges it then. */
export function whileJudged<T>(answer: Judged, judged: Promise<T>): Promise<T> {
  judging.add(answer);
  return judged.finally(() => judging.delete(answer));
}

function unsent(): Waiting[] {
  return [...waiting.values()].filter(({ attempts }) => attempts === 0);
}

export function isSending(ask: string): boolean {
  return waiting.has(ask) || [...waiting.values()].some(({ asked }) => asked.includes(ask));
}

export function shortened(question: string): string {
  const line = question.trim().replaceAll(/\s+/g, " ");
  return cut(line, QUESTION_CHARS);
}

/** Sends it in a moment. A second answer to the same question, as by a double click, is ignored, unless the first one is held up. */
export function sendSoon(sending: Sending): void {
  const before = waiting.get(sending.ask);
  if (before && !before.isHeldUp) return;
  if (before) giveUp(before).remove();
  const { ask, question, isAtOnce } = sending;
  const count = make("span", { attributes: { "aria-hidden": "true" } });
  const back = button(say("undo"), () => undo(made));
  back.append(count);
  const shown = isAtOnce ? toast(say("sendingNow", { question })) : toast(say("sending", { question }), [back]);
  const made: Waiting = { ...sending, toast: shown, back, count, timer: 0, seconds: UNDO_SECONDS, attempts: 0, isHeldUp: false };
  waiting.set(ask, made);
  if (isAtOnce) void send(made);
  else tick(made);
}

function tick(each: Waiting): void {
  if (each.seconds === 0) return void send(each);
  each.count.textContent = ` ${each.seconds}`;
  each.seconds -= 1;
  each.timer = setTimeout(() => tick(each), 1_000) as unknown as number;
}

/** It is not sent any more. Returns its message. */
function giveUp(each: Waiting): Toast {
  clearTimeout(each.timer);
  if (waiting.get(each.ask) === each) waiting.delete(each.ask);
  return each.toast;
}

function undo(each: Waiting): void {
  if (each.attempts > 0 && !each.isHeldUp) return;
  const shown = giveUp(each);
  // A reply that was lost may have been to an answer that counted.
  shown.set(say(each.isHeldUp ? "givenUp" : "undone"));
  shown.leave();
  each.onUndo();
}

/** Takes back what was given last. False if nothing waits. */
export function undoLast(): boolean {
  const last = [...waiting.values()].filter(({ attempts, isHeldUp }) => attempts === 0 || isHeldUp).at(-1);
  if (last) undo(last);
  return last !== undefined;
}

async function send(each: Waiting): Promise<void> {
  const { url, from, body, question, ask, keepsDraft } = each;
  clearTimeout(each.timer);
  each.timer = 0;
  each.count.textContent = "";
  each.attempts += 1;
  // What is held up says so until it is through: a screen reader is not told of each attempt.
  if (!each.isHeldUp) each.toast.set(say("sendingNow", { question }));
  const reply = await load(url, { body });
  const { status } = reply;
  // A balancer without a front end says 502 or 504.
  if (status === 0 || status === 408 || status === 429 || status >= 500) {
    // The person has given it up meanwhile.
    if (waiting.get(ask) !== each) return;
    each.isHeldUp = true;
    each.toast.set(say(status === 0 ? "waiting" : "heldUp", { question }), [each.back]);
    addEventListener("beforeunload", askToStay);
    const ownMs = Math.min(AGAIN_MS * 2 ** (each.attempts - 1), AGAIN_MS_MAX);
    each.timer = setTimeout(() => void send(each), Math.max(ownMs, Math.min(reply.againMs, TOLD_MS_MAX))) as unknown as number;
    return;
  }
  giveUp(each);
  // What was not taken may be sent once more: after a login, with another value, or with the form of the same question once it is loaded again.
  if (!keepsDraft) (isOver(status) ? forgetDraft : leaveDraft)(ask, from);
  tell(each, reply);
  each.onReply(reply);
}

/** It counted, or the question is gone. */
function isOver(status: number): boolean {
  return status === 200 || status === 404 || status === 410;
}

function tell({ toast: shown, question, typed, url, onOpen, isShown, keepsDraft }: Waiting, { status, page }: Loaded): void {
  shown.remove();
  if (isShown() || (status === 200 && keepsDraft)) return;
  const open = button(say("reopen"), () => onOpen());
  const receipts = page && find("[data-receipts]", page);
  if (status === 200 && receipts) return tellReceipts(receipts, typed);
  // The form has come back: the tool did not accept the answer.
  if (status === 200 && page && find("#ask .alert", page)) return;
  if (status === 200) {
    const lesson = page && find("[data-lesson]", page)?.textContent;
    if (lesson) return void lasting(lesson, [make("a", { text: say("record"), attributes: { href: url } })]);
    const record = make("a", { text: say("record"), attributes: { href: url } });
    // One is enough for somebody who answers many.
    counted?.remove();
    counted = toast(say("counted", { question }), [record]);
    return counted.leave();
  }
  if (status === 401) return void lasting(say("loggedOut"), [make("a", { text: say("logIn"), attributes: { href: location.href } })]);
  if (status === 422) {
    lasting(say("refused", { question }), [open]);
    return;
  }
  const heading = page && find("h1", page)?.textContent;
  const done = page && (find(".done", page) ?? find("main p", page))?.textContent;
  keepInSight(typed, lasting([heading, done].filter(Boolean).join(": ") || say("refused", { question }), [open]));
}

function keepInSight(typed: string, message: Toast): void {
  if (typed !== "") message.add(typedView(typed));
}

/** Of a batch. What did not count stays in sight until it is closed. */
function tellReceipts(summary: HTMLElement, typed: string): void {
  const list = find("ol", summary.ownerDocument);
  const text = summary.textContent;
  const title = make("h2", { text, attributes: { id: "receipts-title" } });
  const close = button(say("dismiss"), () => dialog.close());
  const dialog = make("dialog", {
    attributes: { "aria-labelledby": "receipts-title" },
    children: [title, ...(list ? [document.adoptNode(list)] : []), make("div", { class: "actions", children: [close] })],
  });
  dialog.addEventListener("close", () => dialog.remove());
  const show = button(say("receipts"), () => {
    document.body.append(dialog);
    dialog.showModal();
    close.focus();
  });
  if (summary.dataset["receipts"] === "all") toast(text, [show]).leave();
  else keepInSight(typed, lasting(text, [show]));
}

/** Another attempt while the page is left would most likely be lost like those before, and nobody would hear of it: the person decides. */
function askToStay(event: Event): void {
  if ([...waiting.values()].some(({ isHeldUp }) => isHeldUp)) event.preventDefault();
}

/** When the page is left, what the person gave is sent rather than lost. */
export function sendOnLeaving(): void {
  addEventListener("online", () => {
    for (const each of waiting.values()) if (each.isHeldUp && each.timer !== 0) void send(each);
  });
  onLeaving(sendNow);
  addEventListener("pagehide", () => {
    // Without a connection, and for more than 64 kB, it fails.
    for (const { url, body } of [...judging, ...unsent()]) fetch(url, { method: "POST", body, keepalive: true }).catch(() => undefined);
    // Nor is the reply heard to what was sent before.
    for (const { ask, from, keepsDraft } of [...judging, ...waiting.values()]) if (!keepsDraft) leaveDraft(ask, from);
    // Somebody who comes back finds the page as it was, if the browser has kept it.
    for (const each of waiting.values()) giveUp(each).remove();
  });
}

/** Undefined if there is nothing to send. */
function sendNow(): Promise<unknown> | undefined {
  const left = unsent();
  if (left.length + judging.size === 0) return undefined;
  for (const { timer } of left) clearTimeout(timer);
  return Promise.all([...left.map(send), ...[...judging].map(({ url, body }) => load(url, { body }))]);
}

/** Before the person logs out, what they gave is sent, here and on other pages: afterwards it would be nobody's. It is waited for, but not for long. */
export function sendBeforeLogout(event: Event, logout: HTMLFormElement): void {
  event.preventDefault();
  const passed = new Promise((resolve) => setTimeout(resolve, LOGOUT_MS));
  void Promise.race([passed, Promise.all([sendNow(), othersSent()])]).then(() => {
    // The reply may have taken its place.
    if (!logout.isConnected) document.body.append(logout);
    logout.submit();
  });
}
