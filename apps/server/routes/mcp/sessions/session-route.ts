import type { Session, SessionStore } from "@parley/core";
import type { Wants } from "@parley/protocol";
import type { SessionDialect, SessionEncoder, TaskEncoder } from "@parley/protocol/sessions";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate, Gates } from "../../../front-end/gate.ts";
import type { AskIds } from "./ask-ids.ts";
import type { EventIds } from "./event-ids.ts";

/** What the handlers of sessions work with; one per process. */
export interface SessionRoute extends FrontEnd {
  readonly sessions: SessionStore;
  /** Calls of one session that wait for their task. */
  readonly sessionWaits: Gates;
  readonly askIds: AskIds;
  readonly eventIds: EventIds;
  /** By revision. */
  readonly encoders: ReadonlyMap<string, SessionEncoder>;
}

/** A session as one HTTP request finds it, with what its messages have in common. */
export interface SessionContext extends Pick<Exchange<SessionEncoder>, "caller" | "door" | "catalogue" | "encode"> {
  readonly session: Session;
  readonly dialect: SessionDialect;
}

/** One request of a session. */
export interface SessionExchange extends Exchange<SessionEncoder>, SessionContext {
  /** Calls of its batch that wait for their task. */
  readonly batchWaits?: Gate;
}

/** A request of a revision that has tasks. */
export interface TaskExchange extends SessionExchange {
  readonly encode: SessionEncoder & { readonly tasks: TaskEncoder };
}

export function hasTasks(exchange: SessionExchange): exchange is TaskExchange {
  return exchange.encode.tasks !== undefined;
}

/** Until a client sets a level. S25 server/utilities/logging leaves it to the server. */
const DEFAULT_LOG_LEVEL = "info";

/** How a request of the session wants to be told: its own token, and the level of the session. */
export function wantsOf({ session }: SessionContext, { progressToken }: Pick<Wants, "progressToken">): Wants {
  return { logLevel: session.logLevel ?? DEFAULT_LOG_LEVEL, ...(progressToken !== undefined && { progressToken }) };
}
