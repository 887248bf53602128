/**
 * The stream of one request that a task stands behind: tells what the task reports, puts its questions, ends with the response.
 *
 *   JSON ──a moment──▶ stream: id ─▶ progress, logs ─▶ elicitation/create ─▶ … ─▶ response
 *
 * All of it is derived from the task and a cursor that travels in the event ids, so any front end goes on with any stream: when this one
 * dies, is shut down, or the client lost its connection. A client that goes away cancels nothing (S25 basic/transports).
 */
import { declareUnavailable, isFinished, OVER, ParleyError, RpcFailure, type Ask, type FeedItem, type Task } from "@parley/core";
import { INTERNAL_ERROR, isDefect } from "@parley/protocol";
import { elicitationId } from "@parley/protocol/sessions";
import type { TaskWatch } from "../../../streams/watch-task.ts";
import { toPut } from "./asks.ts";
import type { Asked, Door, Talk } from "./door.ts";
import type { CallCursor, ResultCursor } from "./event-ids.ts";
import { holdStream, type Held } from "./hold-stream.ts";
import { callName } from "./note-call.ts";

export interface FollowCall {
  readonly cursor: CallCursor | ResultCursor;
  /** As it was read after `watch` began. */
  readonly task: Task;
  readonly watch: TaskWatch;
}

/** What became of the stream: `answered` for good, or left to be resumed. */
export type Followed = "answered" | "left";

