/** An OAuth provider at which tools act on a person's behalf: how the person grants access, and how tokens are refreshed. */
import { type GrantedTokens, type OauthProviders, ParleyError } from "@parley/core";
import { createCodeFlow, type FlowBegun, flowFailure } from "../code-flow.ts";
import { refuse } from "../refuse.ts";
import type { OauthProviderSettings } from "./providers-file.ts";

export interface OauthProvider {
  readonly name: string;
  readonly title: string;
  /** The host at which people log in. */
  readonly host: string;
  /** Throws PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  start(scopes: readonly string[], callback: string): Promise<FlowBegun & { readonly url: string }>;
  /** Completes a grant with the callback's `parameters`. Throws GRANT_REFUSED, PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  finish(finish: FinishGrant): Promise<GrantedTokens>;
  /** Throws GRANT_EXPIRED, PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  refresh(tokens: GrantedTokens): Promise<GrantedTokens>;
  /** Throws PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  revoke(tokens: GrantedTokens): Promise<"ended" | "unsupported">;
}

export interface FinishGrant {
  readonly parameters: URLSearchParams;
  readonly begun: FlowBegun;
  readonly scopes: readonly string[];
  readonly callback: string;
}

/** How long a provider may take to respond. */
const OAUTH_TIMEOUT_MS = 10_000;
/** Each provider has its own setting in the file. */
const HTTP_PERMIT = "`allowHttp: true` in PARLEY_OAUTH";
/** Maximum length of a token, since tokens are stored with their task. */
export const TOKEN_CHARS_MAX = 16_384;

export function createOauthProvider(settings: OauthProviderSettings, now: () => number, timeoutMs = OAUTH_TIMEOUT_MS): OauthProvider {
  const { name, title, issuer, endpoints, client, secret, secretIn, parameters: extra, resource, allowHttp } = settings;
  const what = `the provider ${name}`;
  const flow = createCodeFlow({ issuer, endpoints, client, secret, secretIn, timeoutMs, allowHttp, httpPermit: HTTP_PERMIT, what });

  function granted(
    response: Awaited<ReturnType<typeof flow.redeem>>,
    before: Pick<GrantedTokens, "scopes" | "refreshToken">,
  ): GrantedTokens {
    const {
      access_token: accessToken,
      refresh_token: refreshToken = before.refreshToken,
      expires_in: seconds,
      scope,
      token_type,
    } = response;
    if (token_type !== "bearer") throw refuse("PROVIDER_INVALID", `${what}: its token is not a bearer token`);
    if (accessToken.length > TOKEN_CHARS_MAX || (refreshToken?.length ?? 0) > TOKEN_CHARS_MAX)
      throw refuse("PROVIDER_INVALID", `${what}: its token has more than ${TOKEN_CHARS_MAX} characters`);
    return {
      provider: name,
      accessToken,
      // If the response names no scopes, those requested were granted (RFC 6749, 5.1).
      scopes:
        scope === undefined
          ? before.scopes
          : scope
              .split(/[ ,]+/)
              .filter((each) => each !== "")
              .slice(0, 200),
      ...(seconds !== undefined && { expiresAtMs: now() + seconds * 1_000 }),
      ...(refreshToken !== undefined && { refreshToken }),
    };
  }

  return {
    name,
    title,
    host: new URL(issuer ?? endpoints?.authorization ?? "").host,
    start: (scopes, callback) => flow.start({ callback, scopes, resource, extra }),
    async finish({ parameters, begun, scopes, callback }) {
      try {
        return granted(await flow.redeem(parameters, begun, { callback, resource }), { scopes });
      } catch (error) {
        throw failed(what, "GRANT_REFUSED", error);
      }
    },
    async refresh({ refreshToken, scopes }) {
      if (refreshToken === undefined) throw new ParleyError("GRANT_EXPIRED", `${what}: it issued no refresh token`);
      try {
        return granted(await flow.refresh(refreshToken, resource), { scopes, refreshToken });
      } catch (error) {
        throw failed(what, "GRANT_EXPIRED", error);
      }
    },
    async revoke({ accessToken, refreshToken }) {
      try {
        // A provider ends the access tokens of a refresh token with it (RFC 7009, 2.1).
        const isDone = refreshToken === undefined ? flow.revoke(accessToken, "access_token") : flow.revoke(refreshToken, "refresh_token");
        return (await isDone) ? "ended" : "unsupported";
      } catch (error) {
        throw failed(what, "PROVIDER_INVALID", error);
      }
    },
  };
}

/** The library's error is not attached as the cause, because it contains the provider's response. */
function failed(what: string, refusal: "GRANT_REFUSED" | "GRANT_EXPIRED" | "PROVIDER_INVALID", error: unknown): ParleyError {
  const failure = flowFailure(error);
  switch (failure.type) {
    case "parley":
      return failure.error;
    case "refused":
      return new ParleyError(refusal, `${what} refused: ${failure.reason}`, { data: { reason: failure.reason } });
    case "invalid":
      return refuse("PROVIDER_INVALID", `${what}: ${failure.message}`);
    case "away":
      return refuse("PROVIDER_UNAVAILABLE", `${what}: no answer`);
  }
}

export interface OauthDirectory extends OauthProviders {
  find(name: string): OauthProvider | undefined;
}

export function createOauthProviders(settings: readonly OauthProviderSettings[], now: () => number, timeoutMs?: number): OauthDirectory {
  const providers = new Map(settings.map((each) => [each.name, createOauthProvider(each, now, timeoutMs)]));

  function providerOf({ provider: name }: GrantedTokens): OauthProvider {
    const provider = providers.get(name);
    if (!provider) throw new ParleyError("OAUTH_UNAVAILABLE", `the provider ${name} is not set up in this process (PARLEY_OAUTH)`);
    return provider;
  }

  return {
    find: (name) => providers.get(name),
    refresh: async (tokens) => await providerOf(tokens).refresh(tokens),
    revoke: async (tokens) => await providerOf(tokens).revoke(tokens),
  };
}
