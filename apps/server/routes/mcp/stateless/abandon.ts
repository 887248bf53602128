import { ANSWERED } from "../shared/answer.ts";
import type { StatelessExchange } from "./stateless-route.ts";

/** For a client that has disconnected: nothing is sent. */
export function abandon({ channel }: StatelessExchange): typeof ANSWERED {
  channel.abandon();
  return ANSWERED;
}
