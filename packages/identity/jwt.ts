/**
 * Verifies JWTs with the keys of their issuer, in this order, so that unsigned content decides only which issuer's keys are used:
 *
 *   form ─▶ typ ─▶ algorithm ─▶ issuer ─▶ key ─▶ signature ─▶ audience ─▶ times ─▶ claims
 *
 * Source: RFC 9068, 4; RFC 8725.
 */
import { compactVerify, decodeJwt, decodeProtectedHeader, type CompactJWSHeaderParameters, errors } from "jose";
import type { Claims, Vouched } from "./claims.ts";
import { judgeAudience, judgeTimes } from "./judge-claims.ts";
import type { KeySet } from "./key-set.ts";
import { refuse, shown } from "./refuse.ts";
import type { IdentitySettings } from "./settings.ts";

/** Whether the token has the three parts of a JWT. The last part is empty if the token is unsigned. */
export function isJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);
}

/** Accepted types, if the token has one; many providers set none. Logout tokens, which are signed with the same keys, have another type. */
const TYPES: ReadonlySet<string> = new Set(["jwt", "at+jwt", "application/at+jwt"]);

export interface JwtPorts {
  /** Name of an issuer → its keys. */
  readonly keys: ReadonlyMap<string, KeySet>;
  readonly now: () => number;
}

type JwtSettings = Pick<IdentitySettings, "algorithms" | "audiences" | "clockSkewMs">;

/** Throws one of the errors of tokens, PROVIDER_UNAVAILABLE, PROVIDER_INVALID. */
export async function verifyJwt(token: string, settings: JwtSettings, { keys, now }: JwtPorts): Promise<Vouched> {
  const { header, claims: unverified } = readUnverified(token);
  const { typ, alg, b64 } = header;
  // RFC 7797, 7. Its content would be verified, but not decoded.
  if (b64 === false) throw refuse("TOKEN_MALFORMED", "the token's content is not encoded (b64), which a JWT must not say");
  if (typ !== undefined && !(typeof typ === "string" && TYPES.has(typ.toLowerCase()))) {
    throw refuse("TOKEN_MALFORMED", `the token is not an access token: its typ is ${shown(typ)}`);
  }
  if (typeof alg !== "string" || !settings.algorithms.includes(alg)) {
    throw refuse("TOKEN_ALGORITHM_REFUSED", `the token's algorithm is ${shown(alg)}; accepted: ${settings.algorithms.join(", ")}`);
  }
  const { iss } = unverified;
  const set = typeof iss === "string" ? keys.get(iss) : undefined;
  if (typeof iss !== "string" || !set) {
    const trusted = [...keys.keys()].map((name) => JSON.stringify(name)).join(" and ");
    throw refuse("TOKEN_ISSUER_UNKNOWN", `the token's issuer is ${shown(iss)}; trusted: ${trusted}`);
  }
  const claims = await signedClaims(token, set, settings.algorithms);
  judgeUse(header, claims);
  judgeAudience(claims, settings);
  return { issuer: iss, claims, expiresAtMs: judgeTimes(claims, settings, now()) };
}

/** What OpenID Connect puts into ID tokens only (Core, 2 and 3.3.2.11). Keycloak names the kind of each token in a claim of its own. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash"];

/**
 * An ID token says to a client who logged in, and is signed with the same keys. If this server's audience is also a client's id, as at Entra, it
 * would pass for an access token, and it has been seen by more parties. Only the header can say that a token with such a claim is none.
 */
function judgeUse({ typ }: Partial<CompactJWSHeaderParameters>, claims: Claims): void {
  if (claims["typ"] === "ID") throw refuse("TOKEN_MALFORMED", "the token is an ID token, not an access token: its claim typ is ID");
  if (typeof typ === "string" && typ.toLowerCase().endsWith("at+jwt")) return;
  const found = ID_TOKEN_CLAIMS.find((name) => claims[name] !== undefined);
  if (found !== undefined)
    throw refuse("TOKEN_MALFORMED", `the token looks like an ID token, not an access token: it has the claim ${found}`);
}

function readUnverified(token: string): { readonly header: Partial<CompactJWSHeaderParameters>; readonly claims: Claims } {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch (error) {
    throw refuse("TOKEN_MALFORMED", "the token looks like a JWT but cannot be decoded", error);
  }
}

async function signedClaims(token: string, { keyOf }: KeySet, algorithms: readonly string[]): Promise<Claims> {
  try {
    const { payload } = await compactVerify(token, keyOf, { algorithms: [...algorithms] });
    return JSON.parse(new TextDecoder().decode(payload)) as Claims;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      throw refuse("TOKEN_SIGNATURE_INVALID", "the token's signature does not match its content", error);
    }
    if (error instanceof errors.JOSEError) throw refuse("TOKEN_MALFORMED", "the token is not a JWT that can be verified", error);
    throw error;
  }
}
