import { CLIENT_SCOPES, type DurationText, durationSetting, publicUrlSetting, SCOPES } from "@parley/core";
import { z } from "zod";

/** Signatures with a private key. Shared secrets (HS256) are never accepted, because a provider's key set is public. */
const ASYMMETRIC = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const;

const duration = (fallback: DurationText) => z.string().default(fallback).transform(durationSetting);
const whole = (fallback: number) => z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).default(fallback);
const list = () =>
  z
    .string()
    .optional()
    .transform((text = "") =>
      text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
    );
const claim = () => z.string().min(1).max(200).optional();
const url = () => z.string().refine((text) => URL.canParse(text), "must be an address: https://host/path");

/** Settings that say who may call. The server merges them into its own. */
export const identityEnvironment = {
  PARLEY_AUTH: z
    .enum(["none", "required"])
    .default("none")
    .describe("Whether callers need an access token: none (only on a loopback address) or required."),
  PARLEY_AUTH_NONE_ANYWHERE: z
    .stringbool()
    .default(false)
    .describe("Allow PARLEY_AUTH=none on addresses other than loopback: anyone who can reach the port can see and answer everything."),
  PARLEY_PUBLIC_URL: z
    .string()
    .transform(publicUrlSetting)
    .optional()
    .describe(
      "Address at which clients and other systems reach the server, without /mcp: https://parley.example.com. Unset: the Host header of each request is used, and tools cannot wait for events.",
    ),
  PARLEY_AUTH_ISSUERS: list().describe(
    "Identity providers whose tokens are accepted, as named in iss. If a provider publishes no metadata, add the address of its keys after a space.",
  ),
  PARLEY_AUTH_AUDIENCES: list().describe("The only values that a token's aud may contain. Unset: PARLEY_PUBLIC_URL with /mcp."),
  PARLEY_AUTH_ALGORITHMS: list()
    .transform((names) => (names.length === 0 ? [...ASYMMETRIC] : names))
    .refine(
      (names) => names.every((name) => (ASYMMETRIC as readonly string[]).includes(name)),
      `must be some of ${ASYMMETRIC.join(", ")}: signatures by shared secrets are not accepted`,
    )
    .describe("Accepted signature algorithms. Unset: all asymmetric ones."),
  PARLEY_AUTH_CLOCK_SKEW: duration("30s").describe("How far the clock of a provider may be off."),
  PARLEY_AUTH_PRINCIPAL: z
    .enum(["user", "user+client"])
    .default("user")
    .describe("Who owns a task: user (the person, through any client) or user+client (the person, through that client only)."),
  PARLEY_AUTH_PERSON: z
    .enum(["subject", "email"])
    .default("subject")
    .describe(
      "What makes two callers of a tenant one person when people are counted (quorum, not the caller): the same subject at any issuer, or the same verified email (by subject without one).",
    ),
  PARLEY_AUTH_USERNAMES: z
    .enum(["ignored", "unique", "plain"])
    .default("ignored")
    .describe(
      "Whether people can be asked by preferred_username: ignored; unique (as username:NAME; say so only if providers never let people choose or inherit one); plain (as NAME as well, like versions before).",
    ),
  PARLEY_AUTH_TENANT_CLAIM: claim().describe(
    "Claim that names the tenant; dots reach into objects: org.id. Tokens without it are refused. Unset: all callers belong to one tenant.",
  ),
  PARLEY_AUTH_ISSUER_TENANTS: list().describe(
    "Tenants that each issuer may name, after the issuer and a space, or * for any: https://id.acme.example acme, https://id.example *. Required for several issuers with PARLEY_AUTH_TENANT_CLAIM.",
  ),
  PARLEY_AUTH_GROUPS_CLAIM: claim().describe("Claim that lists a person's groups; dots reach into objects."),
  PARLEY_AUTH_ROLES_CLAIM: claim().describe("Claim that lists a person's roles, such as realm_access.roles."),
  PARLEY_AUTH_SCOPE_PREFIX: z
    .string()
    .max(200)
    .default("")
    .describe(
      "Prefix added to the scopes that clients are told to request, and removed from the scopes in tokens; api://parley/ for Entra.",
    ),
  PARLEY_AUTH_PROVIDER_TIMEOUT: duration("3s").describe("How long a provider may take to respond."),
  PARLEY_AUTH_KEYS_TTL: duration("10m").describe("How long a provider's keys are used before they are fetched again."),
  PARLEY_AUTH_KEYS_STALE: duration("1d").describe("How much longer the keys are used while the provider does not respond."),
  PARLEY_AUTH_KEYS_COOLDOWN: duration("30s").describe(
    "Shortest time between two fetches of a provider's keys, however many tokens name an unknown key.",
  ),
  PARLEY_AUTH_TOKENS_MAX: whole(10_000).describe("Maximum number of verified tokens that one front end remembers."),
  PARLEY_AUTH_TOKENS_TTL: duration("1m").describe("How long a verified token is remembered before it is verified again."),
  PARLEY_AUTH_INTROSPECTION_URL: url()
    .optional()
    .describe("Introspection endpoint (RFC 7662) for tokens that are not JWTs. Unset: such tokens are refused."),
  PARLEY_AUTH_INTROSPECTION_CLIENT: z
    .string()
    .min(1)
    .optional()
    .describe("Client id that this server presents at the introspection endpoint."),
  PARLEY_AUTH_INTROSPECTION_SECRET: z.string().min(1).optional().describe("Its secret."),
  PARLEY_AUTH_INTROSPECTION_TTL: duration("10s").describe(
    "How long an introspection result is used, good or bad. A revoked token may be accepted for that long.",
  ),
  PARLEY_AUTH_INTROSPECTIONS_MAX: whole(100).describe("Maximum number of tokens that one front end introspects at once."),
  PARLEY_AUTH_API_KEYS: z
    .stringbool()
    .default(false)
    .describe("Accept API keys for machines, created by `parley keys create`, in addition to tokens."),
  PARLEY_AUTH_ALLOW_HTTP: z
    .stringbool()
    .default(false)
    .describe(
      "Contact providers on other machines over plain http. For development only: anyone on the network path could replace the keys.",
    ),
  PARLEY_LOGIN_CLIENT: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Client id with which people log in to open pages, at the first of PARLEY_AUTH_ISSUERS. Unset: people cannot open pages by logging in.",
    ),
  PARLEY_LOGIN_SECRET: z.string().min(1).optional().describe("Its secret, for a client that has one."),
  PARLEY_LOGIN_ENDPOINTS: z
    .string()
    .regex(/^\S+ \S+$/, "must be two addresses with a space between them")
    .optional()
    .describe("Authorization endpoint, then, after a space, token endpoint. Unset: taken from the provider's metadata."),
  PARLEY_LOGIN_SCOPES: list().describe("Scopes that a login requests in addition to asks:answer, such as openid,profile."),
  PARLEY_LOGIN_PARAMETERS: z
    .string()
    .max(2_000)
    .default("")
    .describe("Additional parameters of a login request, as a query string; audience=https://parley.example.com/mcp for Auth0."),
  PARLEY_LOGIN_TTL: duration("1h").describe("How long a login in a browser lasts before the provider is asked again."),
  PARLEY_AUTH_PROXY_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, "must be the name of a header")
    .transform((name) => name.toLowerCase())
    .optional()
    .describe("Header in which a trusted proxy names the caller that it has authenticated, for example by mutual TLS."),
  PARLEY_AUTH_PROXY_ADDRESSES: list().describe("Addresses of the proxies that may send this header, or ranges such as 10.0.0.0/8."),
  PARLEY_AUTH_PROXY_SCOPES: list()
    .transform((scopes) => (scopes.length === 0 ? ["tools", "tasks", "asks"] : scopes))
    .describe("Scopes of callers named by a proxy. Unset: tools,tasks,asks."),
};

