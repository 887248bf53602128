/**
 * The ports: everything that core needs from its environment.
 *
 * packages/core/memory implements each port as a readable reference, packages/redis implements them for production,
 * and test/contract runs one suite against both. Each method of a store is one atomic change that decides every race
 * itself and returns how the race went.
 */
import type { AuditFact } from "./callers/audit.ts";
import type { GrantedTokens } from "./callers/granted-tokens.ts";
import type { KeyedEntry, Journal, JournalLine } from "./journal.ts";
import type { Over, TaskQuotas } from "./callers/quotas.ts";
import type { TaskSummary } from "./task/summary.ts";
import type {
  Acceptance,
  Answer,
  Ask,
  AwaitedCall,
  Call,
  FeedItem,
  JsonObject,
  Open,
  Outcome,
  Owed,
  ParentLink,
  Receipt,
  Task,
  TaskAtWork,
  Unreadable,
  Violation,
} from "./task.ts";

export interface TaskStore {
  /**
   * Writes the task as `working`, with its first run due, and returns `created`; or `delivered` if the worker that
   * listens on `lane` received the run as well. Writes nothing if the id exists, so a call that is sent twice creates
   * one task; if a task with the same `once` is known; or if a quota is exceeded.
   *
   * A child (`call.parent`) is created in the same change that opens the call in its parent. The change carries the
   * token of the parent's run and renews its lease. Writes nothing either if the run no longer holds the parent, if the
   * parent's journal already has the call (`settled`), or if the root has CHILDREN_MAX unfinished tasks below it
   * (`crowded`).
   */
  create(request: CreateRequest): Promise<"created" | "delivered" | "exists" | "settled" | "crowded" | Over | Known | Cancelled | Refused>;

  /** Returns the task as clients may see it, in one round trip. */
  load(taskId: string): Promise<Task | undefined>;

  /**
   * Takes the task for a run (I5) and loads task and journal in the same round trip. The run is taken if
   * - no run is open and `run` is the next number, or
   * - a run is open, `run` is its number and its lease has expired. This is a takeover: the previous holder died.
   *
   * From now on, writes of other tokens are refused.
   */
  begin(request: BeginRequest): Promise<Begun>;

  /**
   * Gives back a run whose handler has not started, for example because the reply of `begin` was lost. Clears the
   * token. The next run starts when the lease expires, or at once if an answer arrived; it does not count as a
   * takeover. Removes the opening that `begin` wrote.
   */
  release(request: Fenced): Promise<void>;

  /**
   * Adds entries to the journal and renews the lease. An entry that exists keeps its outcome, and gets a place only
   * if it has none. An entry that withdraws an open ask closes it. `asks` are opened as in `park`.
   */
  record(request: RecordRequest): Promise<"recorded" | Cancelled | Refused>;

  /** Renews the lease: the task becomes due at `nowMs + leaseMs`. */
  renew(request: Fenced & { readonly leaseMs: number }): Promise<"renewed" | Cancelled | Refused>;

  /** Writes what the run reports while it works: feed items, status message, text for the model. */
  report(request: Fenced & Report): Promise<"reported" | Cancelled | Refused>;

  /**
   * Ends the run without ending the task: it waits for answers to `asks`, until `dueAtMs`, or both; or it restarts
   * (`restart`). Clears the token.
   */
  park(request: ParkRequest): Promise<Parked>;

  /**
   * Ends the run and the task: closes open asks, cancels unfinished children, clears the token. The end of a child
   * answers its parent's call in the same change. With `owes` the task stays due until it is compensated (`settle`).
   */
  finish(request: Fenced & Finish): Promise<"finished" | ParentDue | Refused>;

  /**
   * Records an answer that was validated before. The first answer to an ask wins (I2). `nextRun` is set if the caller
   * must add a run. It is also set for a duplicate, because the first sender may have died between recording its
   * answer and adding the run.
   */
  answer(request: AnswerRequest): Promise<AnswerRecorded>;

  /**
   * Notes that a reply to an open ask was invalid, for a sender that cannot be notified in its own request, and wakes
   * the front end that asks again. Returns the number of refusals of this ask, including this one; undefined if the
   * ask is no longer open.
   */
  refuse(request: RefuseRequest): Promise<number | undefined>;

