/**
 * Opaque tokens: their provider is asked about them. Its answer is checked like the claims of a JWT, since it answers for
 * all tokens that it ever issued, for any server.
 *
 * Source: RFC 7662.
 */
import { type Log, ParleyError } from "@parley/core";
import { askProvider } from "./ask-provider.ts";
import type { Vouched } from "./claims.ts";
import { judgeAudience, judgeTimes } from "./judge-claims.ts";
import { refuse, shown } from "./refuse.ts";
import type { IdentitySettings, IntrospectionSettings } from "./settings.ts";

/** How long a token without exp is accepted: its streams end then, and it is asked about again. */
const WITHOUT_EXPIRY_MS = 3_600_000;

type Judging = Pick<IdentitySettings, "audiences" | "clockSkewMs" | "issuers" | "providerTimeoutMs">;

export interface IntrospectPorts {
  readonly log: Log;
  readonly now: () => number;
}

/** Asks about one token. Throws TOKEN_INACTIVE and other errors of tokens, PROVIDER_UNAVAILABLE, PROVIDER_INVALID, OVERLOADED. */
export type Introspect = (token: string) => Promise<Vouched>;

export function introspect(settings: Judging, asking: IntrospectionSettings, { log, now }: IntrospectPorts): Introspect {
  const { url, client, secret, atOnceMax } = asking;
  const authorization = basicCredentials(client, secret);
  let asked = 0;

  async function ask(token: string) {
    // Garbage that looks like a token costs a request to the provider, so this many callers may send it at once and no more.
    if (asked >= atOnceMax) throw refuse("OVERLOADED", `${atOnceMax} tokens are being introspected (PARLEY_AUTH_INTROSPECTIONS_MAX)`);
    asked += 1;
    try {
      const form = { authorization, fields: { token, token_type_hint: "access_token" } };
      return await askProvider({ url, what: "introspection", timeoutMs: settings.providerTimeoutMs, form });
    } catch (error) {
      if (error instanceof ParleyError) log.warn({ provider: new URL(url).host, problem: error.message }, "introspection failed");
      throw error;
    } finally {
      asked -= 1;
    }
  }

  return async (token) => {
    const claims = await ask(token);
    const { active, iss, token_type: type } = claims;
    if (typeof active !== "boolean") {
      log.warn({ provider: new URL(url).host, problem: "active is no boolean" }, "introspection failed");
      throw refuse("PROVIDER_INVALID", `introspection from ${new URL(url).host}: the answer does not say whether the token is active`);
    }
    if (!active) throw refuse("TOKEN_INACTIVE", "the provider says that the token is not active");
    if (type !== undefined && !(typeof type === "string" && type.toLowerCase() === "bearer")) {
      throw refuse("TOKEN_MALFORMED", `the token is no bearer token: its token_type is ${shown(type)}`);
    }
    const known = iss === undefined ? settings.issuers[0] : settings.issuers.find(({ name }) => name === iss);
    if (!known) throw refuse("TOKEN_ISSUER_UNKNOWN", `the token's issuer is ${shown(iss)}, which is not trusted`);
    judgeAudience(claims, settings);
    const timed = claims["exp"] === undefined ? { ...claims, exp: Math.floor((now() + WITHOUT_EXPIRY_MS) / 1_000) } : claims;
    return { issuer: known.name, claims, expiresAtMs: judgeTimes(timed, settings, now()) };
  };
}

/** RFC 6749, 2.3.1: both parts are form-encoded before they are joined. */
function basicCredentials(client: string, secret: string): string {
  const encoded = [client, secret].map((part) => new URLSearchParams({ part }).toString().slice("part=".length)).join(":");
  return `Basic ${Buffer.from(encoded).toString("base64")}`;
}
