/**
 * Answers on their way to an upstream that waits for them. The client sends each once and tells nobody when that fails, such as on a connection that
 * the upstream had just closed, or while a balancer in front of it is replaced: the upstream would wait until its call is given up.
 *
 * So an answer is sent again for a while, and what cannot be sent is told. Sending one twice is harmless: an upstream that has taken it drops the second,
 * which is to a request that is not open any more.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { SdkHttpError, type Transport } from "@modelcontextprotocol/client";
import type { SessionOwner } from "./upstream-session.ts";
import { wordFor } from "./word-for.ts";

/** Milliseconds before each further attempt. */
export const ANSWER_RETRIES_MS: readonly number[] = [50, 250, 1_000, 3_000, 5_000];

/** One for all: an error of its own for each call that ends would be a stack for each. */
const CLOSED = new Error("the connection is closed");

export function insistOnAnswers(transport: Transport, owner: SessionOwner, retriesMs = ANSWER_RETRIES_MS): void {
  const send = transport.send.bind(transport);
  const close = transport.close.bind(transport);
  const over = new AbortController();

  transport.send = async (message, options) => {
    if (Array.isArray(message) || "method" in message) return await send(message, options);
    const { onCut } = owner;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await send(message, options);
      } catch (error) {
        if (over.signal.aborted) throw error;
        const waitMs = isRefusal(error) ? undefined : retriesMs[attempt];
        if (waitMs === undefined) {
          onCut?.(`an answer could not be given to the upstream (${wordFor(error)})`);
          throw error;
        }
        await sleep(waitMs, undefined, { signal: over.signal });
      }
    }
  };
  transport.close = async () => {
    over.abort(CLOSED);
    await close();
  };
}

/** It was reached and does not want it: it has forgotten the session, or the credentials are refused. */
function isRefusal(error: unknown): boolean {
  const { status } = error instanceof SdkHttpError ? error : { status: undefined };
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
}
