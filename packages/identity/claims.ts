/**
 * Turns a provider's claims about a person into core's Caller. Claims come from outside, are stored with tasks and compared by the policy. So
 * each claim has a form and a bound, and an invalid one is refused by name.
 */
import { createHash } from "node:crypto";
import { type Caller, type LoginFacts, type ParleyError, typedName } from "@parley/core";
import { refuse, shown } from "./refuse.ts";
import type { IdentitySettings } from "./settings.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** Maximum number of groups, roles or scopes of one caller, each. */
const MEMBERSHIPS_MAX = 256;
/** Maximum length of a subject, name, group, role, scope or client. */
export const NAME_CHARS_MAX = 256;

const TENANT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Tenant of all callers if no claim names the tenant. */
const ONE_TENANT = "default";

/** Claims that a provider has vouched for. */
export interface Vouched {
  readonly issuer: string;
  readonly claims: Claims;
  readonly expiresAtMs: number;
}

type ClaimSettings = Pick<
  IdentitySettings,
  "issuers" | "principal" | "person" | "usernames" | "tenantClaim" | "issuerTenants" | "groupsClaim" | "rolesClaim" | "scopePrefix"
>;

/** Throws TOKEN_CLAIM_INVALID. */
export function callerOf({ issuer, claims, expiresAtMs }: Vouched, settings: ClaimSettings): Caller {
  const subject = text("sub", claims["sub"]);
  if (subject === undefined) throw refuse("TOKEN_CLAIM_INVALID", "the token has no sub, so it names no caller");
  const tenant = settings.tenantClaim === undefined ? ONE_TENANT : tenantOf(settings.tenantClaim, claims);
  judgeTenant(tenant, issuer, settings.issuerTenants);
  const client = clientOf(claims);
  if (settings.principal === "user+client" && client === undefined) {
    throw refuse(
      "TOKEN_CLAIM_INVALID",
      "the token names no client (client_id, azp, cid, appid), but tasks belong to a person through one client (PARLEY_AUTH_PRINCIPAL)",
    );
  }
  const principal = principalOf([
    tenant,
    issuer,
    subject,
    ...(settings.principal === "user+client" && client !== undefined ? [client] : []),
  ]);
  const email = verifiedEmail(claims);
  const displayName = displayNameOf(claims["name"]);
  const login = loginFactsOf(claims);
  const person = personAt({ tenant, issuer, subject, email }, settings);
  return Object.freeze({
    principal,
    ...(person !== principal && { person }),
    tenant,
    scopes: Object.freeze(scopesOf(claims, settings.scopePrefix)),
    authenticatedBy: issuer,
    names: Object.freeze(namesOf(subject, email, claims, settings.usernames)),
    ...(displayName !== undefined && { displayName }),
    groups: Object.freeze(membershipsOf(settings.groupsClaim, claims)),
    roles: Object.freeze(membershipsOf(settings.rolesClaim, claims)),
    ...(login && { login }),
    ...(client !== undefined && { client }),
    expiresAtMs,
  });
}

/**
 * The name under which a caller owns tasks. It is stored with every task and is part of Redis keys, so it is short and does not reveal who the
 * caller is. 132 bits of SHA-256, so that two callers do not share one.
 */
export function principalOf(parts: readonly string[]): string {
  return `u_${createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22)}`;
}

/** The claim of that name, else the one that the dots lead to. Whole names come first because some providers require URLs as claim names. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

function tenantOf(path: string, claims: Claims): string {
  const tenant = claimAt(claims, path);
  if (tenant === undefined) throw refuse("TOKEN_CLAIM_INVALID", `the token has no claim ${path}, which should name the tenant`);
  if (typeof tenant === "string" && TENANT.test(tenant)) return tenant;
  throw refuse("TOKEN_CLAIM_INVALID", `the claim ${path} must name a tenant with 1 to 64 of A-Z a-z 0-9 . _ -, not ${shown(tenant)}`);
}

/** The claims of RFC 9068, OpenID Connect, Okta and Entra, in this order. */
function clientOf(claims: Claims): string | undefined {
  return text("client_id", claims["client_id"] ?? claims["azp"] ?? claims["cid"] ?? claims["appid"]);
}

function verifiedEmail(claims: Claims): string | undefined {
  return claims["email_verified"] === true ? text("email", claims["email"]) : undefined;
}

/**
 * At some providers people choose their preferred_username, or may have that of somebody who left. So usernames count only if the operator
 * says that neither is possible.
 */
function namesOf(subject: string, email: string | undefined, claims: Claims, usernames: ClaimSettings["usernames"]): readonly string[] {
  const names = [typedName("sub", subject), ...(email === undefined ? [] : [typedName("email", email)])];
  const username = usernames === "ignored" ? undefined : text("preferred_username", claims["preferred_username"]);
  if (username === undefined) return names;
  const typed = [...names, typedName("username", username)];
  // As in versions without types. One that looks like an address, or like a typed name, is still no name of its own.
  return usernames === "plain" && !/[@:]/.test(username) ? [...typed, username] : typed;
}