  /**
   * Notes that the person agreed to visit the page of an open ask and wakes those who watch the task. The ask stays
   * open until the page is completed. `duplicate`: the agreement was noted before. `late`: the ask is no longer open.
   */
  agree(request: AgreeRequest): Promise<"accepted" | "duplicate" | "late">;

  /** Replaces the deposit of an answer if it still equals `before`. Returns false if it has changed or is gone. */
  redeposit(request: {
    readonly taskId: string;
    readonly key: string;
    readonly before: string;
    readonly deposit: string;
  }): Promise<boolean>;

  /**
   * Returns the deposit of the answer to that ask; undefined if the answer left none, and once the task has ended or
   * restarted.
   */
  deposit(taskId: string, key: string): Promise<string | undefined>;

  /** Delays a due task that this process cannot run: the sweep does not return it before `dueAtMs`. */
  postpone(request: { readonly taskId: string; readonly nowMs: number; readonly dueAtMs: number }): Promise<void>;

  /**
   * Ends the compensation of a task, done or given up, and clears the token. From now on the task expires like any
   * other.
   */
  settle(request: Fenced & { readonly entries: readonly KeyedEntry[] }): Promise<"settled" | Refused>;

  /**
   * Ends the task as cancelled, even during a run: closes open asks and cancels unfinished children. `finished`: it
   * had already ended (I1). With `owes` a task that has ever run stays due until it is compensated. An open run keeps
   * its token, so that it can record its work in flight and park.
   */
  cancel(request: {
    readonly taskId: string;
    readonly nowMs: number;
    readonly message: string;
    readonly owes?: boolean;
    readonly audit?: AuditFact;
  }): Promise<"cancelled" | ParentDue | "finished" | "unknown">;

  /**
   * Returns the id of the child that the task called under this key, also after the child has ended; undefined if
   * there is none.
   */
  child(taskId: string, key: string): Promise<string | undefined>;

  /**
   * Returns runs that were due by `nowMs` and have not begun, the oldest first, and drops tasks that no longer exist.
   * Partitions are numbered from 0. If more than `limit` runs are overdue, half of the result are those that became
   * due last, and the other half is a page of the rest that rotates with `nowMs`. New work therefore never waits
   * behind tasks that stay overdue.
   */
  overdue(request: { readonly partition: number; readonly nowMs: number; readonly limit: number }): Promise<readonly RunRef[]>;

  /**
   * Returns what a list shows of each task, in the given order; undefined for a task that no longer exists. Reads
   * neither asks nor outcomes, and only a bounded number of tasks at once, so that many large tasks do not block
   * other requests.
   */
  summaries(taskIds: readonly string[]): Promise<readonly (TaskSummary | undefined)[]>;

  /**
   * Lists a principal's tasks, newest first, without hidden ones. `cursor` is opaque and comes from the previous
   * page. A page ends early if its tasks exceed PAGE_SIZE_MAX.
   */
  list(request: { readonly principal: string; readonly limit: number; readonly cursor?: string }): Promise<TaskPage>;

  /**
   * Returns at most `limit` feed items after `cursor` (undefined: from the start), oldest first, and the cursor to
   * continue from: after all of them, and after each.
   */
  feed(
    taskId: string,
    cursor: string | undefined,
    limit?: number,
  ): Promise<{ readonly items: readonly FeedItem[]; readonly cursor: string | undefined; readonly cursors: readonly string[] }>;

  /** Returns the journal's entries without their content, in no particular order; empty if the task does not exist. */
  journal(taskId: string): Promise<readonly JournalLine[]>;

  /**
   * Returns a task as its next run would find it, without beginning that run. Used to check whether changed code
   * still replays it. Undefined for a task that is over, which no run will find again.
   */
  recorded(taskId: string): Promise<TaskRecord | undefined>;
}

/** An idempotency key: at most one task exists for it at a time. The task's id is drawn for the key (`Ids.taskId`). */
export interface Once {
  /** Digest of the key and its owner. */
  readonly key: string;
  /** Digest of the called tool and its arguments. */
  readonly fingerprint: string;
}

