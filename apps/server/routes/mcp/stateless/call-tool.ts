import { askableOn, type CallTool, capabilityRequired, missingCapabilities } from "@parley/protocol";
import { waitGateFor } from "../../../front-end/gate.ts";
import type { Handled } from "../shared/answer.ts";
import { toolOf } from "../shared/offer-requests.ts";
import { pollAnswer } from "../shared/poll-tools.ts";
import { reachedOn } from "../shared/step.ts";
import { answerCall } from "./answer-call.ts";
import { stepOfRequest } from "./rung.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** tools/call. Throws TOOL_NOT_FOUND, CAPABILITY_REQUIRED, INVALID_ARGUMENTS, and the errors of `answerCall`. */
export async function callTool(route: StatelessRoute, intent: CallTool, received: StatelessExchange): Promise<Handled> {
  const { name, arguments: args, idempotencyKey, reason } = intent;
  const inCall = stepOfRequest(route, received.client, { takesTask: false, calls: "tool" });
  const poll = pollAnswer(route, { name, exchange: received, rung: inCall.rung });
  if (poll) return received.encode.callResult(await poll(args, waitGateFor(route, received.caller)));
  const takesTask = received.client.speaksTasks && received.catalogue.tools.get(name)?.task !== "never";
  const step = stepOfRequest(route, received.client, { takesTask, calls: "tool" });
  const { client } = received;
  const exchange = { ...received, client: { ...client, capabilities: askableOn(step.rung, client.capabilities) } };
  const called: Called = {
    kind: "tool",
    name,
    arguments: args,
    reason,
    retry: intent,
    ...step,
    encodeResult: exchange.encode.callResult,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
  return await answerCall(route, called, exchange, () => {
    const tool = toolOf(exchange.catalogue, name);
    const missing = missingCapabilities(tool.needs, reachedOn(route, step, client.capabilities));
    if (missing) throw capabilityRequired(`the tool ${name}`, missing);
    const asTask = step.rung !== "task" ? "never" : tool.askFirst ? "after first question" : "at once";
    return { runnable: tool, asTask };
  });
}
