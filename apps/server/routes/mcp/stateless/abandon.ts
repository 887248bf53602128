import { ANSWERED } from "../shared/answer.ts";
import type { StatelessExchange } from "./stateless-route.ts";

/** Why the task of a call is cancelled whose client has disconnected. */
export const CLIENT_CLOSED = "The client closed the call.";

/** For a client that has disconnected: nothing is sent. */
export function abandon({ channel }: StatelessExchange): typeof ANSWERED {
  channel.abandon();
  return ANSWERED;
}
