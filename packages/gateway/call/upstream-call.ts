/**
 * One call at an upstream, from its start to its end, with the questions in between.
 *
 *   next(given) ─▶ asked      the upstream asks and waits: give the answers, and call next again
 *               ─▶ required   nothing is held: start another call with the answers, or poll the upstream's task later
 *               ─▶ unauthorized   an answer was refused for the access token: call next again with another one
 *               ─▶ result · error · timeout · invalid
 *
 * The run that leads a call comes and goes: it parks while people think, is taken over, or is replayed. So each `next` receives every answer so far,
 * and takes the new ones from it (questions.ts).
 *
 * What an upstream may do is bounded: the number of questions in total and at once, their size, and the time in which it neither asks nor ends.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type FeedItem, jsonExceeds, LONGEST_TIMER_MS, OVER, type Settings, STORED_DEPTH_MAX } from "@parley/core";
import { type CallRequest, mcpCapabilities } from "../wire/call-request.ts";
import { createQuestions, type QuestionDeps } from "./questions.ts";
import type { Waits } from "./receive.ts";
import { sendCall } from "./send-call.ts";
import { isSessionTask } from "../connection/session-tasks.ts";
import type { Given, UpstreamEvent } from "../wire/upstream-event.ts";
import type { UpstreamConnector, UpstreamSession } from "../connection/upstream-session.ts";

export interface UpstreamCall {
  readonly callId: string;
  /** Resolves with the next event. Rejects only if `signal` is aborted; the event is then returned by the following call. */
  next(given: readonly Given[], leading: Leading): Promise<UpstreamEvent>;
  /** Delivers answers without waiting for an event. */
  give(given: readonly Given[]): void;
  /** Keys of questions that were asked and that the upstream no longer waits for. */
  abandoned(): ReadonlySet<string>;
  /** Whether the upstream waits for an answer. */
  isWaiting(): boolean;
  /** Whether the upstream must be notified when its result is no longer needed. */
  isNeeded(): boolean;
  /** Whether the call has ended and only its outcome remains. */
  isOver(): boolean;
  /** Tells the upstream to stop and closes the session. With `continues`, another call follows the upstream's task. */
  close(options?: { readonly continues?: boolean }): Promise<void>;
}

export interface Leading {
  /** The caller's current access token: a held call may outlive the token that it was made with. */
  readonly accessToken?: string | undefined;
  readonly signal: AbortSignal;
  readonly report: (item: FeedItem) => void;
  /** The upstream waits for people whom only it can ask, or does so no more. */
  readonly onWaits?: (waits: Waits) => void;
}

export interface CallDeps extends QuestionDeps {
  readonly connector: UpstreamConnector;
  readonly settings: QuestionDeps["settings"] & Pick<Settings, "storedValueMax">;
  /** Runs background work. Default: at once. */
  readonly whenQuiet?: (work: () => Promise<void>) => void;
}

/** Outcomes after which the upstream's task is polled no more. After the others, such as an upstream that is away, it may be. */
const FAILURES: ReadonlySet<UpstreamEvent["type"]> = new Set(["error", "invalid", "large"]);
const PAGES_GRACE_MS = 100;
/** An upstream that waits for people says so again and again. For how long one such message counts, before the upstream's own time goes on. */
const WAITS_MS = 60_000;
const DROPPED = "; a question was dropped, because the upstream sends the questions of one session to all of them";

