import { askableOn, type GetPrompt } from "@parley/protocol";
import type { Handled } from "../shared/answer.ts";
import { promptOf } from "../shared/offer-requests.ts";
import { answerCall } from "./answer-call.ts";
import { stepOfRequest } from "./rung.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** prompts/get, which never returns a task in this family. Throws PROMPT_NOT_FOUND, INVALID_ARGUMENTS, and the errors of `answerCall`. */
export async function getPrompt(route: StatelessRoute, intent: GetPrompt, received: StatelessExchange): Promise<Handled> {
  const { name, arguments: args, reason } = intent;
  const { client } = received;
  const step = stepOfRequest(route, client, { takesTask: false, calls: "prompt" });
  const exchange = { ...received, client: { ...client, capabilities: askableOn(step.rung, client.capabilities) } };
  const called: Called = {
    kind: "prompt",
    name,
    arguments: { ...args },
    reason,
    retry: intent,
    ...step,
    encodeResult: exchange.encode.promptResult,
  };
  return await answerCall(route, called, exchange, () => ({ runnable: promptOf(exchange.catalogue, name), asTask: "never" }));
}
