import { ParleyError } from "@parley/core";
import type { ClientFacts, GetPrompt } from "@parley/protocol/stateless";
import { answerCall } from "./answer-call.ts";
import type { Exchange, Handled, Mcp } from "./mcp.ts";

/** prompts/get: never a task, in this revision. Throws PROMPT_NOT_FOUND, INVALID_ARGUMENTS, and what answering a call throws. */
export async function getPrompt(mcp: Mcp, intent: GetPrompt & ClientFacts, exchange: Exchange): Promise<Handled> {
  const prompt = mcp.catalogue.prompts.get(intent.name);
  if (!prompt) throw new ParleyError("PROMPT_NOT_FOUND", `no prompt ${JSON.stringify(intent.name.slice(0, 100))}`);
  const called = { runnable: prompt, arguments: { ...intent.arguments }, intent, encodeResult: mcp.encode.promptResult };
  return await answerCall(mcp, called, exchange, "never");
}