export function startCall(callId: string, request: CallRequest, deps: CallDeps): UpstreamCall {
  const { upstream } = request;
  const { elicitation, settings, whenQuiet = (work) => void work() } = deps;
  const stop = new AbortController();
  let ended: UpstreamEvent | undefined;
  /** The run that leads the call now. One that was told to stop may leave after the next has begun. */
  let led: Leading | undefined;
  /** When the upstream began to wait for people: it has asked nothing since. */
  let waitsSinceMs: number | undefined;
  let isWaiting = false;
  let session: UpstreamSession | undefined;
  let working: NodeJS.Timeout | undefined;
  let isDone = false;
  /** A question that may be the call's was dropped. */
  let hasDropped = false;
  /** The upstream's own task for this call, unless it has ended. */
  let openTask: string | undefined;
  let leaving: Promise<void> | undefined;
  let { accessToken } = request;
  const currentToken = accessToken === undefined ? undefined : () => accessToken ?? "";
  /** The token for which an answer was refused; the answer waits for another one. */
  let refusedToken: string | undefined;
  let { promise: renewed, resolve: renew } = Promise.withResolvers<void>();
  const cancelling = { ...deps, accessToken: currentToken };
  let { promise: happened, resolve: happens } = Promise.withResolvers<void>();

  function wake(): void {
    happens();
    ({ promise: happened, resolve: happens } = Promise.withResolvers<void>());
  }

  /** The upstream's own time: the timer runs while no question waits for an answer, and no people whom the upstream asks itself. */
  function clock(): void {
    clearTimeout(working);
    if (ended || questions.waiting() > 0 || refusedToken !== undefined) return;
    const { callTimeoutMs } = upstream;
    const leftMs = Math.max(0, request.peopleTimeoutMs - waitedMs());
    const isLast = isWaiting && leftMs < callTimeoutMs + WAITS_MS;
    const ms = isLast ? leftMs : callTimeoutMs + (isWaiting ? WAITS_MS : 0);
    const late = () =>
      end({
        type: "timeout",
        message: isLast
          ? `waited for people for ${request.peopleTimeoutMs} ms`
          : `neither asked nor ended within ${callTimeoutMs} ms${hasDropped ? DROPPED : ""}`,
      });
    // At once: what follows could put off a timer.
    if (ms === 0) late();
    else working = setTimeout(late, Math.min(ms, LONGEST_TIMER_MS));
  }

  function waitedMs(): number {
    return waitsSinceMs === undefined ? 0 : Math.round(performance.now() - waitsSinceMs);
  }

  /**
   * Its own time starts again when the people are done, as after a question, and not because it says so once more. Theirs does not, so an upstream that says
   * both in turns has an end, too.
   */
  function waits(what: Waits): void {
    if (ended || questions.waiting() > 0) return;
    const wasWaiting = isWaiting;
    isWaiting = what !== false;
    if (isWaiting) waitsSinceMs ??= performance.now();
    led?.onWaits?.(what);
    if (isWaiting || wasWaiting) clock();
  }

  const questions = createQuestions(request, deps, {
    isOver: () => ended !== undefined || stop.signal.aborted,
    onChange() {
      if (isWaiting) led?.onWaits?.(false);
      isWaiting = false;
      waitsSinceMs = undefined;
      clock();
      if (questions.waiting() > 0) wake();
    },
    onAmbiguous: () => end({ type: "invalid", message: "asked two questions with one id, so that their answers cannot be told apart" }),
  });

  // ── the end ────────────────────────────────────────────────────────────────────────────────────────────────────

  function end(event: UpstreamEvent): void {
    if (ended) return;
    ended = storable(event, settings);
    clearTimeout(working);
    isDone = isOrderly(event) && questions.waiting() === 0 && questions.pages() === 0;
    questions.abandonAll();
    wake();
    // An upstream that has answered does not wait for the closing; a session that is reused is available at once.
    if (event.type === "result" && !upstream.reusesSessions) whenQuiet(release);
    else if (openTask !== undefined && FAILURES.has(ended.type)) leaving = letGo(openTask);
    else void release();
  }

  /** Whether the session can serve another call. One with state also does after an error, or after input was required first: closing it loses more. */
  function isOrderly({ type }: UpstreamEvent): boolean {
    return type === "result" || (upstream.keepsState && (type === "error" || type === "required"));
  }

  /** The upstream's task would wait in vain: its question was refused, or is too large. In a session, it can be cancelled only before that ends. */
  async function letGo(id: string): Promise<void> {
    await cancelTask(id, request, cancelling);
    await release();
  }

  async function release(): Promise<void> {
    // Of a call that has its result, nothing is left to hear a reason.
    stop.abort(ended?.type === "result" ? OVER : undefined);
    const open = session;
    session = undefined;
    await open?.close({ keeps: ended?.type === "required" && ended.task !== undefined, isDone });
  }

  const isClosed = (given: UpstreamSession) => () => {
    if (session === given) end({ type: "lost", message: "the connection to the upstream ended before its result" });
  };

  void sendCall({
    callId,
    request,
    connector: deps.connector,
    elicitation,
    questions,
    accessToken: currentToken,
    signal: stop.signal,
    report: (item) => led?.report(item),
    onWaits: waits,
    waitedMs,
    end,
    isOver: () => ended !== undefined,
    onSession(opened) {
      session = opened;
      if (opened) opened.client.onclose = isClosed(opened);
    },
    onSent: clock,
    onDropped: () => (hasDropped = true),
    onTask: (id) => (openTask = id),
    async onUnauthorized() {
      refusedToken = accessToken;
      clock();
      wake();
      await renewed;
    },
  }).then(end);

  /** Resolves when the next event of the call is known. */
  async function nextEvent(signal: AbortSignal, left: Promise<void>): Promise<UpstreamEvent> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      if (ended?.type === "result") await pagesReported(signal);
      if (ended) return ended;
      if (refusedToken !== undefined) return { type: "unauthorized" };
      if (questions.waiting() > 0) {
        // Questions that were sent together are asked together. A run that has not heard of an earlier one receives it again.
        await new Promise((resolve) => setImmediate(resolve));
        const open = questions.handOut();
        if (open.length > 0) return { type: "asked", questions: open };
      } else await Promise.race([happened, left]);
    }
  }

  /** The completion of a page arrives on another stream than the result and may be read after it. */
  async function pagesReported(signal: AbortSignal): Promise<void> {
    const giveUpAtMs = Date.now() + PAGES_GRACE_MS;
    while (questions.pages() > 0 && Date.now() < giveUpAtMs && !signal.aborted) await sleep(PAGES_GRACE_MS / 10);
  }

  return {
    callId,
    give: questions.give,
    abandoned: () => questions.abandoned,
    isWaiting: () => questions.waiting() > 0,
    isNeeded: () => ended === undefined || (ended.type === "required" && ended.task !== undefined),
    isOver: () => ended !== undefined,
    async next(given, leading) {
      accessToken = leading.accessToken ?? accessToken;
      if (refusedToken !== undefined && refusedToken !== accessToken) {
        refusedToken = undefined;
        renew();
        ({ promise: renewed, resolve: renew } = Promise.withResolvers<void>());
        clock();
      }
      questions.give(given);
      led = leading;
      const { signal } = leading;
      const left = Promise.withResolvers<void>();
      const leave = () => left.resolve();
      signal.addEventListener("abort", leave, { once: true });
      try {
        return await nextEvent(signal, left.promise);
      } finally {
        signal.removeEventListener("abort", leave);
        if (led === leading) led = undefined;
      }
    },
    async close({ continues = false } = {}) {
      if (ended?.type === "required" && ended.task && !continues) return await cancelTask(ended.task.id, request, cancelling);
      if (ended?.type === "result") return;
      end({ type: "lost", message: "the gateway has ended the call" });
      await leaving;
      await release();
    },
  };
}