const identitySchema = z.object(identityEnvironment);
export type IdentityEnvironment = z.output<typeof identitySchema>;

export interface Issuer {
  /** The `iss` of its tokens. */
  readonly name: string;
  /** Address of its keys; undefined: taken from its metadata. */
  readonly jwksUrl: string | undefined;
}

export interface IdentitySettings {
  readonly issuers: readonly Issuer[];
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly clockSkewMs: number;
  readonly principal: "user" | "user+client";
  /** What makes two callers one person. */
  readonly person: "subject" | "email";
  readonly usernames: "ignored" | "unique" | "plain";
  readonly tenantClaim: string | undefined;
  /** Name of an issuer → the tenants that it may name. One that is missing may name any. */
  readonly issuerTenants: ReadonlyMap<string, readonly string[] | "any">;
  readonly groupsClaim: string | undefined;
  readonly rolesClaim: string | undefined;
  readonly scopePrefix: string;
  readonly providerTimeoutMs: number;
  readonly keysTtlMs: number;
  readonly keysStaleMs: number;
  readonly keysCooldownMs: number;
  readonly tokensMax: number;
  readonly tokensTtlMs: number;
  readonly introspection: IntrospectionSettings | undefined;
  readonly apiKeys: boolean;
  readonly allowHttp: boolean;
  readonly proxy: ProxySettings | undefined;
  readonly login: LoginSettings | undefined;
}

