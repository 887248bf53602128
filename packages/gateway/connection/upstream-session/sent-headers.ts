/** Which headers a request to an upstream carries: those of the file as it is now, and the caller's token for the upstream alone (U5). */
import type { FetchLike } from "@modelcontextprotocol/client";
import type { ByUrl, Upstream } from "../../config/upstreams.ts";
import { type ClientTokens, hasCredentials } from "../client-token.ts";

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

export interface OwnAccess {
  /** Resolves once there is a token, if one is needed. Throws NoAccess. */
  ready(signal?: AbortSignal): Promise<void>;
  /** A request that is refused for the token is sent once more, with the next one. */
  sends(fetch: FetchLike): FetchLike;
}

/** The gateway's own token, if the file has `clientCredentials` now. */
export function ownAccess(upstream: Upstream, { tokens, present }: OwnAccessOptions): OwnAccess {
  const { reached } = upstream;
  const credentials = () => {
    const now = present();
    const reachedNow = reached.by === "url" && now?.url === reached.url ? now : reached;
    return hasCredentials(reachedNow) ? reachedNow : undefined;
  };
  return {
    async ready(signal) {
      const now = credentials();
      if (now) await tokens.token(upstream, now, signal);
    },
    sends: (fetch) => async (url, init) => {
      const now = credentials();
      if (!now || new URL(url).origin !== new URL(now.url).origin) return await fetch(url, init);
      const send = (token: string) => {
        const headers = new Headers(init?.headers);
        headers.set("authorization", `Bearer ${token}`);
        return fetch(url, { ...init, headers });
      };
      const signal = init?.signal;
      const token = await tokens.token(upstream, now, signal);
      const response = await send(token);
      if (response.status !== 401) return response;
      const next = await tokens.refused(upstream, now, { token, response, signal });
      if (next === undefined) return response;
      await response.body?.cancel();
      return await send(next);
    },
  };
}

interface OwnAccessOptions {
  readonly tokens: ClientTokens;
  readonly present: () => ByUrl | undefined;
}
