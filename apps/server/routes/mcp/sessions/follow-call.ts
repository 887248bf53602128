/**
 * The stream of one request with a task behind it: sends the reports of the task, asks its questions and ends with the response.
 *
 *   JSON ──a moment──▶ stream: id ─▶ progress, logs ─▶ elicitation/create ─▶ … ─▶ response
 *
 * The stream is derived from the task and from a cursor in the event ids, so any front end can continue it if this one dies or shuts down,
 * or if the client loses its connection. Disconnecting cancels nothing (specification 2025-11-25, basic/transports).
 */
import {
  CallCancelled,
  declareUnavailable,
  findTask,
  heardTask,
  isFinished,
  isOnPage,
  noteShown,
  ParleyError,
  readable,
  RpcFailure,
  type Ask,
  type FeedItem,
  type Task,
  type TaskWatch,
} from "@parley/core";
import { INTERNAL_ERROR, type Reply, resultMessage, resultOf } from "@parley/protocol";
import { elicitationId } from "@parley/protocol/sessions";
import { type EndSignals, untilExpiry } from "../../../front-end/until-expiry.ts";
import { failureReply } from "../shared/answer.ts";
import { type FeedPage, feedPages, readFeedPage } from "../shared/feed-pages.ts";
import { increased, stillWaiting } from "../shared/still-waiting.ts";
import { unlessAway } from "../shared/unless-away.ts";
import { type AskKeys, asksToSend, reopenedAsks } from "./asks.ts";
import type { CallCursor, Cursor, ResultCursor } from "./event-ids.ts";
import { holdStream, type StreamHold } from "./hold-stream.ts";
import { callName, checkStillWanted, forgetCall, heldStream } from "./note-call.ts";
import { type ShownAsks, shownAsks } from "./shown-asks.ts";
import { hasTasks, type SessionExchange, type SessionRoute } from "./session-route.ts";

/** A stream renews its session this many times per session TTL. */
const SESSION_RENEWALS = 4;

export interface FollowCall {
  readonly cursor: CallCursor | ResultCursor;
  /** The task as it was read after `watch` began, or created. */
  readonly task: Task;
  readonly watch: TaskWatch;
  /** The task carries the request of another call, so this stream has no event ids and cannot be resumed. */
  readonly isJoined?: boolean;
}

const EMPTY_FEED: FeedPage = { items: [], cursor: undefined, cursors: [] };

/** Why a stream ends before its task. `must leave`: the client comes back. `taken`: another connection has the stream. */
type StreamOver = "closed" | "must leave" | "taken" | "cancelled" | "session ended";

/** `answered`: the response was sent. `left`: the stream ended without it and may be resumed. */
export type Followed = "answered" | "left";

/** An error becomes the answer. */
export async function followCall(route: SessionRoute, exchange: SessionExchange, follow: FollowCall): Promise<Followed> {
  const stream = new CallStream(route, exchange, follow);
  try {
    return await stream.follow();
  } catch (error) {
    return stream.fail(error);
  } finally {
    await stream.close();
  }
}

class CallStream {
  readonly #route: SessionRoute;
  readonly #exchange: SessionExchange;
  readonly #watch: TaskWatch;
  readonly #ends: EndSignals;
  /** How far the client has read. Every event carries it. */
  #cursor: CallCursor | ResultCursor;
  /** The last progress that the client was told. */
  #progress: number | undefined;
  #task: Task;
  readonly #isJoined: boolean;
  /** The client has an event id to come back with, or cannot come back. */
  #primed = false;
  #hasEventId: boolean;
  #hold: StreamHold | undefined;
  /** Marks of the asks that were sent on a held stream. */
  #sent = new Set<string>();
  readonly #shown: ShownAsks;
  #reopened: AskKeys = new Set();
  /** Keys of the asks whose pages were open at the last report. */
  #openPages = new Set<string>();
  #watchesSession = false;
  #isSessionOver = false;
  #isOver = false;
  #stopPriming: () => void = () => undefined;
  #unwatchSession: () => void = () => undefined;
  readonly #stops: readonly (() => void)[];
  #sessionUsedAtMs: number;