/** How people log in with a browser. */
export interface LoginSettings {
  readonly issuer: string;
  readonly client: string;
  readonly secret: string | undefined;
  readonly endpoints: { readonly authorization: string; readonly token: string } | undefined;
  /** With the provider's prefix. */
  readonly scopes: readonly string[];
  /** Those of a person who also calls tools, from the playground. */
  readonly callScopes: readonly string[];
  /** The resource that the token is for; undefined if the provider determines it by scopes or parameters. */
  readonly resource: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  /** Address to which the provider sends browsers back. */
  readonly callback: string;
  readonly ttlMs: number;
}

export interface IntrospectionSettings {
  readonly url: string;
  readonly client: string;
  readonly secret: string;
  readonly ttlMs: number;
  readonly atOnceMax: number;
}

export interface ProxySettings {
  /** In lower case. */
  readonly header: string;
  readonly addresses: readonly string[];
  readonly scopes: readonly string[];
}

/** Address of the MCP endpoint for clients; undefined: the address that clients use. */
export function resourceUrl({ PARLEY_PUBLIC_URL: base }: Pick<IdentityEnvironment, "PARLEY_PUBLIC_URL">): string | undefined {
  return base === undefined ? undefined : `${base}/mcp`;
}

/** Undefined if callers need no identity. */
export function identitySettings(environment: IdentityEnvironment): IdentitySettings | undefined {
  if (environment.PARLEY_AUTH === "none") return undefined;
  const resource = resourceUrl(environment);
  const given = environment.PARLEY_AUTH_AUDIENCES;
  const { PARLEY_AUTH_INTROSPECTION_URL: introspection, PARLEY_AUTH_PROXY_HEADER: header } = environment;
  return {
    issuers: environment.PARLEY_AUTH_ISSUERS.map(issuerOf),
    audiences: given.length > 0 || resource === undefined ? given : [resource],
    algorithms: environment.PARLEY_AUTH_ALGORITHMS,
    clockSkewMs: environment.PARLEY_AUTH_CLOCK_SKEW,
    principal: environment.PARLEY_AUTH_PRINCIPAL,
    person: environment.PARLEY_AUTH_PERSON,
    usernames: environment.PARLEY_AUTH_USERNAMES,
    tenantClaim: environment.PARLEY_AUTH_TENANT_CLAIM,
    issuerTenants: new Map(environment.PARLEY_AUTH_ISSUER_TENANTS.map(tenantsOf)),
    groupsClaim: environment.PARLEY_AUTH_GROUPS_CLAIM,
    rolesClaim: environment.PARLEY_AUTH_ROLES_CLAIM,
    scopePrefix: environment.PARLEY_AUTH_SCOPE_PREFIX,
    providerTimeoutMs: environment.PARLEY_AUTH_PROVIDER_TIMEOUT,
    keysTtlMs: environment.PARLEY_AUTH_KEYS_TTL,
    keysStaleMs: environment.PARLEY_AUTH_KEYS_STALE,
    keysCooldownMs: environment.PARLEY_AUTH_KEYS_COOLDOWN,
    tokensMax: environment.PARLEY_AUTH_TOKENS_MAX,
    tokensTtlMs: environment.PARLEY_AUTH_TOKENS_TTL,
    introspection:
      introspection === undefined
        ? undefined
        : {
            url: introspection,
            client: environment.PARLEY_AUTH_INTROSPECTION_CLIENT ?? "",
            secret: environment.PARLEY_AUTH_INTROSPECTION_SECRET ?? "",
            ttlMs: environment.PARLEY_AUTH_INTROSPECTION_TTL,
            atOnceMax: environment.PARLEY_AUTH_INTROSPECTIONS_MAX,
          },
    apiKeys: environment.PARLEY_AUTH_API_KEYS,
    allowHttp: environment.PARLEY_AUTH_ALLOW_HTTP,
    proxy:
      header === undefined
        ? undefined
        : { header, addresses: environment.PARLEY_AUTH_PROXY_ADDRESSES, scopes: environment.PARLEY_AUTH_PROXY_SCOPES },
    login: loginSettings(environment, given.length > 0 || resource === undefined ? given : [resource]),
  };
}

