import type { TaskQuotas } from "./quotas.ts";

/** What core leaves to the deployment. Durations in milliseconds. apps merge the environment into these; the defaults are the product's. */
export interface Settings {
  /** How long a run that is due may take to start before the sweep adds it again. */
  readonly graceMs: number;
  /** How long a run keeps its task without a sign of life. */
  readonly leaseMs: number;
  /** How often a run that works longer than this says that it lives, and learns that it was cancelled. */
  readonly renewEveryMs: number;
  /** How long a read waits for a task that became due just now. */
  readonly settleGraceMs: number;
  /** How long an ask waits when the tool does not say, and at most. */
  readonly askTimeoutMs: number;
  readonly askTimeoutMaxMs: number;
  /** Sleeps up to this length stay on the worker; longer ones park. */
  readonly inlineSleepMaxMs: number;
  /**
   * How long replay waits for recorded work to be called again before it calls the run diverged, where nothing outside ctx was awaited before
   * it. What was called behind such an await has until the run's timeout.
   */
  readonly divergenceWaitMs: number;
  /** When a run whose tool this worker does not serve is tried again at the earliest; the wait grows with the task's age up to an hour. */
  readonly missingToolRetryMs: number;
  /** How long a task waits for a worker that serves its tool before it fails. */
  readonly missingToolTimeoutMs: number;
  /** How long a task waits for a worker that serves its version of the tool, and what becomes of it then. */
  readonly missingVersionTimeoutMs: number;
  readonly missingVersion: "newest" | "fail";
  /** How often in a row a task is taken over from a worker that died under it, without progress, before it fails. */
  readonly takeoversMax: number;
  /** How often a compensation is tried, in all, before it is given up; it waits a second after the first try, then twice as long each time, an hour at most. */
  readonly compensationAttempts: number;
  /** How many overdue tasks one sweep takes. */
  readonly sweepLimit: number;
  /** Largest stored arguments, question, step result, answer or outcome, in characters of JSON. */
  readonly storedValueMax: number;
  /** Most entries in a task's journal, and most characters of JSON in it. */
  readonly journalEntriesMax: number;
  readonly journalSizeMax: number;
  /** Most questions that a task has open at once. */
  readonly openAsksMax: number;
  /** Largest line of the feed, status message and text for the model, in characters; what is longer is cut. */
  readonly feedItemMax: number;
  /** Maximum number of answers in one request. */
  readonly repliesMax: number;
  /** After how many replies that do not fit an ask of a client that can only be asked again counts as cancelled. */
  readonly refusalsMax: number;
  /**
   * What an ask becomes that the client cannot be put: a failure that tools see, or, where the ask has a default for its timeout, that.
   * Read on every replay: a change of it reaches tasks that have gone on behind such an ask, and ends those that it makes diverge.
   */
  readonly withoutCapability: "fail" | "default";
  /** Schemes of the pages that people may be sent to. http to this machine is always allowed, javascript and its like never are. */
  readonly askUrlSchemes: readonly string[];
  /** What tools may ask for at OAuth providers: name of a provider → scopes. `"any"` is for tests; absent: there are none. */
  readonly oauthScopes?: Readonly<Record<string, readonly string[]>> | "any";
  /** Phrases in names of form fields that tell a secret, beside the built-in ones; one with a minus before it tells none. */
  readonly secretNames: readonly string[];
  /** Whether callers are shown what tools, prompts and resources throw. Otherwise they get an id, and the operator's log has the rest. */
  readonly showErrors: boolean;
  /** Whether what tools log for their clients stands in the operator's log as well: content, which may be anybody's. */
  readonly logTools: boolean;
  /** Bounds of how long a client may have a finished task kept; a tool's own retention is its author's choice. */
  readonly retentionMinMs: number;
  readonly retentionMaxMs: number;
  /** What callers that can be told apart, and their tenants, may have in unfinished tasks. */
  readonly taskQuotas: TaskQuotas;
}

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

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
  askUrlSchemes: ["https"],
  secretNames: [],
  showErrors: false,
  logTools: false,
  retentionMinMs: 60 * SECOND,
  retentionMaxMs: 30 * DAY,
  taskQuotas: { principal: { tasks: 10_000, bytes: 64 * 1_024 * 1_024 }, tenant: { tasks: 100_000, bytes: 640 * 1_024 * 1_024 } },
};
