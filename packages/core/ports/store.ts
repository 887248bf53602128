/**
 * The port to the store of tasks.
 *
 *   P1  Each method is one atomic change that decides every race itself and returns how the race went.
 *   P2  A write of a run carries the token of its `begin`, and is refused once another run holds the task (I5).
 *   P3  A change that makes a task due says so in the same change: the sweep adds the run if the caller dies before it does (I6).
 */
import type { AnswerGiver, AskedRequest, AskOrder, AskPlace, SettledAsk } from "../callers/open-asks.ts";
import type { AuditFact } from "../callers/audit.ts";
import type { QuorumSoFar } from "../callers/quorum.ts";
import type { Over, TaskQuotas } from "../callers/quotas.ts";
import type { Given, Journal, JournalLine, KeyedEntry } from "../journal.ts";
import type {
  Answer,
  Ask,
  AskThread,
  AwaitedCall,
  Call,
  CallFacts,
  FeedItem,
  Open,
  Outcome,
  Owed,
  ParentLink,
  Receipt,
  Task,
  TaskAtWork,
  ThreadEntry,
  Unreadable,
} from "../task.ts";
import type { TaskSummary } from "../task/summary.ts";
import type { JsonObject } from "../values/json.ts";
import type { Violation } from "../values/schema-violation.ts";
import type { Cancelled, Fenced, OverdueRun, Refused, RefusedReason, RunRef } from "./runs.ts";

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
   * Returns open asks in the given order, each with who called what, and without what a list does not show: refused answers, agreed visits, anything
   * else of its task. Undefined for what is not open, cannot be read, or is shown for a child.
   */
  openAsks(places: readonly Pick<AskPlace, "taskId" | "key">[]): Promise<readonly (OpenAsk | undefined)[]>;

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

  /**
   * Writes what people did around an open ask, if `seen` is still the revision of its thread. `overtaken`: another write
   * came first, so the caller reads again. `late`: the ask is no longer open.
   */
  writeThread(request: ThreadRequest): Promise<"accepted" | "overtaken" | "late">;

  /** Returns what people did around an ask, the oldest first; empty if nobody did anything, and for an ask that does not exist. */
  thread(taskId: string, key: string): Promise<readonly ThreadEntry[]>;

  /**
   * Its call ends in words: gives a hidden task a handle, so that it is in its owner's list from then on, and notes that its client can be asked nothing
   * any more. Changes nothing else, and no other task.
   */
  reveal(taskId: string, nowMs: number): Promise<void>;

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
  overdue(request: { readonly partition: number; readonly nowMs: number; readonly limit: number }): Promise<readonly OverdueRun[]>;

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
   * Lists open asks whose audience has at least one of these names: an index that narrows and never grants (open-asks.ts).
   * Fewer than `limit` means that there are no more. Asks without an audience are not in it.
   */
  asked(request: AskedRequest): Promise<readonly AskPlace[]>;

  /**
   * Lists open asks of a principal's own tasks, hidden ones apart: of about the newest `tasksMax` tasks, in no order. Those of a child are at the
   * child. Narrows as `asked` does. A place may be one of a moment ago.
   */
  ownAsked(request: { readonly principal: string; readonly order: AskOrder; readonly tasksMax: number }): Promise<readonly AskPlace[]>;

  /**
   * Lists asks that this person has answered (`AnswerRequest.giver`), by the time of the answer, the newest first:
   * the newest ANSWERED_MAX of each partition, also those whose tasks are gone. `after`: only behind this place.
   */
  answered(request: AnswerGiver & { readonly limit: number; readonly after?: AskPlace }): Promise<readonly AskPlace[]>;

  /**
   * Returns how an ask was settled; undefined while it is open, if the task never asked it, and once the task has
   * restarted or is gone. `names` are those of the caller (namesOfCaller), of this tenant.
   */
  settledAsk(request: {
    readonly taskId: string;
    readonly key: string;
    readonly tenant?: string;
    readonly names: readonly string[];
  }): Promise<SettledAsk | undefined>;

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

/** What decides who may answer an ask, and what a list shows of it. */
export interface OpenAsk {
  readonly call: AskingCall;
  readonly ask: Ask;
}

/** What does not change while the task is there. */
export type AskingCall = Omit<CallFacts, "retentionMs" | "version" | "parent">;

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

/** What others may hear of what happens around an ask. */
export type ThreadNews = "claimed" | "released" | "commented" | "reminded" | "escalated";

export interface ThreadRequest {
  readonly taskId: string;
  readonly key: string;
  /** Of the ask that was read (I4). */
  readonly digest: string;
  /** `AskThread.revision` as it was read; absent if there was none. */
  readonly seen?: number;
  readonly thread: Omit<AskThread, "revision">;
  /** To whom it is handed on or escalated: the ask is found under these names too, as namesOfAudience returns them. */
  readonly handedTo?: readonly string[];
  /** Of the ask: where it stands under these names. */
  readonly places?: Pick<Ask, "askedAtMs" | "deadlineMs" | "request">;
  /** The ask with its new deadline: the task becomes due then, if that is sooner. */
  readonly moved?: Pick<Ask, "askedAtMs" | "deadlineMs" | "request">;
  /** What the outbox says of it, besides to whom it is handed on. */
  readonly tells?: readonly ThreadNews[];
  /** The task's tenant, in which those are; absent for the default one. */
  readonly tenant?: string;
  /** All of it. */
  readonly history: readonly ThreadEntry[];
  readonly nowMs: number;
  readonly audit?: AuditFact;
}

/** The task that was created earlier with the same idempotency key, and the fingerprint of its call. */
export interface Known {
  readonly known: string;
  readonly fingerprint: string;
}

export type TaskRecord =
  | { readonly type: "recorded"; readonly task: TaskAtWork; readonly journal: Journal }
  /** `task`: what is stored in the clear. */
  | { readonly type: "unreadable"; readonly task: Task; readonly reason: Unreadable };

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
  /** The task's tenant, in which asks to others are found; absent for the default one. */
  readonly tenant?: string;
  readonly leaseMs: number;
}

export interface ParkRequest extends Fenced {
  readonly entries: readonly KeyedEntry[];
  /**
   * All asks that are open for this run. Asks that are already open, or were answered in the meantime, stay as they
   * are.
   */
  readonly asks: readonly Open[];
  /** As for RecordRequest. */
  readonly tenant?: string;
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
  /** Who gave it as people read it, and when; recorded with the answer. */
  readonly given?: Given;
  /** In whose list of answers it is kept if it counts. Absent: in nobody's. */
  readonly giver?: AnswerGiver;
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
  readonly quorum?: QuorumSoFar;
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
  readonly receipt: Exclude<Receipt["type"], "invalid" | "login_required"> | "overtaken";
  /** The run that the caller must add. */
  readonly nextRun?: number;
}

export interface TaskPage {
  readonly tasks: readonly TaskSummary[];
  readonly nextCursor?: string;
}
