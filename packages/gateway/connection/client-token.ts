/**
 * Access tokens of the gateway's own for an upstream (`clientCredentials` in the file of upstreams), by the grant type client_credentials.
 *
 *   metadata of the upstream (RFC 9728) ─▶ names this authorization server ─▶ its metadata (RFC 8414) ─▶ token ─▶ each request
 *                                              ▲                                                           │
 *                                              └────────── about to expire, or refused with HTTP 401 ──────┘
 *
 *   T1  The secret goes to the authorization server that the file names, and to no other: an upstream only confirms it.
 *   T2  A token is used for one upstream, at the origin of its url. Two upstreams never share one.
 *   T3  Requests at the same time share one request for a token.
 *   T4  A token that has not expired is used even if the next one cannot be had.
 *   T5  A request is sent twice at most. If new tokens are refused as well, the authorization server is asked once in ten seconds.
 *   T6  No token and no credential is in a log or an error, nor is what a server said.
 */
import { hash } from "node:crypto";
import {
  AuthorizationServerMismatchError,
  ClientCredentialsProvider,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  fetchToken,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  OAuthError,
  type OAuthProtectedResourceMetadata,
  type OAuthTokens,
  PrivateKeyJwtProvider,
  selectResourceURL,
} from "@modelcontextprotocol/client";
import type { ClientCredentials } from "../config/client-credentials.ts";
import { type ByUrl, type Upstream, UPSTREAMS_MAX } from "../config/upstreams.ts";
import { describeFailure } from "../wire/describe-failure.ts";
import { NoAccess } from "../wire/no-access.ts";

type Asking = Pick<Upstream, "name" | "connectTimeoutMs">;

export interface ClientTokens {
  /** A token that is valid now. Throws NoAccess, or the signal's reason. */
  token(upstream: Asking, reached: WithCredentials, signal?: AbortSignal | null): Promise<string>;
  /** The upstream refused this token. Resolves to another one; undefined if there is none to try. Throws as `token`. */
  refused(upstream: Asking, reached: WithCredentials, refusal: Refusal): Promise<string | undefined>;
}

export type WithCredentials = ByUrl & { readonly credentials: ClientCredentials };

export function hasCredentials(reached: Upstream["reached"]): reached is WithCredentials {
  return reached.by === "url" && reached.credentials !== undefined;
}

interface Refusal {
  readonly token: string;
  readonly response: Response;
  readonly signal?: AbortSignal | null | undefined;
}

export interface ClientTokensOptions {
  readonly fetch: FetchLike;
  readonly nowMs?: () => number;
}

interface Token {
  readonly text: string;
  readonly sinceMs: number;
  /** From then on the next one is asked for. */
  readonly renewMs: number;
  readonly expiresMs: number;
}

interface Entry {
  token?: Token;
  /** Shared by all that wait (T3). */
  pending?: Promise<Token>;
  failed?: { readonly error: NoAccess; readonly atMs: number };
  /** What the upstream said when it refused a token. */
  hint: { readonly metadata?: URL; readonly scope?: string };
}

/** How many tokens a process keeps: a file that is changed while calls wait has some more than upstreams. */
const TOKENS_MAX = 2 * UPSTREAMS_MAX;
/** A token is renewed this long before it expires, or after four fifths of its life. */
const RENEW_BEFORE_MS = 60_000;
const RENEW_AFTER_PART = 0.8;
/** A token that expires at once is used for this long, and no token is believed to last longer than the other. */
const LIFE_MS = { shortest: 1_000, longest: 24 * 60 * 60_000 };
/** How soon a token that was just issued and is refused is replaced (T5). */
const REFUSED_EVERY_MS = 10_000;
/** How long the failure of a request for a token counts for others, so that a server that is down is not asked by every call. */
const FAILURE_COUNTS_MS = 1_000;
/** Maximum characters of a token: it is sent with every request. */
export const TOKEN_CHARS_MAX = 16_384;
/** Errors of RFC 6749, 5.2 and RFC 8707, 2, as operators can act on them. */
const BY_OAUTH_ERROR: Readonly<Record<string, string>> = {
  invalid_client: "does not accept the client: check `clientId`, and `clientSecret` or `privateKey`",
  unauthorized_client: "does not allow this client the grant type client_credentials",
  unsupported_grant_type: "does not know the grant type client_credentials",
  invalid_scope: "does not grant these `scopes`",
  invalid_target: "issues no token for this `resource`",
};

