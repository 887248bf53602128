/**
 * Bounds the replies to an upstream's requests. Each is a request of its own over HTTP, and an upstream can send thousands of pings, or of questions
 * that are refused, in one message: a connection for each would occupy the process for seconds.
 */
import type { Transport } from "@modelcontextprotocol/client";
import { turns } from "@parley/core";

/** Of one session: how many are sent at once, and how many may wait. */
export const REPLIES_AT_ONCE = 16;
export const REPLIES_WAITING_MAX = 1_000;

/** `onFlood`: more would wait. The transport is closed then. */
export function boundReplies(transport: Transport, onFlood: () => void): void {
  const send = transport.send.bind(transport);
  const turn = turns(REPLIES_AT_ONCE);
  let pending = 0;
  let isFlooded = false;
  transport.send = async (message, options) => {
    if (Array.isArray(message) || "method" in message) return await send(message, options);
    if (isFlooded) return;
    if (pending === REPLIES_AT_ONCE + REPLIES_WAITING_MAX) {
      isFlooded = true;
      onFlood();
      return await transport.close();
    }
    pending += 1;
    try {
      await turn(async () => {
        if (!isFlooded) await send(message, options);
      });
    } finally {
      pending -= 1;
    }
  };
}
