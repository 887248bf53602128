/**
 * Bridges that put one process behind a server of the older SSE transport, and send everything that it says to all of their clients, as supergateway
 * does. Clients that number their requests from 0 take each other's results for their own there: each call would get the result of whichever ended
 * first, and with it what belongs to another caller.
 *
 *   - The requests of a session have numbers of their own, so that a result reaches the call that it belongs to.
 *   - A question does not name its call. Once a session has received a response to another one, all sessions drop what could be somebody else's.
 *     Nobody is asked, and nobody answers: an answer, even a refusal, would reach the call that asked.
 */
import { randomInt } from "node:crypto";
import type { Client, Transport } from "@modelcontextprotocol/client";

/** The numbers of all sessions, and of one. */
const IDS = 2 ** 48 - 1;
const IDS_OF_ONE = 2 ** 16;

const PERSONAL: ReadonlySet<string> = new Set([
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
  "notifications/message",
  "notifications/elicitation/complete",
]);

/** Returns the number of the first request. Must be called before the client connects. */
export function numberApart(client: Client): number {
  const first = randomInt(IDS - IDS_OF_ONE);
  // The client has no option for it.
  Object.assign(client, { _requestMessageId: first });
  return first;
}

export interface SharedStream {
  readonly firstId: number;
  readonly isShared: () => boolean;
  readonly onShared: () => void;
}

export function dropOthers(transport: Transport, { firstId, isShared, onShared }: SharedStream): void {
  const { onmessage } = transport;
  transport.onmessage = (message, ...rest) => {
    if ("method" in message) {
      if (isShared() && PERSONAL.has(message.method)) return;
    } else if ("id" in message && message.id !== undefined && message.id !== null) {
      const nth = Number(message.id) - firstId;
      if (!(nth >= 0 && nth < IDS_OF_ONE)) return onShared();
    }
    onmessage?.(message, ...rest);
  };
}
