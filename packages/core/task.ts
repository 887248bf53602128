/**
 * What a task is: the one model that stores keep, dialects render and tools live in.
 *
 * A task is one durable call. Everything that a client can see of it is here; what only replay needs is in journal.ts.
 * All times are milliseconds since the Unix epoch, all durations are milliseconds.
 */

import type { FilesWanted } from "./files.ts";

/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** An object of JSON. */
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
  /** As Caller.person. */
  readonly person?: string;
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
  /** The task whose tool called this one (`ctx.call`); absent for a call of a client. */
  readonly parent?: ParentLink;
  /** Digest of what was called with which arguments, for the audit of its answers; absent while nothing is audited. */
  readonly binding?: string;
  /** The request of a session that a hidden task carries: what its answer and its progress are addressed to, on whichever front end. */
  readonly request?: { readonly id: string | number; readonly progressToken?: string | number };
}

/** What a child task knows of the task that called it. */
export interface ParentLink {
  readonly taskId: string;
  /** The key of the call within the parent: its name, with `#2`, `#3` … for later ones of that name. */
  readonly key: string;
  /** The task that a client called, at the top: it shows what the child asks. */
  readonly rootId: string;
  /** 1 for a child of the root. */
  readonly depth: number;
  /** Keys of the calls from the root down to this one, joined by colons: in front of what the child asks, where the root shows it. */
  readonly path: string;
}

/** How deep tools may call each other: tools that call in a circle come to an end. */
export const CALL_DEPTH_MAX = 5;
/** Unfinished tasks below the task that a client called, at all depths together: as many end together with it, in one change of the store. */
export const CHILDREN_MAX = 1_000;
/** Questions of children that a task shows at once, the oldest first. */
export const SHOWN_OF_CHILDREN_MAX = 1_000;

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
  /** Children that the tool has called and that have not ended. Nobody's client is told of them; absent for none. */
  readonly calls?: readonly AwaitedCall[];
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
  /** Who has accepted so far, each once, in this order; only where the audience has a quorum. No caller is shown it (policy.ts). Given by the store. */
  readonly accepted?: { readonly revision: number; readonly acceptances: readonly Acceptance[] };
  /** In a caller's view, of an ask that has a quorum: how many of its `audience.quorum` people have accepted, and whether the caller is one of them. */
  readonly tally?: { readonly accepted: number; readonly mine: boolean };
  /** Replies that did not fit and whose sender could not be told: how many, and what was wrong with the last. The ask is put again. */
  readonly refused?: { readonly count: number; readonly violations: readonly Violation[] };
  /** The person agreed to visit the page that the ask is about (Page), and has not completed it yet. Given by the store. */
  readonly agreed?: true;
  /** The ask is that of a child, under its key there, which the task shows as its own. Given by the store. */
  readonly route?: { readonly taskId: string; readonly key: string };
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

/** A child that a run waits for. Its digest is the child's id, which follows from the call: another call is another child. */
export interface AwaitedCall extends Awaited<CallRequest> {}

export interface CallRequest {
  readonly type: "call";
  readonly tool: string;
}

/** What runs put into the store. */
export type Open = Ask | AwaitedEvent | AwaitedCall;

/** Before the key of an event; no name has a colon. */
const EVENT = "event:";

export function eventKey(key: string): string {
  return `${EVENT}${key}`;
}

export function isEventKey(key: string): boolean {
  return key.startsWith(EVENT);
}

/** Before the key of a call. */
const CALL = "call:";

export function callKey(key: string): string {
  return `${CALL}${key}`;
}

/** Whether it is the key of something that no client answers: an event, or a call. */
export function isInternalKey(key: string): boolean {
  return key.startsWith(EVENT) || key.startsWith(CALL);
}

/** The key under which the root shows what a child asks. No name has a colon, so it is no other key of the root. */
export function shownKey({ path }: Pick<ParentLink, "path">, key: string): string {
  return `${path}:${key}`;
}

/** As a task shows them: questions, and events and calls apart. */
export function split(open: readonly Open[]): Pick<Task, "asks" | "events" | "calls"> {
  const asks = open.filter(isQuestion);
  if (asks.length === open.length) return { asks };
  const events = open.filter((each) => each.request.type === "event") as readonly AwaitedEvent[];
  const calls = open.filter((each) => each.request.type === "call") as readonly AwaitedCall[];
  return { asks, ...(events.length > 0 && { events }), ...(calls.length > 0 && { calls }) };
}

/** Somebody is asked, rather than something is waited for. */
export function isQuestion(open: Open): open is Ask {
  return open.request.type !== "event" && open.request.type !== "call";
}

/** All of a task's own together: what it shows of its children is theirs. */
export function openOf({ asks, events = [], calls = [] }: Pick<Task, "asks" | "events" | "calls">): readonly Open[] {
  const own = asks.some(({ route }) => route) ? asks.filter(({ route }) => !route) : asks;
  return events.length === 0 && calls.length === 0 ? own : [...own, ...events, ...calls];
}

/** Those who may answer in place of the caller, all of the caller's tenant. */
export interface Audience {
  readonly to: "tenant" | Addressees;
  /** `caller`: not even if it is one of them. For four eyes. */
  readonly not?: "caller";
  /** How many different people must accept, 2 or more (quorum.ts); absent where one answer settles the ask. */
  readonly quorum?: number;
}

/** One person's acceptance of an ask that several must accept. */
export type Acceptance = {
  /** The principal; absent for the owner of the task. */
  readonly by?: string;
  /** As Caller.person. */
  readonly person?: string;
  readonly content: JsonObject;
  readonly atMs: number;
};

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
  | ({ readonly kind: "files" } & FilesWanted)
  /** What the person may do at an OAuth provider, done in their name by the tool. The answer says which scopes were granted; tokens are deposited. */
  | { readonly kind: "oauth"; readonly provider: string; readonly scopes: readonly string[] }
  /**
   * Somebody else's page, from which the person comes back to Parley: `returnTo` is the parameter of its url that says where. The answer holds the `query` that
   * they come back with.
   */
  | { readonly kind: "visit"; readonly url: string; readonly returnTo: string };

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
  /** `missing`: how many people must accept before it settles the ask; absent for none. */
  | { readonly type: "accepted"; readonly missing?: number }
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
  /** The page of that ask was visited to its end, says who serves it: a client may take its link away. */
  | { readonly type: "visited"; readonly key: string }
  /** What MCP has no notification for: told to no MCP client, shown by pages and terminals that read the feed. */
  | { readonly type: "emit"; readonly kind: EmitKind; readonly data: JsonObject };

/** What readers of a feed may know how to show; one that they do not know they leave out. */
export type EmitKind = "stream" | "toast" | "thinking" | "artifact" | "ui" | "qr" | "render" | "canvas" | (string & {});

export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
/** Severities of a log message, as RFC 5424 and MCP name them, the least first. */
export type LogLevel = (typeof LOG_LEVELS)[number];
