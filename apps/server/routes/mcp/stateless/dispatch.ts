import type { IntentOf } from "@parley/protocol";
import type { StatelessIntent } from "@parley/protocol/stateless";
import type { Handled } from "../shared/answer.ts";
import { EVENTS } from "../events/handlers.ts";
import { SERVED } from "../shared/offer-requests.ts";
import { callTool } from "./call-tool.ts";
import { getPrompt } from "./get-prompt.ts";
import { listen } from "./listen.ts";
import type { StatelessExchange, StatelessRoute } from "./stateless-route.ts";
import { cancelTask, getTask, updateTask } from "./tasks.ts";

type Handler<OneIntent> = (route: StatelessRoute, intent: OneIntent, exchange: StatelessExchange) => Handled | Promise<Handled>;

const HANDLERS: { readonly [Type in StatelessIntent["type"]]: Handler<IntentOf<StatelessIntent, Type>> } = {
  ...SERVED,
  ...EVENTS,
  discover: (_route, _intent, { encode, catalogue }) => encode.discover(catalogue),
  callTool,
  getPrompt,
  getTask,
  updateTask,
  cancelTask,
  listen,
};

export function dispatch(route: StatelessRoute, intent: StatelessIntent, exchange: StatelessExchange): Handled | Promise<Handled> {
  // TypeScript cannot correlate the handler that is found by a type with the intent of that type.
  const handle = HANDLERS[intent.type] as Handler<StatelessIntent>;
  return handle(route, intent, exchange);
}
