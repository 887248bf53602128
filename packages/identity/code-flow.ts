/**
 * The authorization code flow with PKCE at one provider, for logins in a browser (login.ts) and for tools that act on a person's behalf
 * (oauth/provider.ts).
 *
 *   start ─▶ provider ─▶ callback: state, iss ─▶ code redeemed
 *
 * Source: RFC 6749, 4.1 and 6; RFC 7009; RFC 7636; RFC 9207; RFC 9700, 2.1.
 */
import { ParleyError, type RequiredAssurance } from "@parley/core";
import * as oauth from "oauth4webapi";
import { boundedFetch } from "./ask-provider.ts";
import { unsafeAddress } from "./address.ts";
import { discoverAddresses } from "./discover.ts";
import { refuse, shown } from "./refuse.ts";

/** Kept by the browser while the person is at the provider. */
export interface FlowBegun {
  readonly state: string;
  readonly verifier: string;
}

/** How long metadata is used before it is read again: a provider may move its endpoints. */
export const METADATA_TTL_MS = 60_000;

export interface CodeFlow {
  /** Resolves to the address that the person visits. `extra` are further parameters. Throws PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  start(asked: Asked): Promise<FlowBegun & { readonly url: string }>;
  /** Exchanges the code in the callback's `parameters` for tokens. Throws oauth4webapi's errors and those of `start`; see `flowFailure`. */
  redeem(parameters: URLSearchParams, begun: FlowBegun, asked: Pick<Asked, "callback" | "resource">): Promise<Redeemed>;
  /** Throws the same errors as `redeem`. */
  refresh(refreshToken: string, resource?: string): Promise<oauth.TokenEndpointResponse>;
  /** Revokes a token. Returns false if the provider has no revocation endpoint. Throws the same errors as `redeem`. */
  revoke(token: string, type: "refresh_token" | "access_token"): Promise<boolean>;
}

export type Redeemed = oauth.TokenEndpointResponse & {
  /** As it was received: not verified. */
  readonly idToken?: string;
};

export interface Asked {
  readonly callback: string;
  readonly scopes: readonly string[];
  /** The resource that the token is for (RFC 8707). */
  readonly resource?: string | undefined;
  readonly extra?: Readonly<Record<string, string>>;
  /** The provider is to let the person log in again, with another account if they like, although it knows them. */
  readonly asAnother?: boolean;
  /** How the person is to log in, although the provider knows them. */
  readonly required?: RequiredAssurance;
}

export interface CodeFlowSettings {
  /** Undefined for a provider without an issuer: it is identified by its endpoints, and a callback that names an issuer is refused. */
  readonly issuer: string | undefined;
  readonly endpoints: { readonly authorization: string; readonly token: string; readonly revocation?: string | undefined } | undefined;
  readonly client: string;
  readonly secret: string | undefined;
  /** How the secret is sent. */
  readonly secretIn?: "header" | "body";
  readonly timeoutMs: number;
  readonly allowHttp: boolean;
  /** See `Discover`. */
  readonly httpPermit?: string;
  /** For error messages: `the login at https://id.example`. */
  readonly what: string;
}

export function createCodeFlow(settings: CodeFlowSettings): CodeFlow {
  const { issuer, endpoints, client: clientId, secret, secretIn = "header", timeoutMs, allowHttp, httpPermit, what } = settings;
  const client: oauth.Client = { client_id: clientId };
  const authentication =
    secret === undefined ? oauth.None() : secretIn === "body" ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret);
  const fetching = {
    [oauth.customFetch]: boundedFetch(what, timeoutMs),
    [oauth.allowInsecureRequests]: allowHttp || (issuer ?? endpoints?.token)?.startsWith("http:") === true,
  };
  let known: { readonly server: oauth.AuthorizationServer; readonly readAtMs: number } | undefined;
  let reading: Promise<oauth.AuthorizationServer> | undefined;

  async function provider(): Promise<oauth.AuthorizationServer> {
    if (known && performance.now() - known.readAtMs < METADATA_TTL_MS) return known.server;
    reading ??= readProvider().finally(() => (reading = undefined));
    return await reading;
  }

  async function readProvider(): Promise<oauth.AuthorizationServer> {
    const server = await discover().catch((error: unknown) => {
      // What is known is used until the metadata can be read again: the provider's other endpoints may well be there.
      if (known) return known.server;
      throw error;
    });
    known = { server, readAtMs: performance.now() };
    return server;
  }

  async function discover(): Promise<oauth.AuthorizationServer> {
    if (endpoints)
      return {
        issuer: issuer ?? new URL(endpoints.authorization).origin,
        authorization_endpoint: endpoints.authorization,
        token_endpoint: endpoints.token,
        ...(endpoints.revocation !== undefined && { revocation_endpoint: endpoints.revocation }),
      };
    const name = issuer ?? "";
    const asked = { issuer: name, timeoutMs, allowHttp, ...(httpPermit !== undefined && { httpPermit }) };
    const addresses = await discoverAddresses(asked, ["authorization_endpoint", "token_endpoint"]);
    const { authorization_endpoint, token_endpoint, metadata } = addresses;
    const { revocation_endpoint, prompt_values_supported } = metadata;
    return {
      issuer: name,
      authorization_endpoint,
      token_endpoint,
      authorization_response_iss_parameter_supported: metadata["authorization_response_iss_parameter_supported"] === true,
      ...(typeof revocation_endpoint === "string" && { revocation_endpoint }),
      ...(Array.isArray(prompt_values_supported) && { prompt_values_supported }),
    };
  }

  return {
    async start({ callback, scopes, resource, extra = {}, asAnother = false, required }) {
      const { authorization_endpoint = "", prompt_values_supported: prompts } = await provider();
      const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
      const url = new URL(authorization_endpoint);
      const asked = {
        ...(asAnother && promptFor(prompts, ["select_account", "login"])),
        ...extra,
        ...(required && loginParameters(required, prompts)),
        response_type: "code",
        client_id: clientId,
        redirect_uri: callback,
        scope: scopes.join(" "),
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...(resource !== undefined && { resource }),
      };
      for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
      return { url: url.href, state, verifier };
    },
    async redeem(parameters, { state, verifier }, { callback, resource }) {
      const as = await provider();
      const named = parameters.get("iss");
      // There is no configured issuer to compare it with.
      if (issuer === undefined && named !== null)
        throw refuse("PROVIDER_INVALID", `${what}: the response names the issuer ${shown(named)}, but no issuer is configured`);
      const valid = oauth.validateAuthResponse(as, client, parameters, state);
      const additionalParameters = resource === undefined ? {} : { resource };
      const response = await oauth.authorizationCodeGrantRequest(as, client, authentication, valid, callback, verifier, {
        additionalParameters,
        ...fetching,
      });
      const { readable, idToken } = await tokenResponse(response);
      const redeemed = await oauth.processAuthorizationCodeResponse(as, client, readable);
      return { ...redeemed, ...(idToken !== undefined && { idToken }) };
    },
    async refresh(refreshToken, resource) {
      const as = await provider();
      const additionalParameters = resource === undefined ? {} : { resource };
      const response = await oauth.refreshTokenGrantRequest(as, client, authentication, refreshToken, {
        additionalParameters,
        ...fetching,
      });
      return await oauth.processRefreshTokenResponse(as, client, (await tokenResponse(response)).readable);
    },
    async revoke(token, type) {
      const as = await provider();
      const { revocation_endpoint: address } = as;
      if (address === undefined) return false;
      // Checked here and not at discovery: access does not depend on this address.
      const unsafe = unsafeAddress(address, allowHttp, httpPermit);
      if (unsafe !== undefined) throw refuse("PROVIDER_INVALID", `${what}: its revocation_endpoint ${unsafe}`);
      const additionalParameters = { token_type_hint: type };
      const response = await oauth.revocationRequest(as, client, authentication, token, { additionalParameters, ...fetching });
      await oauth.processRevocationResponse(response);
      return true;
    },
  };
}

