/**
 * What core needs from the world, each port as small as its use.
 *
 * packages/core/memory holds the readable reference of every port, packages/redis the real one; test/contract holds both to one suite.
 * Stores own the rules of racing: every method is one atomic change and says in a word what became of it.
 */
import type { AuditFact } from "./audit.ts";
import type { GrantedTokens } from "./granted-tokens.ts";
import type { KeyedEntry, Journal, JournalLine } from "./journal.ts";
import type { Over, TaskQuotas } from "./quotas.ts";
import type { TaskSummary } from "./summary.ts";
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
   * Writes the task as `working`, with its first run due. `exists` when the id is taken: creating twice is creating once. Nothing is written where
   * it would be beyond a quota, nor where there is a task of the same `once`.
   *
   * A child (`parent`) is made together with the call that its parent has open, under the token of the parent's run, whose lease is renewed. `settled`:
   * the parent's journal has the call already. `crowded`: CHILDREN_MAX.
   */
  create(request: CreateRequest): Promise<"created" | "told" | "exists" | "settled" | "crowded" | Over | Known | Cancelled | Refused>;

  /** The task as a client may see it. One round trip. */
  load(taskId: string): Promise<Task | undefined>;

  /**
   * Takes the task for a run (I5): no run is open and `run` is the next number, or a run is open, `run` is its number and its lease has run
   * out (a takeover: its holder died). Draws the fence: from now on only writes that carry `token` are taken. Loads task and journal in the
   * same round trip.
   */
  begin(request: BeginRequest): Promise<Begun>;

  /**
   * Gives back a run whose handler has not started, such as one whose `begin` failed on its way back. Clears the fence: the next run begins when the
   * lease ends, or at once if an answer came, and takes over from nobody.
   */
  release(request: Fenced): Promise<void>;

  /**
   * Adds entries to the journal and renews the lease. An entry that is there keeps what it holds, and takes a place only if it has none. An ask
   * that is written as withdrawn is closed. `asks` are opened as `park` opens them.
   */
  record(request: RecordRequest): Promise<"recorded" | Cancelled | Refused>;

  /** Says that the run lives: moves its due time to `nowMs + leaseMs`. */
  renew(request: Fenced & { readonly leaseMs: number }): Promise<"renewed" | Cancelled | Refused>;

  /** What the run reports while it works: feed items, status message, text for the model. */
  report(request: Fenced & Report): Promise<"reported" | Cancelled | Refused>;

  /** Ends the run and waits: for answers to `asks`, or for `dueAtMs`, or both; or begins anew (`restart`). Clears the fence. */
  park(request: ParkRequest): Promise<Parked>;

  /**
   * Ends the run and the task. Open asks are closed, and children that have not ended are cancelled. Clears the fence. With `owes` the task stays due until
   * it was compensated (`settle`). The end of a child is the answer to its parent's call, in the same change.
   */
  finish(request: Fenced & Finish): Promise<"finished" | ParentDue | Refused>;

  /**
   * Records the answer to one open ask; the first wins (I2). The answer was validated before. `nextRun` is there when a run must be added
   * (also for a duplicate: the caller before may have died between recording and adding).
   */
  answer(request: AnswerRequest): Promise<AnswerRecorded>;

  /**
   * Notes that a reply to an open ask did not fit, for a sender that cannot be told in its own request, and wakes the front end that puts the ask
   * again. Returns how often the ask was refused so far, this time included; undefined when that ask is not open any more.
   */
  refuse(request: RefuseRequest): Promise<number | undefined>;

  /**
   * Notes that the person agreed to visit the page of an open ask, which stays open until the page is completed, and wakes those who follow the task.
   * `duplicate`: that was noted before. `late`: that ask is not open any more.
   */
  agree(request: AgreeRequest): Promise<"accepted" | "duplicate" | "late">;

  /** Replaces what an answer left, if it is still `before`. False where it is something else by now, or gone. */
  redeposit(request: {
    readonly taskId: string;
    readonly key: string;
    readonly before: string;
    readonly deposit: string;
  }): Promise<boolean>;

  /** What the answer to that ask left with the task (`deposit`); undefined when it left nothing, and once the task has ended or restarted. */
  deposit(taskId: string, key: string): Promise<string | undefined>;

  /** Has the sweep look again at a task that is due now, and that this process cannot run, no sooner than `dueAtMs`. */
  postpone(request: { readonly taskId: string; readonly nowMs: number; readonly dueAtMs: number }): Promise<void>;

  /** Ends the last run of a task that was owed one, done or given up. From here on the task is forgotten as any other. Clears the fence. */
  settle(request: Fenced & { readonly entries: readonly KeyedEntry[] }): Promise<"settled" | Refused>;

  /**
   * Ends the task as cancelled, even while a run is at work; open asks are closed, children that have not ended are cancelled. `finished` when it had ended before (I1). With `owes` a task that has
   * been run stays due until it was compensated; a run that is open keeps its hold, to record what it has in flight and park.
   */
  cancel(request: {
    readonly taskId: string;
    readonly nowMs: number;
    readonly message: string;
    readonly owes?: boolean;
    readonly audit?: AuditFact;
  }): Promise<"cancelled" | ParentDue | "finished" | "unknown">;

  /** The id of the child that the task has called, or had, under that key of a call; undefined where there is none. */
  child(taskId: string, key: string): Promise<string | undefined>;

  /**
   * Runs that should have begun by `nowMs` and did not, oldest first; drops tasks that are gone. The numbers of partitions run from 0. Of more than `limit`
   * those that became due last, and a page of the others that changes with `nowMs`: what became due waits behind nothing that stays overdue.
   */
  overdue(request: { readonly partition: number; readonly nowMs: number; readonly limit: number }): Promise<readonly RunRef[]>;

  /**
   * What a list shows of these tasks, in their order; undefined for one that is gone. Neither asks nor outcomes are read, and only so many
   * tasks at once: many large tasks do not keep others waiting.
   */
  summaries(taskIds: readonly string[]): Promise<readonly (TaskSummary | undefined)[]>;

  /**
   * Tasks of a principal, newest first, without hidden ones. `cursor` is opaque and comes from an earlier page. A page ends early where its
   * tasks have much to say (`PAGE_SIZE_MAX`).
   */
  list(request: { readonly principal: string; readonly limit: number; readonly cursor?: string }): Promise<TaskPage>;

  /** Feed items after `cursor` (`undefined`: from the start), the oldest first and at most `limit`, with the cursor to continue from. */
  feed(
    taskId: string,
    cursor: string | undefined,
    limit?: number,
  ): Promise<{ readonly items: readonly FeedItem[]; readonly cursor: string | undefined }>;

  /** What the journal holds, without what was said in it, in no order. Empty for a task that is not there. */
  journal(taskId: string): Promise<readonly JournalLine[]>;

  /** A task as its next run would find it, without beginning one: for those who look whether changed code replays it. */
  recorded(taskId: string): Promise<TaskRecord | undefined>;
}

