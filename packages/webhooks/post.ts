/**
 * One POST to an address that somebody else may have chosen: bounded in time and size, without redirects, and to public
 * addresses only unless it may be private (connections.ts).
 */
import * as http from "node:http";
import * as https from "node:https";
import { AddressRefused, connectionTo } from "./connections.ts";
import { isPublicHost } from "./public-address.ts";

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isPrivate: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether the beginning of the answer is wanted. */
  readonly readsAnswer?: boolean;
}

/** Words and not texts: what a receiver says is nobody's business here. */
export type Posted =
  | { readonly type: "answered"; readonly status: number; readonly retryAfterMs?: number; readonly text?: string }
  | { readonly type: "failed"; readonly why: "timeout" | "address_refused" | "tls_error" | "connection_refused" };

/** A connection that was kept had ended before it brought anything back. */
class Ended extends Error {}

const ANSWER_BYTES_MAX = 65_536;

/** Rejects only once `signal` has aborted. */
export async function post(posting: Post): Promise<Posted> {
  const { url, isPrivate, timeoutMs, signal } = posting;
  if (!isPrivate && !isPublicHost(url.hostname)) return { type: "failed", why: "address_refused" };
  signal.throwIfAborted();
  // One for both, since to combine signals costs more than to post.
  const over = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    over.abort();
  }, timeoutMs);
  const stop = () => over.abort();
  signal.addEventListener("abort", stop);
  try {
    return await send(posting, { signal: over.signal, isNew: false }).catch((error: unknown) => {
      // A receiver ends what waits when it likes, also at the moment in which it is used. It may have taken this: then it gets it twice.
      if (error instanceof Ended) return send(posting, { signal: over.signal, isNew: true });
      throw error;
    });
  } catch (error) {
    if (signal.aborted && !isLate) throw error;
    return { type: "failed", why: isLate ? "timeout" : reasonOf(error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

function send(
  { url, headers, body, isPrivate, readsAnswer = false }: Post,
  { signal, isNew }: { readonly signal: AbortSignal; readonly isNew: boolean },
): Promise<Posted> {
  const { request } = url.protocol === "https:" ? https : http;
  return new Promise<Posted>((answered, failed) => {
    const sent = request(url, {
      method: "POST",
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
      signal,
      ...connectionTo({ url, isPrivate, isNew }),
    });
    sent.on("response", (response) => {
      let read = 0;
      const chunks: Buffer[] = [];
      const done = () =>
        answered({
          type: "answered",
          status: response.statusCode ?? 0,
          ...retryAfter(response.headers["retry-after"]),
          ...(readsAnswer && { text: Buffer.concat(chunks).toString("utf8") }),
        });
      response.on("data", (chunk: Buffer) => {
        read += chunk.length;
        if (readsAnswer && read <= ANSWER_BYTES_MAX) chunks.push(chunk);
        if (read > ANSWER_BYTES_MAX) {
          done();
          sent.destroy();
        }
      });
      response.on("end", done);
      response.on("error", failed);
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      const isEnded = sent.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
      failed(isEnded ? new Ended(error.message, { cause: error }) : error);
    });
    sent.end(body);
  });
}

function reasonOf(error: unknown): Extract<Posted, { type: "failed" }>["why"] {
  if (error instanceof AddressRefused) return "address_refused";
  const { code = "" } = error as NodeJS.ErrnoException;
  return /^(ERR_TLS|ERR_SSL|EPROTO|CERT|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED)/.test(code) ? "tls_error" : "connection_refused";
}

function retryAfter(header: string | undefined): { readonly retryAfterMs?: number } {
  if (header === undefined) return {};
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? { retryAfterMs: ms } : {};
}