/** The task has ended. This made a run of its parent due, which the caller must add. */
export interface ParentDue {
  readonly parentRun: RunRef;
}

/** The task that was created earlier with the same idempotency key, and the fingerprint of its call. */
export interface Known {
  readonly known: string;
  readonly fingerprint: string;
}

export type TaskRecord =
  | { readonly type: "recorded"; readonly task: TaskAtWork; readonly journal: Journal }
  | { readonly type: "unreadable"; readonly reason: Unreadable };

export interface CreateRequest {
  readonly taskId: string;
  readonly call: Call;
  readonly once?: Once;
  /** Time before the sweep adds the first run if nothing else has. */
  readonly graceMs: number;
  /** Quotas of the owner and its tenant. The task counts towards them until it ends. Absent: it does not count. */
  readonly quotas?: TaskQuotas;
  /**
   * Where a worker listens (RunQueue.lane). The store offers it the first run, unless other runs are waiting for a
   * worker.
   */
  readonly lane?: string;
  /**
   * For a child (`call.parent`): the token of its parent's run and the call to open there. The child's quotas count
   * where the parent's do.
   */
  readonly parent?: { readonly token: string; readonly open: AwaitedCall; readonly nowMs: number; readonly leaseMs: number };
  /** Written in the same change, and only if the task is created. */
  readonly audit?: AuditFact;
}

export interface RunRef {
  readonly taskId: string;
  readonly run: number;
}

/**
 * Why a run was added:
 * - `created`: its task is new.
 * - `answered`: an answer was recorded.
 * - `overtaken`: the previous run parked although it has to continue, because an answer arrived in the meantime or
 *   the task restarted.
 * - `overdue`: the sweep found the task due: a deadline, a sleep, or work that a dead process left behind.
 */
export type RunCause = "created" | "answered" | "overtaken" | "overdue";

/**
 * How a run ended. `code` is the error of core's catalogue that ended the task, if one did. `deferred`: the run did
 * not begin, because another suspect (use-cases/suspects.ts) is running in this process; the sweep adds it again.
 */
export type RunReport =
  | { readonly type: "refused"; readonly reason: RefusedReason | "deferred" }
  | { readonly type: "finished"; readonly status: "completed" | "failed"; readonly code?: string }
  /**
   * `compensated`: the compensation undid the task's work. `given-up`: it failed, and an operator has to look at it.
   */
  | { readonly type: "compensated" | "given-up" }
  /**
   * - `unserved`: this worker does not have the tool; the task was put back.
   * - `version_unserved`: no worker has the tool in the task's version.
   * - `passed_on`: another worker has it.
   * - `limited`: the task waits for a slot of its tool's limit.
   * - `fenced`: another worker has taken the task over.
   */
  | { readonly type: "parked" | "retrying" | "unserved" | "version_unserved" | "passed_on" | "limited" | "fenced" };

export interface BeginRequest extends RunRef {
  readonly token: string;
  readonly nowMs: number;
  readonly leaseMs: number;
  /** Written to the journal in the same change, if no run of the task has begun before; otherwise dropped. */
  readonly opening?: readonly KeyedEntry[];
}

export type Begun =
  | {
      readonly type: "begun";
      readonly task: TaskAtWork;
      readonly journal: Journal;
      /** Size of the journal in characters of JSON. */
      readonly journalSize: number;
      /** Failed attempts of the handler so far. */
      readonly attempt: number;
      /** Consecutive takeovers without anything recorded or parked in between, including this one. */
      readonly takeovers: number;
    }
  /** The task's content can never be read again. The run holds the task and can only end it. */
  | { readonly type: "unreadable"; readonly task: Task; readonly reason: Exclude<Unreadable, "key_missing"> }
  /**
   * - `finished`: the task has ended (I1).
   * - `stale`: another run number is due.
   * - `held`: the lease of the current holder has not expired.
   * - `unknown`: no such task.
   * - `key_missing`: this process cannot get the key that the content is sealed with. Nothing was changed.
   */
  | { readonly type: "refused"; readonly reason: RefusedReason };

