import type { CallTool } from "@parley/protocol";
import type { Handled } from "../shared/answer.ts";
import { toolOf } from "../shared/offer-requests.ts";
import { answerCall } from "./answer-call.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** tools/call. Throws TOOL_NOT_FOUND, INVALID_ARGUMENTS, and the errors of `answerCall`. */
export async function callTool(route: StatelessRoute, intent: CallTool, exchange: StatelessExchange): Promise<Handled> {
  const { name, arguments: args, idempotencyKey } = intent;
  const called: Called = {
    kind: "tool",
    name,
    arguments: args,
    retry: intent,
    encodeResult: exchange.encode.callResult,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
  return await answerCall(route, called, exchange, () => {
    const tool = toolOf(exchange.catalogue, name);
    const asTask = !exchange.client.speaksTasks || tool.task === "never" ? "never" : tool.askFirst ? "after first question" : "at once";
    return { runnable: tool, asTask };
  });
}
