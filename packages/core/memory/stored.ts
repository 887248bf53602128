/** A task as the memory store holds it, and the views of it for its caller, a worker and a list. */
import type { Entry } from "../journal.ts";
import type { TaskState } from "../task/state-machine.ts";
import { summaryOf, type TaskSummary } from "../task/summary.ts";
import {
  type Ask,
  type Call,
  type CallFacts,
  type FeedItem,
  isQuestion,
  type Open,
  type Outcome,
  type Owed,
  SHOWN_OF_CHILDREN_MAX,
  split,
  type Task,
  type TaskAtWork,
  type ThreadEntry,
} from "../task.ts";

export interface Stored {
  readonly isCounted: boolean;
  readonly id: string;
  call: Call;
  state: TaskState;
  revision: number;
  run: number;
  updatedAtMs: number;
  generation: number;
  /** Absent until the task ends, because unfinished tasks never expire (I7). */
  expiresAtMs: number | undefined;
  dueAtMs: number | undefined;
  attempt: number;
  /** Consecutive takeovers without anything recorded or parked in between. */
  takeovers: number;
  /** The task has ended and must be compensated. `isStopping`: the run that was open then has not let go yet. */
  owed: { readonly why: Owed; readonly isStopping: boolean } | undefined;
  /** Present exactly while a run is open (I5). */
  openRun: { readonly token: string; /** Answers since begin, other than the holder's own. */ answers: number } | undefined;
  message: string | undefined;
  immediateResponse: string | undefined;
  outcome: Outcome | undefined;
  readonly journal: Map<string, Entry>;
  /** What its children have reported to it, in characters of JSON. */
  childEndsSize: number;
  /** The names under which asks were found: by ask key, until the task restarts. */
  readonly audiences: Map<string, readonly string[]>;
  /** By ask key, until the task restarts. */
  readonly threads: Map<string, readonly ThreadEntry[]>;
  /** By ask key. */
  readonly deposits: Map<string, string>;
  /** Keys of asks that were answered on a page. */
  readonly onPages: Set<string>;
  readonly feed: { readonly position: number; readonly item: FeedItem }[];
}

export function render(stored: Stored): Task {
  return structuredClone({ ...visible(stored), call: factsOf(stored.call) });
}

export function renderAtWork(stored: Stored): TaskAtWork {
  return structuredClone({ ...visible(stored), call: stored.call });
}

export function summarize(task: Stored): TaskSummary {
  return summaryOf(render(task));
}

function factsOf({
  arguments: _arguments,
  seed: _seed,
  replies: _replies,
  membership: _membership,
  reason: _reason,
  ...facts
}: Call): CallFacts {
  return facts;
}

/** As many as a task shows of its children. */
function shown(asks: readonly Open[]): readonly Open[] {
  const ofChildren = asks.filter((ask): ask is Ask => isQuestion(ask) && ask.route !== undefined);
  const later = new Set<Open>(ofChildren.toSorted(byRevision).slice(SHOWN_OF_CHILDREN_MAX));
  return asks.filter((ask) => !later.has(ask));
}

/** Asks of one revision are in order already. */
function byRevision({ since: a }: Ask, { since: b }: Ask): number {
  return (a?.revision ?? 0) - (b?.revision ?? 0);
}

function visible({
  id,
  state,
  revision,
  run,
  updatedAtMs,
  generation,
  takeovers,
  owed,
  expiresAtMs,
  message,
  immediateResponse,
  outcome,
}: Stored): Omit<Task, "call"> {
  return {
    id,
    status: state.status,
    revision,
    run,
    updatedAtMs,
    generation,
    ...split(shown(state.asks)),
    ...(owed && { owed: owed.why }),
    ...(takeovers > 0 && { takeovers }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(message !== undefined && { message }),
    ...(immediateResponse !== undefined && { immediateResponse }),
    ...(outcome && { outcome }),
  };
}
