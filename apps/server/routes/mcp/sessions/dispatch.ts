import { ParleyError } from "@parley/core";
import type { Intent, IntentOf } from "@parley/protocol";
import type { SessionIntent } from "@parley/protocol/sessions";
import type { Handled } from "../shared/answer.ts";
import { EVENTS } from "../events/handlers.ts";
import { SERVED } from "../shared/offer-requests.ts";
import { callTool, getPrompt } from "./calls.ts";
import { hasTasks, type SessionExchange, type SessionRoute, type TaskExchange } from "./session-route.ts";
import { shortName } from "./short-name.ts";
import { cancelTask, getTask, listTasks, sendInput, taskResult } from "./tasks.ts";

type Handler<OneIntent, Of = SessionExchange> = (route: SessionRoute, intent: OneIntent, exchange: Of) => Handled | Promise<Handled>;

const HANDLERS: { readonly [Type in SessionIntent["type"]]: Handler<IntentOf<SessionIntent, Type>> } = {
  ...SERVED,
  ...EVENTS,
  ping: (_route, _intent, { encode }) => encode.empty(),
  async setLogLevel({ sessions }, { level }, { session, encode }) {
    await sessions.setLogLevel(session.id, level);
    return encode.empty();
  },
  async subscribe({ services, sessions, limits }, { uri }, { session, encode }) {
    const most = limits.sessionSubscriptionsMax;
    const became = await sessions.subscribe(session.id, shortName(services, uri), most);
    if (became === "full") {
      throw new ParleyError("TOO_MANY_SUBSCRIPTIONS", `the session follows ${most} resources (PARLEY_SESSION_SUBSCRIPTIONS_MAX)`);
    }
    return encode.empty();
  },
  async unsubscribe({ services, sessions }, { uri }, { session, encode }) {
    // Front ends before 2026-11-26 noted long uris as they are.
    const names = new Set([shortName(services, uri), uri]);
    await Promise.all([...names].map((name) => sessions.unsubscribe(session.id, name)));
    return encode.empty();
  },
  callTool,
  getPrompt,
  getTask: needsTasks(getTask),
  taskResult: needsTasks(taskResult),
  listTasks: needsTasks(listTasks),
  cancelTask: needsTasks(cancelTask),
  sendInput: needsTasks(sendInput),
};

/** For intents that only revisions with tasks decode. */
function needsTasks<OneIntent extends Intent>(handle: Handler<OneIntent, TaskExchange>): Handler<OneIntent> {
  return (route, intent, exchange) => {
    if (!hasTasks(exchange)) throw new Error(`${intent.type} in a session of ${exchange.session.version}, which has no tasks`);
    return handle(route, intent, exchange);
  };
}

export function dispatch(route: SessionRoute, intent: SessionIntent, exchange: SessionExchange): Handled | Promise<Handled> {
  // TypeScript cannot correlate the handler that is found by a type with the intent of that type.
  const handle = HANDLERS[intent.type] as Handler<SessionIntent>;
  return handle(route, intent, exchange);
}