/** Maximum characters of a display name. */
const DISPLAY_NAME_CHARS_MAX = 100;

/**
 * People choose it themselves at many providers. So one that looks like an address, or like a typed name, is none:
 * readers take those for verified. It is never a reason to refuse a person.
 */
function displayNameOf(claim: unknown): string | undefined {
  if (typeof claim !== "string" || claim.length > NAME_CHARS_MAX || !claim.isWellFormed()) return undefined;
  // Also if the letters are wide or small forms of these, which people read alike.
  if (/[@:]/.test(claim.normalize("NFKC"))) return undefined;
  const plain = claim
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, DISPLAY_NAME_CHARS_MAX)
    // The half of an emoji that was cut.
    .replace(/[\uD800-\uDBFF]$/, "");
  return plain === "" ? undefined : plain;
}

/** Maximum number of methods of a login. */
const METHODS_MAX = 16;

/**
 * What is stated of the login. Undefined for nothing. What has another form is as not stated: an answer that needs it is refused, and nothing
 * else.
 */
export function loginFactsOf({ auth_time: at, acr, amr }: Claims): LoginFacts | undefined {
  const isText = (value: unknown): value is string => typeof value === "string" && value !== "" && value.length <= NAME_CHARS_MAX;
  const facts = {
    ...(typeof at === "number" && Number.isFinite(at) && at > 0 && at < 1e11 && { atMs: at * 1_000 }),
    ...(isText(acr) && { acr }),
    ...(Array.isArray(amr) &&
      amr.length > 0 &&
      amr.length <= METHODS_MAX &&
      amr.every(isText) && { amr: Object.freeze([...amr]) as string[] }),
  };
  return Object.keys(facts).length === 0 ? undefined : Object.freeze(facts);
}

interface Identified {
  readonly tenant: string;
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
}

/**
 * Who a person is, whatever issuer vouches for them: for rules that count people. By subject, the same subject is one person at all issuers, as
 * if the first one had vouched for it. Two people may so be taken for one, but never one for two.
 */
function personAt({ tenant, issuer, subject, email }: Identified, { person, issuers }: ClaimSettings): string {
  if (person === "email" && email !== undefined) return principalOf([tenant, "email", email.toLowerCase()]);
  return principalOf([tenant, issuers[0]?.name ?? issuer, subject]);
}

/** Any trusted issuer could otherwise name people of any tenant. */
function judgeTenant(tenant: string, issuer: string, issuerTenants: ClaimSettings["issuerTenants"]): void {
  const tenants = issuerTenants.get(issuer);
  if (tenants === undefined || tenants === "any" || tenants.includes(tenant)) return;
  throw refuse("TOKEN_CLAIM_INVALID", `the issuer ${issuer} does not speak for the tenant ${shown(tenant)} (PARLEY_AUTH_ISSUER_TENANTS)`);
}

function scopesOf(claims: Claims, prefix: string): readonly string[] {
  const given = claims["scope"] ?? claims["scp"] ?? [];
  const scopes = typeof given === "string" ? given.split(" ").filter((scope) => scope !== "") : given;
  return texts("scope", scopes).map((scope) => (prefix !== "" && scope.startsWith(prefix) ? scope.slice(prefix.length) : scope));
}

function membershipsOf(path: string | undefined, claims: Claims): readonly string[] {
  if (path === undefined) return [];
  const given = claimAt(claims, path);
  return texts(path, given === undefined ? [] : typeof given === "string" ? [given] : given);
}

function texts(name: string, values: unknown): readonly string[] {
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string")) {
    throw refuse("TOKEN_CLAIM_INVALID", `the claim ${name} must be a list of strings`);
  }
  if (values.length > MEMBERSHIPS_MAX) {
    throw refuse("TOKEN_CLAIM_INVALID", `the claim ${name} has ${values.length} entries; at most ${MEMBERSHIPS_MAX} are accepted`);
  }
  if (values.some((value) => value.length > NAME_CHARS_MAX)) {
    throw refuse("TOKEN_CLAIM_INVALID", `the claim ${name} has an entry of more than ${NAME_CHARS_MAX} characters`);
  }
  if (!values.every((value) => value.isWellFormed())) throw halfACharacter(name);
  return [...new Set(values)];
}

/** The claim's value; undefined if it is missing or empty. */
function text(name: string, value: unknown): string | undefined {
  if (value === undefined || value === "") return undefined;
  if (typeof value !== "string") throw refuse("TOKEN_CLAIM_INVALID", `the claim ${name} must be a string, not ${shown(value)}`);
  if (value.length > NAME_CHARS_MAX) throw refuse("TOKEN_CLAIM_INVALID", `the claim ${name} is longer than ${NAME_CHARS_MAX} characters`);
  if (!value.isWellFormed()) throw halfACharacter(name);
  return value;
}

/** JSON can hold half of a surrogate pair. Redis, cookies and the scripts' JSON cannot, and two such names could become the same (RFC 8259, 8.2). */
function halfACharacter(name: string): ParleyError {
  return refuse("TOKEN_CLAIM_INVALID", `the claim ${name} contains half of a surrogate pair, which is not a character`);
}
