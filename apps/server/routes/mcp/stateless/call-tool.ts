import { ParleyError } from "@parley/core";
import type { CallTool, ClientFacts } from "@parley/protocol/stateless";
import { answerCall, type TaskChoice } from "./answer-call.ts";
import type { Exchange, Handled, Mcp } from "./mcp.ts";

/** tools/call. Throws TOOL_NOT_FOUND, INVALID_ARGUMENTS, and what answering a call throws. */
export async function callTool(mcp: Mcp, intent: CallTool & ClientFacts, exchange: Exchange): Promise<Handled> {
  const tool = mcp.catalogue.tools.get(intent.name);
  if (!tool) throw new ParleyError("TOOL_NOT_FOUND", `no tool ${JSON.stringify(intent.name.slice(0, 100))}`);
  const asTask: TaskChoice = !intent.speaksTasks || tool.task === "never" ? "never" : tool.askFirst ? "after first question" : "at once";
  const called = { runnable: tool, arguments: intent.arguments, intent, encodeResult: mcp.encode.callResult };
  return await answerCall(mcp, called, exchange, asTask);
}