export function createClientTokens({ fetch, nowMs = () => performance.now() }: ClientTokensOptions): ClientTokens {
  /** Oldest first. */
  const entries = new Map<string, Entry>();

  function entryOf({ name }: Asking, { url, credentials }: WithCredentials): Entry {
    const key = hash("sha256", JSON.stringify([name, url, credentials]), "base64url");
    const entry = entries.get(key) ?? { hint: {} };
    entries.delete(key);
    entries.set(key, entry);
    for (const oldest of entries.keys()) if (entries.size > TOKENS_MAX) entries.delete(oldest);
    return entry;
  }

  async function renew(entry: Entry, upstream: Asking, reached: WithCredentials): Promise<Token> {
    const { failed } = entry;
    if (failed && nowMs() - failed.atMs < FAILURE_COUNTS_MS) throw failed.error;
    entry.pending ??= obtain(reached, { fetch, hint: entry.hint, timeoutMs: upstream.connectTimeoutMs, nowMs }).then(
      (token) => {
        delete entry.pending;
        delete entry.failed;
        return (entry.token = token);
      },
      (error: NoAccess) => {
        delete entry.pending;
        entry.failed = { error, atMs: nowMs() };
        throw error;
      },
    );
    return await entry.pending;
  }

  return {
    async token(upstream, reached, signal) {
      const entry = entryOf(upstream, reached);
      const { token } = entry;
      if (token && nowMs() < token.renewMs) return token.text;
      const renewed = unlessAborted(() => renew(entry, upstream, reached), signal);
      // T4
      const next = token && nowMs() < token.expiresMs ? await renewed.catch(() => token) : await renewed;
      signal?.throwIfAborted();
      return next.text;
    },
    async refused(upstream, reached, { token: text, response, signal }) {
      const entry = entryOf(upstream, reached);
      const { token } = entry;
      if (token && token.text !== text) return token.text;
      const { resourceMetadataUrl: metadata, scope } = extractWWWAuthenticateParams(response);
      // Metadata that are elsewhere could be anywhere in this network.
      const isHere = metadata?.origin === new URL(reached.url).origin;
      const { hint } = entry;
      // What it says for the first time. One that asks for other scopes with each refusal has nothing new (T5).
      const isNews = (isHere && hint.metadata === undefined) || (scope !== undefined && hint.scope === undefined);
      if (token && !isNews && nowMs() - token.sinceMs < REFUSED_EVERY_MS) return undefined;
      entry.hint = { ...hint, ...(isHere && { metadata }), ...(scope !== undefined && { scope }) };
      return (await unlessAborted(() => renew(entry, upstream, reached), signal)).text;
    },
  };
}