export async function followCall(door: Door, talk: Talk, { id, voice }: Asked, follow: FollowCall): Promise<Followed> {
  const { services, times, lifecycle, heartbeat } = door;
  const { session, dialect, encode } = talk;
  const { watch } = follow;
  const { progressToken } = follow.task.call.request ?? {};
  // Only a task that the client has a handle on can be asked about on several streams. Held before anything is sent: from the first event on its
  // client may come back for what follows that.
  const held =
    follow.cursor.stream === "result"
      ? await holdStream(door, {
          sessionId: session.id,
          stream: `result ${callName(door, id)}`,
          after: follow.cursor.event,
          onChange: watch.wake,
        })
      : undefined;
  const isResumed = follow.cursor.event > 0;
  const done = new AbortController();
  let { task } = follow;
  // Numbers of questions on a stream grow from one holder to the next: by the time, since one may not know how far the other came.
  let cursor = { ...follow.cursor, event: Math.max(follow.cursor.event, services.clock.now()) };

  const eventId = (change: Partial<Omit<CallCursor, "stream">> = {}) => {
    cursor = { ...cursor, ...change, event: cursor.event + 1 };
    return door.eventIds.write(session.id, cursor);
  };
  let primed = false;
  const prime = () => {
    if (primed) return;
    primed = true;
    if (!voice.acceptsStream || !dialect.closesEarly) return;
    const id = eventId();
    if (id === undefined) voice.open();
    else voice.prime(id, times.retryMs);
  };
  /** The id comes first, so that the client can come back for whatever follows it. */
  const send = (message: object, change: Partial<Omit<CallCursor, "stream">> = {}) => {
    prime();
    voice.send(message, eventId(change));
  };
  const leave = () => {
    prime();
    voice.letGo(dialect.closesEarly ? times.retryMs : undefined);
    return "left" as const;
  };

  const stops = [
    onAbort(voice.closed, watch.wake),
    onAbort(lifecycle.closing, watch.wake),
    onAbort(lifecycle.ending, watch.wake),
    heartbeat.onBeat(() => keepClientWaiting()),
    () => done.abort(OVER),
  ];
  // A call that ends within a moment costs no stream; one that does not can be resumed from here on.
  if (isResumed) prime();
  else void services.clock.sleep(times.resumableAfterMs, done.signal).then(() => done.signal.aborted || prime());

  /** Questions that are on a held stream. */
  const put = new Set(held?.putBefore(task.id));
  try {
    // Only a task that the client has a handle on can be asked about on several streams.
    for (let feed = await services.store.feed(task.id, cursor.feed); ;) {
      let released = false;
      for (const item of feed.items) {
        released ||= item.type === "release";
        await tell(item);
      }
      cursor = { ...cursor, ...(feed.cursor !== undefined && { feed: feed.cursor }) };
      if (isFinished(task.status)) {
        // A stream that began behind an answer in JSON would take the process down.
        done.abort(OVER);
        voice.answer(answerOf(door, talk, { id, cursor, task }), eventId());
        if (held) await door.sessions.unfollow(session.id, [task.id]);
        return "answered";
      }
      await (held ? putOnHeld(held) : putAsks());
      if (released && dialect.closesEarly && voice.acceptsStream) return leave();
      await watch.next();
      if (voice.closed.aborted) return "left";
      if (held?.lost || shouldLetGo()) return leave();
      let now;
      // In this order, in one round trip: what was reported before the end of the task is told before it.
      [now, feed] = await Promise.all([services.store.load(task.id), services.store.feed(task.id, cursor.feed)]);
      if (!now) throw new ParleyError("TASK_NOT_FOUND", "the task of this call is gone");
      task = now;
    }
  } finally {
    for (const stop of stops) stop();
    await held?.drop();
  }

  /** A call that waits for a person goes on elsewhere as soon as this front end closes; one that works may end here yet. */
  function shouldLetGo(): boolean {
    const waits = dialect.closesEarly && task.status === "input_required";
    return lifecycle.ending.aborted || (waits && lifecycle.closing.aborted);
  }

  async function tell(item: FeedItem): Promise<void> {
    const wants = {
      ...(progressToken !== undefined && { progressToken }),
      logLevel: session.logLevel ?? DEFAULT_LOG_LEVEL,
      ...(cursor.stream === "result" && { taskId: task.id }),
    };
    const notification = voice.acceptsStream ? encode.feedNotification(item, wants) : undefined;
    if (!notification) return;
    send(notification, item.type === "progress" ? { progress: item.progress } : {});
    await voice.drained();
  }

  /** Of a hidden task: this stream is the only one that it can be asked on. */
  async function putAsks(): Promise<void> {
    const { seen } = cursor as CallCursor;
    for (const { ask, requestId, moment } of toPut(door, session.id, task, seen)) {
      if (canPut(ask)) {
        send(encode.ask(ask, { requestId, elicitationId: elicitationId(task.id, ask.key) }), { seen: moment });
        await voice.drained();
        // Nobody else can be asked: the tool is told so.
      } else await declareUnavailable(services, { taskId: task.id, principal: session.principal, key: ask.key });
    }
  }

  /** Of a task that may be asked about on other streams, too. */
  async function putOnHeld(stream: Held): Promise<void> {
    for (const { ask, requestId, mark } of toPut(door, session.id, task)) {
      if (put.has(mark) || !canPut(ask)) continue;
      prime();
      const claimed = await stream.claim({ taskId: task.id, ask, event: cursor.event + 1 });
      if (claimed === "elsewhere") continue;
      put.add(mark);
      if (claimed === "put") continue;
      send(encode.ask(ask, { requestId, elicitationId: elicitationId(task.id, ask.key), taskId: task.id }));
      await voice.drained();
    }
  }

  function canPut(ask: Ask): boolean {
    return voice.acceptsStream && dialect.canAsk(ask.request, session.capabilities);
  }

  /** Many clients give a request up after a minute without a sign of life; a person may take longer. */
  function keepClientWaiting(): void {
    if (cursor.stream !== "call" || progressToken === undefined || !voice.acceptsStream || task.status !== "input_required") return;
    // Progress must grow with each notification: by next to nothing, since nothing was done.
    const progress = (cursor.progress ?? 0) + 1e-6;
    const notification = encode.feedNotification({ type: "progress", progress, message: "Waiting for an answer." }, { progressToken });
    if (notification) send(notification, { progress });
  }
}

/** Until a client sets a level. S25 server/utilities/logging leaves it to the server. */
const DEFAULT_LOG_LEVEL = "info";

interface Ended {
  readonly id: Asked["id"];
  readonly cursor: CallCursor | ResultCursor;
  readonly task: Task;
}

function answerOf({ services, log }: Door, { encode }: Talk, { id, cursor, task }: Ended) {
  try {
    return { httpStatus: 200, message: { jsonrpc: "2.0" as const, id, result: resultOf() } };
  } catch (error) {
    const defectId = services.ids.uuid();
    if (isDefect(error)) log.error({ defectId, taskId: task.id, err: error }, "request failed");
    return encode.failure({ id, error, defectId });
  }

  function resultOf(): object {
    if (cursor.stream === "result") return encode.taskResult(task);
    if (task.outcome?.type === "result")
      return task.call.kind === "tool" ? encode.callResult(task.outcome.result) : encode.promptResult(task.outcome.result);
    if (task.outcome?.type === "error") throw new RpcFailure(task.outcome.error.code, task.outcome.error.message, task.outcome.error.data);
    throw new RpcFailure(INTERNAL_ERROR, task.message ?? `the call was ${task.status}`);
  }
}

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener("abort", listener);
  return () => signal.removeEventListener("abort", listener);
}
