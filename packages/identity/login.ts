/**
 * How people log in with a browser, to open pages: the authorization code flow with PKCE, as MCP clients do it. The browser ends with an access token for
 * this server, which is verified like one that a client sends, so that a person is the same principal either way. The token is then forgotten.
 *
 *   start ─▶ provider ─▶ callback: state, iss ─▶ code redeemed ─▶ token judged ─▶ Caller
 *
 * Source: RFC 6749, 4.1; RFC 7636; RFC 9207; RFC 9700, 2.1.
 */
import type { Caller, Log } from "@parley/core";
import { ParleyError } from "@parley/core";
import * as oauth from "oauth4webapi";
import { boundedFetch } from "./ask-provider.ts";
import { discoverAddresses } from "./discover.ts";
import type { Identity } from "./identity.ts";
import { refuse } from "./refuse.ts";
import type { IdentitySettings, LoginSettings } from "./settings.ts";

/** What a browser keeps while its person is at the provider. */
export interface LoginBegun {
  readonly state: string;
  readonly verifier: string;
}

export interface Login {
  /** How long a login lasts. */
  readonly ttlMs: number;
  /** Whether browsers come over https; else it is this machine's own. */
  readonly isSecure: boolean;
  /** Throws PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  start(): Promise<LoginBegun & { readonly url: string }>;
  /** `parameters` are the callback's. Throws LOGIN_REFUSED, the errors of tokens, OVERLOADED, PROVIDER_UNAVAILABLE and PROVIDER_INVALID. */
  finish(parameters: URLSearchParams, begun: LoginBegun): Promise<Caller>;
}

export interface LoginPorts extends Pick<Identity, "identify"> {
  readonly log: Log;
}

/** Codes that are redeemed at once by one front end. */
export const LOGINS_AT_ONCE_MAX = 100;

export function createLogin(
  settings: LoginSettings,
  { providerTimeoutMs: timeoutMs, allowHttp }: Pick<IdentitySettings, "providerTimeoutMs" | "allowHttp">,
  { identify, log }: LoginPorts,
): Login {
  const { issuer, client: clientId, secret, endpoints, scopes, resource, parameters: extra, callback, ttlMs } = settings;
  const client: oauth.Client = { client_id: clientId };
  const authentication = secret === undefined ? oauth.None() : oauth.ClientSecretBasic(secret);
  const fetching = {
    [oauth.customFetch]: boundedFetch(`the login at ${issuer}`, timeoutMs),
    [oauth.allowInsecureRequests]: allowHttp || isHttp(issuer),
  };
  let known: Promise<oauth.AuthorizationServer> | undefined;
  let atOnce = 0;

  /** Asked for once, and again where that failed. */
  function provider(): Promise<oauth.AuthorizationServer> {
    known ??= discover().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  }

  async function discover(): Promise<oauth.AuthorizationServer> {
    if (endpoints) return { issuer, authorization_endpoint: endpoints.authorization, token_endpoint: endpoints.token };
    const found = await discoverAddresses({ issuer, timeoutMs, allowHttp }, ["authorization_endpoint", "token_endpoint"]);
    const { authorization_endpoint, token_endpoint, metadata } = found;
    return {
      issuer,
      authorization_endpoint,
      token_endpoint,
      authorization_response_iss_parameter_supported: metadata["authorization_response_iss_parameter_supported"] === true,
    };
  }

  async function redeemed(as: oauth.AuthorizationServer, parameters: URLSearchParams, { state, verifier }: LoginBegun): Promise<string> {
    try {
      const valid = oauth.validateAuthResponse(as, client, parameters, state);
      const additionalParameters = resource === undefined ? {} : { resource };
      const response = await oauth.authorizationCodeGrantRequest(as, client, authentication, valid, callback, verifier, {
        additionalParameters,
        ...fetching,
      });
      const { access_token } = await oauth.processAuthorizationCodeResponse(as, client, response);
      return access_token;
    } catch (error) {
      throw loginError(issuer, error);
    }
  }

  return {
    ttlMs,
    isSecure: !isHttp(callback),
    async start() {
      const { authorization_endpoint = "" } = await provider();
      const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
      const url = new URL(authorization_endpoint);
      const asked = {
        ...extra,
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
    async finish(parameters, begun) {
      const as = await provider();
      if (atOnce >= LOGINS_AT_ONCE_MAX) throw refuse("OVERLOADED", `${LOGINS_AT_ONCE_MAX} logins are being completed`);
      atOnce += 1;
      try {
        const token = await redeemed(as, parameters, begun);
        const caller = await identify({ rawHeaders: ["authorization", `Bearer ${token}`], url: "/", address: undefined });
        log.info({ principal: caller.principal }, "person logged in");
        return caller;
      } finally {
        atOnce -= 1;
      }
    },
  };
}

function isHttp(address: string): boolean {
  return address.startsWith("http:");
}

/** The provider's own words stay in the log: a forger of the callback may have written them. */
function loginError(issuer: string, error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return refuse(
      "LOGIN_REFUSED",
      `the login at ${issuer} was refused: ${/^\w{1,40}$/.test(error.error) ? error.error : "no reason that can be shown"}`,
      error,
    );
  if (error instanceof oauth.OperationProcessingError)
    return refuse("LOGIN_REFUSED", `the login at ${issuer} is none: ${error.message.slice(0, 200)}`, error);
  return refuse("PROVIDER_UNAVAILABLE", `the login at ${issuer}: no answer`, error);
}
