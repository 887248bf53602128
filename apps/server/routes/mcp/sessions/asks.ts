/** The open asks of a task that a stream still has to send. */
import type { Ask, AskMoment, PutAsk, Task } from "@parley/core";
import type { SessionRoute } from "./session-route.ts";

export interface AskToSend {
  readonly ask: Ask;
  readonly requestId: string;
  /** Identifies the ask. Changes when an answer is refused and the ask is asked again. */
  readonly mark: string;
  readonly moment: AskMoment;
}

/** All open asks, or those after the last one that the client has seen, in the order in which they were asked or refused. */
export function asksToSend({ askIds }: SessionRoute, sessionId: string, task: Task, seen: AskMoment = BEFORE_ALL): AskToSend[] {
  return task.asks
    .map((ask) => ({
      ask,
      requestId: askIds.of(sessionId, task.id, ask),
      mark: markOf({ key: ask.key, refusals: ask.refused?.count ?? 0 }),
      moment: ask.since ?? BEFORE_ALL,
    }))
    .filter(({ moment }) => seen === BEFORE_ALL || isLater(moment, seen))
    .toSorted((a, b) => (isLater(a.moment, b.moment) ? 1 : -1));
}

const BEFORE_ALL: AskMoment = { revision: 0, position: 0 };

function isLater(one: AskMoment, other: AskMoment): boolean {
  return one.revision > other.revision || (one.revision === other.revision && one.position > other.position);
}

export function markOf({ key, refusals }: Omit<PutAsk, "taskId">): string {
  return `${refusals} ${key}`;
}
