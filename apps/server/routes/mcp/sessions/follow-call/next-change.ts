/** What a stream waits for: the next change of its task, or a reason to end before the task does. */
import { findTask, heardTask, type Task, type TaskWatch } from "@parley/core";
import type { EndSignals } from "../../../../front-end/until-expiry.ts";
import { type FeedPage, readFeedPage } from "../../shared/feed-pages.ts";
import { unlessAway } from "../../shared/unless-redis-away.ts";
import type { StreamHold } from "../hold-stream.ts";
import { callName, forgetCall } from "../note-call.ts";
import type { SessionExchange, SessionRoute } from "../session-route.ts";
import type { SessionUse } from "./session-use.ts";
import type { StreamEvents } from "./stream-events.ts";

export const EMPTY_FEED: FeedPage = { items: [], cursor: undefined, cursors: [] };

/** `must leave`: the client comes back. `taken`: another connection has the stream. */
export type StreamOver = "closed" | "must leave" | "taken" | "cancelled" | "session ended";

export interface Changed {
  readonly task: Task | undefined;
  readonly next: FeedPage;
}

export interface Awaited {
  readonly watch: TaskWatch;
  readonly ends: Pick<EndSignals, "closing" | "ending">;
  readonly session: Pick<SessionUse, "isOver">;
  /** Whether the client has come back for this stream on another connection. */
  readonly isTaken: () => boolean;
  readonly hold: StreamHold | undefined;
  readonly events: Pick<StreamEvents, "cursor" | "canComeBack">;
}

export async function nextChange(
  route: SessionRoute,
  exchange: SessionExchange,
  awaited: Awaited,
  known: { readonly task: Task; readonly feed: FeedPage },
): Promise<Changed | StreamOver> {
  const { services } = route;
  const { channel, caller } = exchange;
  const { watch, ends, session, isTaken, hold, events } = awaited;
  const { task, feed } = known;
  for (;;) {
    await watch.next(task.revision);
    if (channel.closed.aborted) return "closed";
    if (session.isOver) return "session ended";
    if (isTaken()) return "taken";
    const lost = hold?.lost ? await unlessAway(() => whyLost(route, exchange)) : undefined;
    if (lost) return lost.why;
    // A call that waits for a person is handed over as soon as this front end closes. A call at work may still finish here.
    const waits = events.canComeBack && task.status === "input_required";
    if (ends.ending.aborted || (waits && ends.closing.aborted)) return "must leave";
    if (hold?.lost) continue;
    const heard = heardTask(watch, { task, caller });
    if (heard) return { task: heard, next: { ...EMPTY_FEED, cursor: feed.cursor } };
    // One round trip, in this order: everything that was reported before the task ended is sent before its result.
    const read = await unlessAway(() =>
      Promise.all([findTask(services, { taskId: task.id, caller }), readFeedPage(services.store, task.id, events.cursor.feed)]),
    );
    if (read) return { task: read[0], next: read[1] };
  }
}

/** Any front end that receives the cancellation of a request takes the stream from its holder, as another connection for it does. */
async function whyLost(route: SessionRoute, exchange: SessionExchange): Promise<{ readonly why: "cancelled" | "session ended" | "taken" }> {
  const { session, id } = exchange;
  const state = await route.sessions.stateOfCall(session.id, callName(route, id));
  if (state !== "cancelled") return { why: state === "gone" ? "session ended" : "taken" };
  forgetCall(route, exchange, { requestId: id });
  return { why: "cancelled" };
}
