/** Checks that apply to JWTs and to introspected tokens alike: the audience and the validity period. */
import type { Claims } from "./claims.ts";
import { refuse, shown, span } from "./refuse.ts";
import type { IdentitySettings } from "./settings.ts";

type Judging = Pick<IdentitySettings, "audiences" | "clockSkewMs">;

/**
 * Checks that all audiences of the token are this server's. A token that also names another server could have been forwarded by that server
 * (RFC 8707, 2; specification 2026-07-28, "Access Token Privilege Restriction"). Throws TOKEN_AUDIENCE_REFUSED.
 */
export function judgeAudience({ aud }: Claims, { audiences }: Judging): void {
  const named = typeof aud === "string" ? [aud] : aud;
  const expected = audiences.map((audience) => JSON.stringify(audience)).join(" or ");
  if (!Array.isArray(named) || named.length === 0) {
    throw refuse("TOKEN_AUDIENCE_REFUSED", `the token names no audience (aud); expected ${expected}`);
  }
  if (!named.every((audience) => audiences.includes(audience as string))) {
    throw refuse("TOKEN_AUDIENCE_REFUSED", `the token is for ${shown(aud)}; expected ${expected} and nothing else`);
  }
}

/** Returns the time until which the token is accepted, in milliseconds. Throws TOKEN_EXPIRED, TOKEN_NOT_YET_VALID, TOKEN_CLAIM_INVALID. */
export function judgeTimes(claims: Claims, { clockSkewMs }: Judging, nowMs: number): number {
  const exp = seconds("exp", claims);
  if (exp === undefined) throw refuse("TOKEN_CLAIM_INVALID", "the token has no exp, so it would never expire");
  const expiredMs = nowMs - exp * 1_000;
  if (expiredMs >= clockSkewMs) throw refuse("TOKEN_EXPIRED", `the token expired ${span(expiredMs)} ago`);
  for (const name of ["nbf", "iat"]) {
    const from = seconds(name, claims);
    const missingMs = from === undefined ? 0 : from * 1_000 - nowMs;
    if (missingMs > clockSkewMs) {
      throw refuse("TOKEN_NOT_YET_VALID", `the token ${name === "nbf" ? "is valid" : "was issued"} ${span(missingMs)} from now (${name})`);
    }
  }
  return exp * 1_000 + clockSkewMs;
}

function seconds(name: string, claims: Claims): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isFinite(value) && Math.abs(value) < 1e11) return value;
  throw refuse("TOKEN_CLAIM_INVALID", `the claim ${name} must be a time in seconds, not ${shown(value)}`);
}
