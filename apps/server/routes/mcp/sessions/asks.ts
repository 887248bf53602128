/** Which of a task's open asks a stream has put and which it has not, in the marks that its cursor carries. */
import type { Ask, Task } from "@parley/core";
import type { SessionRoute } from "./session-route.ts";

export interface ToPut {
  readonly ask: Ask;
  readonly requestId: string;
  /** Short for the request id: a cursor stands in every event. */
  readonly mark: string;
}

const MARK_CHARS = 8;

function all({ askIds }: SessionRoute, sessionId: string, task: Task): ToPut[] {
  return task.asks.map((ask) => {
    const requestId = askIds.of(sessionId, task.id, ask);
    return { ask, requestId, mark: requestId.slice(-MARK_CHARS) };
  });
}

/** In the order in which they were asked. */
export function toPut(route: SessionRoute, sessionId: string, task: Task, put: readonly string[]): ToPut[] {
  return all(route, sessionId, task).filter(({ mark }) => !put.includes(mark));
}

/** The marks of `put` that are open asks of the task: the others are over. */
export function stillPut(route: SessionRoute, sessionId: string, task: Task, put: readonly string[]): string[] {
  if (put.length === 0) return [];
  const open = new Set(all(route, sessionId, task).map(({ mark }) => mark));
  return put.filter((mark) => open.has(mark));
}