/** A key under which there is one task, for as long as there is that task. The task's id is drawn for it (`Ids.taskId`). */
export interface Once {
  /** Digest of the key and of whose it is. */
  readonly key: string;
  /** Digest of what is called with which arguments. */
  readonly fingerprint: string;
}

/** The task has ended, and the run of its parent that this makes due is there for the caller to add. */
export interface ParentDue {
  readonly parentRun: RunRef;
}

/** The task that was created with that key before, and with what. */
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
  /** How long nothing may happen before the sweep looks after the first run. */
  readonly graceMs: number;
  /** Counts the task, from now until its end, and says what there may be of its owner and its tenant. Absent: it is not counted. */
  readonly quotas?: TaskQuotas;
  /** Where a worker listens (RunQueue.lane): the store tells it of the first run if no other run waits for a worker. `told`: it heard. */
  readonly lane?: string;
  /** Of a child (`call.parent`): its parent's run, and the call as it is opened there. Its quotas count where its parent is counted. */
  readonly parent?: { readonly token: string; readonly open: AwaitedCall; readonly nowMs: number; readonly leaseMs: number };
  /** Written with the change, regardless of its result. Nothing is written when the task exists. */
  readonly audit?: AuditFact;
}

export interface RunRef {
  readonly taskId: string;
  readonly run: number;
}

