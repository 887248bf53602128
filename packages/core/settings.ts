import type { TaskQuotas } from "./callers/quotas.ts";

/**
 * Core's settings, with the product's defaults. Apps override them from the environment. Durations are in
 * milliseconds.
 */
export interface Settings {
  /** Time that a due run has to start before the sweep adds it again. */
  readonly graceMs: number;
  /** Time that a run keeps its task without a renewal. */
  readonly leaseMs: number;
  /** Interval at which a run renews its lease, and learns that its task was cancelled. */
  readonly renewEveryMs: number;
  /** Maximum time that a read waits for a task that has just become due. */
  readonly settleGraceMs: number;
  /** Default and maximum time to answer an ask. */
  readonly askTimeoutMs: number;
  readonly askTimeoutMaxMs: number;
  /** Sleeps up to this length stay on the worker; longer ones park. */
  readonly inlineSleepMaxMs: number;
  /**
   * Time that replay waits for recorded calls to be made again before the run has diverged. Applies if nothing
   * outside ctx was awaited before the call; a call after such an await has until the run's timeout.
   */
  readonly divergenceWaitMs: number;
  /**
   * Minimum delay before a run is retried whose tool this worker lacks. The delay grows with the task's age, up to an
   * hour.
   */
  readonly missingToolRetryMs: number;
  /** Time that a task waits for a worker that serves its tool before it fails. */
  readonly missingToolTimeoutMs: number;
  /** Time that a task waits for a worker that serves its version of the tool, and what happens then. */
  readonly missingVersionTimeoutMs: number;
  readonly missingVersion: "newest" | "fail";
  /** Consecutive takeovers without progress after which a task fails. */
  readonly takeoversMax: number;
  /**
   * Attempts at a compensation before it is given up, waiting a second after the first, then twice as long each time,
   * up to an hour.
   */
  readonly compensationAttempts: number;
  /** Maximum number of overdue tasks per sweep. */
  readonly sweepLimit: number;
  /** Maximum size of stored arguments, a question, a step result, an answer or an outcome, in characters of JSON. */
  readonly storedValueMax: number;
  /** Maximum number of entries in a task's journal, and their maximum size in characters of JSON. */
  readonly journalEntriesMax: number;
  readonly journalSizeMax: number;
  /** Maximum number of questions that a task has open at once. */
  readonly openAsksMax: number;
  /** Maximum characters of a feed item, a status message and the text for the model; longer ones are cut. */
  readonly feedItemMax: number;
  /** Maximum number of answers in one request. */
  readonly repliesMax: number;
  /** Invalid replies after which an ask counts as cancelled, for clients that can only be asked again. */
  readonly refusalsMax: number;
  /**
   * What becomes of an ask that the client cannot handle: a failure that the tool sees, or the ask's timeout default
   * if it has one. Read at every replay: a change affects tasks that have continued after such an ask, and fails
   * those that then diverge.
   */
  readonly withoutCapability: "fail" | "default";
  /**
   * What becomes of a form or a page of a task that its client follows and cannot show: it waits, because another client or a page can
   * answer it, or it ends at once. Read when it is asked. A request for a model or folders always ends, because only a client can answer it.
   */
  readonly taskWithoutCapability: "wait" | "end";
  /**
   * Allowed schemes of pages that people are sent to. http to this machine is always allowed, javascript and similar
   * schemes never.
   */
  readonly askUrlSchemes: readonly string[];
  /** Scopes that tools may request, by OAuth provider. `"any"` is for tests; absent: no providers. */
  readonly oauthScopes?: Readonly<Record<string, readonly string[]>> | "any";
  /**
   * Phrases in form field names that mean a secret, in addition to the built-in ones; a leading minus removes a
   * phrase.
   */
  readonly secretNames: readonly string[];
  /**
   * Whether callers see the errors of tools, prompts and resources. Otherwise they get an id, under which the
   * operator's log has the error.
   */
  readonly showErrors: boolean;
  /** Whether the operator's log includes what tools log for their clients. That is content. */
  readonly logTools: boolean;
  /** How long a finished task can be read, unless its client or its tool says something else. */
  readonly retentionMs: number;
  /** The shortest retention that a client may request. */
  readonly retentionMinMs: number;
  /** The longest retention, no matter who asks for it. */
  readonly retentionMaxMs: number;
  /** Whether every finished task keeps what only runs read, not only those whose tool wants it (RunSettings.keepContent). */
  readonly keepContent: boolean;
  /** Limits on the unfinished tasks of identifiable callers and their tenants. */
  readonly taskQuotas: TaskQuotas;
}

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;
const MEBIBYTE = 1_024 * 1_024;

export const DEFAULT_SETTINGS: Settings = {
  graceMs: SECOND,
  leaseMs: 7 * SECOND,
  renewEveryMs: 2 * SECOND,
  settleGraceMs: 30,
  askTimeoutMs: 7 * DAY,
  askTimeoutMaxMs: 30 * DAY,
  inlineSleepMaxMs: SECOND,
  divergenceWaitMs: 5 * SECOND,
  missingToolRetryMs: 30 * SECOND,
  missingToolTimeoutMs: 7 * DAY,
  missingVersionTimeoutMs: DAY,
  missingVersion: "newest",
  takeoversMax: 4,
  compensationAttempts: 10,
  sweepLimit: 1_000,
  storedValueMax: 256 * 1_024,
  journalEntriesMax: 2_000,
  journalSizeMax: 8 * 1_024 * 1_024,
  openAsksMax: 100,
  feedItemMax: 8_192,
  repliesMax: 64,
  refusalsMax: 10,
  withoutCapability: "fail",
  taskWithoutCapability: "wait",
  askUrlSchemes: ["https"],
  secretNames: [],
  showErrors: false,
  logTools: false,
  retentionMs: DAY,
  retentionMinMs: 60 * SECOND,
  retentionMaxMs: 7 * DAY,
  keepContent: false,
  taskQuotas: {
    principal: { tasks: 10_000, bytes: 64 * MEBIBYTE, stored: 1_024 * MEBIBYTE },
    tenant: { tasks: 100_000, bytes: 640 * MEBIBYTE, stored: 10_240 * MEBIBYTE },
  },
};