/** The event in the form to store: one that is larger or deeper than a stored value may be is replaced. */
function storable(event: UpstreamEvent, { storedValueMax }: CallDeps["settings"]): UpstreamEvent {
  const size = sizeOf(event);
  if (size === undefined)
    return { type: "invalid", message: `answered with arrays and objects that nest deeper than ${STORED_DEPTH_MAX} levels` };
  if (size <= storedValueMax) return event;
  return { type: "large", message: `answered with ${size} characters of JSON; the limit is ${storedValueMax} (PARLEY_STORED_VALUE_MAX)` };
}

/** In characters of JSON; undefined if it is nested too deeply to be stored. */
function sizeOf(event: UpstreamEvent): number | undefined {
  try {
    const text = JSON.stringify(event);
    return jsonExceeds(text, { depthMax: STORED_DEPTH_MAX, valuesMax: Infinity }) === undefined ? text.length : undefined;
  } catch {
    // Parsing a message takes less of the stack than serializing it.
    return undefined;
  }
}

interface Cancelling extends Pick<CallDeps, "connector" | "elicitation"> {
  readonly accessToken: (() => string) | undefined;
}

/** Cancels the upstream's task, unless it has ended: the task that needed it is over. */
async function cancelTask(id: string, request: CallRequest, { connector, elicitation, accessToken }: Cancelling): Promise<void> {
  const { upstream, principal } = request;
  const signal = AbortSignal.timeout(upstream.connectTimeoutMs);
  try {
    if (isSessionTask(id)) return await connector.sessionTasks(upstream, accessToken).cancel(id, signal);
    const capabilities = mcpCapabilities(request, elicitation);
    const opened = await connector.open(upstream, { capabilities, signal, principal, accessToken });
    try {
      await opened.tasks?.cancel(id, signal);
    } finally {
      await opened.close();
    }
  } catch {
    // If the cancellation fails, the upstream's task ends with its ttl.
  }
}