/**
 * Why a run was added: its task is new, a person answered, the run before it parked behind what it had to know (an answer that came
 * meanwhile, or a restart), or the sweep found it overdue (deadlines, sleeps, and what a dead process left behind).
 */
export type RunCause = "created" | "answered" | "overtaken" | "overdue";

/**
 * What became of a run. `code` names the error of core's catalogue that ended the task, if one did. `deferred`: it was not begun, since another
 * suspect is at work in this process; the sweep adds it again.
 */
export type RunReport =
  | { readonly type: "refused"; readonly reason: RefusedReason | "deferred" }
  | { readonly type: "finished"; readonly status: "completed" | "failed"; readonly code?: string }
  /** `compensated`: the last run has undone what was done. `given-up`: it could not, and an operator has to look. */
  | { readonly type: "compensated" | "given-up" }
  /**
   * `unserved`: this worker does not have the tool, the task was put back; `version_unserved`: no worker has its version; `passed_on`: another worker
   * has it. `limited`: it waits for a slot of its tool's limit. `fenced`: another worker has the task.
   */
  | { readonly type: "parked" | "retrying" | "unserved" | "version_unserved" | "passed_on" | "limited" | "fenced" };

export interface BeginRequest extends RunRef {
  readonly token: string;
  readonly nowMs: number;
  readonly leaseMs: number;
}

export type Begun =
  | {
      readonly type: "begun";
      readonly task: TaskAtWork;
      readonly journal: Journal;
      /** Characters of JSON that the journal holds. */
      readonly journalSize: number;
      /** Failed tries of the handler so far. */
      readonly attempt: number;
      /** How often in a row the task was taken over without anything having been recorded or parked, this time included. */
      readonly takeovers: number;
    }
  /** The run holds the task and can only end it: what was said in it will never be read again. */
  | { readonly type: "unreadable"; readonly task: Task; readonly reason: Exclude<Unreadable, "key_missing"> }
  /** `finished`: I1. `stale`: another number is due. `held`: its holder lives, as far as its lease says. `unknown`: no such task. `key_missing`: sealed with a key that this process
   * cannot get now; nothing was changed. */
  | { readonly type: "refused"; readonly reason: RefusedReason };

export type RefusedReason = "finished" | "stale" | "held" | "unknown" | "key_missing";

/** A write of the run that holds `token`. */
export interface Fenced {
  readonly taskId: string;
  readonly token: string;
  readonly nowMs: number;
}

/** The task was cancelled: the writer has to stop. What it wrote was taken if the task is owed its last run, and only then. */
export type Cancelled = "cancelled";

/** The writer no longer holds the task: it was taken over, finished or forgotten (I5). */
export type Refused = "refused";

export interface Report {
  readonly items: readonly FeedItem[];
  readonly message?: string;
  readonly immediateResponse?: string;
  /** From now on the task is one of this version of its tool; `""` for the one without a version. */
  readonly version?: string;
}

export interface RecordRequest extends Fenced {
  readonly entries: readonly KeyedEntry[];
  readonly asks?: readonly Open[];
  readonly leaseMs: number;
}

export interface ParkRequest extends Fenced {
  readonly entries: readonly KeyedEntry[];
  /** Every ask that is open for this run; one that is open already or was answered meanwhile stays as it is. */
  readonly asks: readonly Open[];
  /** When the task must run at the latest. */
  readonly dueAtMs: number;
  /** Failed tries of the handler so far; 0 unless the run is parked to be tried again. */
  readonly attempt: number;
  readonly message?: string;
  readonly graceMs: number;
  /**
   * The task begins anew: its journal is emptied, its open asks are closed, its generation grows, and the next run, due at once, is called
   * with these arguments, of that version of the tool if there is one, and without early replies. Entries, asks and message of the request are ignored.
   */
  readonly restart?: { readonly arguments: JsonObject; readonly version?: string };
}

export type Parked =
  | { readonly type: "parked" }
  /** An answer came since `begin`, or the task begins anew: the next run is due at once and the caller adds it. */
  | { readonly type: "due"; readonly run: number }
  | { readonly type: "refused" };

export interface Finish {
  readonly entries: readonly KeyedEntry[];
  readonly outcome: Outcome;
  readonly message?: string;
  readonly owes?: Exclude<Owed, "cancelled">;
  /** Of a child. */
  readonly parent?: AnsweredParent;
}

