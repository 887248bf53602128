/** Login with a code that is entered on another device (RFC 8628), for machines without a browser. */
import {
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  registerClient,
} from "@modelcontextprotocol/client";
import * as oauth from "oauth4webapi";
import { setTimeout as sleep } from "node:timers/promises";
import { boundedFetch } from "../credentials/bounded-fetch.ts";
import { CLIENT_NAME } from "../credentials/provider.ts";
import type { Credentials } from "../credentials/store.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const INTERVAL_S = 5;

export interface DeviceLogin {
  readonly url: string;
  readonly resourceMetadataUrl: URL | undefined;
  readonly scope: string | undefined;
  readonly clientId: string | undefined;
  /** Shows the person the page to open and the code to enter. */
  readonly show: (page: string, code: string) => void;
  readonly signal: AbortSignal;
}

/** Throws an Error that says why there is no token. */
export async function logInByDevice({ url, resourceMetadataUrl, scope, clientId, show, signal }: DeviceLogin): Promise<Credentials> {
  const resource = await discoverOAuthProtectedResourceMetadata(url, resourceMetadataUrl ? { resourceMetadataUrl } : {}, boundedFetch);
  // RFC 9728, 3.3: a server that names another server's resource would receive a token for that server, and could use it there.
  if (!checkResourceAllowed({ requestedResource: url, configuredResource: resource.resource }))
    throw new Error(`${url} says that its tokens are for ${resource.resource}: log in there, by its own address`);
  const issuer = resource.authorization_servers?.[0];
  if (issuer === undefined) throw new Error(`${url} names no provider to log in at`);
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: boundedFetch });
  const server = metadata as unknown as oauth.AuthorizationServer | undefined;
  if (!server?.device_authorization_endpoint) throw new Error(`${issuer} does not support login by device code: omit --device`);
  const wanted = scope ?? resource.scopes_supported?.join(" ");
  const client = (
    clientId === undefined
      ? await registerClient(issuer, {
          metadata: metadata as never,
          fetchFn: boundedFetch,
          clientMetadata: {
            client_name: CLIENT_NAME,
            redirect_uris: [],
            grant_types: [GRANT, "refresh_token"],
            response_types: [],
            token_endpoint_auth_method: "none",
            application_type: "native",
            ...(wanted !== undefined && { scope: wanted }),
          } as never,
        })
      : { client_id: clientId }
  ) as oauth.Client & { readonly client_id: string };
  // A provider on this machine may be used without TLS.
  const insecure = new URL(issuer).protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(new URL(issuer).hostname);
  const options = { [oauth.allowInsecureRequests]: insecure, [oauth.customFetch]: boundedFetch as typeof fetch, signal };
  const parameters = { resource: resource.resource, ...(wanted !== undefined && { scope: wanted }) };
  const none = oauth.None();
  const asked = await oauth.processDeviceAuthorizationResponse(
    server,
    client,
    await oauth.deviceAuthorizationRequest(server, client, none, parameters, options),
  );
  show(asked.verification_uri_complete ?? asked.verification_uri, asked.user_code);

  const deadlineMs = Date.now() + asked.expires_in * 1_000;
  for (let intervalS = asked.interval ?? INTERVAL_S; Date.now() < deadlineMs;) {
    await sleep(intervalS * 1_000, undefined, { signal });
    const response = await oauth.deviceCodeGrantRequest(server, client, none, asked.device_code, {
      ...options,
      additionalParameters: { resource: resource.resource },
    });
    try {
      const tokens = await oauth.processDeviceCodeResponse(server, client, response);
      const { access_token, refresh_token, expires_in, scope: granted, token_type } = tokens;
      return {
        tokens: {
          access_token,
          token_type,
          // So that they are renewed at this provider, and at no other that the server may name by then.
          issuer: server.issuer,
          ...(refresh_token !== undefined && { refresh_token }),
          ...(expires_in !== undefined && { expires_in }),
          ...(granted !== undefined && { scope: granted }),
        },
        client: { ...client, issuer: server.issuer },
      };
    } catch (error) {
      const code = error instanceof oauth.ResponseBodyError ? error.error : undefined;
      if (code === "slow_down") intervalS += INTERVAL_S;
      else if (code === "access_denied") throw new Error("the login was refused", { cause: error });
      else if (code !== "authorization_pending") throw error;
    }
  }
  throw new Error("the code has expired: log in again");
}
