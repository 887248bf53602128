/** This program as an OAuth client, for the flows of the official MCP client. */
import { randomBytes } from "node:crypto";
import { auth, type OAuthClientProvider, type OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { changeCredentials, type Credentials, readCredentials, type StoredTokens } from "./store.ts";

export interface Authorizing {
  /** URL of the MCP endpoint. */
  readonly url: string;
  /** Redirect URL; undefined if there is no person to log in. */
  readonly redirectUrl?: string;
  readonly clientId?: string | undefined;
  readonly scope?: string | undefined;
  /** Sends the person to the provider. */
  readonly visit: (page: URL) => void | Promise<void>;
  /** Starts a new login without using anything stored before. */
  readonly afresh?: boolean;
}

export interface Authorization extends OAuthClientProvider {
  /** The `state` that the provider must return, so that the response to another login is refused. */
  readonly expectedState: string;
  /** Discards the remains of a failed login. */
  given(): Credentials | undefined;
}

export const CLIENT_NAME = "Parley command line";

/** Stores its data only together with tokens, so that an interrupted login leaves the existing entry as it was. */
export function authorization({ url, redirectUrl, clientId, scope, visit, afresh = false }: Authorizing): Authorization {
  const expectedState = randomBytes(24).toString("base64url");
  let client: Credentials["client"] = clientId === undefined ? undefined : { client_id: clientId };
  let tokens: StoredTokens | undefined;
  let verifier = "";
  // Of this login: what the server says meanwhile does not send the code, and with it the verifier, to another provider.
  let discovered: OAuthDiscoveryState | undefined;
  const stored = async (): Promise<Credentials | undefined> => (afresh ? undefined : await readCredentials(url));

  return {
    expectedState,
    given: () => (tokens ? { tokens, ...(client && { client }) } : undefined),
    redirectUrl,
    clientMetadata: {
      client_name: CLIENT_NAME,
      redirect_uris: redirectUrl === undefined ? [] : [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      ...(scope !== undefined && { scope }),
    },
    state: () => expectedState,
    clientInformation: async () => (client ?? (await stored())?.client) as never,
    saveClientInformation: (registered) => void (client = registered as never),
    tokens: async () => (tokens ?? (await stored())?.tokens) as never,
    async saveTokens(saved) {
      tokens = saved as StoredTokens;
      const expiresAt = tokens.expires_in === undefined ? undefined : new Date(Date.now() + tokens.expires_in * 1_000).toISOString();
      const saving = { tokens, ...(expiresAt !== undefined && { expiresAt }) };
      await changeCredentials(url, (before) => {
        const kept = client ?? before?.client;
        return { ...saving, ...(kept && { client: kept }) };
      });
    },
    redirectToAuthorization: visit,
    saveDiscoveryState: (found) => void (discovered = found),
    discoveryState: () => discovered,
    saveCodeVerifier: (saved) => void (verifier = saved),
    codeVerifier: () => verifier,
  };
}

/**
 * The client's flow, without what it writes on `console.warn`: that is for those who program with it. What it throws is reported by
 * the caller.
 */
export async function authorize(...args: Parameters<typeof auth>): ReturnType<typeof auth> {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return await auth(...args);
  } finally {
    console.warn = warn;
  }
}