/** Whose call the end of a child answers. */
export interface AnsweredParent {
  readonly link: ParentLink;
  /**
   * How much children may tell a task until it restarts, in characters as the store packs them. Beyond, its call fails with JOURNAL_FULL: no run of the task is
   * there to see to its bounds, and its next one reads all of it at once.
   */
  readonly toldMax: number;
}

export interface AnswerRequest {
  readonly taskId: string;
  readonly key: string;
  /**
   * Digest of the ask that the answer was validated against. Absent when the ask was not open any more as the caller looked: nothing is
   * claimed then, and the recorded answer alone decides between `duplicate`, `late` and `unknown`.
   */
  readonly digest?: string;
  readonly answer: Answer;
  /** The principal that gives it, where that is not the owner. The same answer of another one is another answer. */
  readonly by?: string;
  readonly nowMs: number;
  readonly graceMs: number;
  /**
   * The answer was given on a page: it is compared as a bare acceptance, since a client that says `accept` once more says the same. `deposit` is
   * kept beside the journal until the task ends or restarts, if the answer is the one that counts.
   */
  readonly page?: { readonly deposit?: string };
  /**
   * For an ask that several must accept. `seen`: the revision at which the last of those whom the sender saw was counted, absent for none; where it
   * is another one by now, nothing changes and the receipt is `overtaken`. `acceptances`: with this answer, if it is one. While people are
   * `missing` the ask stays open and keeps them; else they are recorded with the answer.
   */
  readonly quorum?: { readonly seen?: number; readonly acceptances: readonly Acceptance[]; readonly missing: number };
  /** Set by the holder of the run when it closes an ask at its deadline: such an answer needs no further run. */
  readonly token?: string;
  /** Where a worker listens (RunQueue.lane): the store tells it of the run that the answer makes due. `nextRun` is absent when it heard. */
  readonly lane?: string;
  /** Written with what became of the answer, in one change. */
  readonly audit?: AuditFact;
}

export interface RefuseRequest {
  readonly taskId: string;
  readonly key: string;
  /** Digest of the ask that the reply was judged by. */
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
  readonly nextRun?: number;
}

export interface TaskPage {
  readonly tasks: readonly TaskSummary[];
  readonly nextCursor?: string;
}

export interface RunQueue {
  /**
   * Adds a run. Adding it twice for one cause is adding it once; `begin` settles what is added for several. The cause tells what somebody waits
   * for: runs of new tasks come behind all others, and among themselves in turns of those who share a place (`shareOf`).
   */
  add(run: RunRef & { readonly cause?: RunCause; readonly share?: string }): Promise<void>;
  /**
   * The name of a worker's ear for a run, for the store to tell it with the change that makes the run due; undefined where there is none, or
   * where others were waiting for a worker a moment ago. Faster than a queue, and as little the truth: a run that is told and not begun is found by
   * the sweep.
   */
  lane?(run: { readonly taskId: string; readonly cause: "created" | "answered"; readonly share?: string }): string | undefined;
}

/** Wake-ups, never the truth: a listener watches, then reads; one that is called reads again. Also called after a lost connection came back. */
export interface WakeUps {
  /**
   * Resolves once no later change can be missed. Call the returned function to stop. `onChange` gets what is known of the change; nothing when changes may
   * have been missed.
   */
  watch(taskId: string, onChange: (change?: TaskChange) => void): Promise<() => void>;
  /** Whether the task's wake-ups come to this process already, so that watching it costs no round trip. */
  isWatched(taskId: string): boolean;
  /** Tells every front end that a list has changed. */
  announce(announcement: Announcement): Promise<void>;
  onAnnouncement(listener: (announcement: Announcement) => void): Promise<() => void>;
}

/** A hint, for those who read again: whether they need to. */
export interface TaskChange {
  /** Which the task has reached with it. */
  readonly revision: number;
  /** The task has ended. */
  readonly isEnd: boolean;
}

/** What every client is told has changed: a list, or a resource by its uri. */
export type Announcement = { readonly type: "tools" | "prompts" | "resources" } | { readonly type: "resource"; readonly uri: string };

