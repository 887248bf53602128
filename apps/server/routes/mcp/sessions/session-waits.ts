import { type Gate, waitGateFor } from "../../../front-end/gate.ts";
import type { SessionExchange, SessionRoute } from "./session-route.ts";

/**
 * The places that a call takes while it waits: one each of its batch, its session, its caller and this front end. A batch therefore cannot
 * take all places of its session, and neither a session nor a caller can take all places of the front end. `enter` throws TOO_MANY_CALLS,
 * QUOTA_EXCEEDED or OVERLOADED, and then takes no place.
 */
export function waitsOf(
  { waits, sessionWaits, services }: SessionRoute,
  { session, caller, batchWaits }: Pick<SessionExchange, "session" | "caller" | "batchWaits">,
): Pick<Gate, "enter"> {
  return {
    enter() {
      const entered: (() => void)[] = [];
      const leave = () => entered.forEach((each) => each());
      try {
        if (batchWaits) entered.push(batchWaits.enter());
        entered.push(sessionWaits.enter(session.id));
        entered.push(waitGateFor({ waits, services }, caller).enter());
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
  };
}
