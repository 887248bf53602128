/** A `fetch` for the OAuth libraries, which read a response to its end, however long it is and however slowly it comes. */

/** Maximum size of a response. The largest, the metadata of a provider, has a few kB. */
export const LOGIN_BYTES_MAX = 262_144;
const LOGIN_RESPONSE_MS = 30_000;

export async function boundedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const late = AbortSignal.timeout(LOGIN_RESPONSE_MS);
  const response = await fetch(url, { ...init, signal: init.signal ? AbortSignal.any([init.signal, late]) : late });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the rest of the response.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > LOGIN_BYTES_MAX) throw new Error(`${new URL(url).origin} sent more than ${LOGIN_BYTES_MAX} bytes during the login`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
}
