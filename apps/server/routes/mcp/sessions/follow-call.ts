/**
 * The stream of one request with a task behind it: sends the reports of the task, asks its questions and ends with the response.
 *
 *   JSON ──a moment──▶ stream: id ─▶ progress, logs ─▶ elicitation/create ─▶ … ─▶ response
 *
 *   F1  The stream is derived from the task and from the cursor in its event ids, so any front end can continue it if this one dies or shuts down, or
 *       if the client loses its connection (I8). Disconnecting cancels nothing (specification 2025-11-25, basic/transports).
 *   F2  A stream that has a hold takes it before anything is sent, because the client can resume from its first event on. The numbers of events grow
 *       from one holder to the next.
 *   F3  The id of an event includes what the event says, so nothing is repeated after it and nothing is left out. What was reported before the task
 *       ended is sent before its result.
 *   F4  A question that is not sent is not recorded as shown. A question that is over is withdrawn.
 *   F5  The response is the last message, and is sent once. Nothing follows it, and a request that its client has cancelled gets none.
 *   F6  One connection has the stream. The last on which the client comes back has it; the others end.
 *   F7  A client that has no event id to come back with gets an error before its connection ends.
 *
 *   follow-call/stream-events.ts  what is sent, with which ids     follow-call/next-change.ts  what the stream waits for
 *   follow-call/reports.ts        progress, logs, closed pages     follow-call/session-use.ts  the session is renewed, or over
 *   follow-call/questions.ts      asks and withdraws               follow-call/take-over.ts    the connection that has the stream
 */
import { CallCancelled, isFinished, ParleyError, readable, RequestCancelled, type Task, type TaskWatch } from "@parley/core";
import { isInWords, type Reply, resultMessage, resultOf, type Rung } from "@parley/protocol";
import { untilExpiry } from "../../../front-end/until-expiry.ts";
import { failureReply } from "../shared/answer.ts";
import { readFeedPage } from "../shared/feed-pages.ts";
import { unlessAway } from "../shared/unless-redis-away.ts";
import { mustBeTold, revealed, TOLD_AFTER_MS, waitingResult } from "../shared/waiting-text.ts";
import type { CallCursor, ResultCursor } from "./event-ids.ts";
import { EMPTY_FEED, nextChange, type StreamOver } from "./follow-call/next-change.ts";
import { createQuestions } from "./follow-call/questions.ts";
import { createReports } from "./follow-call/reports.ts";
import { useSession } from "./follow-call/session-use.ts";
import { type Followed, streamEvents } from "./follow-call/stream-events.ts";
import { takeOver } from "./follow-call/take-over.ts";
import { holdStream, type StreamHold } from "./hold-stream.ts";
import { CANCELLED, checkStillWanted, heldStream } from "./note-call.ts";
import { stepInSession } from "./rung.ts";
import { hasTasks, type SessionExchange, type SessionRoute } from "./session-route.ts";

export interface FollowCall {
  readonly cursor: CallCursor | ResultCursor;
  /** The task as it was read after `watch` began, or created. */
  readonly task: Task;
  readonly watch: TaskWatch;
  /** The task carries the request of another call, so this stream has no event ids and cannot be resumed. */
  readonly isJoined?: boolean;
}

