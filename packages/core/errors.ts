/**
 * The error catalogue. Every error that a caller or an author can meet stands here with its code and what to do about it;
 * docs/errors.md lists the same, and a test compares the two. Edges map codes to JSON-RPC and HTTP; nothing here knows either.
 */
import { cut } from "./cut.ts";
import { toldViolations } from "./schema-violation.ts";
import type { Violation } from "./task.ts";

export const ERRORS = {
  TASK_NOT_FOUND: "The task is unknown, has expired, or belongs to somebody else. Call the tool again for a new one.",
  VERSION_NOT_FOUND:
    "The task was made with a version of its tool that no worker serves any more. Serve that version until its tasks have ended, or set PARLEY_MISSING_VERSION=newest. Call the tool again for a new task.",
  TOOL_NOT_FOUND: "No tool of that name is served. tools/list names those that are.",
  PROMPT_NOT_FOUND: "No prompt of that name is served. prompts/list names those that are.",
  RESOURCE_NOT_FOUND: "No resource or template fits that uri. resources/list and resources/templates/list name those that are served.",
  INVALID_ARGUMENTS: "The arguments do not fit the schema; `violations` says where. Nothing was started.",
  INVALID_ANSWER: "The answer does not fit what was asked; `violations` says where. The question is still open: answer again.",
  NOT_PERMITTED:
    "That is somebody else's to do: a question that is put to other people stays open for them, and only its owner cancels a task. tasks/get shows the questions that you may answer.",
  INVALID_CURSOR: "The cursor is not one that this server gave out. Start again without a cursor.",
  CAPABILITY_REQUIRED:
    "The client did not declare what `requiredCapabilities` names. Turn it on in the client's settings, or use a client that has it.",
  REQUEST_STATE_INVALID:
    "requestState was changed, has expired, was used before, or belongs to another request. Call again without requestState and without inputResponses: a new call may ask something else.",
  CALL_TIMEOUT:
    "The call took longer than the server waits for a client without tasks. Declare the tasks extension, or raise PARLEY_CALL_TIMEOUT.",
  TOO_MANY_ANSWERS: "More answers in one request than the server takes. Send them in several requests.",
  INVALID_ASK: "The tool asks something that MCP does not allow, see `violations`: fix the tool's schema, or use url mode for secrets.",
  INVALID_NAME: "Names of asks and steps are 1 to 64 characters of A-Z a-z 0-9 _ - and dot.",
  INVALID_LIMIT:
    "The tool cannot say whose limit a call counts for: `limit.per` must give a text of at most 256 characters, such as an id among the arguments.",
  INVALID_OUTPUT: "The tool returned what its own output schema does not allow: fix the tool or its schema.",
  NOT_SERIALIZABLE: "Results of steps and tools are stored as JSON: return plain data.",
  REPLAY_DIVERGED:
    "The tool's code no longer does what its journal recorded. See docs/changing-tools.md for changing tools under waiting tasks.",
  AMBIGUOUS_EFFECT:
    "Two calls of one name were made behind an await of something outside ctx, so a replay could not tell which is which. Give each a name of its own, wrap them in ctx.branch, or move what they await into a step. A helper that awaits something else before its first effect needs the same, even in a plain loop.",
  UNHANDLED_REJECTION:
    "A promise of the tool was rejected and nobody handled it, or it threw in a callback. Await every promise that can fail.",
  MISPLACED_EFFECT:
    "ctx was used inside a step, or by a handler that it does not belong to. Use it in its own handler only, outside of steps.",
  CHILD_REFUSED:
    "The tool may not call another tool here: tools call each other too deep, or too many of their tasks are unfinished at once; the message says which. Wait for some of them first, or do the work in steps.",
  JOURNAL_FULL: "The task has recorded as much as a task may. Keep large data elsewhere, and let long loops begin anew with ctx.restart.",
  POISONED:
    "The worker died under this task several times without any progress, so it is not tried again. Look for what exits, blocks or exhausts the process.",
  RUN_TIMEOUT: "The tool worked longer than its runTimeout without asking or ending. Raise it, or split the work into steps.",
  STEP_FAILED: "A step failed on every try; the message is the last try's.",
  STEP_TIMEOUT: "One try of a step took longer than its timeout.",
  ASK_TIMEOUT: "Nobody answered in time and the ask's policy is `fail`.",
  IDEMPOTENCY_KEY_REUSED:
    "A task was created with that idempotency key before, by a call of another tool or with other arguments. Nothing was started: send a new key with a new call.",
  TOO_LARGE: "A stored value is larger than the limit that the message names. Store large data elsewhere and keep a reference.",
  TASK_FINISHED: "The task has ended and never changes again. tasks/result has what became of it.",
  TASK_REQUIRED: "The tool runs as a task only: call it with `task` in the params, from a client that speaks tasks.",
  TASK_UNSUPPORTED: "The tool does not run as a task: call it without `task` in the params.",
  CONTENT_KEY_MISSING:
    "What was said in the task is sealed with a key that this server cannot get. The task waits unharmed: try again when its operator has put the key back.",
  CONTENT_ERASED: "What was said in the task was erased for good, with its tenant's keys. Call the tool again for a new task.",
  CONTENT_DAMAGED: "What is stored of the task is not what was sealed, so nobody can tell what was said in it. Call the tool again.",
  EVENT_NOT_FOUND:
    "The token is none that this server gave out, or its task is gone. Use the address as the tool handed it over, unchanged; one that was just handed over may be used once its step runs.",
  EVENT_LATE:
    "The event is not waited for any more: another one was accepted, its time is over, or its task has ended. Sending it again changes nothing.",
  INVALID_EVENT:
    "The body does not fit what the tool waits for; `violations` says where. The event is still waited for: send it again, corrected.",
  EVENT_TOKEN_MISPLACED:
    "The token of an event would be recorded, or shown to a client. Hand it to the other system inside a step, and return something else from there.",
  EVENTS_UNAVAILABLE: "This worker does not know at which address events are told. Set PARLEY_PUBLIC_URL for front ends and workers alike.",
  FILE_GONE: "The file is not there: it was uploaded for another task, or its task has ended long ago.",
  FILES_UNAVAILABLE:
    "This deployment keeps no files, or what keeps them does not answer: the message says which. Set PARLEY_FILES for front ends and workers alike.",
  DEPOSIT_UNREADABLE:
    "What was left on a page is gone, or this worker has another PARLEY_SECRET than the front end that took it: give all of them the same.",
  OAUTH_UNAVAILABLE:
    "This process knows no OAuth provider of that name. Set PARLEY_OAUTH for front ends and workers alike, with the same file.",
  GRANT_REFUSED:
    "The provider did not grant the access, or the authorization was begun elsewhere, long ago, or came back before. Open the page again.",
  GRANT_EXPIRED:
    "The access that a person granted has ended: the provider says so, or its token has expired and cannot be renewed. Ask for it again, by a new question.",
  MODULE_NOT_STARTED:
    "A module's value is there in workers alone, while they run. Use it inside of a tool; in a test provide it first (`provide` of @parley/sdk/testing).",
  NOT_OPEN: "The question is not open: it was answered, timed out, or was never asked. tasks/get names the open ones.",
  TOO_MANY_SUBSCRIPTIONS: "More tasks or resources than the server follows in one stream or session. Open several.",
  TOO_MANY_CALLS:
    "The session, or the batch, has as many calls open as it may. Nothing was started: let one end, cancel one, or open another session.",
  CREDENTIALS_MISSING:
    "Send an access token of one of the authorization servers that the resource metadata names: `Authorization: Bearer …`.",
  CREDENTIALS_MISPLACED:
    "An access token travels in one Authorization header and nowhere else. A token that stood in an address is in logs by now: revoke it.",
  TOKEN_TOO_LARGE: "The access token is larger than the server looks at. Ask the provider for fewer claims in it, such as groups.",
  TOKEN_MALFORMED: "What was sent is no access token that this server reads. Send the access token as the provider issued it.",
  TOKEN_ALGORITHM_REFUSED:
    "The token is signed in a way that is not accepted. Have the provider sign with an asymmetric key, such as RS256 or ES256 (PARLEY_AUTH_ALGORITHMS).",
  TOKEN_ISSUER_UNKNOWN:
    "The token comes from a provider that this server does not trust. Log in at one that the resource metadata names, or add it to PARLEY_AUTH_ISSUERS.",
  TOKEN_KEY_UNKNOWN: "The provider publishes no key that fits the token. Get a new token; after a rotation try again in half a minute.",
  TOKEN_SIGNATURE_INVALID: "The token was changed, or signed by another key than it names. Get a new one.",
  TOKEN_EXPIRED: "Refresh the access token, or log in again. If it is new, compare the clocks of provider and server.",
  TOKEN_NOT_YET_VALID: "The token is valid from a later time on. Compare the clocks of provider and server (PARLEY_AUTH_CLOCK_SKEW).",
  TOKEN_AUDIENCE_REFUSED:
    "The token was issued for another server, or for another one too. Ask for one with the `resource` that the metadata names, or add its audience to PARLEY_AUTH_AUDIENCES.",
  TOKEN_CLAIM_INVALID:
    "A claim that the server needs is missing from the token or has another form. Add it to the access token at the provider.",
  TOKEN_INACTIVE: "The token has expired, was revoked, or never was: its provider says so, or this server of an API key. Get a new one.",
  LOGIN_REFUSED: "The provider did not let the person in, or the login was begun elsewhere or long ago. Open the page again.",
  SCOPE_INSUFFICIENT: "The token does not allow this. Log in again with the scopes that WWW-Authenticate names.",
  PROXY_NOT_TRUSTED:
    "Only a trusted proxy may say who calls. Remove the header, or add the proxy's address to PARLEY_AUTH_PROXY_ADDRESSES.",
  PROVIDER_UNAVAILABLE: "The provider of the token could not be asked about it. Nothing was started; try again in a moment.",
  PROVIDER_INVALID: "The provider of the token answers what cannot be used; the server's log says what. Nothing was started.",
  QUOTA_EXCEEDED:
    "The caller, or its tenant, has used up what it may; the message names the quota. Nothing was done: try again after `retryAfterMs`, or ask the operator for more.",
  UPSTREAM_UNAVAILABLE:
    "The server behind the gateway that has the tool could not be reached, or refused the gateway. The call was not started: try again later.",
  UPSTREAM_LOST:
    "The connection that carried the call ended before its result, and the tool does not say that it may be repeated, so it was not called again. It may have taken effect: look there before you call it again.",
  UPSTREAM_TIMEOUT:
    "The server behind the gateway took longer than its `callTimeout` without asking or ending, and was told to stop. It may have taken effect.",
  UPSTREAM_INVALID: "The server behind the gateway answered what MCP does not allow. It may have taken effect; its owner has to fix it.",
  UPSTREAM_BUSY:
    "The gateway has as many calls open at the server behind it as it may. The call was not started: try again after `retryAfterMs`.",
  OVERLOADED: "This front end holds as many open calls or streams as it may. Nothing was started; try again in a moment.",
  UNAVAILABLE:
    "Redis, or its replicas, did not answer in time. What was asked may happen all the same: look at the task, or answer it again. A call made again may be a second task, unless it carries the same idempotency key.",
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * Which of the errors below one is. The mark is a registered symbol: a tool may come with a copy of its own of this package, whose errors are
 * no instances of ours.
 */
const KIND = Symbol.for("parley.error");

export type ErrorKind = "parley" | "tool" | "rpc" | "step";

export function kindOf(error: unknown): ErrorKind | undefined {
  try {
    return (error as { readonly [KIND]?: ErrorKind } | null | undefined)?.[KIND];
  } catch {
    // What was thrown may be anything, also a proxy that throws itself.
    return undefined;
  }
}

/** Messages quote what callers and authors sent. */
const MESSAGE_MAX = 4_000;

/**
 * A mistake of a caller or an author, by catalogue code. `message` names the thing; `hint` says what to do. Both it and the violations are
 * cut to what an error may hold.
 */
export class ParleyError extends Error {
  override readonly name = "ParleyError";
  readonly code: ErrorCode;
  readonly hint: string;
  readonly violations?: readonly Violation[];
  /** Further facts for the edge, such as `requiredCapabilities` of CAPABILITY_REQUIRED in the shape of MCP's capabilities. */
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
    if (details.violations) this.violations = toldViolations(details.violations);
    if (details.data) this.data = details.data;
  }
}

/** Throw it for a uri that nothing is served under: the error repeats it, as MCP wants, up to a length that an error may have. */
export function resourceNotFound(what: string, uri: string): ParleyError {
  return new ParleyError("RESOURCE_NOT_FOUND", what, { data: { uri: cut(uri, URI_MAX) } });
}

const URI_MAX = 2_000;

/**
 * Thrown by tool authors: the tool did its work and the answer is no. Becomes a result with `isError`, whose text the model reads. Anything else
 * that a tool throws is masked, but for RpcFailure and ParleyError.
 * `retryable` lets the run be tried again within the tool's `attempts` first.
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

/** Thrown by tool authors: the call itself failed. Becomes a JSON-RPC error, and the task `failed`. */
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

/**
 * A step that failed on every try. Recorded: replay throws it again. `message` is what the step threw, for the handler; a caller is not shown
 * it, unless the step threw a ParleyError.
 */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly step: string;
  /** Under which the log has the step's own error: its stack and its causes are not recorded. */
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
