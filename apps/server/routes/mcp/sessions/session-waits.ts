import type { Gate } from "../../../front-end/gate.ts";
import type { SessionExchange, SessionRoute } from "./session-route.ts";

/**
 * The places that a call of a session takes while it waits: in its batch, in its session and in this front end, so that no batch takes all
 * places of the session, and no session all places of the front end. `enter` throws TOO_MANY_CALLS, OVERLOADED; no place is taken then.
 */
export function waitsOf(
  { waits, sessionWaits }: SessionRoute,
  { session, batchWaits }: Pick<SessionExchange, "session" | "batchWaits">,
): Pick<Gate, "enter"> {
  return {
    enter() {
      const entered: (() => void)[] = [];
      const leave = () => entered.forEach((each) => each());
      try {
        if (batchWaits) entered.push(batchWaits.enter());
        entered.push(sessionWaits.enter(session.id));
        entered.push(waits.enter());
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
  };
}
