/** Answers one question, from the options of a command or at the terminal. */
import type { Content, Elicitation, Reply } from "./form.ts";
import { contentOf, isVisit, objectOf } from "./form.ts";
import { type McpClient, RpcError } from "../client/mcp-client.ts";
import type { Violation } from "./prompts.ts";
import { ABANDONED } from "./abandoned.ts";
import { type InputRequest, showUrl, type TaskState } from "./show.ts";
import { isInteractive } from "../terminal/terminal.ts";

export interface Given {
  readonly set?: readonly string[];
  /** The form's content as JSON, or the result of a request that is not an elicitation. */
  readonly content?: string;
  readonly accept?: boolean;
  readonly decline?: boolean;
  readonly cancel?: boolean;
}

/** The reply that the options describe; undefined if they describe none and a person must answer. Throws an Error if they do not fit the question. */
export function replyFrom({ method, params }: InputRequest, given: Given): unknown {
  const { set = [], content, accept, decline, cancel } = given;
  refuseContradiction(given);
  if (decline) return { action: "decline" };
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
  | "accepted"
  | "late"
  | { readonly refused: { readonly content: Content; readonly violations: readonly Violation[] }; readonly error: RpcError };

/** Throws RpcError for errors that are not about the answer. */
export async function sendReply(client: McpClient, taskId: string, key: string, reply: unknown): Promise<Sent> {
  try {
    const { _meta: meta } = await client.request<{ _meta?: { "parley/receipts"?: Record<string, string> } }>("tasks/update", {
      taskId,
      inputResponses: { [key]: reply },
    });
    const receipt = meta?.["parley/receipts"]?.[key];
    return receipt === "late" || receipt === "unknown" ? "late" : "accepted";
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { violations } = (error.data ?? {}) as { violations?: readonly Violation[] };
    if (!Array.isArray(violations)) throw error;
    const { content = {} } = reply as { content?: Content };
    return { refused: { content, violations: violations.map(within) }, error };
  }
}

/** Makes a path such as `/party-size/content/partySize` relative to the content of the answer. */
function within({ path, message }: Violation): Violation {
  const [, , member, ...rest] = path.split("/");
  return { path: member === "content" ? `/${rest.join("/")}` : path, message };
}

/** Asks until an answer is accepted, the person leaves, or someone else has answered. */
export async function answerAtTerminal(
  client: McpClient,
  {
    taskId,
    key,
    request,
    signal,
  }: { readonly taskId: string; readonly key: string; readonly request: InputRequest; readonly signal: AbortSignal },
): Promise<"accepted" | "late" | typeof ABANDONED> {
  const { promptFor } = await import("./prompts.ts");
  for (let sent: Sent | undefined; ;) {
    const refused = typeof sent === "object" ? sent.refused : undefined;
    const reply: Reply | typeof ABANDONED = await promptFor(request.params as Elicitation, { signal, ...(refused && { refused }) });
    if (reply === ABANDONED) return signal.aborted ? "late" : ABANDONED;
    sent = await sendReply(client, taskId, key, reply);
    if (typeof sent === "string") return sent;
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
