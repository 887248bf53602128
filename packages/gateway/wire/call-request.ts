/** What is sent to an upstream: a call, the capabilities with which it can ask, and the answers to its questions. */
import type { ClientCapabilities as McpCapabilities, ElicitResult, ProtocolError } from "@modelcontextprotocol/client";
import type { Answer, CallFacts, ClientCapabilities, JsonObject } from "@parley/core";
import type { ParamHeaders } from "./param-headers.ts";
import { refusal } from "./question.ts";
import type { ElicitationSettings } from "../config/settings.ts";
import type { Given, Question } from "./upstream-event.ts";
import type { Upstream } from "../config/upstreams.ts";

export interface CallRequest {
  readonly upstream: Upstream;
  readonly kind: "tool" | "prompt";
  /** The upstream's own name of it, without the prefix. */
  readonly tool: string;
  readonly args: JsonObject;
  readonly paramHeaders?: ParamHeaders;
  /** Whether the tool may run as a task of revision 2025-11-25. */
  readonly asTask?: boolean;
  readonly principal: string;
  /** See CallFacts.session. */
  readonly session?: string;
  /** The caller's access token for the upstream, if the file asks for one. */
  readonly accessToken?: string;
  /** What can be asked in this call; the upstream receives it as the client's capabilities. */
  readonly capabilities: ClientCapabilities;
  readonly traceparent?: string;
  readonly questionTimeoutMs: number;
  /** How long the upstream may wait for people whom only it can ask. */
  readonly peopleTimeoutMs: number;
  /** How many questions the task asked before this call. */
  readonly askedBefore: number;
  /** Answers to a call that was lost; they answer the same questions of this call. */
  readonly given: readonly Given[];
  /** Pages that people may still be visiting: if the upstream requires these again, nobody is asked. */
  readonly awaited?: readonly string[];
  /** Answers to the input that the previous call required. */
  readonly round?: Round;
  /** Whether the call may be made anew. */
  readonly mayRepeat?: boolean;
}

export interface Round {
  readonly state?: string;
  readonly responses: Readonly<Record<string, Answer>>;
  /** The upstream's task to poll; the ids are those of its questions that were asked already. `message`: its last status message. */
  readonly task?: { readonly id: string; readonly asked: readonly string[]; readonly message?: string };
}

/**
 * What can be asked in this call: all that its client declared. If the client got a handle on the task, forms and pages can be asked as well,
 * because another client of the owner, or the command line, can answer them. A client that shows one of them is told of the other by a page, or in words.
 */
export function askable({ capabilities, hidden, kind }: Pick<CallFacts, "capabilities" | "hidden" | "kind">): ClientCapabilities {
  const showsOne = kind === "tool" && (capabilities.elicitation?.form === true || capabilities.elicitation?.url === true);
  return hidden && !showsOne ? capabilities : { ...capabilities, elicitation: { form: true, url: true } };
}

export function callParams({ tool, args, traceparent, round }: CallRequest, meta: object): object {
  const _meta = { ...meta, ...(traceparent !== undefined && { traceparent }) };
  return {
    name: tool,
    arguments: args,
    ...(Object.keys(_meta).length > 0 && { _meta }),
    ...(round?.state !== undefined && { requestState: round.state }),
    ...(round && Object.keys(round.responses).length > 0 && { inputResponses: responses(round.responses) }),
  };
}

/**
 * Why a call cannot go on without this answer: nobody could be asked, or nobody gave what a request for a model or for folders needs. `cancel` would say
 * that somebody had seen the question.
 */
export function withoutAnswer({ request }: Question, answer: Answer): ProtocolError | undefined {
  const needsReply = request.type !== "form" && request.type !== "url";
  return answer.action === "unavailable" || (needsReply && answer.action !== "reply") ? unanswered(answer) : undefined;
}

/** A question that nobody answered in time becomes `cancel`: a response has no other word for it. */
export function responses(answers: Readonly<Record<string, Answer>>): object {
  return Object.fromEntries(
    Object.entries(answers).map(([id, answer]) => {
      if (answer.action === "reply") return [id, answer.result];
      if (answer.action === "accept" || answer.action === "decline") return [id, elicited(answer)];
      return [id, { action: "cancel" }];
    }),
  );
}

export function mcpCapabilities(
  { capabilities: { elicitation, sampling, roots }, upstream: { reusesSessions } }: CallRequest,
  { isEnabled }: ElicitationSettings,
): McpCapabilities {
  if (!isEnabled) return {};
  return {
    ...(elicitation && { elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) } }),
    ...(sampling && { sampling: sampling.tools ? { tools: {} } : {} }),
    // A session that serves a later call is told to ask again (opening-requests.ts).
    ...(roots && { roots: reusesSessions ? { listChanged: true } : {} }),
  };
}

/** The part of an answer that is sent to the upstream. A timeout is an error, because nobody answered. */
export function elicited(answer: Answer): ElicitResult {
  switch (answer.action) {
    case "accept":
      return { action: "accept", ...(answer.content && { content: answer.content as NonNullable<ElicitResult["content"]> }) };
    case "decline":
      return { action: "decline", ...(answer.reason !== undefined && { _meta: { "parley/reason": answer.reason } }) };
    case "cancel":
      return { action: "cancel" };
    case "timeout":
    case "unavailable":
    case "withdrawn":
    case "reply":
      throw unanswered(answer);
  }
}

export function replied(answer: Answer): JsonObject {
  if (answer.action === "reply") return answer.result;
  throw unanswered(answer);
}

function unanswered({ action }: Answer): ProtocolError {
  if (action === "timeout") return refusal("timeout", "nobody answered in time");
  if (action === "unavailable") return refusal("unavailable", "the caller cannot be asked this, and nobody else can");
  if (action === "decline" || action === "cancel") return refusal("declined", `the caller did not answer (${action})`);
  return refusal("withdrawn", "the call no longer waits for this question");
}
