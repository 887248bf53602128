/**
 * An identity provider for trying out Parley: oidc-provider with two people who log in with any password. Clients register themselves, log in
 * with PKCE and receive tokens for one resource. Nothing is stored: after a restart people log in again.
 *
 * For this machine only. The end-to-end tests use it as well.
 */
import { generateKeyPairSync } from "node:crypto";
import Provider, { type Configuration, errors } from "oidc-provider";

export interface ProviderOptions {
  /** As browsers and tokens name it. */
  readonly issuer: string;
  /** The audience of tokens: Parley's address with /mcp. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Parley's address. If set, people log in there as the client `parley-pages` to open pages. */
  readonly pages?: string;
  /** Lifetime of an access token in seconds. Called for each token. */
  readonly tokenSeconds: () => number;
}

export const PEOPLE: Readonly<Record<string, { readonly email: string; readonly groups: readonly string[] }>> = {
  alice: { email: "alice@example.com", groups: ["finance"] },
  bob: { email: "bob@example.com", groups: ["support"] },
  // Some tools need two people of one group (release_payment).
  carol: { email: "carol@example.com", groups: ["finance"] },
};

export function createProvider({ issuer, resource, scopes, pages, tokenSeconds }: ProviderOptions): Provider {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  // Each start makes a new key under a new name. Under the same name, Parley would keep refusing new tokens until its copy of the old key expires.
  const kid = `try-it-${crypto.randomUUID()}`;
  const configuration: Configuration = {
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" } as never] },
    cookies: { keys: [crypto.randomUUID()] },
    clientDefaults: { token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"] },
    clients:
      pages === undefined
        ? []
        : [
            {
              client_id: "parley-pages",
              redirect_uris: [`${pages}/login/callback`],
              grant_types: ["authorization_code"],
              response_types: ["code"],
            },
          ],
    scopes: ["openid", "offline_access", ...scopes],
    // Clients register with the scopes that they need first. If the provider enforced them, a client could not request more later.
    extraClientMetadata: {
      properties: ["any_scope"],
      validator: (_context, _key, _value, metadata) => void delete metadata.scope,
    },
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: true },
      deviceFlow: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo(_context, indicator) {
          if (indicator !== resource) throw new errors.InvalidTarget();
          return {
            scope: scopes.join(" "),
            audience: resource,
            accessTokenFormat: "jwt",
            accessTokenTTL: tokenSeconds(),
            jwt: { sign: { alg: "RS256" } },
          };
        },
      },
    },
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    ttl: { AccessToken: tokenSeconds, Grant: 86_400, Session: 86_400, Interaction: 600, RefreshToken: 86_400, IdToken: 600 },
    findAccount: (_context, name) => (Object.hasOwn(PEOPLE, name) ? { accountId: name, claims: () => ({ sub: name }) } : undefined),
    extraTokenClaims(_context, { kind, ...token }) {
      const { accountId = "" } = token as { readonly accountId?: string };
      const person = PEOPLE[accountId];
      return kind === "AccessToken" && person
        ? { email: person.email, email_verified: true, groups: person.groups, preferred_username: accountId }
        : undefined;
    },
    // Clients in browsers fetch metadata and tokens from their own origins.
    clientBasedCORS: () => true,
  } as Configuration;
  return new Provider(issuer, configuration);
}