export type RefusedReason = "finished" | "stale" | "held" | "unknown" | "key_missing";

/** A write of the run that holds `token`. */
export interface Fenced {
  readonly taskId: string;
  readonly token: string;
  readonly nowMs: number;
}

/**
 * The task was cancelled and the writer must stop. Its write took effect only if the task still has to be
 * compensated.
 */
export type Cancelled = "cancelled";

/** The writer no longer holds the task: another run took it over, or it ended or expired (I5). */
export type Refused = "refused";

export interface Report {
  readonly items: readonly FeedItem[];
  readonly message?: string;
  readonly immediateResponse?: string;
  /** The version of the tool to which the task moves; `""` for none. */
  readonly version?: string;
}

export interface RecordRequest extends Fenced {
  readonly entries: readonly KeyedEntry[];
  readonly asks?: readonly Open[];
  readonly leaseMs: number;
}

export interface ParkRequest extends Fenced {
  readonly entries: readonly KeyedEntry[];
  /**
   * All asks that are open for this run. Asks that are already open, or were answered in the meantime, stay as they
   * are.
   */
  readonly asks: readonly Open[];
  /** The latest time at which the task must run. */
  readonly dueAtMs: number;
  /** Failed attempts of the handler so far; 0 unless the run parks to be retried. */
  readonly attempt: number;
  readonly message?: string;
  readonly graceMs: number;
  /**
   * Restarts the task: its journal is emptied, its open asks are closed, its generation increases, and the next run
   * is due at once with these arguments, without early replies, and with `version` of the tool if given. Entries,
   * asks and message of the request are ignored.
   */
  readonly restart?: { readonly arguments: JsonObject; readonly version?: string };
}

export type Parked =
  | { readonly type: "parked" }
  /** The next run is due at once and the caller must add it: an answer arrived since `begin`, or the task restarts. */
  | { readonly type: "due"; readonly run: number }
  | { readonly type: "refused" };

export interface Finish {
  readonly entries: readonly KeyedEntry[];
  readonly outcome: Outcome;
  readonly message?: string;
  readonly owes?: Exclude<Owed, "cancelled">;
  /** Present for a child. */
  readonly parent?: AnsweredParent;
}

/** The parent's call that the end of a child answers. */
export interface AnsweredParent {
  readonly link: ParentLink;
  /**
   * Limit on what children report to a task before it restarts, in characters as the store packs them. Above the
   * limit the call fails with JOURNAL_FULL. The store must enforce this, because no run of the parent is active that
   * could, and the next one reads all of it at once.
   */
  readonly childEndsMax: number;
}

export interface AnswerRequest {
  readonly taskId: string;
  readonly key: string;
  /**
   * Digest of the ask that the answer was validated against. Absent if the caller found no such open ask: then
   * nothing is claimed, and the recorded answer decides between `duplicate`, `late` and `unknown`.
   */
  readonly digest?: string;
  readonly answer: Answer;
  /**
   * The principal that answers, unless it is the owner. The same answer from another principal is a different answer.
   */
  readonly by?: string;
  readonly nowMs: number;
  readonly graceMs: number;
  /**
   * The answer was given on a page. It is compared as a bare acceptance, because a client that repeats its `accept`
   * repeats the same answer. If the answer counts, `deposit` is kept beside the journal until the task ends or
   * restarts.
   */
  readonly page?: { readonly deposit?: string };
  /**
   * For an ask with a quorum:
   * - `seen`: the revision of the last acceptance that the sender knew of, absent for none. If it is out of date,
   *   nothing changes and the receipt is `overtaken`.
   * - `acceptances`: all acceptances, including this answer if it is one.
   * - `missing`: if positive, the ask stays open and keeps the acceptances. Otherwise they are recorded with the
   *   answer.
   */
  readonly quorum?: { readonly seen?: number; readonly acceptances: readonly Acceptance[]; readonly missing: number };
  /** Set when the holder of a run closes an ask at its deadline: no further run is needed. */
  readonly token?: string;
  /**
   * Where a worker listens (RunQueue.lane). The store offers it the run that the answer makes due; if it was
   * received, `nextRun` is absent.
   */
  readonly lane?: string;
  /** Written in the same change, with the receipt. */
  readonly audit?: AuditFact;
}

