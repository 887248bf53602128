/**
 * The stream of one request that a task stands behind: tells what the task reports, puts its questions, ends with the response.
 *
 *   JSON ──a moment──▶ stream: id ─▶ progress, logs ─▶ elicitation/create ─▶ … ─▶ response
 *
 * All of it is derived from the task and a cursor that travels in the event ids, so any front end goes on with any stream: when this one
 * dies, is shut down, or the client lost its connection. A client that goes away cancels nothing (S25 basic/transports).
 */
import { declareUnavailable, isFinished, OVER, ParleyError, type Ask, type FeedItem, type Task, type TaskWatch } from "@parley/core";
import { type Reply, resultMessage } from "@parley/protocol";
import { elicitationId } from "@parley/protocol/sessions";
import { reportDefect } from "../shared/defects.ts";
import { resultOf } from "../shared/results.ts";
import { stillPut, toPut } from "./asks.ts";
import type { CallCursor } from "./event-ids.ts";
import { holdStream, type Held } from "./hold-stream.ts";
import { hasTasks, type SessionExchange, type SessionRoute } from "./session-route.ts";

export interface FollowCall {
  readonly cursor: CallCursor;
  /** As it was read after `watch` began. */
  readonly task: Task;
  readonly watch: TaskWatch;
}

/** Ends when the response was sent, or when the rest is left to another stream: the client comes back for it. */
export async function followCall(route: SessionRoute, exchange: SessionExchange, follow: FollowCall): Promise<void> {
  const stream = new CallStream(route, exchange, follow);
  try {
    await stream.follow();
  } finally {
    await stream.close();
  }
}

class CallStream {
  readonly #route: SessionRoute;
  readonly #exchange: SessionExchange;
  readonly #watch: TaskWatch;
  /** How far the client has been told; stands in every event. */
  #cursor: CallCursor;
  #task: Task;
  /** The client has an event id to come back with, or cannot come back. */
  #primed = false;
  #held: Held | undefined;
  readonly #done = new AbortController();
  readonly #stops: readonly (() => void)[];

  constructor(route: SessionRoute, exchange: SessionExchange, { cursor, task, watch }: FollowCall) {
    this.#route = route;
    this.#exchange = exchange;
    this.#watch = watch;
    this.#cursor = cursor;
    this.#task = task;
    const { lifecycle, heartbeat } = route;
    this.#stops = [
      onAbort(exchange.channel.closed, watch.wake),
      onAbort(lifecycle.closing, watch.wake),
      onAbort(lifecycle.ending, watch.wake),
      heartbeat.onBeat(() => this.#keepClientWaiting()),
      () => this.#done.abort(OVER),
    ];
  }

