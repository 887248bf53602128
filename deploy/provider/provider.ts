/**
 * A provider of identity to try Parley with: oidc-provider with two people, for whom any password will do. Clients register themselves, log in
 * with PKCE and are given tokens for the one resource. Nothing is kept: after a restart everybody logs in again.
 *
 * For this machine alone. It is what the end-to-end tests log in at, too.
 */
import { generateKeyPairSync } from "node:crypto";
import Provider, { type Configuration, errors } from "oidc-provider";

export interface ProviderOptions {
  /** As browsers and tokens name it. */
  readonly issuer: string;
  /** What tokens are for: Parley's address with /mcp. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Parley's address, where people log in to open pages with the client `parley-pages`. */
  readonly pages?: string;
  /** How long an access token lives, in seconds. Asked for each token. */
  readonly tokenSeconds: () => number;
}

export const PEOPLE: Readonly<Record<string, { readonly email: string; readonly groups: readonly string[] }>> = {
  alice: { email: "alice@example.com", groups: ["finance"] },
  bob: { email: "bob@example.com", groups: ["support"] },
};

export function createProvider({ issuer, resource, scopes, pages, tokenSeconds }: ProviderOptions): Provider {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const configuration: Configuration = {
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "try-it", use: "sig", alg: "RS256" } as never] },
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
    // Clients register with the scopes that they want first. One that is held to these could not ask for more later.
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
    // Clients in browsers ask for metadata and tokens from their own pages.
    clientBasedCORS: () => true,
  } as Configuration;
  return new Provider(issuer, configuration);
}
