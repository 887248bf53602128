/**
 * The stream of one request that a task stands behind: tells what the task reports, puts its questions, ends with the response.
 *
 *   JSON ──a moment──▶ stream: id ─▶ progress, logs ─▶ elicitation/create ─▶ … ─▶ response
 *
 * All of it is derived from the task and a cursor that travels in the event ids, so any front end can continue any stream: when this one
 * dies, is shut down, or the client lost its connection. A client that goes away cancels nothing (S25 basic/transports).
 */
import {
  declareUnavailable,
  findTask,
  isFinished,
  isOnPage,
  noteShown,
  OVER,
  ParleyError,
  readable,
  type Ask,
  type FeedItem,
  type Task,
  type TaskWatch,
} from "@parley/core";
import { type Reply, resultMessage, resultOf } from "@parley/protocol";
import { elicitationId } from "@parley/protocol/sessions";
import { type EndSignals, untilExpiry } from "../../../front-end/until-expiry.ts";
import { failureReply } from "../shared/answer.ts";
import { type FeedPage, feedPages, readFeedPage } from "../shared/feed-pages.ts";
import { toPut } from "./asks.ts";
import type { CallCursor, ResultCursor } from "./event-ids.ts";
import { holdStream, type Held } from "./hold-stream.ts";
import { callName } from "./note-call.ts";
import { hasTasks, type SessionExchange, type SessionRoute } from "./session-route.ts";

/** How often a stream uses its session within the time that one lives without use. */
const SESSION_USES = 4;

export interface FollowCall {
  readonly cursor: CallCursor | ResultCursor;
  /** As it was read after `watch` began. */
  readonly task: Task;
  readonly watch: TaskWatch;
  /** The task carries the request of another call: this stream has no event ids, and cannot be resumed. */
  readonly isJoined?: boolean;
}

const NOTHING_TOLD: FeedPage = { items: [], cursor: undefined };

/** What became of the stream: `answered` for good, or left to be resumed. */
export type Followed = "answered" | "left";

export async function followCall(route: SessionRoute, exchange: SessionExchange, follow: FollowCall): Promise<Followed> {
  const stream = new CallStream(route, exchange, follow);
  try {
    return await stream.follow();
  } finally {
    await stream.close();
  }
}

class CallStream {
  readonly #route: SessionRoute;
  readonly #exchange: SessionExchange;
  readonly #watch: TaskWatch;
  readonly #ends: EndSignals;
  /** How far the client has been told; every event carries it. */
  #cursor: CallCursor | ResultCursor;
  #task: Task;
  readonly #isJoined: boolean;
  /** The client has an event id to come back with, or cannot come back. */
  #primed = false;
  #held: Held | undefined;
  /** Questions that are on a held stream, as marks. */
  #put = new Set<string>();
  /** Keys of asks. */
  #openPages = new Set<string>();
  readonly #done = new AbortController();
  readonly #stops: readonly (() => void)[];
  #sessionUsedAtMs: number;

