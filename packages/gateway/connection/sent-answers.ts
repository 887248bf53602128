/**
 * Sends answers to an upstream that waits for them. The MCP client sends each answer once and does not report a failure, for example on a connection
 * that the upstream has just closed, or while a load balancer in front of it is replaced. The upstream would then wait until its call times out.
 *
 * So a failed answer is sent again for a while, and a final failure is reported. One that was refused for the caller's access token is sent again with the
 * next token. Sending an answer twice is harmless: the upstream drops the second,
 * because its request is no longer open.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { SdkHttpError, type Transport, UnauthorizedError } from "@modelcontextprotocol/client";
import type { SessionOwner } from "./upstream-session/session.ts";
import { describeFailure } from "../wire/describe-failure.ts";

/** Milliseconds before each further attempt. */
const ANSWER_RETRIES_MS: readonly number[] = [50, 250, 1_000, 3_000, 5_000];

/** One error for all: creating one per ended call would capture a stack each time. */
const CLOSED = new Error("the connection is closed");

export function insistOnAnswers(transport: Transport, owner: SessionOwner, retriesMs = ANSWER_RETRIES_MS): void {
  const send = transport.send.bind(transport);
  const close = transport.close.bind(transport);
  const over = new AbortController();
  const closed = new Promise<void>((resolve) => over.signal.addEventListener("abort", () => resolve(), { once: true }));

  transport.send = async (message, options) => {
    if (Array.isArray(message) || "method" in message) return await send(message, options);
    const { onCut, onUnauthorized } = owner;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await send(message, options);
      } catch (error) {
        if (over.signal.aborted) throw error;
        if (onUnauthorized && isUnauthorized(error)) {
          await Promise.race([onUnauthorized(), closed]);
          continue;
        }
        const waitMs = isRefusal(error) ? undefined : retriesMs[attempt];
        if (waitMs === undefined) {
          onCut?.(`an answer could not be sent to the upstream: ${describeFailure(error)}`);
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

export function isUnauthorized(error: unknown): boolean {
  return (error instanceof SdkHttpError && error.status === 401) || error instanceof UnauthorizedError;
}

/** The upstream was reached and refused the answer: it has forgotten the session, or does not accept the credentials. */
function isRefusal(error: unknown): boolean {
  const { status } = error instanceof SdkHttpError ? error : { status: undefined };
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
}
