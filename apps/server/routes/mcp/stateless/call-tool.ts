import type { CallTool } from "@parley/protocol";
import type { Handled } from "../shared/answer.ts";
import { toolOf } from "../shared/served.ts";
import { answerCall, type TaskChoice } from "./answer-call.ts";
import type { StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** tools/call. Throws TOOL_NOT_FOUND, INVALID_ARGUMENTS, and what answering a call throws. */
export async function callTool(route: StatelessRoute, intent: CallTool, exchange: StatelessExchange): Promise<Handled> {
  const tool = toolOf(exchange.catalogue, intent.name);
  const { speaksTasks } = exchange.client;
  const asTask: TaskChoice = !speaksTasks || tool.task === "never" ? "never" : tool.askFirst ? "after first question" : "at once";
  const called = { runnable: tool, arguments: intent.arguments, retry: intent, encodeResult: exchange.encode.callResult };
  return await answerCall(route, called, exchange, asTask);
}
