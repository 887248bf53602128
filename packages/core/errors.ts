/**
 * The error catalogue: every error that a caller or an author can see, with its code and its advice. docs/errors.md
 * lists the same, and a test compares the two. Front ends map codes to JSON-RPC and HTTP; core knows neither.
 */
import { cut } from "./values/cut.ts";
import { boundedViolations, type Violation } from "./values/schema-violation.ts";

export const ERRORS = {
  // Calls
  TASK_NOT_FOUND: "The task is unknown, has expired, or belongs to another caller. Call the tool again for a new task.",
  TOOL_NOT_FOUND: "No tool with that name is served. tools/list names the tools that are.",
  VERSION_NOT_FOUND:
    "No worker serves the version of the tool that the task was created with. Serve that version until its tasks have ended, or set PARLEY_MISSING_VERSION=newest. Call the tool again for a new task.",
  PROMPT_NOT_FOUND: "No prompt with that name is served. prompts/list names the prompts that are.",
  RESOURCE_NOT_FOUND: "No resource or template matches that uri. resources/list and resources/templates/list name those that are served.",
  INVALID_ARGUMENTS: "The arguments do not match the schema; `violations` says where. Nothing was started.",
  INVALID_CURSOR: "This server did not issue that cursor. Start again without a cursor.",
  CAPABILITY_REQUIRED:
    "The client did not declare the capabilities in `requiredCapabilities`. Enable them in the client's settings, or use a client that has them.",
  TASK_REQUIRED: "The tool runs only as a task: call it with `task` in the params, from a client that speaks tasks.",
  TASK_UNSUPPORTED: "The tool does not run as a task: call it without `task` in the params.",
  REQUEST_STATE_INVALID:
    "requestState was changed, has expired, was used before, or belongs to another request. Call again without requestState and without inputResponses: a new call may ask something else.",
  IDEMPOTENCY_KEY_REUSED:
    "The idempotency key was used before, for another tool or with other arguments. Nothing was started: send a new key with a new call.",
  CALL_TIMEOUT:
    "The server waited as long as it may, for a call without a task, a resource, completions, or a tool's own check of its arguments. Declare the tasks extension to get a task for a tool, or raise PARLEY_CALL_TIMEOUT. A check of arguments has 5 s, whatever is set.",
  TOO_LARGE: "A value is larger than the limit in the message. Store large data elsewhere and pass a reference.",

  // Answers
  INVALID_ANSWER: "The answer does not match what was asked; `violations` says where. The question is still open: answer again.",
  NOT_OPEN: "The question is not open: it was answered, timed out, or was never asked. tasks/get names the open questions.",
  NOT_PERMITTED:
    "The caller may not do this: only the people who are asked may answer a question, some questions need a login in a browser, and only the owner of a task may follow or cancel it. tasks/get shows the questions that you may answer.",
  TASK_FINISHED: "The task has ended and cannot change. tasks/result returns how it ended.",
  TOO_MANY_ANSWERS: "The request has more answers than the server accepts in one request. Send them in several requests.",

  // The code of tools
  INVALID_ASK: "The tool asks a question that is not allowed; `violations` says why. Fix its schema, or ask for a secret with ctx.secret.",
  INVALID_NAME: "Names of asks and steps have 1 to 64 characters of A-Z a-z 0-9 _ - and dot.",
  INVALID_LIMIT: "`limit.per` of the tool must return a string of at most 256 characters, such as an id from the arguments.",
  INVALID_OUTPUT:
    "What was returned is not what MCP, or the tool's own output schema, allows; the message says where. Fix what it returns, or the schema.",
  NOT_SERIALIZABLE: "What a tool returns, asks or reports is stored as JSON: use plain data without secrets.",
  REPLAY_DIVERGED:
    "The tool no longer does what its journal recorded. If its code was changed, docs/changing-tools.md explains how to change a tool while tasks wait. If not, something that it awaits outside ctx decides what it does next, or in which order: put that into a step.",
  AMBIGUOUS_EFFECT:
    "A call is made by code that runs beside other code of the handler, and that has awaited something outside ctx, so a replay could not tell whose call it is; the message says where. Give the call a key, run the items with ctx.map, or move what is awaited into a step.",
  UNHANDLED_REJECTION: "A promise of the tool was rejected and not handled, or a callback threw. Await every promise that can fail.",
  NOT_AWAITED:
    "The tool ended, or restarted, without having awaited a call of ctx; the message names it. Write `await` before the call, or `yield*` in a generator. If the tool may return before it looks at the result, withdraw the question by its signal, or add .catch(() => {}) to the promise.",
  MISPLACED_EFFECT:
    "ctx was used inside a step, or by a handler that it does not belong to. Use it only in its own handler, outside steps.",
  CHILD_REFUSED:
    "The tool cannot call another tool here: the calls are nested too deep, or too many of their tasks are unfinished; the message says which. Wait for some of them first, or do the work in steps.",
  JOURNAL_FULL: "The task has recorded as much as a task may. Keep large data elsewhere, and start long loops over with ctx.restart.",
  POISONED:
    "Several workers in a row died under this task, or were blocked, without progress, so it is not tried again. Look for code that exits, blocks or exhausts the process.",
  RUN_TIMEOUT: "The tool worked longer than its runTimeout without asking or ending. Raise it, or split the work into steps.",
  STEP_FAILED: "Every attempt at a step failed; the message is that of the last one.",
  STEP_TIMEOUT: "One attempt at a step took longer than its timeout.",
  ASK_TIMEOUT: "The question was not answered in time, and its onTimeout is `fail`.",
  MODULE_NOT_STARTED:
    "A module has a value only in workers, while they run. Use it inside a tool; in a test, provide it first (`provide` of @parley/sdk/testing).",

  // Stored content
  CONTENT_KEY_MISSING:
    "The task's content is sealed with a key that this server cannot get. The task waits unharmed: try again when the operator has restored the key.",
  CONTENT_ERASED: "The task's content was erased for good, with the keys of its tenant. Call the tool again for a new task.",
  CONTENT_DAMAGED: "The stored content of the task is not what was written, so it cannot be read. Call the tool again for a new task.",

  // Events, pages and files
  EVENT_NOT_FOUND:
    "This server did not issue the token, or its task is gone. Use the address unchanged, as the tool passed it on; a new address works once the step that passes it on has begun.",
  EVENT_LATE:
    "The event is no longer expected: another one was accepted, its deadline has passed, or its task has ended. Sending it again changes nothing.",
  INVALID_EVENT:
    "The body does not match what the tool waits for; `violations` says where. The tool still waits for the event: correct the body and send it again.",
  EVENT_TOKEN_MISPLACED:
    "The token of an event would be recorded or shown to a client. Pass it to the other system inside a step, and return something else from that step.",
  EVENTS_UNAVAILABLE: "This worker does not know the public address for events. Set PARLEY_PUBLIC_URL on front ends and workers.",
  FILE_GONE: "The file does not exist: it was uploaded for another task, or its task ended long ago.",
  FILES_UNAVAILABLE:
    "This deployment has no file storage, or the storage failed, is full or does not respond; the message says which. Set PARLEY_FILES on front ends and workers.",
  DEPOSIT_UNREADABLE:
    "What was entered on a page is gone, or cannot be opened with this worker's PARLEY_SECRET. Give all processes the same secret.",
  OAUTH_UNAVAILABLE: "This process has no OAuth provider of that name. Set PARLEY_OAUTH to the same file on front ends and workers.",
  GRANT_REFUSED:
    "The provider did not grant access, or the authorization was started elsewhere, started too long ago, or already used. Open the page again.",
  GRANT_EXPIRED:
    "The access that was granted has ended: the provider says so, or its token has expired and cannot be renewed. Ask for access again with a new question.",

  // Identity
  CREDENTIALS_MISSING: "Send an access token from one of the authorization servers in the resource metadata: `Authorization: Bearer …`.",
  CREDENTIALS_MISPLACED:
    "Send the access token in one Authorization header and nowhere else. Revoke a token that was part of an address: it is in logs by now.",
  TOKEN_TOO_LARGE: "The access token is larger than the server accepts. Ask the provider to put fewer claims into it, such as groups.",
  TOKEN_MALFORMED: "The value sent is not an access token that this server can read. Send the access token as the provider issued it.",
  TOKEN_ALGORITHM_REFUSED:
    "The token is signed with an algorithm that is not accepted. Have the provider sign with an asymmetric key, such as RS256 or ES256 (PARLEY_AUTH_ALGORITHMS).",
  TOKEN_ISSUER_UNKNOWN:
    "This server does not trust the provider that issued the token. Log in at a provider that the resource metadata names, or add this one to PARLEY_AUTH_ISSUERS.",
  TOKEN_KEY_UNKNOWN:
    "The provider publishes no key that matches the token. Get a new token; after a key rotation, try again in half a minute.",
  TOKEN_SIGNATURE_INVALID: "The token was changed, or signed with a key other than the one it names. Get a new token.",
  TOKEN_EXPIRED: "Refresh the access token, or log in again. If the token is new, compare the clocks of the provider and the server.",
  TOKEN_NOT_YET_VALID: "The token is not valid yet. Compare the clocks of the provider and the server (PARLEY_AUTH_CLOCK_SKEW).",
  TOKEN_AUDIENCE_REFUSED:
    "The token was issued for another server, or for several. Request one with the `resource` from the metadata, or add its audience to PARLEY_AUTH_AUDIENCES.",
  TOKEN_CLAIM_INVALID:
    "A claim that the server needs is missing from the token, or is malformed. Add it to the access token at the provider.",
  TOKEN_INACTIVE:
    "The token has expired, was revoked, or never existed, according to its provider or, for an API key, this server. Get a new one.",
  LOGIN_REFUSED: "The provider refused the login, or it was started elsewhere or too long ago. Open the page again.",
  SCOPE_INSUFFICIENT: "The token does not allow this. Log in again with the scopes that WWW-Authenticate names.",
  PROXY_NOT_TRUSTED:
    "Only a trusted proxy may name the caller. Remove the header, or add the proxy's address to PARLEY_AUTH_PROXY_ADDRESSES.",
  PROVIDER_UNAVAILABLE: "The provider that issued the token could not be reached. Nothing was started; try again in a moment.",
  PROVIDER_INVALID: "The provider that issued the token sent an unusable response; the server's log has details. Nothing was started.",

  // Servers behind the gateway
  UPSTREAM_UNAVAILABLE:
    "The MCP server that has the tool could not be reached, or refused the gateway. The call was not started: try again later.",
  UPSTREAM_LOST:
    "The connection to the MCP server that has the tool ended before the result, and the tool does not declare that it may be repeated, so it was not called again. It may have taken effect: check before you call it again.",
  UPSTREAM_TIMEOUT:
    "The MCP server that has the tool took longer than its `callTimeout` without asking or ending, and was told to stop. The call may have taken effect.",
  UPSTREAM_INVALID:
    "The MCP server that has the tool sent a response that MCP does not allow. The call may have taken effect; the owner of that server has to fix it.",
  UPSTREAM_STATE_LOST:
    "The MCP server that has the tool keeps state for each caller, and that of earlier calls is lost; the message says why. The call was not made: call again to start anew.",
  UPSTREAM_BUSY:
    "The gateway has as many open calls to the MCP server that has the tool as it may, or an earlier call uses the caller's session there. The call was not started: try again after `retryAfterMs`.",

  // Quotas and load
  QUOTA_EXCEEDED:
    "The caller, or its tenant, has used up a quota; the message names it. Nothing was done: try again after `retryAfterMs`, or ask the operator for a higher quota.",
  TOO_MANY_SUBSCRIPTIONS: "The stream or session follows as many tasks or resources as it may. Open another one.",
  TOO_MANY_CALLS:
    "The session, or the batch, has as many open calls as it may. Nothing was started: wait for one to end, cancel one, or open another session.",
  OVERLOADED: "This front end has as many open calls or streams as it may. Nothing was started; try again in a moment.",
  STORAGE_SCARCE:
    "Redis has almost used up its memory (maxmemory). What is left is kept for tasks that exist, so no new calls are accepted. Nothing was started: try again later, and tell the operator.",
  UNAVAILABLE:
    "Redis, or its replicas, could not serve the request; the message says why. The request may still take effect: look at the task, or send the answer again. A repeated call may create a second task, unless it carries the same idempotency key.",
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * Marks an instance of the classes below with its kind. A registered symbol, because a tool may load its own copy of
 * this package, whose errors are not instances of our classes.
 */
const KIND = Symbol.for("parley.error");

export type ErrorKind = "parley" | "tool" | "rpc" | "step";

export function kindOf(error: unknown): ErrorKind | undefined {
  try {
    return (error as { readonly [KIND]?: ErrorKind } | null | undefined)?.[KIND];
  } catch {
    // Any value can be thrown, even a proxy that throws.
    return undefined;
  }
}

/** Undefined if the error is not a ParleyError. */
export function codeOf(error: unknown): ErrorCode | undefined {
  return kindOf(error) === "parley" ? (error as ParleyError).code : undefined;
}

/** Messages quote what callers and authors sent. */
const MESSAGE_MAX = 4_000;

/**
 * A mistake of a caller or an author, by catalogue code. `message` says what is wrong, `hint` what to do. Message and
 * violations are cut to a bounded length.
 */
export class ParleyError extends Error {
  override readonly name = "ParleyError";
  readonly code: ErrorCode;
  readonly hint: string;
  readonly violations?: readonly Violation[];
  /**
   * Further facts for the front end, such as `requiredCapabilities` of CAPABILITY_REQUIRED in the shape of MCP's
   * capabilities.
   */
  readonly data?: Readonly<Record<string, unknown>>;

  get [KIND](): ErrorKind {
    return "parley";
  }

  constructor(
    code: ErrorCode,
    message: string,
    details: { violations?: readonly Violation[]; data?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(cut(message, MESSAGE_MAX), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = ERRORS[code];
    if (details.violations) this.violations = boundedViolations(details.violations);
    if (details.data) this.data = details.data;
  }
}

/** For a URI that no resource matches. The error repeats the URI, as MCP requires, up to a bounded length. */
export function resourceNotFound(what: string, uri: string): ParleyError {
  return new ParleyError("RESOURCE_NOT_FOUND", what, { data: { uri: cut(uri, URI_MAX) } });
}

const URI_MAX = 2_000;

/**
 * Thrown by tool authors: the tool did its work and the answer is no. Becomes a result with `isError`, whose text the
 * model reads. All other errors of a tool are masked, except RpcFailure and ParleyError. `retryable` retries the run
 * within the tool's `attempts` first.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly retryable: boolean;

  get [KIND](): ErrorKind {
    return "tool";
  }

  constructor(message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryable = options.retryable ?? false;
  }
}

/** Thrown by tool authors: the call itself failed. Becomes a JSON-RPC error, and the task is `failed`. */
export class RpcFailure extends Error {
  override readonly name = "RpcFailure";
  readonly code: number;
  readonly data: unknown;

  get [KIND](): ErrorKind {
    return "rpc";
  }

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The call has no result because its client did not want one any more: it cancelled the call, or ended its session. */
export class CallCancelled extends RpcFailure {
  constructor(message: string) {
    super(-32603, message);
  }
}

/** The client itself cancelled the request. It expects no response (specification 2025-11-25, basic/utilities/cancellation). */
export class RequestCancelled extends CallCancelled {}

/**
 * A step that failed on every attempt. It is recorded, and replay throws it again. `message` is the message of the
 * step's own error, for the handler; callers do not see it unless the step threw a ParleyError.
 */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly step: string;
  /** The id under which the step's own error was logged. Its stack and causes are not recorded. */
  readonly defectId?: string;
  /** Whether the message may be shown to callers. */
  readonly isForCaller: boolean;

  get [KIND](): ErrorKind {
    return "step";
  }

  constructor(step: string, message: string, options: { defectId?: string; isForCaller?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.step = step;
    this.isForCaller = options.isForCaller ?? false;
    if (options.defectId !== undefined) this.defectId = options.defectId;
  }
}
