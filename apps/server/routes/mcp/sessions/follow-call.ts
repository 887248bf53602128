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
import type { Asked, Door, Talk } from "./door.ts";
import type { CallCursor } from "./event-ids.ts";
import { holdStream, type Held } from "./hold-stream.ts";

export interface FollowCall {
  readonly cursor: CallCursor;
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
  const done = new AbortController();
  let { cursor, task } = follow;

  const eventId = (change: Partial<CallCursor> = {}) => {
    cursor = { ...cursor, ...change, sequence: cursor.sequence + 1 };
    return door.eventIds.write(session.id, cursor);
  };
  let primed = false;
  const prime = () => {
    if (!primed && voice.acceptsStream && dialect.closesEarly) voice.prime(eventId(), times.retryMs);
    primed = true;
  };
  /** The id comes first, so that the client can come back for whatever follows it. */
  const send = (message: object, change: Partial<CallCursor> = {}) => {
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
  if (cursor.sequence > 0) prime();
  else void services.clock.sleep(times.resumableAfterMs, done.signal).then(() => done.signal.aborted || prime());

  let held: Held | undefined;
  try {
    // Only a task that the client has a handle on can be asked about on several streams.
    if (cursor.answers === "task") {
      held = await holdStream(door, { sessionId: session.id, stream: `result ${JSON.stringify(id)}`, onChange: watch.wake });
    }
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
      await putAsks();
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
      ...(cursor.progressToken !== undefined && { progressToken: cursor.progressToken }),
      logLevel: session.logLevel ?? DEFAULT_LOG_LEVEL,
      ...(cursor.answers === "task" && { taskId: task.id }),
    };
    const notification = voice.acceptsStream ? encode.feedNotification(item, wants) : undefined;
    if (!notification) return;
    send(notification, item.type === "progress" ? { progress: item.progress } : {});
    await voice.drained();
  }

  async function putAsks(): Promise<void> {
    cursor = { ...cursor, put: stillPut(door, session.id, task, cursor.put) };
    for (const { ask, requestId, mark } of toPut(door, session.id, task, cursor.put)) {
      if (!(await mayPut(ask))) continue;
      const put = encode.ask(ask, {
        requestId,
        elicitationId: elicitationId(task.id, ask.key),
        ...(cursor.answers === "task" && { taskId: task.id }),
      });
      send(put, { put: [...cursor.put, mark] });
      await voice.drained();
    }
  }

  async function mayPut(ask: Ask): Promise<boolean> {
    const canAsk = voice.acceptsStream && dialect.canAsk(ask.request, session.capabilities);
    if (task.call.hidden) {
      // Nobody else can be asked: the tool is told so.
      if (!canAsk) await declareUnavailable(services, { taskId: task.id, principal: session.principal, key: ask.key });
      return canAsk;
    }
    return canAsk && held !== undefined && (await held.claims(task.id, ask.key));
  }

  /** Many clients give a request up after a minute without a sign of life; a person may take longer. */
  function keepClientWaiting(): void {
    if (cursor.progressToken === undefined || !voice.acceptsStream || task.status !== "input_required") return;
    // Progress must grow with each notification: by next to nothing, since nothing was done.
    const progress = (cursor.progress ?? 0) + 1e-6;
    const notification = encode.feedNotification(
      { type: "progress", progress, message: "Waiting for an answer." },
      { progressToken: cursor.progressToken },
    );
    if (notification) send(notification, { progress });
  }
}

/** Until a client sets a level. S25 server/utilities/logging leaves it to the server. */
const DEFAULT_LOG_LEVEL = "info";

interface Ended {
  readonly id: Asked["id"];
  readonly cursor: CallCursor;
  readonly task: Task;
}

function answerOf(door: Door, { encode }: Talk, { id, cursor, task }: Ended): Reply {
  try {
    const result =
      cursor.answers === "task"
        ? encode.taskResult(task)
        : resultOf(task, cursor.answers === "tool" ? encode.callResult : encode.promptResult);
    return { httpStatus: 200, message: resultMessage(id, result) };
  } catch (error) {
    return encode.failure({ id, error, defectId: reportDefect(door, error, { taskId: task.id }) });
  }
}

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener("abort", listener);
  return () => signal.removeEventListener("abort", listener);
}
