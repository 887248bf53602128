/**
 * What a task is: the one model that stores keep, dialects render and tools live in.
 *
 * A task is one durable call. Everything that a client can see of it is here; what only replay needs is in journal.ts.
 * All times are milliseconds since the Unix epoch, all durations are milliseconds.
 */

import type { FilesWanted } from "./files.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const TASK_STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
export type FinishedStatus = "completed" | "failed" | "cancelled";

export function isFinished(status: TaskStatus): status is FinishedStatus {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** What a client said that it can be asked for. `elicitation.form` is true for a bare `elicitation: {}`. */
export interface ClientCapabilities {
  readonly elicitation?: { readonly form: boolean; readonly url: boolean };
  readonly sampling?: { readonly tools: boolean };
  readonly roots?: boolean;
}

/** What was called, by whom, when: fixed when the task is created. Small, so that a look at the task costs little. */
export interface CallFacts {
  readonly kind: "tool" | "prompt";
  readonly name: string;
  /** Who called, and owns the task (I10, policy.ts). */
  readonly principal: string;
  /** Whom the principal belongs to; absent for the default tenant. */
  readonly tenant?: string;
  readonly capabilities: ClientCapabilities;
  readonly createdAtMs: number;
  /** How long a finished task can still be read. */
  readonly retentionMs: number;
  /** A task without a handle of its own: it carries a call of a client that does not speak tasks, and is never listed. */
  readonly hidden: boolean;
  /** The W3C traceparent under which all runs and answers of the task are told; absent while no traces are collected. */
  readonly traceparent?: string;
  /** Of the tool, when the task was made, or that it moved to; absent for a tool without versions. */
  readonly version?: string;
  /** Its tool says how to undo what was done, should the task not come to its result (Runnable.compensate). */
  readonly compensates?: true;
  /** Digest of what was called with which arguments, for the audit of its answers; absent while nothing is audited. */
  readonly binding?: string;
  /** The request of a session that a hidden task carries: what its answer and its progress are addressed to, on whichever front end. */
  readonly request?: { readonly id: string | number; readonly progressToken?: string | number };
}

/** Why a task came to its end without its result. */
export type Owed = "cancelled" | "failed" | "timeout";

/** The call with what its runs alone need, which may be large. */
export interface Call extends CallFacts {
  readonly arguments: JsonObject;
  /** Secret, drawn with the task: what `ctx.uuid` and `ctx.random` are derived from. */
  readonly seed: string;
  /** Replies that came with the call, by ask key, as the client sent them: an ask that finds a fitting one here is never put. */
  readonly replies?: JsonObject;
}

/** A task as clients may see it. */
export interface Task {
  readonly id: string;
  readonly call: CallFacts;
  readonly status: TaskStatus;
  /** Grows with every change. */
  readonly revision: number;
  /** The number of the last run that began; 0 before the first. */
  readonly run: number;
  readonly updatedAtMs: number;
  /** How often the handler has restarted itself with an empty journal. */
  readonly generation: number;
  /** Present while a task that has ended has still to be compensated: why. Nobody's client is told of it. */
  readonly owed?: Owed;
  /** How often in a row it was taken over without anything having been recorded or parked; absent for 0. */
  readonly takeovers?: number;
  /** When the store may forget the task; absent while the task is unfinished, which is never forgotten (I7). */
  readonly expiresAtMs?: number;
  /** What the tool says that it is doing. */
  readonly message?: string;
  /** Text for the model while the task waits. */
  readonly immediateResponse?: string;
  /** Open asks, in the order in which they were put. Empty unless the status is `input_required` (I3). */
  readonly asks: readonly Ask[];
  /** Open events: what the tool waits for from other systems. Nobody's client is told of them; absent for none. */
  readonly events?: readonly AwaitedEvent[];
  /**
   * In a caller's view (policy.ts): open asks that are put to others, and those of pages that somebody agreed to visit. `asks` are those that the
   * caller may answer and has to be asked. Never stored.
   */
  readonly asksOfOthers?: readonly Ask[];
  /** Present exactly when the task is `completed` or `failed`. */
  readonly outcome?: Outcome;
  /** Why what was said in the task cannot be read: asks, message and outcome are missing then. Nobody but its owner may learn of it. */
  readonly unreadable?: Unreadable;
}

/**
 * `key_missing`: sealed with a key that this process cannot get now. `erased`: the keys of its tenant were deleted, nobody will ever read it.
 * `damaged`: what is stored is not what was sealed.
 */
export type Unreadable = "key_missing" | "erased" | "damaged";

/** A task as its runs see it. */
export interface TaskAtWork extends Task {
  readonly call: Call;
}

export type Outcome =
  /** The tool's own result, `isError` or not, in MCP's shape (`CallToolResult` or `GetPromptResult`, without `resultType`). */
  | { readonly type: "result"; readonly result: JsonObject }
  /** The call itself failed: a JSON-RPC error. */
  | { readonly type: "error"; readonly error: RpcError };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** What a run waits for from outside. Its key is its name, with `#2`, `#3` … for later ones of that name: unique for the task's life. */
interface Awaited<Request> {
  readonly key: string;
  /** Digest of the request: an answer belongs to what was asked (I4). */
  readonly digest: string;
  /** Where in the handler's course it was put (journal.ts). */
  readonly calledAt: string;
  readonly request: Request;
  readonly askedAtMs: number;
  /** When the ask ends by its policy. */
  readonly deadlineMs: number;
  readonly onTimeout: TimeoutPolicy;
}

/** A question that a run put out. */
export interface Ask extends Awaited<AskRequest> {
  /** Who may answer; absent for the owner of the task. */
  readonly audience?: Audience;
  /**
   * Since when an open ask is as it is: the revision of the task that put it or last refused it, and its position among those that were put
   * with it. Later asks are behind earlier ones, so a pair of these says which of them a client has seen. Given by the store.
   */
  readonly since?: AskMoment;
  /** Replies that did not fit and whose sender could not be told: how many, and what was wrong with the last. The ask is put again. */
  readonly refused?: { readonly count: number; readonly violations: readonly Violation[] };
  /** The person agreed to visit the page that the ask is about (Page), and has not completed it yet. Given by the store. */
  readonly agreed?: true;
}

/**
 * Something outside that a run waits for, such as a payment: another system tells of it, by a token that the tool handed it (use-cases/receive-event.ts).
 * Stores keep it as they keep a question, under a key of its own kind, and the task stays `working`.
 */
export interface AwaitedEvent extends Awaited<EventRequest> {}

/** JSON Schema of what may be told. */
export interface EventRequest {
  readonly type: "event";
  readonly schema: JsonObject;
}

/** What runs put into the store. */
export type Open = Ask | AwaitedEvent;

/** Before the key of an event; no name has a colon. */
const EVENT = "event:";

export function eventKey(key: string): string {
  return `${EVENT}${key}`;
}

export function isEventKey(key: string): boolean {
  return key.startsWith(EVENT);
}

/** As a task shows them: questions, and events apart. */
export function split(open: readonly Open[]): Pick<Task, "asks" | "events"> {
  const events = open.filter((each) => isEvent(each));
  return { asks: open.filter((each): each is Ask => !isEvent(each)), ...(events.length > 0 && { events }) };
}

export function isEvent(open: Open): open is AwaitedEvent {
  return open.request.type === "event";
}

/** All of them together. */
export function openOf({ asks, events = [] }: Pick<Task, "asks" | "events">): readonly Open[] {
  return events.length === 0 ? asks : [...asks, ...events];
}

/** Those who may answer in place of the caller, all of the caller's tenant. */
export interface Audience {
  readonly to: "tenant" | Addressees;
  /** `caller`: not even if it is one of them. For four eyes. */
  readonly not?: "caller";
}

/** Anybody whom one of these names: as the identity provider names them. */
export interface Addressees {
  readonly people?: readonly string[];
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
}

export interface AskMoment {
  readonly revision: number;
  readonly position: number;
}

export type AskRequest =
  /** `hints`: how a page may show the question. Nothing that a person has to know to answer it. */
  | { readonly type: "form"; readonly message: string; readonly schema: JsonObject; readonly hints?: JsonObject }
  /**
   * With `page` it is one that Parley serves itself: `url` is empty where it is stored, and front ends say where the page is. With `completedBy` an event
   * of the same tool says when the person is done there. With either, a client's `accept` says no more than that the person agreed to go.
   */
  | {
      readonly type: "url";
      readonly message: string;
      readonly url: string;
      readonly hints?: JsonObject;
      readonly page?: Page;
      readonly completedBy?: "event";
    }
  /** MCP's `sampling/createMessage` params. */
  | { readonly type: "sampling"; readonly params: JsonObject }
  | { readonly type: "roots" };

/** What a page of Parley's own takes from the person (docs/pages.md). */
export type Page =
  /** One text that nobody but the run may read. */
  | { readonly kind: "secret" }
  /** Files, kept beside the task; the answer holds their references. */
  | ({ readonly kind: "files" } & FilesWanted);

/** What an ask becomes when nobody answers in time: an action, an accepted default, or a failure of the task. */
export type TimeoutPolicy = "cancel" | "decline" | "fail" | { readonly default: JsonObject };

export type Answer =
  /** `content` is present for forms and for what a page of Parley's own took, absent for other urls. */
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }
  /** The reply to a sampling or roots request, in MCP's shape. */
  | { readonly action: "reply"; readonly result: JsonObject }
  /** Nobody answered before the deadline; written by a worker, never by a client. */
  | { readonly action: "timeout" }
  /** The client cannot be asked that, and nobody else can; written by a front end, never by a client. */
  | { readonly action: "unavailable" }
  /** The handler no longer wants to know; never written by a client. */
  | { readonly action: "withdrawn" };