/** An error becomes the answer. */
export async function followCall(route: SessionRoute, exchange: SessionExchange, follow: FollowCall): Promise<Followed> {
  const { services, sessions, heartbeat } = route;
  const { channel, caller, session } = exchange;
  const { watch, isJoined = false } = follow;
  let { task } = follow;
  let isAnswered = false;
  let isUnwanted = false;
  const events = streamEvents(route, exchange, { cursor: follow.cursor, isJoined });
  const reports = createReports(route, exchange, events);
  const ends = untilExpiry(route, caller);
  const use = useSession(route, exchange, watch.wake);
  const stops = [
    onAbort(channel.closed, watch.wake),
    onAbort(ends.closing, watch.wake),
    onAbort(ends.ending, watch.wake),
    ends.release,
    heartbeat.onBeat(() => {
      reports.waiting(task);
      use.beat();
    }),
    events.stop,
    use.stop,
  ];
  let hold: StreamHold | undefined;
  const failure = (error: unknown) => failureReply(route, exchange, { error, taskId: task.id });
  try {
    return await toItsEnd();
  } catch (error) {
    const reply = failure(error);
    return isAnswered ? "answered" : answered(reply);
  } finally {
    for (const stop of stops) stop();
    await hold?.drop();
  }

  async function toItsEnd(): Promise<Followed> {
    const { cursor } = follow;
    const taking = cursor.stream === "call" && cursor.event > 0 ? await takeOver(route, task.id) : undefined;
    let isTaken = false;
    if (cursor.stream === "result" || isJoined) hold = await takeHold(route, exchange, { event: cursor.event, onChange: watch.wake });
    const step = stepInSession(route, exchange, { takesTask: false, calls: "tool" });
    const isOfTool = cursor.stream === "call" && task.call.kind === "tool";
    const isText = isOfTool && !task.call.hidden && isInWords(step.rung);
    const isTold = isText || (isOfTool && step.fallsToText);
    let isLong = false;
    if (isText && route.ladder.taskTool !== undefined) {
      const tell = () => {
        isLong = true;
        watch.wake();
      };
      stops.push(services.clock.after(TOLD_AFTER_MS, tell));
    }
    const questions = createQuestions(route, exchange, events, { taskId: task.id, hold, isText, isTold });
    stops.push(questions.leave);
    questions.shownBefore(task);
    const listen = () => {
      for (const news of watch.news()) {
        if (news.type === "replied") questions.replied(news.requestId);
        else if (cursor.stream === "call" && !isJoined) {
          if (news.type === "cancelled") isUnwanted = true;
          else isTaken = taking ? taking.isTakenBy(news.connection) : true;
        }
      }
      return isTaken;
    };
    events.numberFrom(services.clock.now());
    if (cursor.event > 0) events.prime();
    else events.primeInTime();
    // Every report increments the revision, so the feed of a task at revision 1 is empty. Later reports wake this stream.
    let feed = task.revision === 1 ? EMPTY_FEED : await readFeedPage(services.store, task.id, cursor.feed);
    for (;;) {
      const released = await reports.feed(task, feed);
      reports.closedPages(task);
      listen();
      questions.withdraw(task);
      if (isFinished(task.status)) {
        const followed = answered(reply());
        if (cursor.stream === "result") await sessions.unfollow(session.id, [task.id]);
        return followed;
      }
      // What the client can be asked is asked first: its question is gone once the call has ended.
      if (isTold && mustBeTold(task, step) && !task.asks.some(questions.canAsk)) {
        if (await revealed(services, task)) return answered(inWords(step.rung));
      }
      if (isLong && task.message !== undefined && (await revealed(services, task))) return answered(inWords(step.rung));
      // What could not be asked is asked after the next look at the task.
      await unlessAway(() => (hold && !isJoined ? questions.askOnHeldStream(task, hold) : questions.ask(task)));
      if (released && events.canComeBack) {
        // An id after the release: with an earlier one, the client would be released again each time that it comes back.
        events.giveEventId();
        if (events.hasEventId) return left();
      }
      reports.others(task);
      const changed = await nextChange(route, exchange, { watch, ends, session: use, isTaken: listen, hold, events }, { task, feed });
      if (typeof changed === "string") return over(changed);
      if (!changed.task) throw new ParleyError("TASK_NOT_FOUND", "the task of this call no longer exists");
      questions.changed(task, changed.task);
      task = readable(changed.task);
      feed = changed.next;
    }
  }

  function over(why: StreamOver): Followed {
    switch (why) {
      case "closed":
        return "left";
      case "must leave":
        return left();
      case "taken":
        return events.giveUp();
      case "cancelled":
        return answered(failure(requestCancelled()));
      case "session ended":
        return answered(failure(sessionEnded()));
    }
  }

  function left(): Followed {
    const followed = events.leave(failure);
    isAnswered = followed === "answered";
    return followed;
  }

  function answered(given: Reply): Followed {
    isAnswered = true;
    use.stop();
    return events.answer(given);
  }

  function inWords(rung: Rung | undefined): Reply {
    const tool = exchange.catalogue.tools.get(task.call.name);
    const said = exchange.encode.callResult(waitingResult(route, exchange, { task, tool, rung }));
    return { httpStatus: 200, message: resultMessage(exchange.id, said) };
  }

  function reply(): Reply {
    if (isUnwanted) return failure(new RequestCancelled(CANCELLED));
    try {
      return { httpStatus: 200, message: resultMessage(exchange.id, result()) };
    } catch (error) {
      return failure(error);
    }
  }

  function result(): object {
    const { encode } = exchange;
    if (follow.cursor.stream === "call") return resultOf(task, task.call.kind === "tool" ? encode.callResult : encode.promptResult);
    if (!hasTasks(exchange)) throw new Error(`a task's result in a session of ${session.version}, which has no tasks`);
    return exchange.encode.tasks.taskResult(task);
  }
}

interface Take {
  readonly event: number;
  readonly onChange: () => void;
}

/** For a stream whose cancellation does not cancel the task. */
async function takeHold(route: SessionRoute, exchange: SessionExchange, { event, onChange }: Take): Promise<StreamHold> {
  const { session, id } = exchange;
  const hold = await holdStream(route, { sessionId: session.id, stream: heldStream(route, id), after: event, onChange });
  // A cancellation takes the hold from its stream, unless it came before the hold.
  if (event === 0) {
    await checkStillWanted(route, exchange, id).catch(async (error: unknown) => {
      await hold.drop();
      throw error;
    });
  }
  return hold;
}

const requestCancelled = () => new RequestCancelled("The client cancelled the request. The task continues.");
const sessionEnded = () => new CallCancelled("The session has ended. The call continues without it.");

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener("abort", listener);
  return () => signal.removeEventListener("abort", listener);
}