async function unlessAborted<One>(work: () => Promise<One>, signal: AbortSignal | null | undefined): Promise<One> {
  if (!signal) return await work();
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work(), promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

interface Obtaining {
  readonly fetch: FetchLike;
  readonly hint: Entry["hint"];
  readonly timeoutMs: number;
  readonly nowMs: () => number;
}

/** Throws NoAccess. */
async function obtain(reached: WithCredentials, { fetch, hint, timeoutMs, nowMs }: Obtaining): Promise<Token> {
  const { url, credentials } = reached;
  const { issuer, resource, scopes } = credentials;
  const signal = AbortSignal.timeout(timeoutMs);
  // The library sends a form as URLSearchParams.
  const bounded: FetchLike = (to, init) =>
    fetch(to, { ...init, ...(init?.body instanceof URLSearchParams && { body: String(init.body) }), signal });
  const at = `its authorization server ${new URL(issuer).host}`;
  const provider = providerOf(credentials);

  const metadata = await resourceMetadata(url, { fetch: bounded, hint: hint.metadata, signal });
  const named = metadata?.authorization_servers ?? [];
  // T1
  if (named.length > 0 && !named.some((each) => sameIssuer(each, issuer)))
    throw new NoAccess("its metadata name another authorization server than `issuer` in the file of upstreams");
  const isIts = await selectResourceURL(url, provider, metadata).then(
    () => true,
    () => false,
  );
  if (!isIts) throw new NoAccess("its metadata are those of another resource");

  try {
    const server = await discoverAuthorizationServerMetadata(issuer, { fetchFn: bounded });
    if (!server) throw new NoAccess(`${at} has no metadata at the address of \`issuer\``);
    const forScopes = scopes?.join(" ") ?? hint.scope ?? metadata?.scopes_supported?.join(" ");
    const target = resource ?? metadata?.resource ?? withoutFragment(url);
    const sinceMs = nowMs();
    const tokens = await fetchToken(provider, issuer, {
      metadata: server,
      fetchFn: bounded,
      ...(forScopes !== undefined && forScopes !== "" && { scope: forScopes }),
      ...(target !== false && { resource: target }),
    });
    return tokenOf(tokens, { at, sinceMs });
  } catch (error) {
    throw error instanceof NoAccess ? error : new NoAccess(`${at} ${whyNot(error, signal)}`);
  }
}

function providerOf({ issuer, clientId, proof }: ClientCredentials): ClientCredentialsProvider | PrivateKeyJwtProvider {
  const client = { clientId, clientName: "parley-gateway", expectedIssuer: issuer };
  return "secret" in proof
    ? new ClientCredentialsProvider({ ...client, clientSecret: proof.secret })
    : new PrivateKeyJwtProvider({ ...client, ...proof });
}

interface Discovering {
  readonly fetch: FetchLike;
  readonly hint: URL | undefined;
  readonly signal: AbortSignal;
}

/** Undefined: it has none. Then the file says everything that is needed. */
async function resourceMetadata(url: string, { fetch, hint, signal }: Discovering): Promise<OAuthProtectedResourceMetadata | undefined> {
  let status: number | undefined;
  const noting: FetchLike = async (to, init) => {
    const response = await fetch(to, init);
    ({ status } = response);
    return response;
  };
  try {
    return await discoverOAuthProtectedResourceMetadata(url, hint && { resourceMetadataUrl: hint }, noting);
  } catch (error) {
    if (status !== undefined && status >= 400 && status < 500) return undefined;
    if (signal.aborted) throw new NoAccess("its metadata did not come within its `connectTimeout`");
    // A request that failed has no status of its own, also after one that did not.
    const why =
      error instanceof TypeError
        ? describeFailure(error)
        : (status ?? 0) >= 500
          ? `HTTP ${status}`
          : "they are not those of OAuth (RFC 9728)";
    throw new NoAccess(`its metadata cannot be read: ${why}`);
  }
}

/** As the library compares them. */
function sameIssuer(one: string, other: string): boolean {
  return one === other || one === `${other}/` || `${one}/` === other;
}

function withoutFragment(text: string): string {
  const url = new URL(text);
  url.hash = "";
  return url.href;
}

interface Reading {
  readonly at: string;
  readonly sinceMs: number;
}

function tokenOf({ access_token: text, token_type: type, expires_in: seconds }: OAuthTokens, { at, sinceMs }: Reading): Token {
  if (type.toLowerCase() !== "bearer") throw new NoAccess(`${at} issued a token that is no bearer token`);
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > TOKEN_CHARS_MAX)
    throw new NoAccess(`${at} issued a token that cannot be sent in a header`);
  const saidMs = seconds === undefined || Number.isNaN(seconds) ? Infinity : seconds * 1_000;
  const livesMs = Math.min(Math.max(saidMs, LIFE_MS.shortest), LIFE_MS.longest);
  const renewMs = sinceMs + Math.max(livesMs - RENEW_BEFORE_MS, livesMs * RENEW_AFTER_PART);
  return { text, sinceMs, renewMs, expiresMs: sinceMs + livesMs };
}

/** What the authorization server did. Its own words are not repeated: they could be anything. */
function whyNot(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "did not answer within the `connectTimeout` of the upstream";
  if (error instanceof IssuerMismatchError || error instanceof AuthorizationServerMismatchError) return "says that it is another issuer";
  if (error instanceof InsecureTokenEndpointError) return "has a token endpoint without https";
  if (error instanceof OAuthError) {
    const known = Object.hasOwn(BY_OAUTH_ERROR, error.code) ? BY_OAUTH_ERROR[error.code] : undefined;
    return known === undefined ? "refused a token, or failed to issue one" : `${known} (${error.code})`;
  }
  // Validation of what it sent.
  if (error instanceof SyntaxError || (error instanceof Error && error.name.includes("ZodError")))
    return "sent a response that is not one of OAuth";
  if (error instanceof TypeError) return `cannot be reached: ${describeFailure(error)}`;
  return "has failed, or is not available";
}
