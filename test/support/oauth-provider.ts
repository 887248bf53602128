/** A real OAuth provider (oidc-provider) over HTTP, at which one public client is registered. A test can answer in its place. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createProvider } from "../../deploy/provider/provider.ts";

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface OauthProviderOptions {
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Of the client. Its port may vary, as a native client's may (RFC 8252, 7.3). */
  readonly callback: string;
  readonly tokenSeconds?: () => number;
}

export async function startOauthProvider({ resource, scopes, callback, tokenSeconds = () => 600 }: OauthProviderOptions) {
  const server: Server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = createProvider({ issuer, resource, scopes: [...scopes], tokenSeconds });
  /** By path. */
  const instead = new Map<string, Answer>();
  server.on("request", (request, response) => {
    const answer = instead.get(new URL(request.url ?? "/", issuer).pathname);
    if (answer) answer(request, response);
    else void provider.callback()(request, response);
  });
  const registered = await fetch(`${issuer}/reg`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ application_type: "native", redirect_uris: [callback], token_endpoint_auth_method: "none" }),
  });
  const { client_id: client } = (await registered.json()) as { client_id: string };
  return {
    server,
    issuer,
    instead,
    /** How Parley's file of providers describes it (PARLEY_OAUTH), without a name. */
    settings: {
      issuer,
      endpoints: undefined,
      client,
      secret: undefined,
      secretIn: "header" as const,
      scopes,
      parameters: {},
      resource: undefined,
      allowHttp: false,
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export type OauthProvider = Awaited<ReturnType<typeof startOauthProvider>>;