/** What became of an answer. */
export type Receipt =
  | { readonly type: "accepted" }
  /** The same answer was recorded before. */
  | { readonly type: "duplicate" }
  /** The ask was closed before, by another answer, its deadline, or the end of the task. */
  | { readonly type: "late" }
  /** The answer breaks the ask's schema; the ask stays open. */
  | { readonly type: "invalid"; readonly violations: readonly Violation[] }
  /** The ask is put to others; it stays open. */
  | { readonly type: "forbidden" }
  /** No ask of that key was ever put. */
  | { readonly type: "unknown" };

/** One thing that is wrong with a value. */
export interface Violation {
  /** JSON pointer of the field, `""` for the whole value. */
  readonly path: string;
  /** What was expected, as a sentence fragment: `must be at most 20`. */
  readonly message: string;
}

/** One line of a task's feed: what a run reported while it worked. */
export type FeedItem =
  | { readonly type: "progress"; readonly progress: number; readonly total?: number; readonly message?: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly data: Json; readonly logger?: string }
  /** The client need not hold its connection while the tool works on: for front ends, never told to a client. */
  | { readonly type: "release" }
  /** What MCP has no notification for: told to no MCP client, shown by pages and terminals that read the feed. */
  | { readonly type: "emit"; readonly kind: EmitKind; readonly data: JsonObject };

/** What readers of a feed may know how to show; one that they do not know they leave out. */
export type EmitKind = "stream" | "toast" | "thinking" | "artifact" | "ui" | "qr" | "render" | "canvas" | (string & {});

export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