  constructor(route: SessionRoute, exchange: SessionExchange, { cursor, task, watch, isJoined = false }: FollowCall) {
    this.#route = route;
    this.#exchange = exchange;
    this.#watch = watch;
    this.#cursor = cursor;
    this.#task = task;
    this.#isJoined = isJoined;
    this.#sessionUsedAtMs = route.services.clock.now();
    const { heartbeat } = route;
    this.#ends = untilExpiry(route, exchange.caller);
    this.#stops = [
      onAbort(exchange.channel.closed, watch.wake),
      onAbort(this.#ends.closing, watch.wake),
      onAbort(this.#ends.ending, watch.wake),
      this.#ends.release,
      heartbeat.onBeat(() => {
        this.#keepClientWaiting();
        this.#keepSession();
      }),
      () => this.#done.abort(OVER),
    ];
  }

  async follow(): Promise<Followed> {
    const { services } = this.#route;
    const { channel, caller } = this.#exchange;
    // Before anything is sent: from the first event on its client may come back for what follows that.
    if (this.#cursor.stream === "result") await this.#hold();
    const isResumed = this.#cursor.event > 0;
    // Numbers of questions on a stream grow from one holder to the next: by the time, since one may not know how far the other came.
    this.#cursor = { ...this.#cursor, event: Math.max(this.#cursor.event, services.clock.now()) };
    if (isResumed) this.#prime();
    else this.#primeInTime();
    // Each report is a revision: at its first one a task has told nothing, and what it tells later wakes this stream.
    const isNew = this.#task.revision === 1;
    let feed = isNew ? NOTHING_TOLD : await readFeedPage(services.store, this.#task.id, this.#cursor.feed);
    for (;;) {
      const released = await this.#tellFeed(feed);
      this.#tellPages();
      if (isFinished(this.#task.status)) return await this.#answer();
      await (this.#held ? this.#putOnHeld(this.#held) : this.#putAsks());
      if (released && this.#canComeBack) return this.#leave();
      await this.#watch.next(this.#task.revision);
      if (channel.closed.aborted) return "left";
      if (this.#held?.lost || this.#isLetGo) return this.#leave();
      // In this order, in one round trip: what was reported before the end of the task is told before it.
      const [task, next] = await Promise.all([
        findTask(services, { taskId: this.#task.id, caller }),
        readFeedPage(services.store, this.#task.id, this.#cursor.feed),
      ]);
      if (!task) throw new ParleyError("TASK_NOT_FOUND", "the task of this call no longer exists");
      this.#task = readable(task);
      feed = next;
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#held?.drop();
  }

  /** Only a task that the client has a handle on can be asked about on several streams. */
  async #hold(): Promise<void> {
    const { session, id } = this.#exchange;
    const stream = `result ${callName(this.#route, id)}`;
    const held = await holdStream(this.#route, { sessionId: session.id, stream, after: this.#cursor.event, onChange: this.#watch.wake });
    this.#held = held;
    this.#put = new Set(held.putBefore(this.#task.id));
  }

  /** A call that ends within a moment costs no stream; one that does not can be resumed from here on. */
  #primeInTime(): void {
    const { services, times } = this.#route;
    void services.clock.sleep(times.resumableAfterMs, this.#done.signal).then(() => {
      if (!this.#done.signal.aborted) this.#prime();
    });
  }

  #prime(): void {
    if (this.#primed) return;
    this.#primed = true;
    if (!this.#canComeBack) return;
    const { channel } = this.#exchange;
    const eventId = this.#eventId();
    if (eventId === undefined) channel.open();
    else channel.prime(eventId, this.#route.times.retryMs);
  }

  get #canComeBack(): boolean {
    return !this.#isJoined && this.#exchange.channel.acceptsStream && this.#exchange.dialect.closesEarly;
  }

  #eventId(change: Seen = {}): string | undefined {
    this.#cursor = { ...this.#cursor, ...change, event: this.#cursor.event + 1 };
    return this.#isJoined ? undefined : this.#route.eventIds.write(this.#exchange.session.id, this.#cursor);
  }

  /** The id comes first, so that the client can come back for what follows it. */
  #send(message: object, change: Seen = {}): void {
    this.#prime();
    this.#exchange.channel.send(message, this.#eventId(change));
  }

  async #answer(): Promise<Followed> {
    const { session, channel } = this.#exchange;
    // A stream that began behind an answer in JSON would take the process down.
    this.#done.abort(OVER);
    channel.answer(this.#reply(), () => this.#eventId());
    if (this.#held) await this.#route.sessions.unfollow(session.id, [this.#task.id]);
    return "answered";
  }

  #reply(): Reply {
    try {
      return { httpStatus: 200, message: resultMessage(this.#exchange.id, this.#result()) };
    } catch (error) {
      return failureReply(this.#route, this.#exchange, { error, taskId: this.#task.id });
    }
  }

  #result(): object {
    const { encode } = this.#exchange;
    if (this.#cursor.stream === "call")
      return resultOf(this.#task, this.#task.call.kind === "tool" ? encode.callResult : encode.promptResult);
    if (!hasTasks(this.#exchange)) throw new Error(`a task's result in a session of ${this.#exchange.session.version}, which has no tasks`);
    return this.#exchange.encode.tasks.taskResult(this.#task);
  }

  #leave(): Followed {
    const { channel, dialect } = this.#exchange;
    this.#prime();
    channel.letGo(dialect.closesEarly ? this.#route.times.retryMs : undefined);
    return "left";
  }

  /** A call that waits for a person continues elsewhere as soon as this front end closes; one that works may still end here. */
  get #isLetGo(): boolean {
    const { closing, ending } = this.#ends;
    const waits = this.#exchange.dialect.closesEarly && this.#task.status === "input_required";
    return ending.aborted || (waits && closing.aborted);
  }

  /** The task's id, where the client knows the task. */
  get #knownTask(): string | undefined {
    return this.#cursor.stream === "result" ? this.#task.id : undefined;
  }

  /** Returns whether the tool has released its callers. */
  async #tellFeed(first: FeedPage): Promise<boolean> {
    let released = false;
    for await (const { items, cursor } of feedPages(this.#route.services.store, this.#task.id, first)) {
      for (const item of items) {
        await this.#tell(item);
        released ||= item.type === "release";
      }
      if (cursor !== undefined) this.#cursor = { ...this.#cursor, feed: cursor };
      if (this.#exchange.channel.closed.aborted) break;
    }
    return released;
  }

  async #tell(item: FeedItem): Promise<void> {
    const { encode, wants, channel } = this.#exchange;
    const visited = item.type === "visited" ? encode.pageDone?.(elicitationId(this.#task.id, item.key)) : undefined;
    const notification = channel.acceptsStream ? (visited ?? encode.feedNotification(item, wants, this.#knownTask)) : undefined;
    if (!notification) return;
    this.#send(notification, item.type === "progress" ? { progress: item.progress } : {});
    await channel.drained();
  }

  /** Of a hidden task: this stream is the only one that it can be asked on. */
  async #putAsks(): Promise<void> {
    const { services } = this.#route;
    const { session, caller, encode, channel } = this.#exchange;
    const { id: taskId } = this.#task;
    const seen = this.#cursor.stream === "call" ? this.#cursor.seen : undefined;
    for (const { ask, requestId, moment } of toPut(this.#route, session.id, this.#task, seen)) {
      if (this.#canPut(ask)) {
        this.#send(encode.ask(ask, { requestId, elicitationId: elicitationId(taskId, ask.key) }), { seen: moment });
        noteShown(services, this.#exchange, this.#task, [ask]);
        await channel.drained();
        // Where nobody else is asked, the tool is told so.
      } else if (!ask.audience) await declareUnavailable(services, { taskId, caller, key: ask.key });
    }
  }

  /** Of a task that may be asked about on other streams, too. */
  async #putOnHeld(held: Held): Promise<void> {
    const { session, encode, channel } = this.#exchange;
    const { id: taskId } = this.#task;
    for (const { ask, requestId, mark } of toPut(this.#route, session.id, this.#task)) {
      if (this.#put.has(mark) || !this.#canPut(ask)) continue;
      this.#prime();
      const claimed = await held.claim({ taskId, ask, event: this.#cursor.event + 1 });
      if (claimed === "elsewhere") continue;
      this.#put.add(mark);
      if (claimed === "put") continue;
      this.#send(encode.ask(ask, { requestId, elicitationId: elicitationId(taskId, ask.key), taskId }));
      noteShown(this.#route.services, this.#exchange, this.#task, [ask]);
      await channel.drained();
    }
  }

  /** Pages of Parley's own that this stream knew to be open and that are not any more: the client may take its link away. */
  #tellPages(): void {
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

  #canPut({ request }: Ask): boolean {
    const { session, dialect, channel } = this.#exchange;
    return channel.acceptsStream && dialect.canAsk(request, session.capabilities);
  }

  /** A client that waits for a person uses its session: without it, the answer would find no session to come to. */
  #keepSession(): void {
    const { services, sessions, times, log } = this.#route;
    const nowMs = services.clock.now();
    if (nowMs - this.#sessionUsedAtMs < times.sessionTtlMs / SESSION_USES) return;
    this.#sessionUsedAtMs = nowMs;
    const { session } = this.#exchange;
    sessions.touch(session.id, times.sessionTtlMs).catch((error: unknown) => log.warn({ err: error }, "session not kept"));
  }

  /** Many clients give a request up after a minute without a sign of life; a person may take longer. */
  #keepClientWaiting(): void {
    const { wants, encode, channel } = this.#exchange;
    if (this.#cursor.stream !== "call" || !channel.acceptsStream || this.#task.status !== "input_required") return;
    // Progress must grow with each notification: by next to nothing, since nothing was done.
    const progress = (this.#cursor.progress ?? 0) + 1e-6;
    const notification = encode.feedNotification({ type: "progress", progress, message: "Waiting for an answer." }, wants);
    if (notification) this.#send(notification, { progress });
  }
}

/** What an event tells of a call, for its cursor. */
type Seen = Pick<CallCursor, "seen" | "progress">;

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener("abort", listener);
  return () => signal.removeEventListener("abort", listener);
}
