/**
 * Bridges that put one process behind a server of the older SSE transport, and send everything that it says to all of their clients, as supergateway
 * does. Clients that number their requests from 0 take each other's results for their own there: each call would get the result of whichever ended
 * first, and with it what belongs to another caller.
 *
 *   - The requests of a session have numbers of their own, so that a result reaches the call that it belongs to.
 *   - A question does not name its call. So before the first call, two sessions are compared: if one of them receives what belongs to the other, or a
 *     session does so later, all sessions drop what could be somebody else's, and later ones declare that they cannot be asked. Nobody is asked, and
 *     nobody answers: an answer, even a refusal, would reach the call that asked.
 *
 *       first ── connected ──────────────────────── ping ─▶ answered, and on its way nothing of the other's: the sessions are apart
 *       second ───────────── connected ─ ping ─▶ answered
 */
import { randomInt } from "node:crypto";
import { type Client, ProtocolError, type Transport } from "@modelcontextprotocol/client";

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
  /** A question was dropped. */
  readonly onDropped: () => void;
}

interface Compared {
  readonly client: Client;
  close(): Promise<void>;
}

export interface Comparing {
  /** Calls `onShared` when the session receives what belongs to another one. */
  readonly open: (onShared: () => void) => Promise<Compared>;
  readonly timeoutMs: number;
}

/**
 * Whether sessions receive what belongs to another one; undefined if there was no answer in time. Throws if no session can be opened.
 *
 * What a bridge sends to all of its clients is on the first session's stream before the answer to its ping. If a server sends to the newest stream
 * only, the answer arrives in the second session, and none in the first.
 */
export async function isSharedStream({ open, timeoutMs }: Comparing): Promise<boolean | undefined> {
  const { promise: seen, resolve: isSeen } = Promise.withResolvers<true>();
  const onShared = () => isSeen(true);
  const first = await open(onShared);
  try {
    // A server that refuses the second session has none to confuse the first with.
    const second = await open(onShared).catch(() => undefined);
    try {
      const answered = async () => {
        for (const one of second ? [second, first] : []) if (!(await answers(one.client, timeoutMs))) return undefined;
        return false;
      };
      return await Promise.race([seen, answered()]);
    } finally {
      await second?.close();
    }
  } finally {
    await first.close();
  }
}

async function answers(client: Client, timeoutMs: number): Promise<boolean> {
  return await client.ping({ timeout: timeoutMs }).then(
    () => true,
    (error: unknown) => error instanceof ProtocolError,
  );
}

export function dropOthers(transport: Transport, { firstId, isShared, onShared, onDropped }: SharedStream): void {
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  let lastId = firstId;
  transport.send = async (message, options) => {
    if (!Array.isArray(message) && "method" in message && "id" in message) lastId = Number(message.id);
    await send(message, options);
  };
  transport.onmessage = (message, ...rest) => {
    if ("method" in message) {
      if (isShared() && PERSONAL.has(message.method)) {
        if ("id" in message) onDropped();
        return;
      }
    } else if ("id" in message && message.id !== undefined && message.id !== null) {
      const id = Number(message.id);
      if (!(id >= firstId && id <= lastId)) return onShared();
    }
    onmessage?.(message, ...rest);
  };
}
