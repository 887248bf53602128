/**
 * Verifies opaque tokens by asking their provider. The response is checked like the claims of a JWT, since the provider answers for every token
 * that it has issued, for any server.
 *
 * Source: RFC 7662.
 */
import { type Log, ParleyError } from "@parley/core";
import { askProvider } from "./ask-provider.ts";
import type { Vouched } from "./claims.ts";
import { judgeAudience, judgeTimes } from "./judge-claims.ts";
import { refuse, shown } from "./refuse.ts";
import type { IdentitySettings, IntrospectionSettings } from "./settings.ts";

/** How long a token without exp is accepted. Then its streams end, and it is introspected again. */
const WITHOUT_EXPIRY_MS = 3_600_000;

type Judging = Pick<IdentitySettings, "audiences" | "clockSkewMs" | "issuers" | "providerTimeoutMs">;

export interface IntrospectPorts {
  readonly log: Log;
  readonly now: () => number;
}

/** Introspects one token. Throws TOKEN_INACTIVE and other errors of tokens, PROVIDER_UNAVAILABLE, PROVIDER_INVALID, OVERLOADED. */
export type Introspect = (token: string) => Promise<Vouched>;

export function introspect(settings: Judging, introspection: IntrospectionSettings, { log, now }: IntrospectPorts): Introspect {
  const { url, client, secret, atOnceMax } = introspection;
  const authorization = basicCredentials(client, secret);
  let asking = 0;

  async function ask(token: string) {
    // Any garbage that looks like a token costs a request to the provider, so the number of concurrent requests is limited.
    if (asking >= atOnceMax) throw refuse("OVERLOADED", `${atOnceMax} tokens are being introspected (PARLEY_AUTH_INTROSPECTIONS_MAX)`);
    asking += 1;
    try {
      const form = { authorization, fields: { token, token_type_hint: "access_token" } };
      return await askProvider({ url, what: "introspection", timeoutMs: settings.providerTimeoutMs, form });
    } catch (error) {
      if (error instanceof ParleyError) log.warn({ provider: new URL(url).host, problem: error.message }, "introspection failed");
      throw error;
    } finally {
      asking -= 1;
    }
  }

  return async (token) => {
    const claims = await ask(token);
    const { active, iss, token_type: type } = claims;
    if (typeof active !== "boolean") {
      log.warn({ provider: new URL(url).host, problem: "active is not a boolean" }, "introspection failed");
      throw refuse("PROVIDER_INVALID", `introspection from ${new URL(url).host}: the answer does not say whether the token is active`);
    }
    if (!active) throw refuse("TOKEN_INACTIVE", "the provider says that the token is not active");
    if (type !== undefined && !(typeof type === "string" && type.toLowerCase() === "bearer")) {
      throw refuse("TOKEN_MALFORMED", `the token is not a bearer token: its token_type is ${shown(type)}`);
    }
    const known = iss === undefined ? settings.issuers[0] : settings.issuers.find(({ name }) => name === iss);
    if (!known) throw refuse("TOKEN_ISSUER_UNKNOWN", `the token's issuer is ${shown(iss)}, which is not trusted`);
    judgeAudience(claims, settings);
    const timed = claims["exp"] === undefined ? { ...claims, exp: Math.floor((now() + WITHOUT_EXPIRY_MS) / 1_000) } : claims;
    return { issuer: known.name, claims, expiresAtMs: judgeTimes(timed, settings, now()) };
  };
}

/** Both parts are form-encoded before they are joined (RFC 6749, 2.3.1). */
function basicCredentials(client: string, secret: string): string {
  const encoded = [client, secret].map((part) => new URLSearchParams({ part }).toString().slice("part=".length)).join(":");
  return `Basic ${Buffer.from(encoded).toString("base64")}`;
}
