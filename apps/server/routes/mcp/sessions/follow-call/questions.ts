/**
 * The questions of a call on its stream. A question that is not sent is not recorded as shown, and the client is told when one is over (F4).
 *
 * A hidden task can ask on the stream of its call only. A task that its client knows may ask on other streams too, so each question is claimed
 * for one of them (hold-stream.ts).
 */
import { type Ask, declareUnavailable, isForClientOnly, noteShown, type Task } from "@parley/core";
import { askableOn } from "@parley/protocol";
import { elicitationId } from "@parley/protocol/sessions";
import { type AskKeys, asksToSend, type LastRead, reopenedAsks } from "../asks.ts";
import type { StreamHold } from "../hold-stream.ts";
import type { SessionExchange, SessionRoute } from "../session-route.ts";
import { shownAsks } from "../shown-asks.ts";
import { knownTask } from "./reports.ts";
import type { StreamEvents } from "./stream-events.ts";

export interface Questions {
  /** Notes which open questions the client has received on an earlier connection of this stream. */
  shownBefore(task: Task): void;
  /** Sends the questions of a hidden task. */
  ask(task: Task): Promise<void>;
  /** Sends the questions of a task that may ask on other streams too. */
  askOnHeldStream(task: Task, hold: StreamHold): Promise<void>;
  /** The client has replied to the request, at any front end. */
  replied(requestId: string): void;
  /** Tells the client of questions that it need not answer any more. */
  withdraw(task: Task): void;
  /** The task was read again. */
  changed(before: LastRead, now: LastRead): void;
  /** Whether this client can be asked it on this stream. */
  canAsk(ask: Ask): boolean;
  leave(): void;
}

export interface QuestionsOptions {
  readonly taskId: string;
  readonly hold: StreamHold | undefined;
  /** The client is asked no person's questions. */
  readonly isText: boolean;
  /** Questions to people that cannot be asked here are told in words (waiting-text.ts) and stay open. */
  readonly isTold: boolean;
}

export function createQuestions(
  route: SessionRoute,
  exchange: SessionExchange,
  events: StreamEvents,
  { taskId, hold: held, isText, isTold }: QuestionsOptions,
): Questions {
  const { services } = route;
  const { session, caller, door, dialect, encode, channel } = exchange;
  const shown = shownAsks(route, session.id, taskId);
  /** Marks of the asks that were sent on a held stream. */
  const sent = new Set(held?.sentBefore(taskId));
  let reopened: AskKeys = new Set();

  const seen = () => (events.cursor.stream === "call" ? events.cursor.seen : undefined);
  const capabilities = askableOn(isText ? "text" : "held", session.capabilities);
  const canAsk = ({ request }: Ask) => channel.acceptsStream && dialect.canAsk(request, capabilities);

  return {
    shownBefore(task) {
      const last = seen();
      const all = asksToSend(route, session.id, task);
      const later = new Set(last && asksToSend(route, session.id, task, { seen: last }).map(({ mark }) => mark));
      for (const { ask, mark } of all) if (last ? !later.has(mark) : sent.has(mark)) shown.sent(ask);
    },
    async ask(task) {
      for (const { ask, requestId, moment } of asksToSend(route, session.id, task, { seen: seen(), reopened })) {
        if (canAsk(ask)) {
          // The client gets it when it comes back.
          if (channel.closed.aborted) return;
          events.send(encode.ask(ask, { requestId, elicitationId: elicitationId(taskId, ask.key) }), { seen: moment });
          shown.sent(ask);
          noteShown(services, exchange, task, [ask]);
          await channel.drained();
          // If no other person is asked either, the tool learns that the ask is unavailable.
        } else if (!ask.audience && !isText && (!isTold || isForClientOnly(ask.request)))
          await declareUnavailable(services, { taskId, caller, door, key: ask.key });
      }
    },
    async askOnHeldStream(task, hold) {
      for (const { ask, requestId, mark } of asksToSend(route, session.id, task)) {
        const isReopened = reopened.has(ask.key);
        if ((sent.has(mark) && !isReopened) || !canAsk(ask)) continue;
        if (channel.closed.aborted) return;
        events.prime();
        const claimed = await hold.claim({ taskId, ask, event: events.cursor.event + 1 });
        if (claimed === "elsewhere") continue;
        sent.add(mark);
        shown.sent(ask);
        if (claimed === "put" && !isReopened) continue;
        events.send(encode.ask(ask, { requestId, elicitationId: elicitationId(taskId, ask.key), taskId }));
        noteShown(services, exchange, task, [ask]);
        await channel.drained();
      }
    },
    replied: (requestId) => shown.replied(requestId),
    withdraw(task) {
      for (const requestId of shown.over(task)) events.send(encode.askOver(requestId, knownTask(events, task)));
    },
    changed: (before, now) => void (reopened = reopenedAsks(before, now)),
    canAsk,
    leave: () => shown.leave(),
  };
}
