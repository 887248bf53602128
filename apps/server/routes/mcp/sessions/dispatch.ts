import { ParleyError } from "@parley/core";
import type { Intent, IntentOf } from "@parley/protocol";
import type { SessionIntent } from "@parley/protocol/sessions";
import type { Handled } from "../shared/answer.ts";
import { SERVED } from "../shared/served.ts";
import { callTool, getPrompt } from "./calls.ts";
import { hasTasks, type SessionExchange, type SessionRoute, type TaskExchange } from "./session-route.ts";
import { cancelTask, getTask, listTasks, sendInput, taskResult } from "./tasks.ts";

type Handler<Wanted, Of = SessionExchange> = (route: SessionRoute, intent: Wanted, exchange: Of) => Handled | Promise<Handled>;

/** What is done about each intent. */
const HANDLERS: { readonly [Type in SessionIntent["type"]]: Handler<IntentOf<SessionIntent, Type>> } = {
  ...SERVED,
  ping: (_route, _intent, { encode }) => encode.empty(),
  async setLogLevel({ sessions }, { level }, { session, encode }) {
    await sessions.setLogLevel(session.id, level);
    return encode.empty();
  },
  async subscribe({ sessions, limits }, { uri }, { session, encode }) {
    const most = limits.sessionSubscriptionsMax;
    const became = await sessions.subscribe(session.id, uri, most);
    if (became === "full") {
      throw new ParleyError("TOO_MANY_SUBSCRIPTIONS", `the session follows ${most} resources (PARLEY_SESSION_SUBSCRIPTIONS_MAX)`);
    }
    return encode.empty();
  },
  async unsubscribe({ sessions }, { uri }, { session, encode }) {
    await sessions.unsubscribe(session.id, uri);
    return encode.empty();
  },
  callTool,
  getPrompt,
  getTask: aboutTasks(getTask),
  taskResult: aboutTasks(taskResult),
  listTasks: aboutTasks(listTasks),
  cancelTask: aboutTasks(cancelTask),
  sendInput: aboutTasks(sendInput),
};

/** Only revisions that have tasks read such a request. */
function aboutTasks<Wanted extends Intent>(handle: Handler<Wanted, TaskExchange>): Handler<Wanted> {
  return (route, intent, exchange) => {
    if (!hasTasks(exchange)) throw new Error(`${intent.type} in a session of ${exchange.session.version}, which has no tasks`);
    return handle(route, intent, exchange);
  };
}

export function dispatch(route: SessionRoute, intent: SessionIntent, exchange: SessionExchange): Handled | Promise<Handled> {
  // TypeScript does not see that the handler found by a type takes the intent of that type.
  const handle = HANDLERS[intent.type] as Handler<SessionIntent>;
  return handle(route, intent, exchange);
}
