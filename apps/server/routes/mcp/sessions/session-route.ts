import type { Session, SessionStore } from "@parley/core";
import type { SessionDialect, SessionEncoder, TaskEncoder } from "@parley/protocol/sessions";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { AskIds } from "./ask-ids.ts";
import type { EventIds } from "./event-ids.ts";

/** What the handlers of sessions work with; one per process. */
export interface SessionRoute extends FrontEnd {
  readonly sessions: SessionStore;
  readonly askIds: AskIds;
  readonly eventIds: EventIds;
  /** By revision. */
  readonly encoders: ReadonlyMap<string, SessionEncoder>;
}

/** A session as one HTTP request finds it, with what its messages have in common. */
export interface SessionContext extends Pick<Exchange<SessionEncoder>, "caller" | "catalogue" | "encode"> {
  readonly session: Session;
  readonly dialect: SessionDialect;
}

/** One request of a session. */
export interface SessionExchange extends Exchange<SessionEncoder>, SessionContext {}

/** A request of a revision that has tasks. */
export interface TaskExchange extends SessionExchange {
  readonly encode: SessionEncoder & { readonly tasks: TaskEncoder };
}

export function hasTasks(exchange: SessionExchange): exchange is TaskExchange {
  return exchange.encode.tasks !== undefined;
}
