import type { Session, SessionStore, Task } from "@parley/core";
import type { Wants } from "@parley/protocol";
import type { SessionDialect, SessionEncoder, TaskEncoder } from "@parley/protocol/sessions";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate, Gates } from "../../../front-end/gate.ts";
import type { AskIds } from "./ask-ids.ts";
import type { EventIds } from "./event-ids.ts";
import type { ShownHere } from "./shown-asks.ts";

/** Everything that the handlers of sessions share. One per process. */
export interface SessionRoute extends FrontEnd {
  readonly sessions: SessionStore;
  /** Calls of one session that wait for their task. */
  readonly sessionWaits: Gates;
  readonly askIds: AskIds;
  readonly shown: ShownHere;
  readonly eventIds: EventIds;
  /** By revision. */
  readonly encoders: ReadonlyMap<string, SessionEncoder>;
}

/** The session of one HTTP request, and what all messages of the request have in common. */
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

/** Until the client sets a level. The specification (2025-11-25, server/utilities/logging) leaves the default to the server. */
const DEFAULT_LOG_LEVEL = "info";

/** Which notifications a request wants: progress for its own token, and logs from the session's level. */
export function wantsOf({ session }: SessionContext, { progressToken }: Pick<Wants, "progressToken">): Wants {
  return { logLevel: session.logLevel ?? DEFAULT_LOG_LEVEL, ...(progressToken !== undefined && { progressToken }) };
}

/**
 * The progress token of the call that created the task. It is valid until the task ends (specification 2025-11-25,
 * basic/utilities/tasks), so it also counts for a tasks/result without a token of its own.
 */
export function progressOf({ call }: Task): Pick<Wants, "progressToken"> {
  const progressToken = call.request?.progressToken;
  return progressToken === undefined ? {} : { progressToken };
}
