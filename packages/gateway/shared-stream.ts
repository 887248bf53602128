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

/** Some servers read a number into 32 bits. There is room for the requests of a session that lasts for weeks. */
const FIRST_MAX = 2 ** 31 - 2 ** 24;

const PERSONAL: ReadonlySet<string> = new Set([
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
  "notifications/message",
  "notifications/elicitation/complete",
]);

/**
 * Returns the number of the first request. Must be called before the client connects. Not for bridges only: a server that uses one transport of an SDK
 * for all of its sessions finds the stream for a result by the number of its request.
 */
export function numberApart(client: Client): number {
  const first = randomInt(FIRST_MAX);
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
  const send = transport.send.bind(transport);
  let lastId = firstId;
  transport.send = async (message, options) => {
    if (!Array.isArray(message) && "method" in message && "id" in message) lastId = Number(message.id);
    await send(message, options);
  };
  transport.onmessage = (message, ...rest) => {
    if ("method" in message) {
      if (isShared() && PERSONAL.has(message.method)) return;
    } else if ("id" in message && message.id !== undefined && message.id !== null) {
      const id = Number(message.id);
      if (!(id >= firstId && id <= lastId)) return onShared();
    }
    onmessage?.(message, ...rest);
  };
}
