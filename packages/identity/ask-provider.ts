/**
 * Requests JSON from a provider. Providers are trusted to identify people, but not to answer in time, in the right form, or at all: a response
 * is bounded in time and size, and redirects are refused.
 */
import { ParleyError } from "@parley/core";
import { refuse, span } from "./refuse.ts";

/** Maximum size of a response. The keys of the largest public providers take about 20 kB. */
export const ANSWER_BYTES_MAX = 262_144;

export interface AskProvider {
  readonly url: string;
  /** What is requested, for error messages: `the keys`. */
  readonly what: string;
  readonly timeoutMs: number;
  /** Ends the request; for several that share one timeout. Absent: this request has the timeout for itself. */
  readonly signal?: AbortSignal | undefined;
  /** A form to post; absent: a GET request is sent. */
  readonly form?: { readonly authorization: string; readonly fields: Readonly<Record<string, string>> };
}

/** Resolves to a JSON object. Throws PROVIDER_UNAVAILABLE if there is no answer, and PROVIDER_INVALID if the answer is not usable. */
export async function askProvider({
  url,
  what,
  timeoutMs,
  signal = AbortSignal.timeout(timeoutMs),
  form,
}: AskProvider): Promise<Readonly<Record<string, unknown>>> {
  const from = `${what} from ${new URL(url).host}`;
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json", ...(form && { authorization: form.authorization }) },
      // URLSearchParams also sets the content type.
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

/** A `fetch` with the bounds of `askProvider`, for libraries that contact providers themselves. */
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
  // Leaving the loop cancels the rest of the response.
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
