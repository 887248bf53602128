import type { Gate } from "../../../front-end/gate.ts";
import type { Door, Talk } from "./door.ts";

/**
 * Takes a place for a call that waits: in its batch, in its session and in this front end, so that no batch takes all places of the session,
 * and no session all places of the front end. Returns what to call on leaving. Throws TOO_MANY_CALLS, OVERLOADED; no place is taken then.
 */
export function enterWaits({ waits, sessionWaits }: Door, { session }: Talk, batchWaits?: Gate): () => void {
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
}