  async follow(): Promise<void> {
    const { services } = this.#route;
    const { session, id, channel } = this.#exchange;
    this.#primeInTime();
    // Only a task that the client has a handle on can be asked about on several streams.
    if (this.#cursor.answers === "task") {
      const stream = `result ${JSON.stringify(id)}`;
      this.#held = await holdStream(this.#route, { sessionId: session.id, stream, onChange: this.#watch.wake });
    }
    let feed = await services.store.feed(this.#task.id, this.#cursor.feed);
    for (;;) {
      for (const item of feed.items) await this.#tell(item);
      if (feed.cursor !== undefined) this.#cursor = { ...this.#cursor, feed: feed.cursor };
      if (isFinished(this.#task.status)) return await this.#answer();
      await this.#putAsks();
      if (feed.items.some(({ type }) => type === "release") && this.#canComeBack) return this.#leave();
      await this.#watch.next();
      if (channel.closed.aborted) return;
      if (this.#held?.lost || this.#isLetGo) return this.#leave();
      // In this order, in one round trip: what was reported before the end of the task is told before it.
      const [task, next] = await Promise.all([services.store.load(this.#task.id), services.store.feed(this.#task.id, this.#cursor.feed)]);
      if (!task) throw new ParleyError("TASK_NOT_FOUND", "the task of this call is gone");
      this.#task = task;
      feed = next;
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#held?.drop();
  }

  /** A call that ends within a moment costs no stream; one that does not can be resumed from here on. */
  #primeInTime(): void {
    if (this.#cursor.sequence > 0) return this.#prime();
    const { services, times } = this.#route;
    void services.clock.sleep(times.resumableAfterMs, this.#done.signal).then(() => {
      if (!this.#done.signal.aborted) this.#prime();
    });
  }

  #prime(): void {
    if (this.#primed) return;
    this.#primed = true;
    if (this.#canComeBack) this.#exchange.channel.prime(this.#eventId(), this.#route.times.retryMs);
  }

  get #canComeBack(): boolean {
    return this.#exchange.channel.acceptsStream && this.#exchange.dialect.closesEarly;
  }

  #eventId(change: Partial<CallCursor> = {}): string {
    this.#cursor = { ...this.#cursor, ...change, sequence: this.#cursor.sequence + 1 };
    return this.#route.eventIds.write(this.#exchange.session.id, this.#cursor);
  }

  /** The id comes first, so that the client can come back for what follows it. */
  #send(message: object, change: Partial<CallCursor> = {}): void {
    this.#prime();
    this.#exchange.channel.send(message, this.#eventId(change));
  }

  async #answer(): Promise<void> {
    const { sessions, log } = this.#route;
    const { session, id, channel } = this.#exchange;
    const { id: taskId, call } = this.#task;
    // A stream that began behind an answer in JSON would take the process down.
    this.#done.abort(OVER);
    channel.answer(this.#reply(), this.#eventId());
    if (this.#held) await sessions.unfollow(session.id, [taskId]);
    // Nobody waits for this: at worst the note stays until the session ends.
    if (call.hidden) {
      sessions.forgetCall(session.id, JSON.stringify(id)).catch((error: unknown) => log.warn({ taskId, err: error }, "call not forgotten"));
    }
  }

  #reply(): Reply {
    const { id, method, encode } = this.#exchange;
    try {
      return { httpStatus: 200, message: resultMessage(id, this.#result()) };
    } catch (error) {
      return encode.failure({ id, error, defectId: reportDefect(this.#route, error, { method, taskId: this.#task.id }) });
    }
  }

  #result(): object {
    const { encode } = this.#exchange;
    if (this.#cursor.answers === "tool") return resultOf(this.#task, encode.callResult);
    if (this.#cursor.answers === "prompt") return resultOf(this.#task, encode.promptResult);
    if (!hasTasks(this.#exchange)) throw new Error(`a task's result in a session of ${this.#exchange.session.version}, which has no tasks`);
    return this.#exchange.encode.tasks.taskResult(this.#task);
  }

  #leave(): void {
    const { channel, dialect } = this.#exchange;
    this.#prime();
    channel.letGo(dialect.closesEarly ? this.#route.times.retryMs : undefined);
  }

  /** A call that waits for a person goes on elsewhere as soon as this front end closes; one that works may end here yet. */
  get #isLetGo(): boolean {
    const { lifecycle } = this.#route;
    const waits = this.#exchange.dialect.closesEarly && this.#task.status === "input_required";
    return lifecycle.ending.aborted || (waits && lifecycle.closing.aborted);
  }

  /** The task's id, where the client knows the task. */
  get #knownTask(): string | undefined {
    return this.#cursor.answers === "task" ? this.#task.id : undefined;
  }

  async #tell(item: FeedItem): Promise<void> {
    const { encode, wants, channel } = this.#exchange;
    const notification = channel.acceptsStream ? encode.feedNotification(item, wants, this.#knownTask) : undefined;
    if (!notification) return;
    this.#send(notification, item.type === "progress" ? { progress: item.progress } : {});
    await channel.drained();
  }

  async #putAsks(): Promise<void> {
    const { session, encode, channel } = this.#exchange;
    this.#cursor = { ...this.#cursor, put: stillPut(this.#route, session.id, this.#task, this.#cursor.put) };
    for (const { ask, requestId, mark } of toPut(this.#route, session.id, this.#task, this.#cursor.put)) {
      if (!(await this.#mayPut(ask))) continue;
      const asked = encode.ask(ask, {
        requestId,
        elicitationId: elicitationId(this.#task.id, ask.key),
        ...(this.#knownTask !== undefined && { taskId: this.#knownTask }),
      });
      this.#send(asked, { put: [...this.#cursor.put, mark] });
      await channel.drained();
    }
  }

  async #mayPut({ key, request }: Ask): Promise<boolean> {
    const { session, caller, dialect, channel } = this.#exchange;
    const canAsk = channel.acceptsStream && dialect.canAsk(request, session.capabilities);
    if (this.#task.call.hidden) {
      // Nobody else can be asked: the tool is told so.
      if (!canAsk) await declareUnavailable(this.#route.services, { taskId: this.#task.id, principal: caller.principal, key });
      return canAsk;
    }
    return canAsk && this.#held !== undefined && (await this.#held.claims(this.#task.id, key));
  }

  /** Many clients give a request up after a minute without a sign of life; a person may take longer. */
  #keepClientWaiting(): void {
    const { wants, encode, channel } = this.#exchange;
    if (!channel.acceptsStream || this.#task.status !== "input_required") return;
    // Progress must grow with each notification: by next to nothing, since nothing was done.
    const progress = (this.#cursor.progress ?? 0) + 1e-6;
    const notification = encode.feedNotification({ type: "progress", progress, message: "Waiting for an answer." }, wants);
    if (notification) this.#send(notification, { progress });
  }
}

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener("abort", listener);
  return () => signal.removeEventListener("abort", listener);
}