/** Path below PARLEY_PUBLIC_URL. */
export const LOGIN_CALLBACK_PATH = "/login/callback";

function loginSettings(environment: IdentityEnvironment, audiences: readonly string[]): LoginSettings | undefined {
  const { PARLEY_LOGIN_CLIENT: client, PARLEY_LOGIN_ENDPOINTS: endpoints, PARLEY_PUBLIC_URL: base } = environment;
  if (client === undefined) return undefined;
  const [authorization = "", token = ""] = endpoints?.split(" ") ?? [];
  const resource = resourceUrl(environment);
  const requested = (own: readonly string[]) => [
    ...new Set([...own.map((scope) => environment.PARLEY_AUTH_SCOPE_PREFIX + scope), ...environment.PARLEY_LOGIN_SCOPES]),
  ];
  return {
    issuer: environment.PARLEY_AUTH_ISSUERS.map(issuerOf)[0]?.name ?? "",
    client,
    secret: environment.PARLEY_LOGIN_SECRET,
    endpoints: endpoints === undefined ? undefined : { authorization, token },
    scopes: requested([SCOPES.answer]),
    callScopes: requested(CLIENT_SCOPES),
    // If the configured audiences do not include this address, the provider does not know it as a resource either.
    resource: resource !== undefined && audiences.includes(resource) ? resource : undefined,
    parameters: Object.fromEntries(new URLSearchParams(environment.PARLEY_LOGIN_PARAMETERS)),
    callback: `${base ?? ""}${LOGIN_CALLBACK_PATH}`,
    ttlMs: environment.PARLEY_LOGIN_TTL,
  };
}

function tenantsOf(item: string): readonly [string, readonly string[] | "any"] {
  const [name = "", ...tenants] = item.split(/\s+/);
  return [name, tenants.length === 1 && tenants[0] === "*" ? "any" : tenants];
}

function issuerOf(item: string): Issuer {
  const [name = "", jwksUrl] = item.split(/\s+/);
  return { name, jwksUrl };
}
