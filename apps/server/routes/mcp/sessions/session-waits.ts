import { type Gate, waitGateFor } from "../../../front-end/gate.ts";
import type { SessionExchange, SessionRoute } from "./session-route.ts";

/**
 * The places that a call of a session takes while it waits: in its batch, in its session, in what its caller may hold and in this front end, so that no batch
 * takes all places of the session, and neither a session nor a caller all places of the front end. `enter` throws TOO_MANY_CALLS, QUOTA_EXCEEDED, OVERLOADED;
 * no place is taken then.
 */
export function waitsOf(
  { waits, ownWaits, sessionWaits }: SessionRoute,
  { session, caller, batchWaits }: Pick<SessionExchange, "session" | "caller" | "batchWaits">,
): Pick<Gate, "enter"> {
  return {
    enter() {
      const entered: (() => void)[] = [];
      const leave = () => entered.forEach((each) => each());
      try {
        if (batchWaits) entered.push(batchWaits.enter());
        entered.push(sessionWaits.enter(session.id));
        entered.push(waitGateFor({ waits, ownWaits }, caller).enter());
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
  };
}
