/**
 * One POST to an address that somebody else may have chosen: bounded in time and size, without redirects, and to public
 * addresses only unless it may be private. The address is checked where the connection is made, after the name was
 * resolved, so that a name cannot point elsewhere in between.
 */
import { lookup as resolve, type LookupAddress } from "node:dns";
import * as http from "node:http";
import * as https from "node:https";
import type { LookupFunction } from "node:net";
import { isPublicAddress, isPublicHost } from "./public-address.ts";

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

class AddressRefused extends Error {}

const ANSWER_BYTES_MAX = 65_536;

export async function post({ url, headers, body, isPrivate, timeoutMs, signal, readsAnswer = false }: Post): Promise<Posted> {
  if (!isPrivate && !isPublicHost(url.hostname)) return { type: "failed", why: "address_refused" };
  const timeout = AbortSignal.timeout(timeoutMs);
  const { request } = url.protocol === "https:" ? https : http;
  try {
    return await new Promise<Posted>((answered, failed) => {
      const sent = request(
        url,
        {
          method: "POST",
          agent: false,
          headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
          signal: AbortSignal.any([timeout, signal]),
          lookup: isPrivate ? resolve : (publicOnly as LookupFunction),
        },
        (response) => {
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
        },
      );
      sent.on("error", failed);
      sent.end(body);
    });
  } catch (error) {
    if (signal.aborted && !timeout.aborted) throw error;
    return { type: "failed", why: reasonOf(error, timeout) };
  }
}

type Found = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

function publicOnly(host: string, options: { readonly all?: boolean }, found: Found): void {
  resolve(host, { ...options, all: true }, (error, addresses) => {
    if (error) return found(error, "");
    const [first, ...others] = addresses.filter(({ address }) => isPublicAddress(address));
    if (!first) return found(new AddressRefused(`${host} has no public address`), "");
    if (options.all) found(null, [first, ...others]);
    else found(null, first.address, first.family);
  });
}

function reasonOf(error: unknown, timeout: AbortSignal): Extract<Posted, { type: "failed" }>["why"] {
  if (error instanceof AddressRefused) return "address_refused";
  if (timeout.aborted) return "timeout";
  const { code = "" } = error as NodeJS.ErrnoException;
  return /^(ERR_TLS|ERR_SSL|EPROTO|CERT|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED)/.test(code) ? "tls_error" : "connection_refused";
}

function retryAfter(header: string | undefined): { readonly retryAfterMs?: number } {
  if (header === undefined) return {};
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? { retryAfterMs: ms } : {};
}