export interface RefuseRequest {
  readonly taskId: string;
  readonly key: string;
  /** Digest of the ask that the reply was checked against. */
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly nowMs: number;
  readonly audit?: AuditFact;
}

export interface AgreeRequest {
  readonly taskId: string;
  readonly key: string;
  readonly digest: string;
  readonly nowMs: number;
  readonly audit?: AuditFact;
}

export interface AnswerRecorded {
  readonly receipt: Exclude<Receipt["type"], "invalid"> | "overtaken";
  /** The run that the caller must add. */
  readonly nextRun?: number;
}

export interface TaskPage {
  readonly tasks: readonly TaskSummary[];
  readonly nextCursor?: string;
}

/** What a task calls. */
export type Called = Pick<Call, "kind" | "name">;

export interface RunQueue {
  /**
   * Adds a run. A run that is added twice for the same cause is added once; `begin` settles runs that are added for
   * several causes. Runs of new tasks come after all others, and take turns by `share` (`shareOf`) among themselves.
   * `calls`: what a new task calls, so that the worker knows this before it takes the task.
   */
  add(run: RunRef & { readonly cause?: RunCause; readonly share?: string; readonly calls?: Called }): Promise<void>;
  /**
   * Returns the name under which a worker listens for this run, so that the store can offer the run in the same
   * change that makes it due; undefined if no worker listens, or if runs were recently queued. A lane is faster than
   * the queue but gives no guarantee: the sweep finds a run that was offered and never begun.
   */
  lane?(run: {
    readonly taskId: string;
    readonly cause: "created" | "answered";
    readonly share?: string;
    /** As for `add`. */
    readonly calls?: Called;
  }): string | undefined;
}

/**
 * Wake-ups are hints. A listener watches, then reads, and reads again each time it is called. It is also called after
 * a lost connection has been restored.
 */
export interface WakeUps {
  /**
   * Resolves once no later change can be missed. Call the returned function to stop watching. `onChange` receives
   * what is known about the change, or nothing if changes may have been missed.
   */
  watch(taskId: string, onChange: (change?: TaskChange) => void): Promise<() => void>;
  /** Whether this process already receives the task's wake-ups, so that watching it costs no round trip. */
  isWatched(taskId: string): boolean;
  /** Notifies every front end that a list has changed. */
  announce(announcement: Announcement): Promise<void>;
  onAnnouncement(listener: (announcement: Announcement) => void): Promise<() => void>;
}

/** What changed. Lets a listener skip a read that it does not need. */
export interface TaskChange {
  /** The task's revision after the change. */
  readonly revision: number;
  /** True if the task has ended. */
  readonly isEnd: boolean;
  /**
   * Returns the task after this change, given the task as a store loaded it right before, except for `calls`, which
   * change without a revision. Absent, or undefined: the task has to be read.
   */
  readonly apply?: (task: Task) => Task | undefined;
}

/** A list that has changed for all clients, or a resource, by its URI. */
export type Announcement = { readonly type: "tools" | "prompts" | "resources" } | { readonly type: "resource"; readonly uri: string };

export interface Clock {
  now(): number;
  /** Calls back after `ms`, unless the returned function is called before. Costs less than `sleep`. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves after `ms`, or at once when `signal` is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when everything that is ready to run has run (Node.js: setImmediate). */
  idle(): Promise<void>;
  /**
   * Calls back when all promise reactions that are ready have run, including those that they lead to, and before any
   * event from outside (Node.js: a tick after the microtask queue).
   */
  afterMicrotasks(callback: () => void): void;
}

/**
 * A value that follows the handler's flow of control through awaits, timers and callbacks (Node.js:
 * AsyncLocalStorage). It identifies the run, and the part of it, that a call belongs to.
 */
export interface Scope {
  run<T>(value: object, work: () => T): T;
  get(): object | undefined;
  /** Sets the value for the rest of this synchronous code and everything that it starts. */
  enter(value: object): void;
  /** Returns what awaits the running code. Costs several microseconds (Node.js: the asynchronous part of a stack trace). */
  awaitedBy(): Awaiting;
}