/**
 * The response of a token endpoint, in a form that oauth4webapi reads as it is meant:
 *
 * - without an ID token. Parley needs none, so none has to be valid; oauth4webapi would refuse those of providers that sign with another
 *   algorithm than RS256, and of those whose issuer is not configured.
 * - with an error status if it is an error. GitHub refuses with status 200.
 */
async function tokenResponse(response: Response): Promise<{ readonly readable: Response; readonly idToken?: string }> {
  const answer: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if (typeof answer !== "object" || answer === null) return { readable: response };
  const { id_token: idToken, ...rest } = answer as { readonly id_token?: unknown };
  const isRefusal = response.ok && "error" in rest && !("access_token" in rest);
  const readable = Response.json(rest, { status: isRefusal ? 400 : response.status, headers: response.headers });
  return { readable, ...(typeof idToken === "string" && { idToken }) };
}

/** Why a flow failed. `reason` is the provider's error code if it is safe to show; the callback may be forged. */
export type FlowFailure =
  | { readonly type: "parley"; readonly error: ParleyError }
  | { readonly type: "refused"; readonly reason: string }
  | { readonly type: "invalid"; readonly message: string }
  | { readonly type: "away" };

export function flowFailure(error: unknown): FlowFailure {
  if (error instanceof ParleyError) return { type: "parley", error };
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return { type: "refused", reason: /^\w{1,40}$/.test(error.error) ? error.error : "no reason that can be shown" };
  if (error instanceof oauth.WWWAuthenticateChallengeError) return { type: "refused", reason: "the client was refused" };
  if (error instanceof oauth.OperationProcessingError) {
    if (error.cause instanceof Response && error.cause.status >= 500) return { type: "away" };
    return { type: "invalid", message: error.message.slice(0, 200) };
  }
  if (error instanceof oauth.UnsupportedOperationError) return { type: "invalid", message: error.message.slice(0, 200) };
  return { type: "away" };
}

/**
 * A provider that does not say what it supports must support `login`. Source: OpenID Connect Core 1.0, 3.1.2.1 and 15.1; Initiating User
 * Registration via OpenID Connect 1.0, 4.1.
 */
function promptFor(supported: unknown, wanted: readonly string[]): { readonly prompt?: string } {
  const known: readonly unknown[] = Array.isArray(supported) ? supported : ["login"];
  const prompt = wanted.find((value) => known.includes(value));
  return prompt === undefined ? {} : { prompt };
}

/**
 * `max_age` makes the provider state when the person logged in, and `prompt` makes one log them in that takes no notice of it. A class can be
 * asked for without that: the provider knows what is missing. Methods cannot be asked for. Source: OpenID Connect Core 1.0, 3.1.2.1; RFC 9470, 4.
 */
function loginParameters({ withinMs, acr, amr }: RequiredAssurance, prompts: unknown): Readonly<Record<string, string>> {
  return {
    ...((withinMs !== undefined || amr) && promptFor(prompts, ["login"])),
    ...(withinMs !== undefined && { max_age: String(Math.floor(withinMs / 1_000)) }),
    ...(acr && { acr_values: acr.join(" ") }),
  };
}