  constructor(route: SessionRoute, exchange: SessionExchange, { cursor, task, watch, isJoined = false }: FollowCall) {
    this.#route = route;
    this.#exchange = exchange;
    this.#watch = watch;
    this.#cursor = cursor;
    this.#progress = cursor.stream === "call" ? cursor.progress : undefined;
    this.#hasEventId = cursor.event > 0;
    this.#task = task;
    this.#isJoined = isJoined;
    this.#shown = shownAsks(route, exchange.session.id, task.id);
    this.#sessionUsedAtMs = route.services.clock.now();
    const { heartbeat } = route;
    this.#ends = untilExpiry(route, exchange.caller);
    this.#stops = [
      onAbort(exchange.channel.closed, watch.wake),
      onAbort(this.#ends.closing, watch.wake),
      onAbort(this.#ends.ending, watch.wake),
      this.#ends.release,
      heartbeat.onBeat(() => {
        this.#reportProgressWhileWaiting();
        if (!this.#watchesSession) void this.#watchSession();
        else if (route.services.clock.now() - this.#sessionUsedAtMs >= route.times.sessionTtlMs / SESSION_RENEWALS) this.#renewSession();
      }),
      () => this.#stop(),
    ];
  }

  async follow(): Promise<Followed> {
    const { services } = this.#route;
    // Before anything is sent, because the client can resume the stream from its first event on.
    if (this.#cursor.stream === "result" || this.#isJoined) await this.#takeHold();
    this.#noteShownBefore();
    const isResumed = this.#cursor.event > 0;
    // Event numbers must grow from one holder of the stream to the next. One holder may not know the other's last number, so they follow
    // the clock.
    this.#cursor = { ...this.#cursor, event: Math.max(this.#cursor.event, services.clock.now()) };
    if (isResumed) this.#prime();
    else this.#primeInTime();
    // Every report increments the revision, so the feed of a task at revision 1 is empty. Later reports wake this stream.
    const isNew = this.#task.revision === 1;
    let feed = isNew ? EMPTY_FEED : await readFeedPage(services.store, this.#task.id, this.#cursor.feed);
    for (;;) {
      const released = await this.#reportFeed(feed);
      this.#reportClosedPages();
      this.#withdrawAsks();
      if (isFinished(this.#task.status)) return await this.#answer();
      // What could not be asked is asked after the next look at the task.
      await unlessAway(() => (this.#hold && !this.#isJoined ? this.#askOnHeldStream(this.#hold) : this.#ask()));
      if (released && this.#canComeBack) {
        // An id after the release: with an earlier one, the client would be released again each time that it comes back.
        this.#giveEventId();
        if (this.#hasEventId) return this.#leave();
      }
      const changed = await this.#changed(feed);
      if (changed === "closed") return "left";
      if (changed === "must leave") return this.#leave();
      if (changed === "taken") return this.#giveUp();
      if (changed === "cancelled") return this.#end(this.#failure(requestCancelled()));
      if (changed === "session ended") return this.#end(this.#failure(sessionEnded()));
      const { task, next } = changed;
      if (!task) throw new ParleyError("TASK_NOT_FOUND", "the task of this call no longer exists");
      this.#reopened = reopenedAsks(this.#task, task);
      this.#task = readable(task);
      feed = next;
    }
  }

  /** The task and its reports after the next change, or why there is nothing more to wait for. */
  async #changed(feed: FeedPage): Promise<{ task: Task | undefined; next: FeedPage } | StreamOver> {
    const { services } = this.#route;
    const { channel, caller } = this.#exchange;
    for (;;) {
      await this.#watch.next(this.#task.revision);
      if (channel.closed.aborted) return "closed";
      if (this.#isSessionOver) return "session ended";
      const lost = this.#hold?.lost ? await unlessAway(() => this.#whyLost()) : undefined;
      if (lost) return lost.why;
      if (this.#mustHandOver) return "must leave";
      if (this.#hold?.lost) continue;
      const heard = heardTask(this.#watch, { task: this.#task, caller });
      if (heard) return { task: heard, next: { ...EMPTY_FEED, cursor: feed.cursor } };
      // One round trip, in this order: everything that was reported before the task ended is sent before its result.
      const read = await unlessAway(() =>
        Promise.all([
          findTask(services, { taskId: this.#task.id, caller }),
          readFeedPage(services.store, this.#task.id, this.#cursor.feed),
        ]),
      );
      if (read) return { task: read[0], next: read[1] };
    }
  }

  /** Ends with the error, unless the answer was already sent. */
  fail(error: unknown): Followed {
    const reply = this.#failure(error);
    return this.#isOver ? "answered" : this.#end(reply);
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#shown.leave();
    await this.#hold?.drop();
  }

  /** For a stream whose cancellation does not cancel the task. */
  async #takeHold(): Promise<void> {
    const { session, id } = this.#exchange;
    const stream = heldStream(this.#route, id);
    const hold = await holdStream(this.#route, { sessionId: session.id, stream, after: this.#cursor.event, onChange: this.#watch.wake });
    this.#hold = hold;
    this.#sent = new Set(hold.sentBefore(this.#task.id));
    // A cancellation takes the hold from its stream, unless it came before the hold.
    if (this.#cursor.event === 0) await checkStillWanted(this.#route, this.#exchange, id);
  }

  /**
   * A call that ends within a moment is answered as JSON. A longer one becomes a stream, which can be resumed from here on. One that cannot be
   * resumed yet becomes a stream later, so that no proxy and no client gives up a connection on which nothing arrives.
   */
  #primeInTime(): void {
    const { services, times } = this.#route;
    const afterMs = this.#canComeBack ? times.resumableAfterMs : times.streamAfterMs;
    this.#stopPriming = services.clock.after(afterMs, () => this.#prime());
  }

  #prime(): void {
    if (!this.#primed) this.#giveEventId();
  }

  #giveEventId(): void {
    this.#primed = true;
    const { channel } = this.#exchange;
    if (!channel.acceptsStream) return;
    const eventId = this.#canComeBack ? this.#eventId() : undefined;
    if (eventId === undefined) channel.open();
    else channel.prime(eventId, this.#route.times.retryMs);
  }

  /** From its first heartbeat on, because most calls do not last that long. */
  async #watchSession(): Promise<void> {
    this.#watchesSession = true;
    const { sessions } = this.#route;
    const { session } = this.#exchange;
    const unwatch = await sessions.watch(session.id, (hasEnded) => hasEnded && this.#endSession()).catch(() => undefined);
    if (this.#isOver) return unwatch?.();
    if (unwatch) this.#unwatchSession = unwatch;
    // It may have ended before. If Redis is away, a later renewal finds out.
    this.#renewSession();
  }

  #stop(): void {
    this.#isOver = true;
    this.#stopPriming();
    this.#unwatchSession();
  }

  #endSession(): void {
    this.#isSessionOver = true;
    this.#watch.wake();
  }

  get #canComeBack(): boolean {
    return !this.#isJoined && this.#exchange.channel.acceptsStream && this.#exchange.dialect.closesEarly;
  }

  #eventId(change: Seen = {}): string | undefined {
    this.#cursor = { ...this.#cursor, ...change, event: this.#cursor.event + 1 };
    const eventId = this.#written(this.#cursor);
    this.#hasEventId ||= eventId !== undefined;
    return eventId;
  }

  #written(cursor: Cursor): string | undefined {
    return this.#isJoined ? undefined : this.#route.eventIds.write(this.#exchange.session.id, cursor);
  }

  /** Primes the stream first, so that the client can come back for everything after the first id. */
  #send(message: object, change: Seen = {}): void {
    this.#prime();
    this.#exchange.channel.send(message, this.#eventId(change));
  }

  async #answer(): Promise<Followed> {
    const { session } = this.#exchange;
    const followed = this.#end(this.#reply());
    if (this.#cursor.stream === "result") await this.#route.sessions.unfollow(session.id, [this.#task.id]);
    return followed;
  }

  #end(reply: Reply): Followed {
    // Stops priming: opening a stream after a JSON response would crash the process.
    this.#stop();
    // The official client (@modelcontextprotocol/sdk) does not take an error for the answer, and comes back until it is refused.
    const isFailed = "error" in reply.message;
    this.#exchange.channel.answer(reply, () =>
      isFailed ? this.#written({ stream: "ended", event: this.#cursor.event + 1 }) : this.#eventId(),
    );
    return "answered";
  }

  /** Any front end that receives the cancellation of a request takes the stream from its holder, as another connection for it does. */
  async #whyLost(): Promise<{ readonly why: "cancelled" | "session ended" | "taken" }> {
    const { session, id } = this.#exchange;
    const state = await this.#route.sessions.stateOfCall(session.id, callName(this.#route, id));
    if (state !== "cancelled") return { why: state === "gone" ? "session ended" : "taken" };
    forgetCall(this.#route, this.#exchange, { requestId: id });
    return { why: "cancelled" };
  }

  #reply(): Reply {
    try {
      return { httpStatus: 200, message: resultMessage(this.#exchange.id, this.#result()) };
    } catch (error) {
      return this.#failure(error);
    }
  }

  #failure(error: unknown): Reply {
    return failureReply(this.#route, this.#exchange, { error, taskId: this.#task.id });
  }

  #result(): object {
    const { encode } = this.#exchange;
    if (this.#cursor.stream === "call")
      return resultOf(this.#task, this.#task.call.kind === "tool" ? encode.callResult : encode.promptResult);
    if (!hasTasks(this.#exchange)) throw new Error(`a task's result in a session of ${this.#exchange.session.version}, which has no tasks`);
    return this.#exchange.encode.tasks.taskResult(this.#task);
  }

  /** A client that has no event id to come back with gets an error: it would wait for an answer that never comes. */
  #leave(): Followed {
    const { channel, dialect } = this.#exchange;
    this.#prime();
    if (!this.#hasEventId) return this.#end(this.#failure(connectionEnds()));
    channel.endUnanswered(dialect.closesEarly ? this.#route.times.retryMs : undefined);
    return "left";
  }

  /**
   * The client is told not to come back: it is on the other connection, or another client of its session uses the same id, and the two would
   * take the stream from each other for ever.
   */
  #giveUp(): Followed {
    const { channel } = this.#exchange;
    const last = this.#written({ stream: "ended", event: this.#cursor.event + 1 });
    if (last !== undefined) channel.prime(last, this.#route.times.retryMs);
    channel.endUnanswered();
    return "left";
  }

  /** A call that waits for a person is handed over as soon as this front end closes. A call at work may still finish here. */
  get #mustHandOver(): boolean {
    const { closing, ending } = this.#ends;
    const waits = this.#canComeBack && this.#task.status === "input_required";
    return ending.aborted || (waits && closing.aborted);
  }

  /** The task's id, if the client knows the task. */
  get #knownTask(): string | undefined {
    return this.#cursor.stream === "result" ? this.#task.id : undefined;
  }

  /** Sends the feed from `first` on. Returns whether the tool has released its callers. */
  async #reportFeed(first: FeedPage): Promise<boolean> {
    let released = false;
    for await (const { items, cursors } of feedPages(this.#route.services.store, this.#task.id, first)) {
      for (const [index, item] of items.entries()) {
        // First, so that the id of the item's event includes the item: a client that resumes from it has read it.
        const feed = cursors[index];
        if (feed !== undefined) this.#cursor = { ...this.#cursor, feed };
        await this.#report(item);
        released ||= item.type === "release";
      }
      if (this.#exchange.channel.closed.aborted) break;
    }
    return released;
  }

  async #report(reported: FeedItem): Promise<void> {
    const { encode, wants, channel } = this.#exchange;
    const item = reported.type === "progress" ? increased(reported, this.#progress) : reported;
    const visited = item.type === "visited" ? encode.pageDone?.(elicitationId(this.#task.id, item.key)) : undefined;
    const notification = channel.acceptsStream ? (visited ?? encode.feedNotification(item, wants, this.#knownTask)) : undefined;
    if (!notification) return;
    this.#send(notification, item.type === "progress" ? this.#progressed(item.progress) : {});
    await channel.drained();
  }

  /** Sends the asks of a hidden task, which can ask on this stream only. */
  async #ask(): Promise<void> {
    const { services } = this.#route;
    const { session, caller, door, encode, channel } = this.#exchange;
    const { id: taskId } = this.#task;
    const seen = this.#cursor.stream === "call" ? this.#cursor.seen : undefined;
    for (const { ask, requestId, moment } of asksToSend(this.#route, session.id, this.#task, { seen, reopened: this.#reopened })) {
      if (this.#canAsk(ask)) {
        // A question that is not sent must not be recorded as shown. The client gets it when it comes back.
        if (channel.closed.aborted) return;
        this.#send(encode.ask(ask, { requestId, elicitationId: elicitationId(taskId, ask.key) }), { seen: moment });
        this.#shown.sent(ask);
        noteShown(services, this.#exchange, this.#task, [ask]);
        await channel.drained();
        // If no other person is asked either, the tool learns that the ask is unavailable.
      } else if (!ask.audience) await declareUnavailable(services, { taskId, caller, door, key: ask.key });
    }
  }

  /** Sends the asks of a task that may ask on other streams too. */
  async #askOnHeldStream(hold: StreamHold): Promise<void> {
    const { session, encode, channel } = this.#exchange;
    const { id: taskId } = this.#task;
    for (const { ask, requestId, mark } of asksToSend(this.#route, session.id, this.#task)) {
      const isReopened = this.#reopened.has(ask.key);
      if ((this.#sent.has(mark) && !isReopened) || !this.#canAsk(ask)) continue;
      if (channel.closed.aborted) return;
      this.#prime();
      const claimed = await hold.claim({ taskId, ask, event: this.#cursor.event + 1 });
      if (claimed === "elsewhere") continue;
      this.#sent.add(mark);
      this.#shown.sent(ask);
      if (claimed === "put" && !isReopened) continue;
      this.#send(encode.ask(ask, { requestId, elicitationId: elicitationId(taskId, ask.key), taskId }));
      noteShown(this.#route.services, this.#exchange, this.#task, [ask]);
      await channel.drained();
    }
  }

  /** Open asks that the client has received on an earlier connection of this stream. */
  #noteShownBefore(): void {
    const seen = this.#cursor.stream === "call" ? this.#cursor.seen : undefined;
    const all = asksToSend(this.#route, this.#exchange.session.id, this.#task);
    const later = new Set(seen && asksToSend(this.#route, this.#exchange.session.id, this.#task, { seen }).map(({ mark }) => mark));
    for (const { ask, mark } of all) if (seen ? !later.has(mark) : this.#sent.has(mark)) this.#shown.sent(ask);
  }

  /** Tells the client of questions that it need not answer any more. */
  #withdrawAsks(): void {
    const { encode } = this.#exchange;
    for (const requestId of this.#watch.replied()) this.#shown.replied(requestId);
    for (const requestId of this.#shown.over(this.#task)) this.#send(encode.askOver(requestId, this.#knownTask));
  }

  /** Reports Parley's own pages that have closed since the last report, so that the client can remove their links. */
  #reportClosedPages(): void {
    const { encode, channel } = this.#exchange;
    if (!encode.pageDone || !channel.acceptsStream) return;
    const open = [...this.#task.asks, ...(this.#task.asksOfOthers ?? [])]
      .filter((ask) => isOnPage(ask) && !ask.audience)
      .map(({ key }) => key);
    for (const key of this.#openPages) {
      if (!open.includes(key)) this.#send(encode.pageDone(elicitationId(this.#task.id, key)));
    }
    this.#openPages = new Set(open);
  }

  #canAsk({ request }: Ask): boolean {
    const { session, dialect, channel } = this.#exchange;
    return channel.acceptsStream && dialect.canAsk(request, session.capabilities);
  }

  /** A client that waits for a person uses its session. If the session expired, the answer could not be delivered. */
  #renewSession(): void {
    const { services, sessions, times, log } = this.#route;
    this.#sessionUsedAtMs = services.clock.now();
    sessions.touch(this.#exchange.session.id, times.sessionTtlMs).then(
      (session) => session ?? this.#endSession(),
      (error: unknown) => log.warn({ err: error }, "session could not be renewed"),
    );
  }

  #reportProgressWhileWaiting(): void {
    const { wants, encode, channel } = this.#exchange;
    if (this.#cursor.stream !== "call" || !channel.acceptsStream || this.#task.status !== "input_required") return;
    const item = stillWaiting(this.#progress);
    const notification = encode.feedNotification(item, wants);
    if (notification) this.#send(notification, this.#progressed(item.progress));
  }

  #progressed(progress: number): Seen {
    this.#progress = progress;
    return this.#cursor.stream === "call" ? { progress } : {};
  }
}

const requestCancelled = () => new CallCancelled("The client cancelled the request. The task continues.");
const connectionEnds = () =>
  new RpcFailure(
    INTERNAL_ERROR,
    "The server ends this connection before the call has ended. The call continues: ask again if you have its task id or its idempotency key.",
  );
const sessionEnded = () => new CallCancelled("The session has ended. The call continues without it.");

/** The part of a call's cursor that an event changes. */
type Seen = Pick<CallCursor, "seen" | "progress">;

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener("abort", listener);
  return () => signal.removeEventListener("abort", listener);
}
