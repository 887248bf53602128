/** Reads the outcome of a call at an upstream: its result, its error, the input that it requires first, or a task of the upstream's own. */
import { ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { cut, type Json, type JsonObject } from "@parley/core";
import type { CallRequest } from "../wire/call-request.ts";
import { INVALID_PARAMS, type QuestionMethod, REFUSED } from "../wire/question.ts";
import type { Questions } from "./questions.ts";
import { isSessionTask } from "../connection/session-tasks.ts";
import type { UpstreamEvent, UpstreamFailure } from "../wire/upstream-event.ts";
import { taskMeta, type UpstreamTask } from "../connection/upstream-tasks.ts";
import { describeFailure } from "../wire/describe-failure.ts";
import { whyUnreadable } from "../wire/incoming.ts";

const URL_REQUIRED = -32042;
/** When a task of an upstream is polled again: as the upstream says, else the default; never sooner than the minimum. */
const POLL_MS = 1_000;
const POLL_MIN_MS = 100;
/** Maximum characters of a task's status message. It is recorded each time that it changes. */
export const STATUS_CHARS_MAX = 1_000;
const NO_REASON: UpstreamFailure = { code: -32603, message: "the task of the upstream failed" };

export interface Judging {
  readonly request: CallRequest;
  readonly admit: Questions["admit"];
  /** How long the upstream has waited for people in this call. */
  readonly waitedMs?: () => number;
}

interface Required {
  readonly _meta?: unknown;
  readonly inputRequests?: unknown;
  readonly requestState?: unknown;
}

export function looked(
  { taskId, status, pollIntervalMs = POLL_MS, statusMessage, inputRequests, result, error, _meta }: UpstreamTask,
  call: Judging,
): UpstreamEvent {
  switch (status) {
    case "completed":
      return completed(result ?? {});
    case "failed":
      return { type: "error", error: error ? failureOf(new ProtocolError(error.code, error.message, error.data)) : NO_REASON };
    case "cancelled":
      return { type: "error", error: { code: REFUSED, message: "the upstream has cancelled its task" } };
    case "working":
    case "input_required": {
      const isNew = ([key]: [string, unknown]) => call.request.round?.task?.asked.includes(key) !== true;
      const event = required({ inputRequests: Object.fromEntries(Object.entries(inputRequests ?? {}).filter(isNew)) }, call);
      if (event.type !== "required") return event;
      // Other upstreams report all of their open questions at each poll.
      const isUnheard = status === "input_required" && isSessionTask(taskId) && Object.keys(inputRequests ?? {}).length === 0;
      const message = statusMessage === undefined ? undefined : cut(statusMessage, STATUS_CHARS_MAX);
      const isNews = message !== undefined && message !== call.request.round?.task?.message;
      const pollMs = Math.max(pollIntervalMs, POLL_MIN_MS);
      return {
        ...event,
        task: { id: taskId, pollMs, ...(isNews && { message }), ...(_meta && { isWaiting: true }), ...(isUnheard && { isUnheard }) },
      };
    }
  }
}

/** Validates a result that the MCP client has not validated. */
export function completed(result: object): UpstreamEvent {
  const { content, resultType = "complete" } = result as { content?: unknown; resultType?: unknown };
  const isResult =
    resultType === "complete" &&
    Array.isArray(content) &&
    content.every((block) => typeof (block as { type?: unknown } | null)?.type === "string");
  return isResult
    ? { type: "result", result: withoutKind(result) }
    : { type: "invalid", message: "answered with a result that MCP does not allow" };
}

/** Reads the questions of an upstream that holds nothing; they are judged like all others. */
export function required({ inputRequests = {}, requestState, _meta }: Required, { admit, waitedMs = () => 0 }: Judging): UpstreamEvent {
  try {
    const questions = Object.entries(inputRequests as Record<string, { method: QuestionMethod; params?: unknown }>).map(
      ([id, { method, params }]) => ({
        ...admit(method, params),
        id,
      }),
    );
    // Also if it says only in its progress that it waits: this was no time in which it worked.
    const isWaiting = taskMeta.parse(_meta) !== undefined || waitedMs() > 0;
    return {
      type: "required",
      questions,
      ...(typeof requestState === "string" && { state: requestState }),
      ...(isWaiting && { waitedMs: waitedMs() }),
    };
  } catch (error) {
    return notAsked(error);
  }
}

/** What ends a call whose question is not asked: a refusal of the gateway's own as a waiting upstream would get it, or what is wrong with the question. */
function notAsked(error: unknown): UpstreamEvent {
  if (!(error instanceof ProtocolError)) return { type: "invalid", message: "asked questions that cannot be read" };
  return error.code === INVALID_PARAMS ? { type: "invalid", message: error.message } : { type: "error", error: failureOf(error) };
}

/** The upstream requires a visit to a page first, and has done nothing yet. */
function urlsRequired(error: ProtocolError, { request, admit }: Judging): UpstreamEvent | undefined {
  const { elicitations } = (error.data ?? {}) as { elicitations?: unknown };
  const isAskable = Array.isArray(elicitations) && elicitations.length > 0 && request.capabilities.elicitation?.url === true;
  if (error.code !== URL_REQUIRED || !isAskable) return undefined;
  try {
    const questions = elicitations.map((params: object) => admit("elicitation/create", { ...params, mode: "url" }));
    return { type: "required", questions, refused: failureOf(error) };
  } catch (thrown) {
    return notAsked(thrown);
  }
}

export function failure(error: unknown, call: Judging): UpstreamEvent {
  const unreadable = error instanceof ProtocolError ? whyUnreadable(error) : undefined;
  if (unreadable !== undefined) return { type: "invalid", message: unreadable };
  if (error instanceof ProtocolError) return urlsRequired(error, call) ?? { type: "error", error: failureOf(error) };
  if (error instanceof SdkError && (error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType)) {
    return { type: "invalid", message: "answered with a result that MCP does not allow" };
  }
  return { type: "lost", message: `the call ended without a result: ${describeFailure(error)}` };
}

export function withoutKind(result: object): JsonObject {
  const { resultType: _, ...rest } = result as JsonObject;
  return rest;
}

function failureOf({ code, message, data }: ProtocolError): UpstreamFailure {
  return { code, message, ...(data !== undefined && { data: data as Json }) };
}