export interface Clock {
  now(): number;
  /** Resolves after `ms`, or at once when `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when everything that is ready to run has run (Node: setImmediate). */
  idle(): Promise<void>;
  /**
   * Calls back when every promise reaction that is ready has run, those that it leads to included, and nothing from outside has (Node: a tick
   * behind the microtask queue).
   */
  afterMicrotasks(callback: () => void): void;
}

/**
 * A value that follows the handler's own course through its awaits, timers and callbacks (Node: AsyncLocalStorage): tells which run, and which
 * part of it, a call comes from.
 */
export interface Scope {
  run<T>(value: object, work: () => T): T;
  get(): object | undefined;
  /** The value from here on, in everything that this synchronous code starts. */
  enter(value: object): void;
  /**
   * Which items of Promise.all, allSettled and any await what runs now, from the inside out, such as `1.0`; `""` where nothing tells. Costs some
   * microseconds (Node: the asynchronous part of a stack trace).
   */
  awaitedBy(): string;
}

export interface Ids {
  /**
   * A new task id with at least 128 bits of entropy (I10), for the tenant whose keys seal the task's content. Ids that are drawn for the same key
   * (`Once`) are of one partition. Throws CONTENT_KEY_MISSING.
   */
  taskId(tenant?: string, once?: string): string | Promise<string>;
  /** A fencing token, unique for the deployment's life. */
  token(): string;
  uuid(): string;
  /** In [0, 1). */
  random(): number;
}

/** What people left on pages, for the runs of their tasks alone. */
export interface Deposits {
  /** Throws DEPOSIT_UNREADABLE when it is gone, or sealed with a secret that this process does not have. */
  open(taskId: string, key: string): Promise<string>;
  /** Puts `text` in the place of `before`. False where something else is there by now, or nothing. Throws as `open`. */
  replace(taskId: string, key: string, before: string, text: string): Promise<boolean>;
}

/** What one process of all may do at a time, or once. Nothing is claimed longer than was asked for, so that a process that dies leaves nothing. */
export interface Claims {
  /** Whether the claim is `holder`'s now, for `ms`. */
  take(name: string, holder: string, ms: number): Promise<boolean>;
  /** Gives up what is still `holder`'s. */
  release(name: string, holder: string): Promise<void>;
}

/** OAuth providers, by the names that tools use. */
export interface OauthProviders {
  /** Throws GRANT_EXPIRED, PROVIDER_UNAVAILABLE, PROVIDER_INVALID, OAUTH_UNAVAILABLE for one that is not set up. */
  refresh(tokens: GrantedTokens): Promise<GrantedTokens>;
}

/** The tokens by which other systems tell of events. Nothing of them is stored. */
export interface EventTokens {
  /** The same one each time. Throws EVENTS_UNAVAILABLE where this process does not know at which address it can be used. */
  tokenOf(taskId: string, key: string): { readonly token: string; readonly url: string };
  /** Undefined for what this deployment never gave out. */
  read(token: string): { readonly taskId: string; readonly key: string } | undefined;
}

/** A short collision-free digest of a text, safe in a key. Of what was said in a task that is sealed it takes a key, which `taskId` names. */
export type Digest = (text: string, taskId?: string) => string;

/** Checks a value against a JSON Schema (2020-12); empty when it fits. */
export type ValidateSchema = (schema: JsonObject, value: unknown) => readonly Violation[];

/** Where the core tells what it does. Constant messages, data in fields; never arguments, answers or form content. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * What the use cases tell about their work, for metrics and traces. Services without one tell nothing, at no cost. No method throws, and
 * `work` is called once, at once; what is observed is never changed by it.
 */
export interface Observer {
  /** To be kept with a task that is created now; undefined while no traces are collected. */
  traceparent(): string | undefined;
  created(call: Call): void;
  /** Judging and recording one answer. `ask` is absent when none of that key is open. */
  answering(told: { readonly task: Task; readonly key: string; readonly ask?: Ask }, work: () => Promise<Receipt>): Promise<Receipt>;
  /** One run, from the moment at which it holds its task. */
  running(
    begun: Pick<Extract<Begun, { type: "begun" }>, "task" | "journal" | "journalSize" | "attempt" | "takeovers">,
    work: () => Promise<RunReport>,
  ): Promise<RunReport>;
}
