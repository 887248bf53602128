/** What `ctx.sample` asks of the client's model, checked for authors without types: a client refuses the state of the whole task for one such request. */
import type { Json, JsonObject } from "@parley/core";
import { wrongAsk } from "../asks/wrong-ask.ts";
import { nounFor, plainJson } from "../values/plain-data.ts";
import { blockProblem } from "../results/tool-result.ts";
import { isObject } from "../values/is-object.ts";

/** The params of `sampling/createMessage`. Throws INVALID_ASK with the path of what no client can read. */
export function samplingParams(name: string, request: unknown): JsonObject {
  const params = plainJson(`the sampling request "${name}"`, request);
  if (!isObject(params)) throw wrongAsk(name, "", "has no request: call it with a name and { messages, maxTokens }");
  const { messages, maxTokens, systemPrompt } = params;
  if (!Array.isArray(messages)) throw wrongAsk(name, "/messages", `must be a list of { role, content }, and is ${nounFor(messages)}`);
  for (const [index, message] of messages.entries()) {
    const problem = messageProblem(message);
    if (problem !== undefined) throw wrongAsk(name, `/messages/${index}${problem.at}`, problem.message);
  }
  if (!Number.isSafeInteger(maxTokens)) throw wrongAsk(name, "/maxTokens", `must be a whole number, and is ${nounFor(maxTokens)}`);
  if (systemPrompt !== undefined && typeof systemPrompt !== "string")
    throw wrongAsk(name, "/systemPrompt", `must be a string, and is ${nounFor(systemPrompt)}`);
  return params;
}

interface Problem {
  readonly at: string;
  readonly message: string;
}

function messageProblem(message: Json): Problem | undefined {
  if (!isObject(message)) return { at: "", message: `must be { role, content }, and is ${nounFor(message)}` };
  const { role, content } = message;
  if (role !== "user" && role !== "assistant") return { at: "/role", message: 'must be "user" or "assistant"' };
  // Several blocks, and those of tools, are for clients that lend their model with tools.
  const blocks = Array.isArray(content) ? content : [content];
  for (const block of blocks) {
    if (!isObject(block)) return { at: "/content", message: `must be a block such as { type: "text", text }, and is ${nounFor(block)}` };
    if (block["type"] === "tool_use" || block["type"] === "tool_result") continue;
    const problem = blockProblem(block);
    if (problem !== undefined) return { at: "/content", message: `is no block that a client can read: ${problem}` };
  }
  return undefined;
}
