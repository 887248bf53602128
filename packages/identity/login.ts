/**
 * Lets people log in with a browser, to open pages. Uses the authorization code flow with PKCE, as MCP clients do. The flow yields an access
 * token for this server, which is verified like a client's token, so that a person is the same principal either way. The token is then discarded.
 *
 *   start ─▶ provider ─▶ callback: state, iss ─▶ code redeemed ─▶ token verified ─▶ Caller
 *
 * Source: RFC 6749, 4.1; RFC 7636; RFC 9207; RFC 9700, 2.1.
 */
import { type Caller, type Log, type LoginFacts, type ParleyError, typedName } from "@parley/core";
import { decodeJwt } from "jose";
import { loginFactsOf } from "./claims.ts";
import { type Asked, createCodeFlow, type FlowBegun, flowFailure, type Redeemed } from "./code-flow.ts";
import type { Identity } from "./identity.ts";
import { refuse } from "./refuse.ts";
import { type IdentitySettings, LOGIN_CALLBACK_PATH, type LoginSettings } from "./settings.ts";

/** Kept by the browser while the person is at the provider. */
export type LoginBegun = FlowBegun;

export interface Login {
  /** How long a login lasts. */
  readonly ttlMs: number;
  /** Where people reach this server; the paths of its pages follow. */
  readonly base: string;
  /** Whether browsers reach this server over https. If not, it is only reachable on this machine. */
  readonly isSecure: boolean;
  /** `isToCall`: with the scopes to call tools as well. Throws PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
  start(as?: Pick<Asked, "asAnother" | "required"> & { readonly isToCall?: boolean }): Promise<LoginBegun & { readonly url: string }>;
  /**
   * Completes a login with the callback's `parameters`. `client` is the address that it came from, if that is known. Whether the person logged
   * in as they were asked to is not known: the Caller has what the provider states (`login`). Throws LOGIN_REFUSED, the errors of tokens,
   * OVERLOADED, PROVIDER_UNAVAILABLE and PROVIDER_INVALID.
   */
  finish(parameters: URLSearchParams, begun: LoginBegun, client?: string): Promise<Caller>;
}

export interface LoginPorts extends Pick<Identity, "identify"> {
  readonly log: Log;
  readonly now: () => number;
}

/** Maximum number of codes that one front end redeems at once, each of another login: a browser that repeats its callback takes one place. */
export const LOGINS_AT_ONCE_MAX = 100;
/** The same for one client, so that a client cannot take the places of all others while the provider is slow. */
export const LOGINS_OF_CLIENT_MAX = 10;

interface Redemption {
  /** The callback's, as they were received. */
  readonly parameters: string;
  readonly client: string | undefined;
  readonly caller: Promise<Caller>;
}

export function createLogin(
  settings: LoginSettings,
  { providerTimeoutMs: timeoutMs, allowHttp, clockSkewMs }: Pick<IdentitySettings, "providerTimeoutMs" | "allowHttp" | "clockSkewMs">,
  { identify, log, now }: LoginPorts,
): Login {
  const { issuer, client: clientId, secret, endpoints, scopes, callScopes, resource, parameters: extra, callback, ttlMs } = settings;
  const what = `the login at ${issuer}`;
  const flow = createCodeFlow({ issuer, endpoints, client: clientId, secret, timeoutMs, allowHttp, what });
  /** By the state of the login. */
  const atWork = new Map<string, Redemption>();

  async function redeemed(parameters: URLSearchParams, begun: LoginBegun): Promise<Redeemed> {
    try {
      return await flow.redeem(parameters, begun, { callback, resource });
    } catch (error) {
      throw loginError(what, error);
    }
  }

  async function completed(parameters: URLSearchParams, begun: LoginBegun): Promise<Caller> {
    const { access_token: token, idToken } = await redeemed(parameters, begun);
    const identified = await identify({ rawHeaders: ["authorization", `Bearer ${token}`], url: "/", address: undefined });
    const facts = { ...identified.login, ...(idToken !== undefined && factsIn(idToken, identified)) };
    log.info({ principal: identified.principal }, "person logged in");
    return Object.keys(facts).length === 0 ? identified : { ...identified, login: facts };
  }

  /**
   * What the ID token states of this login; nothing if it is not about it. It comes from the provider itself, so that its signature says nothing
   * more. Source: OpenID Connect Core 1.0, 3.1.3.7, 2 to 6 and 9.
   */
  function factsIn(idToken: string, { names }: Caller): LoginFacts | undefined {
    const claims = decoded(idToken);
    if (!claims || claims.iss !== issuer || typeof claims.sub !== "string" || !names.includes(typedName("sub", claims.sub)))
      return undefined;
    const audiences = [claims.aud ?? []].flat();
    const isForUs = audiences.includes(clientId) && (audiences.length === 1 || claims["azp"] === clientId);
    return isForUs && (claims.exp ?? 0) * 1_000 > now() - clockSkewMs ? loginFactsOf(claims) : undefined;
  }

  return {
    ttlMs,
    base: callback.slice(0, -LOGIN_CALLBACK_PATH.length),
    isSecure: !isHttp(callback),
    start: ({ isToCall = false, ...as } = {}) => flow.start({ callback, scopes: isToCall ? callScopes : scopes, resource, extra, ...as }),
    async finish(parameters, begun, client) {
      const { state } = begun;
      const same = atWork.get(state);
      if (same?.parameters === parameters.toString()) return await same.caller;
      if (same) throw refuse("LOGIN_REFUSED", `${what} is already being completed with another response`);
      if (atWork.size >= LOGINS_AT_ONCE_MAX) throw refuse("OVERLOADED", `${LOGINS_AT_ONCE_MAX} logins are being completed`);
      if (client !== undefined && [...atWork.values()].filter((other) => other.client === client).length >= LOGINS_OF_CLIENT_MAX)
        throw refuse("OVERLOADED", `${LOGINS_OF_CLIENT_MAX} logins of one client are being completed`);
      const caller = completed(parameters, begun).finally(() => atWork.delete(state));
      atWork.set(state, { parameters: parameters.toString(), client, caller });
      return await caller;
    },
  };
}

function decoded(token: string): ReturnType<typeof decodeJwt> | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

function isHttp(address: string): boolean {
  return address.startsWith("http:");
}

/** The provider's own words go only to the log, since the callback may be forged. */
function loginError(what: string, error: unknown): ParleyError {
  const failure = flowFailure(error);
  switch (failure.type) {
    case "parley":
      return failure.error;
    case "refused":
      return refuse("LOGIN_REFUSED", `${what} was refused: ${failure.reason}`, error);
    case "invalid":
      return refuse("LOGIN_REFUSED", `${what} failed: ${failure.message}`, error);
    case "away":
      return refuse("PROVIDER_UNAVAILABLE", `${what}: no answer`, error);
  }
}
