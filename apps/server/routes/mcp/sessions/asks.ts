/** The open asks of a task that a stream still has to send. */
import { type Ask, type AskMoment, noteShown, type PutAsk, type Task } from "@parley/core";
import type { SessionContext, SessionRoute } from "./session-route.ts";

export interface AskToSend {
  readonly ask: Ask;
  readonly requestId: string;
  /** Identifies the ask. Changes when an answer is refused and the ask is asked again. */
  readonly mark: string;
  readonly moment: AskMoment;
}

export type AskKeys = ReadonlySet<string>;

const NONE: AskKeys = new Set();

/** The state of a task at the last read of its stream. */
export interface LastRead {
  readonly revision: number;
  readonly asks: readonly Pick<Ask, "key">[];
}

/**
 * The asks that are open again because a failover of Redis has lost its newest writes, accepted answers among them (docs/redis.md). They
 * are sent again, because the client considers them answered.
 */
export function reopenedAsks(before: LastRead | undefined, { revision, asks }: LastRead): AskKeys {
  if (!before || revision >= before.revision) return NONE;
  const open = new Set(before.asks.map(({ key }) => key));
  return new Set(asks.map(({ key }) => key).filter((key) => !open.has(key)));
}

interface Sent {
  /** The last ask that the client has seen. */
  readonly seen?: AskMoment | undefined;
  readonly reopened?: AskKeys;
}

/** All open asks, or those after the last one that the client has seen, in the order in which they were asked or refused. */
export function asksToSend(
  { askIds }: SessionRoute,
  sessionId: string,
  task: Task,
  { seen = BEFORE_ALL, reopened = NONE }: Sent = {},
): AskToSend[] {
  return task.asks
    .map((ask) => ({
      ask,
      requestId: askIds.of(sessionId, task.id, ask),
      mark: markOf({ key: ask.key, refusals: ask.refused?.count ?? 0 }),
      moment: ask.since ?? BEFORE_ALL,
    }))
    .filter(({ ask, moment }) => seen === BEFORE_ALL || isLater(moment, seen) || reopened.has(ask.key))
    .toSorted((a, b) => (isLater(a.moment, b.moment) ? 1 : -1));
}

const BEFORE_ALL: AskMoment = { revision: 0, position: 0 };

function isLater(one: AskMoment, other: AskMoment): boolean {
  return one.revision > other.revision || (one.revision === other.revision && one.position > other.position);
}

export function markOf({ key, refusals }: Omit<PutAsk, "taskId">): string {
  return `${refusals} ${key}`;
}

/** A task in an answer has its questions to people (proposal #1869), and a notification about it has the first one (FastMCP's dialect). */
export function noteSent(
  { services }: SessionRoute,
  exchange: Pick<SessionContext, "caller" | "door">,
  { task, most }: { readonly task: Task; readonly most?: number },
): void {
  const toPeople = task.asks.filter(({ request: { type } }) => type === "form" || type === "url");
  noteShown(services, exchange, task, toPeople.slice(0, most));
}