export interface Awaiting {
  /** The items of Promise.all, allSettled and any, from the innermost out, such as `1.0`; `""` if unknown. */
  readonly items: string;
  /** Whether it is known that the handler itself awaits it, through however many functions. Not so for what a queue or an event calls. */
  readonly isByHandler: boolean;
}

export interface Ids {
  /**
   * Returns a new task id with at least 128 bits of entropy (I10), for the tenant whose keys seal the task's content.
   * All ids drawn for one idempotency key (`Once`) belong to one partition. Throws CONTENT_KEY_MISSING.
   */
  taskId(tenant?: string, once?: string): string | Promise<string>;
  /** A fencing token, unique within the deployment for all time. */
  token(): string;
  uuid(): string;
  /** In [0, 1). */
  random(): number;
}

/** Deposits: what people left on pages, for the runs of their tasks alone. */
export interface Deposits {
  /** Throws DEPOSIT_UNREADABLE if the deposit is gone, or sealed with a secret that this process does not have. */
  open(taskId: string, key: string): Promise<string>;
  /** Replaces `before` with `text`. Returns false if the deposit has changed or is gone. Throws as `open` does. */
  replace(taskId: string, key: string, before: string, text: string): Promise<boolean>;
}

/**
 * Leases on names, for work that only one process may do at a time. Each claim expires after its `ms`, so a process
 * that dies blocks nothing.
 */
export interface Claims {
  /** Returns true if `holder` has the claim, now for `ms`. */
  take(name: string, holder: string, ms: number): Promise<boolean>;
  /** Releases the claim if `holder` still has it. */
  release(name: string, holder: string): Promise<void>;
}

/** OAuth providers, by the names that tools use. */
export interface OauthProviders {
  /**
   * Throws GRANT_EXPIRED, PROVIDER_UNAVAILABLE, PROVIDER_INVALID, and OAUTH_UNAVAILABLE for a provider that is not
   * configured.
   */
  refresh(tokens: GrantedTokens): Promise<GrantedTokens>;
  /**
   * Asks the provider to end what it granted. Resolves to `unsupported` if it offers no way to do so. Throws
   * PROVIDER_UNAVAILABLE, PROVIDER_INVALID and OAUTH_UNAVAILABLE.
   */
  revoke(tokens: GrantedTokens): Promise<"ended" | "unsupported">;
}

/** The tokens with which other systems report events. They are derived, never stored. */
export interface EventTokens {
  /**
   * Returns the same token each time. Throws EVENTS_UNAVAILABLE if this process does not know the address at which
   * tokens are accepted.
   */
  tokenOf(taskId: string, key: string): { readonly token: string; readonly url: string };
  /** Returns undefined for a token that this deployment did not issue. */
  read(token: string): { readonly taskId: string; readonly key: string } | undefined;
}

/**
 * Returns a short collision-free digest that is safe in a key. If `taskId` is given and that task's content is
 * sealed, the digest is keyed.
 */
export type Digest = (text: string, taskId?: string) => string;

/** Checks a value against a JSON Schema (2020-12). Returns an empty list if the value is valid. */
export type ValidateSchema = (schema: JsonObject, value: unknown) => readonly Violation[];

/** Core's log. Messages are constant, data is in fields. Arguments, answers and form content are never logged. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Receives what the use cases do, for metrics and traces. Without an observer there is no cost. No method throws.
 * Each `work` is called exactly once, immediately, and its result is passed through unchanged.
 */
export interface Observer {
  /** Stored with a new task; undefined while no traces are collected. */
  traceparent(): string | undefined;
  created(call: Call): void;
  /** Validating and recording one answer. `ask` is absent if no ask of that key is open. */
  answering(about: { readonly task: Task; readonly key: string; readonly ask?: Ask }, work: () => Promise<Receipt>): Promise<Receipt>;
  /** One run, from the moment at which it holds its task. */
  running(
    begun: Pick<Extract<Begun, { type: "begun" }>, "task" | "journal" | "journalSize" | "attempt" | "takeovers">,
    work: () => Promise<RunReport>,
  ): Promise<RunReport>;
}
