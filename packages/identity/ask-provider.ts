/**
 * Asks a provider for JSON. Providers are trusted to say who is who, but not to answer in time, in shape, or at all: an answer is bounded in
 * time and size, and a redirection is none.
 */
import { ParleyError } from "@parley/core";
import { refuse, span } from "./refuse.ts";

/** Most bytes of an answer. The keys of the largest public providers are about 20 kB. */
export const ANSWER_BYTES_MAX = 262_144;

export interface AskProvider {
  readonly url: string;
  /** What is asked for, for the reader of an error: `the keys`. */
  readonly what: string;
  readonly timeoutMs: number;
  /** A form to post; absent: the address is only read. */
  readonly form?: { readonly authorization: string; readonly fields: Readonly<Record<string, string>> };
}

/** An object. Throws PROVIDER_UNAVAILABLE for an answer that does not come, and PROVIDER_INVALID for one that is none. */
export async function askProvider({ url, what, timeoutMs, form }: AskProvider): Promise<Readonly<Record<string, unknown>>> {
  const from = `${what} from ${new URL(url).host}`;
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, {
      headers: { accept: "application/json", ...(form && { authorization: form.authorization }) },
      // Its type is that of a form.
      ...(form && { method: "POST", body: new URLSearchParams(form.fields) }),
      signal,
      redirect: "manual",
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw refuse(response.status >= 500 ? "PROVIDER_UNAVAILABLE" : "PROVIDER_INVALID", `${from}: the answer was HTTP ${response.status}`);
    }
    return objectOf(from, await textOf(from, response));
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    const timedOut = error instanceof Error && error.name === "TimeoutError";
    throw refuse("PROVIDER_UNAVAILABLE", `${from}: ${timedOut ? `no answer within ${span(timeoutMs)}` : "no connection"}`, error);
  }
}

/** As `fetch`, for libraries that ask providers by themselves: in the bounds of askProvider. */
export function boundedFetch(what: string, timeoutMs: number): typeof fetch {
  return async (url, init) => {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs), redirect: "manual" });
    const { status, headers } = response;
    const text = await textOf(what, response);
    return new Response(status === 204 || status === 304 ? null : text, { status, headers });
  };
}

async function textOf(from: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels what is still to come.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw refuse("PROVIDER_INVALID", `${from}: the answer is larger than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function objectOf(from: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse("PROVIDER_INVALID", `${from}: the answer is not JSON`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw refuse("PROVIDER_INVALID", `${from}: the answer is not an object`);
  return value as Readonly<Record<string, unknown>>;
}
