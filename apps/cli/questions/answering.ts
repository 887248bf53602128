/** Answers one question, from the options of a command or at the terminal, through whichever door. */
import type { Content, Elicitation, Reply } from "./form.ts";
import { contentOf, isVisit, objectOf } from "./form.ts";
import { type McpClient, RpcError } from "../client/mcp-client.ts";
import type { About, Violation } from "./prompts.ts";
import { ABANDONED, LATER } from "./abandoned.ts";
import { type InputRequest, showUrl, type TaskState } from "./show.ts";
import { isInteractive } from "../terminal/terminal.ts";

export interface Given {
  readonly set?: readonly string[];
  /** The form's content as JSON, or the result of a request that is not an elicitation. */
  readonly content?: string;
  readonly accept?: boolean;
  readonly decline?: boolean;
  /** Why it is declined. */
  readonly reason?: string;
  readonly cancel?: boolean;
}

/** A question that a person can answer. */
export interface Question {
  readonly key: string;
  readonly request: InputRequest;
  readonly about?: About;
  /** Throws what is not about the answer. */
  send(reply: Reply): Promise<Sent>;
  /** Calls `closed` once the question is no longer open, with how it ended if that is known, until the returned function is called. */
  whenClosed(closed: (how?: string) => void): () => void;
}

/** The reply that the options describe; undefined if they describe none and a person must answer. Throws an Error if they do not fit the question. */
export function replyFrom({ method, params }: InputRequest, given: Given): unknown {
  const { set = [], content, accept, decline, cancel, reason } = given;
  refuseContradiction(given);
  if (reason !== undefined && !decline) throw new Error("--reason says why a question is declined: use it with --decline");
  if (decline) return { action: "decline", ...(reason !== undefined && { reason }) };
  if (cancel) return { action: "cancel" };
  if (method !== "elicitation/create") {
    if (content === undefined)
      throw new Error(`the tool asks the client for ${method}: pass the result with --content, or use --decline or --cancel`);
    return objectOf(content, "--content");
  }
  const asked = params as Elicitation;
  if (isVisit(asked)) {
    // What was meant for a page, such as a secret, must not go through this client.
    if (set.length > 0 || content !== undefined)
      throw new Error(`the question is answered on a page, and not with --set or --content: ${showUrl(asked.url)}`);
    return accept ? { action: "accept" } : undefined;
  }
  if (content !== undefined) return { action: "accept", content: objectOf(content, "--content") };
  if (set.length > 0) return { action: "accept", content: contentOf(set, asked) };
  return accept ? { action: "accept", content: {} } : undefined;
}

/** Otherwise one of the options would be ignored. */
function refuseContradiction({ set = [], content, accept, decline, cancel }: Given): void {
  const actions = Object.entries({ "--accept": accept, "--decline": decline, "--cancel": cancel }).flatMap(([name, is]) =>
    is ? name : [],
  );
  const contents = Object.entries({ "--set": set.length > 0, "--content": content !== undefined }).flatMap(([name, is]) =>
    is ? name : [],
  );
  const contradicting = [actions, contents, accept ? [] : [...actions, ...contents]].find((options) => options.length > 1);
  if (contradicting) throw new Error(`${contradicting.join(" and ")} contradict each other: use one of them`);
}

/** What became of an answer. */
export type Sent =
  /** `missing`: how many more people must accept. */
  | { readonly type: "accepted"; readonly missing?: number }
  /** `how`: how the question ended, if that is known. */
  | { readonly type: "late"; readonly how?: string | undefined }
  | { readonly type: "refused"; readonly content: Content; readonly violations: readonly Violation[]; readonly error: Error };

/** The question is no longer this person's. */
export type Settled = Exclude<Sent, { readonly type: "refused" }>;

/** Answers one's own task through MCP. Throws RpcError for errors that are not about the answer. */
export async function sendReply(client: McpClient, taskId: string, key: string, reply: unknown): Promise<Sent> {
  try {
    const { _meta: meta } = await client.request<{ _meta?: { "parley/receipts"?: Record<string, string> } }>("tasks/update", {
      taskId,
      inputResponses: { [key]: reply },
    });
    const receipt = meta?.["parley/receipts"]?.[key];
    return { type: receipt === "late" || receipt === "unknown" ? "late" : "accepted" };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { violations } = (error.data ?? {}) as { violations?: readonly Violation[] };
    if (!Array.isArray(violations)) throw error;
    const { content = {} } = reply as { content?: Content };
    return { type: "refused", content, violations: violations.map((each) => within(each, 1)), error };
  }
}

/** Makes a path such as `/party-size/content/partySize` relative to the content of the answer. `before`: how many names stand before it. */
export function within({ path, message }: Violation, before: 0 | 1): Violation {
  const [, ...names] = path.split("/");
  const [member, ...rest] = names.slice(before);
  return { path: member === "content" ? `/${rest.join("/")}` : path, message };
}

export const OVER = "was answered elsewhere, or is no longer open";

/** Asks until an answer is accepted, or the person leaves, or wants to answer later. An aborted signal closes the prompt. */
export async function answerAtTerminal(
  { request, about, send }: Question,
  signal: AbortSignal,
): Promise<Settled | typeof ABANDONED | typeof LATER> {
  const { promptFor } = await import("./prompts.ts");
  for (let refused: Extract<Sent, { type: "refused" }> | undefined; ;) {
    const reply = await promptFor(request.params as Elicitation, { signal, ...(about && { about }), ...(refused && { refused }) });
    if (reply === ABANDONED) return signal.aborted ? { type: "late" } : ABANDONED;
    if (reply === LATER) return LATER;
    const sent = await send(reply);
    if (sent.type !== "refused") return sent;
    refused = sent;
  }
}

/** Throws an Error that names the options to use instead. */
export function mustBeInteractive({ params }: InputRequest): void {
  if (isInteractive()) return;
  const options = isVisit(params as Elicitation) ? "--accept, when you have been there," : "--set, --content, --accept,";
  throw new Error(`there is no terminal to ask on: use ${options} --decline or --cancel`);
}

export function asksOf({ inputRequests = {} }: TaskState): Readonly<Record<string, InputRequest>> {
  return inputRequests;
}
