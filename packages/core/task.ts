/**
 * The task: the one model that stores keep, dialects encode and tools work in.
 *
 * A task is one durable tool call. This file holds everything that its client can see; what only replay needs is in
 * journal.ts. Times are milliseconds since the Unix epoch, durations are milliseconds.
 */

import type { Json, JsonObject } from "./values/json.ts";
import type { Violation } from "./values/schema-violation.ts";

export type { Json, JsonObject } from "./values/json.ts";
export type { Violation } from "./values/schema-violation.ts";

export const TASK_STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
export type FinishedStatus = "completed" | "failed" | "cancelled";

export function isFinished(status: TaskStatus): status is FinishedStatus {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The requests that a client declared it can handle. `elicitation.form` is true for a bare `elicitation: {}`. */
export interface ClientCapabilities {
  readonly elicitation?: { readonly form: boolean; readonly url: boolean };
  readonly sampling?: { readonly tools: boolean };
  readonly roots?: boolean;
  /** It shows views of servers (MCP Apps). No ask needs it. */
  readonly views?: boolean;
}

/** What is kept of them with a call: no view is shown by a task. */
export function withoutViews({ views: _views, ...requests }: ClientCapabilities): ClientCapabilities {
  return requests;
}

/** Who called what, and when; fixed when the task is created, except that a call may end in words (Store.reveal). Small, so that reading a task's state is cheap. */
export interface CallFacts {
  readonly kind: "tool" | "prompt";
  readonly name: string;
  /** The caller, which owns the task (I10, policy.ts). */
  readonly principal: string;
  /** See Caller.person. */
  readonly person?: string;
  /** Absent for a caller without an identity, in a task whose content cannot be read, and in tasks of earlier versions. */
  readonly caller?: CallerNames;
  /** The tenant of the principal; absent for the default tenant. */
  readonly tenant?: string;
  /** What its client can be asked; nothing any more once the call has ended in words (Store.reveal). */
  readonly capabilities: ClientCapabilities;
  readonly createdAtMs: number;
  /** How long the finished task can be read. */
  readonly retentionMs: number;
  /** The task has no handle: it belongs to a call from a client that does not speak tasks, and is not listed (Store.reveal). */
  readonly hidden: boolean;
  /** The W3C traceparent of the task's runs and answers; absent while no traces are collected. */
  readonly traceparent?: string;
  /**
   * Version of the tool that the task runs on: the one it was created with or moved to. Absent for a tool without
   * versions.
   */
  readonly version?: string;
  /** The tool can undo its work if the task ends without its result (Runnable.compensate). */
  readonly compensates?: true;
  /** What only runs read is kept after the end as well: arguments, journal and feed, as long as the task. */
  readonly keepsContent?: true;
  /** The task whose tool called this one (`ctx.call`); absent for a client's call. */
  readonly parent?: ParentLink;
  /**
   * Digest of the called tool and its arguments, for the audit records of its answers; absent while there is no
   * audit.
   */
  readonly binding?: string;
  /**
   * The session request that a hidden task answers: any front end addresses the result and the progress to it. A task
   * with a handle has it only if its call gave a progress token.
   */
  readonly request?: { readonly id: string | number; readonly progressToken?: string | number };
  /** Digest of the id of the session that called; absent for a call without a session. */
  readonly session?: string;
}

/**
 * What a caller was called when it called, as its identity provider says: for people to read, and for tools. Nothing
 * decides by it, because many providers let people choose their name.
 */
export interface CallerNames {
  /** See Given.name. */
  readonly name?: string;
  /** Verified by the provider. */
  readonly email?: string;
  /** Unlike a name, the provider never gives it to somebody else. Absent for a machine with an API key. */
  readonly subject?: string;
}

/** What a child knows of its parent. */
export interface ParentLink {
  readonly taskId: string;
  /** The key of the call in the parent: its name, with `#2`, `#3` … for later calls of that name. */
  readonly key: string;
  /** The task that a client called. It shows the child's questions. */
  readonly rootId: string;
  /** 1 for a child of the root. */
  readonly depth: number;
  /**
   * Keys of the calls from the root down to this one, joined by colons. Prefixes the child's questions where the root
   * shows them.
   */
  readonly path: string;
}

/** Maximum depth of calls between tools, so that tools that call each other in a circle end. */
export const CALL_DEPTH_MAX = 5;
/**
 * Maximum number of unfinished tasks below a root, at all depths together. One change of the store ends all of them
 * with the root.
 */
export const CHILDREN_MAX = 1_000;
/** Maximum number of children's questions that a root shows at once, the oldest first. */
export const SHOWN_OF_CHILDREN_MAX = 1_000;

/** Why a task ended without its result. */
export type Owed = "cancelled" | "failed" | "timeout";

/** Groups and roles of a caller, or more of them than are kept (callers/membership.ts). */
export type Membership = { readonly groups: readonly string[]; readonly roles: readonly string[] } | "too many";

export const CALL_REASON_CHARS_MAX = 500;

/** The call, with everything that only its runs need and that may be large. */
export interface Call extends CallFacts {
  readonly arguments: JsonObject;
  /** Secret, drawn with the task. `ctx.uuid` and `ctx.random` are derived from it. */
  readonly seed: string;
  /** Of the caller when the call was made; absent if no rule asked for it then. A child has its parent's. */
  readonly membership?: Membership;
  /** Why it is made, in the caller's own words: for people who approve it. At most CALL_REASON_CHARS_MAX characters. */
  readonly reason?: string;
  /** Early replies by ask key, as the client sent them. An ask with a valid reply here is never asked. */
  readonly replies?: JsonObject;
}

/** A task as clients may see it. */
export interface Task {
  readonly id: string;
  readonly call: CallFacts;
  readonly status: TaskStatus;
  /** Increases with every change that clients can see. */
  readonly revision: number;
  /** Number of the last run that began; 0 before the first. */
  readonly run: number;
  readonly updatedAtMs: number;
  /** How often the task has restarted with an empty journal. */
  readonly generation: number;
  /** Why an ended task still has to be compensated; absent otherwise. Not shown to clients. */
  readonly owed?: Owed;
  /** Consecutive takeovers without anything recorded or parked in between; absent for 0. */
  readonly takeovers?: number;
  /**
   * When the store may delete the task. Absent while the task is unfinished, because unfinished tasks never expire
   * (I7).
   */
  readonly expiresAtMs?: number;
  /** The tool's status message. */
  readonly message?: string;
  /** Text for the model while the task waits. */
  readonly immediateResponse?: string;
  /** Open asks, in the order in which they were asked. Empty unless the status is `input_required` (I3). */
  readonly asks: readonly Ask[];
  /** Events that the tool waits for; absent for none. Not shown to clients. */
  readonly events?: readonly AwaitedEvent[];
  /** Unfinished children; absent for none. Not shown to clients. */
  readonly calls?: readonly AwaitedCall[];
  /**
   * In a caller's view (policy.ts), open asks that the caller need not be asked: those with another audience, and
   * those whose page the person has agreed to visit. `asks` then holds only the others. Never stored.
   */
  readonly asksOfOthers?: readonly Ask[];
  /** Present exactly if the task is `completed` or `failed`. */
  readonly outcome?: Outcome;
  /** Why the task's content cannot be read; asks, message and outcome are then missing. Shown to the owner only. */
  readonly unreadable?: Unreadable;
}

/**
 * - `key_missing`: this process cannot get the key that the content is sealed with.
 * - `erased`: the tenant's keys were deleted, so the content can never be read again.
 * - `damaged`: the stored bytes are not what was sealed.
 */
export type Unreadable = "key_missing" | "erased" | "damaged";

/** A task as its runs see it. */
export interface TaskAtWork extends Task {
  readonly call: Call;
}

export type Outcome =
  /**
   * The tool's own result, whether or not it has `isError`, in MCP's shape (`CallToolResult` or `GetPromptResult`,
   * without `resultType`).
   */
  | { readonly type: "result"; readonly result: JsonObject }
  /** The call itself failed with a JSON-RPC error. */
  | { readonly type: "error"; readonly error: RpcError };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/**
 * Something that a run waits for. `key` is its name, with `#2`, `#3` … for later ones of that name; it is unique for
 * the task's life.
 */
interface Awaited<Request> {
  readonly key: string;
  /** Digest of the request: an answer belongs to exactly what was asked (I4). */
  readonly digest: string;
  /** Where in the handler's course it was called (journal.ts). */
  readonly calledAt: string;
  readonly request: Request;
  readonly askedAtMs: number;
  /** When `onTimeout` takes effect. */
  readonly deadlineMs: number;
  readonly onTimeout: TimeoutPolicy;
}

/** A question that a run asks. */
export interface Ask extends Awaited<AskRequest> {
  /** Who may answer; absent for the owner of the task. */
  readonly audience?: Audience;
  /**
   * When the ask took its present form: the task's revision when it was asked or last refused, and its position among
   * the asks of that revision. Moments only grow, so one moment says which asks a client has seen. Set by the store.
   */
  readonly since?: AskMoment;
  /**
   * Only with a quorum: who has accepted so far, in order, each person once. Removed from what callers see
   * (policy.ts). Set by the store.
   */
  readonly accepted?: { readonly revision: number; readonly acceptances: readonly Acceptance[] };
  /**
   * In a caller's view of an ask with a quorum: how many of the required people have accepted, and whether the caller
   * is one of them.
   */
  readonly tally?: { readonly accepted: number; readonly mine: boolean };
  /**
   * Invalid replies whose senders could not be notified: their number and the violations of the last. The question is
   * asked again.
   */
  readonly refused?: { readonly count: number; readonly violations: readonly Violation[] };
  /** The person agreed to visit the ask's page and has not completed it. Set by the store. */
  readonly agreed?: true;
  /** In a caller's view: the caller may answer it, but through another door than this one (callers/assurance.ts). */
  readonly elsewhere?: true;
  /** What people do around the ask besides answering it; absent while nobody has. Set by the store. */
  readonly thread?: AskThread;
  /** The ask belongs to a child: the child's id, and the ask's key there. Set by the store. */
  readonly route?: { readonly taskId: string; readonly key: string };
}

/**
 * Something outside that a run waits for, such as a payment. Another system reports it with a token that it received
 * from the tool (use-cases/receive-event.ts). Stores keep an event like an ask, under a prefixed key, and the task
 * stays `working`.
 */
export interface AwaitedEvent extends Awaited<EventRequest> {}

/** JSON Schema of what may be reported. */
export interface EventRequest {
  readonly type: "event";
  readonly schema: JsonObject;
}

/**
 * A child that a run waits for. The digest is the child's id, which is derived from the call: a different call is a
 * different child.
 */
export interface AwaitedCall extends Awaited<CallRequest> {}

export interface CallRequest {
  readonly type: "call";
  readonly tool: string;
}

/** Everything that a run can have open in the store. */
export type Open = Ask | AwaitedEvent | AwaitedCall;

/** Prefix of event keys. Names have no colon. */
const EVENT = "event:";

export function eventKey(key: string): string {
  return `${EVENT}${key}`;
}

/** Prefix of call keys. */
const CALL = "call:";

export function callKey(key: string): string {
  return `${CALL}${key}`;
}

/** Whether the key belongs to an event or a call, which no client answers. */
export function isInternalKey(key: string): boolean {
  return key.startsWith(EVENT) || key.startsWith(CALL);
}

/**
 * The key under which the root shows a child's ask. Names have no colon, so it differs from all keys of the root's
 * own asks.
 */
export function shownKey({ path }: Pick<ParentLink, "path">, key: string): string {
  return `${path}:${key}`;
}

/** Separates asks, events and calls. */
export function split(open: readonly Open[]): Pick<Task, "asks" | "events" | "calls"> {
  const asks = open.filter(isQuestion);
  const events = open.filter((each) => each.request.type === "event") as readonly AwaitedEvent[];
  const calls = open.filter((each) => each.request.type === "call") as readonly AwaitedCall[];
  return { asks, ...(events.length > 0 && { events }), ...(calls.length > 0 && { calls }) };
}

/** Whether it is a question to a person, and not an event or a call. */
export function isQuestion(open: Open): open is Ask {
  return open.request.type !== "event" && open.request.type !== "call";
}

/** Everything that the task itself has open, without the asks that it shows for its children. */
export function openOf({ asks, events = [], calls = [] }: Pick<Task, "asks" | "events" | "calls">): readonly Open[] {
  return [...asks.filter(({ route }) => !route), ...events, ...calls];
}

/** Those who may answer in place of the caller. All of them belong to the caller's tenant. */
export interface Audience {
  readonly to: "tenant" | Addressees;
  /** `caller`: excludes the caller even if `to` includes it, for the four-eyes principle. */
  readonly not?: "caller";
  /** How many different people must accept, at least 2 (quorum.ts). Absent: one answer settles the ask. */
  readonly quorum?: number;
}

/** One person's acceptance of an ask with a quorum. */
export type Acceptance = {
  /** The principal; absent for the owner of the task. */
  readonly by?: string;
  /** See Caller.person. */
  readonly person?: string;
  /** See Given.name. */
  readonly name?: string;
  /** See Given.delegatedBy. */
  readonly delegatedBy?: Participant;
  readonly content: JsonObject;
  readonly atMs: number;
  /** See Given.assurance. */
  readonly assurance?: Assurance;
  /** See Given.login. */
  readonly login?: LoginFacts;
};

/** What every reader of an open ask sees of what people do around it (callers/threads.ts). */
export interface AskThread {
  /** The task's revision at the last change. */
  readonly revision: number;
  /** Who is on it. Whoever may answer still may. */
  readonly claim?: ThreadClaim;
  readonly comments: number;
  /** Parts that were handed on: at most one of each person (callers/seats.ts). */
  readonly delegations?: readonly Delegation[];
  /** To whom parts were handed before they went to others; absent for nobody. */
  readonly handedBefore?: readonly Addressees[];
  /** How often parts of the ask were handed on; absent for never. */
  readonly delegated?: number;
  /** How many times of `remindMs` are over, and when people were last reminded; absent for never. */
  readonly reminded?: { readonly count: number; readonly atMs: number };
  /** To whom it was escalated, a step each (asks/prompts.ts); absent for nobody. */
  readonly escalatedTo?: readonly Audience["to"][];
  /** What somebody wants to know before they answer, as long as the person who made the call has not replied. */
  readonly askedBack?: AskedBack;
  /** For how long the deadline has stood still so far; absent for never. */
  readonly pausedMs?: number;
}

/** The last question, if there were several since the last reply. */
export interface AskedBack extends Participant {
  readonly atMs: number;
  readonly text: string;
  /** Since when a reply is wanted. */
  readonly sinceMs: number;
  /** By how much the deadline is put off until then: the longest time for which it stands still. Absent if it does not. */
  readonly pauseMs?: number;
}

/** Who may answer in whose place. */
export interface Delegation {
  readonly from: Participant;
  readonly to: Addressees;
}

/** A person who did something around an ask. */
export type Participant = {
  /** The principal. */
  readonly by: string;
  /** See Caller.person. */
  readonly person?: string;
  /** See Given.name. */
  readonly name?: string;
};

export interface ThreadClaim extends Participant {
  readonly untilMs: number;
}

/** One thing that happened around an ask. */
export type ThreadEntry = { readonly atMs: number } & (
  | { readonly what: "asked" }
  | (Participant & { readonly what: "claimed"; readonly untilMs: number })
  | (Participant & { readonly what: "released" })
  /** `as`: a question to the person who made the call, or that person's reply. Versions that do not know this read a comment. */
  | (Participant & { readonly what: "commented"; readonly text: string; readonly as?: "askedBack" | "replied" })
  /** `from`: whose part it is, if that is another person. */
  | (Participant & { readonly what: "delegated"; readonly to: Addressees; readonly reason: string; readonly from?: Participant })
  /** By nobody, as its tool asked for. */
  | { readonly what: "reminded" }
  | { readonly what: "escalated"; readonly to: Audience["to"] }
);

/** Anyone who matches at least one of these names, as the identity provider spells them. */
export interface Addressees {
  /** `email:ada@acme.io`, `sub:7f3a`, `username:ada` or `api-key:nightly`; without a type, a subject or a verified email (names.ts). */
  readonly people?: readonly string[];
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
}

export interface AskMoment {
  readonly revision: number;
  readonly position: number;
}

export type AskRequest =
  /** `hints` says how a page may show the question. Nothing in it is needed to answer. */
  | {
      readonly type: "form";
      readonly message: string;
      readonly schema: JsonObject;
      readonly hints?: JsonObject;
      readonly about?: AskAbout;
    }
  /**
   * `page`: the page is Parley's own. `url` is empty in the store, and front ends fill it in. `completedBy`: an event
   * of the same tool reports that the person is done; or, never stored, the question has a form, and this is its page, for
   * clients that show no forms. With any of them, a client's `accept` only says that the person agreed to go there.
   */
  | {
      readonly type: "url";
      readonly message: string;
      readonly url: string;
      readonly hints?: JsonObject;
      readonly page?: Page;
      readonly completedBy?: "event" | "form";
      readonly about?: AskAbout;
    }
  /** The params of MCP's `sampling/createMessage`. */
  | { readonly type: "sampling"; readonly params: JsonObject }
  | { readonly type: "roots" };

/** What a tool says about a question besides asking it (asks/about.ts). */
export interface AskAbout {
  /** Absent for `normal`. */
  readonly priority?: Exclude<Priority, "normal">;
  /** When an answer is wanted, in milliseconds after the question was asked. Nothing happens then: `deadlineMs` is the end. */
  readonly dueMs?: number;
  /** What a person should see to decide. */
  readonly context?: readonly ContextPart[];
  /** How somebody must have been identified for their answer to count. Absent: as any answer. */
  readonly assurance?: RequiredAssurance;
  /** What those who are asked may do besides answering. */
  readonly allow?: readonly Allowance[];
  /** When those who have not answered are reminded, in milliseconds after the question was asked, in order. */
  readonly remindMs?: readonly number[];
  /** Who is asked as well while nobody has answered, in order. */
  readonly escalate?: readonly Escalation[];
  /** A rule asks whether a call may be made, and not the tool. */
  readonly isApproval?: true;
  /** Which part of `context`, from 0, the owner of the task does not read unless they are asked: it shows another caller's call. */
  readonly notForOwner?: number;
}

/** One step: so long after the question was asked, these may answer too. */
export interface Escalation {
  readonly afterMs: number;
  readonly to: Audience["to"];
}

/**
 * `delegate`: hand their part on to others. `askBack`: ask the person who made the call something before they answer. `pause`: while that person has not
 * replied, the deadline stands still.
 */
export const ALLOWANCES = ["delegate", "askBack", "pause"] as const;
/** One of ALLOWANCES. */
export type Allowance = (typeof ALLOWANCES)[number];

/**
 * How somebody was identified, the least certain first. `model`: by the host of a model, which wrote their words into a call. `token`: by a client
 * that has a token of theirs, or by a proxy. `login`: by their own login in a browser.
 */
export const ASSURANCES = ["model", "token", "login"] as const;
/** One of ASSURANCES. */
export type Assurance = (typeof ASSURANCES)[number];

/** What a provider states of a login. Source: OpenID Connect Core 1.0, 2 (`auth_time`, `acr`, `amr`); RFC 9068, 2.2.1; RFC 9470. */
export type LoginFacts = {
  /** When the person last logged in at the provider. */
  readonly atMs?: number;
  readonly acr?: string;
  readonly amr?: string[];
};

/** What the identification of whoever answers must be (callers/assurance.ts). */
export interface RequiredAssurance {
  /** At least so. */
  readonly by: Exclude<Assurance, "model">;
  /** With `login`: how long ago they may have logged in at their provider. */
  readonly withinMs?: number;
  /** With `login`: one of these classes, as the provider states it (OpenID Connect, `acr`). */
  readonly acr?: readonly string[];
  /** With `login`: all of these methods (`amr`). */
  readonly amr?: readonly string[];
}

/** How soon people should answer, the soonest first. */
export const PRIORITIES = ["urgent", "high", "normal", "low"] as const;
/** One of PRIORITIES. */
export type Priority = (typeof PRIORITIES)[number];

/** One thing that a person should see to decide. `title` is shown above it. */
export type ContextPart =
  | { readonly type: "text"; readonly title?: string; readonly text: string }
  /** Every row has a cell for each column. */
  | {
      readonly type: "table";
      readonly title?: string;
      readonly columns: readonly string[];
      readonly rows: readonly (readonly (string | number)[])[];
    }
  /** `title` says where the link leads, or what the picture shows. */
  | { readonly type: "link" | "picture"; readonly title: string; readonly url: string }
  /** Two versions of a text, compared line by line. */
  | { readonly type: "diff"; readonly title?: string; readonly before: string; readonly after: string };

/** What a page of Parley's own collects (docs/pages.md). */
export type Page =
  /** One string that only the run may read. */
  | { readonly kind: "secret" }
  /** Files, stored beside the task. The answer holds references to them. */
  | ({ readonly kind: "files" } & FilesWanted)
  /**
   * Consent at an OAuth provider, so that the tool can act in the person's name. The answer holds the granted scopes,
   * the deposit the tokens. With `keep`, the tokens are kept for later tasks of the same owner instead of deposited, and
   * the answer holds the id of the consent.
   */
  | { readonly kind: "oauth"; readonly provider: string; readonly scopes: readonly string[]; readonly keep?: GrantKeeping }
  /**
   * A page elsewhere, from which the person returns to Parley. `returnTo` names the parameter of the page's URL that
   * carries the way back. The answer holds the `query` with which the person returned.
   */
  | { readonly kind: "visit"; readonly url: string; readonly returnTo: string };

/** What a page for files accepts. */
export interface FilesWanted {
  /** MIME types (`image/png`, `image/*`) and extensions (`.pdf`); empty: any. */
  readonly accept: readonly string[];
  /** Maximum bytes of one file. */
  readonly bytesMax: number;
  readonly countMax: number;
}

/** How a grant is kept for later tasks. */
export interface GrantKeeping {
  /** The id of GrantRef. */
  readonly id: string;
  /** The upstream's name. */
  readonly upstream: string;
  /** How long the grant is kept after each use. */
  readonly ttlMs: number;
}

/** What happens at an ask's deadline: a decline or cancel, an accepted default, or the failure of the task. */
export type TimeoutPolicy = "cancel" | "decline" | "fail" | { readonly default: JsonObject };

export type Answer =
  /** `content` is present for forms and for what a page of Parley's own collected, absent for other URLs. */
  | { readonly action: "accept"; readonly content?: JsonObject }
  /** `reason`: what the person says about it, at most REASON_CHARS_MAX; absent if they say nothing. */
  | { readonly action: "decline"; readonly reason?: string }
  | { readonly action: "cancel" }
  /** The reply to a sampling or roots request, in MCP's shape. */
  | { readonly action: "reply"; readonly result: JsonObject }
  /** The deadline passed without an answer. Written by workers only. */
  | { readonly action: "timeout" }
  /** The client cannot handle the request, and the ask has no other audience. Written by front ends only. */
  | { readonly action: "unavailable" }
  /** The handler withdrew the ask. Written by workers only. */
  | { readonly action: "withdrawn" };

/** What became of an answer. */
export type Receipt =
  /** `missing`: how many more people must accept before the ask settles; absent for none. */
  | { readonly type: "accepted"; readonly missing?: number }
  /** The same answer was recorded before. */
  | { readonly type: "duplicate" }
  /** The ask was already closed by another answer, its deadline, or the end of the task. */
  | { readonly type: "late" }
  /** The answer violates the ask's schema. The ask stays open. */
  | { readonly type: "invalid"; readonly violations: readonly Violation[] }
  /** The ask has another audience. It stays open. */
  | { readonly type: "forbidden" }
  /** The sender may answer, but was not identified as the ask requires. It stays open. */
  | { readonly type: "login_required"; readonly assurance: RequiredAssurance }
  /** The task never asked this. */
  | { readonly type: "unknown" };

/** One item of a task's feed, reported by a run while it works. */
export type FeedItem =
  | { readonly type: "progress"; readonly progress: number; readonly total?: number; readonly message?: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly data: Json; readonly logger?: string }
  /** The client need not hold its connection while the tool works. For front ends; never sent to a client. */
  | { readonly type: "release" }
  /** The page of this ask reports that the person is done, so clients may remove its link. */
  | { readonly type: "visited"; readonly key: string }
  /**
   * Something that MCP has no notification for. Pages and terminals that read the feed show it; it is never sent to
   * MCP clients.
   */
  | { readonly type: "emit"; readonly kind: EmitKind; readonly data: JsonObject };

/** Kinds that readers of a feed may know. They ignore kinds that they do not know. */
export type EmitKind = "stream" | "toast" | "thinking" | "artifact" | "ui" | "qr" | "render" | "canvas" | (string & {});

export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
/** Severities of a log message in RFC 5424 and MCP, least severe first. */
export type LogLevel = (typeof LOG_LEVELS)[number];
