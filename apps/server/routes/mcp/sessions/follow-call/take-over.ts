/**
 * Which connection has the stream of a call (F6): the last on which its client has come back. The transport forbids to send a message on two
 * (specification 2025-11-25, basic/transports).
 *
 * A client that comes back takes the stream from an earlier connection, which may look alive long after the client has lost it. The new connection
 * tells those who follow the task, at any front end, and each of them ends unless the connection is its own. The first connection of a call writes
 * nothing for this, because most calls have no other. If the news is lost, both connections send until one of them breaks.
 */
import type { SessionRoute } from "../session-route.ts";

export interface TakeOver {
  /** News arrives in the same order everywhere, so of two connections that take the stream at once, one hears of the other after itself. */
  isTakenBy(connection: string): boolean;
}

/** The caller watches the task. */
export async function takeOver({ services, log }: Pick<SessionRoute, "services" | "log">, taskId: string): Promise<TakeOver> {
  const own = services.ids.uuid();
  let hasTold = false;
  try {
    await services.wakeUps.tell(taskId, { type: "resumed", connection: own });
  } catch (error) {
    log.warn({ taskId, err: error }, "stream could not be taken from an earlier connection");
    hasTold = true;
  }
  let isTaken = false;
  return {
    isTakenBy(connection) {
      if (connection === own) hasTold = true;
      else isTaken ||= hasTold;
      return isTaken;
    },
  };
}
