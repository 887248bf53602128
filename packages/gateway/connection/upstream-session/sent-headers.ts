/** Which headers a request to an upstream carries: those of the file as it is now, and the caller's token for the upstream alone (U5). */
import type { FetchLike } from "@modelcontextprotocol/client";
import type { ByUrl } from "../../config/upstreams.ts";

/**
 * Sends the headers that the file has now, because a question may be open for longer than a credential is valid. The access token of a caller comes after
 * them, and replaces an `authorization` of the file.
 */
export function withPresentHeaders(fetch: FetchLike, opened: ByUrl, present: () => ByUrl | undefined): FetchLike {
  const { origin } = new URL(opened.url);
  return (url, init) => {
    const now = present();
    if (!now || now === opened || now.url !== opened.url || new URL(url).origin !== origin) return fetch(url, init);
    const headers = new Headers(init?.headers);
    for (const [key, value] of Object.entries(now.headers)) headers.set(key, value);
    return fetch(url, { ...init, headers });
  };
}

/** The token is for the upstream only: a redirect to another origin does not receive it. */
export function withToken(fetch: FetchLike, upstreamUrl: string, accessToken: () => string): FetchLike {
  const { origin } = new URL(upstreamUrl);
  return (url, init) => {
    const headers = new Headers(init?.headers);
    if (new URL(url).origin !== origin) return fetch(url, init);
    headers.set("authorization", `Bearer ${accessToken()}`);
    return fetch(url, { ...init, headers });
  };
}
