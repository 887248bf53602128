/** Which of a task's open asks are to be put on a stream: all of them, or those behind what its client has seen. */
import type { Ask, AskMoment, PutAsk, Task } from "@parley/core";
import type { SessionRoute } from "./session-route.ts";

export interface ToPut {
  readonly ask: Ask;
  readonly requestId: string;
  /** Another one for an ask that was refused and is put again. */
  readonly mark: string;
  readonly moment: AskMoment;
}

/** In the order in which they were put or refused. */
export function toPut({ askIds }: SessionRoute, sessionId: string, task: Task, seen: AskMoment = BEFORE_ALL): ToPut[] {
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
