/** A real OAuth provider at which tools may act in a person's name, and the file that sets it up for Parley (PARLEY_OAUTH). */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createProvider } from "../../deploy/provider/provider.ts";
import { logIn } from "./person.ts";

export interface GrantProviderOptions {
  readonly name: string;
  readonly title: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly tokenSeconds: number;
  /** Where front ends are reached: people are sent back there. */
  readonly publicUrl: string;
  /** Where the file is written. */
  readonly folder: string;
  /** A client without a secret, to which the provider gives a new refresh token each time: one that is used twice ends what was granted. */
  readonly rotates?: boolean;
}

export interface GrantProvider {
  readonly issuer: string;
  /** Of Parley's processes. */
  readonly env: { readonly PARLEY_OAUTH: string; readonly GRANT_SECRET: string };
  /** Access and refresh tokens that were issued so far. */
  readonly issued: readonly string[];
  /** What was wanted at the token endpoint, and the status of the response. */
  readonly redeemed: readonly string[];
  /** Ends everything that was granted so far. */
  revoke(): Promise<void>;
  close(): void;
}

export async function startGrantProvider(given: GrantProviderOptions): Promise<GrantProvider> {
  const { name, title, folder, publicUrl, rotates = false, ...options } = given;
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { resource, scopes, tokenSeconds } = options;
  const provider = createProvider({ issuer, resource, scopes: [...scopes], tokenSeconds: () => tokenSeconds });
  const issued: string[] = [];
  const redeemed: string[] = [];
  provider.use(async (context, next) => {
    await next();
    if (context.path === "/token") redeemed.push(`${context["oidc"].params?.["grant_type"]} ${context.status}`);
    const { access_token, refresh_token } = (context.path === "/token" ? context.body : {}) as Record<string, string | undefined>;
    issued.push(...[access_token, refresh_token].filter((token) => token !== undefined));
  });
  server.on("request", (request, response) => void provider.callback()(request, response));
  const registered = await fetch(`${issuer}/reg`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      redirect_uris: [`${publicUrl}/oauth/callback/${name}`],
      token_endpoint_auth_method: rotates ? "none" : "client_secret_basic",
      grant_types: ["authorization_code", "refresh_token"],
    }),
  });
  const { client_id: client, client_secret: secret = "" } = (await registered.json()) as { client_id: string; client_secret?: string };
  const file = join(folder, "parley.oauth.json");
  await writeFile(
    file,
    JSON.stringify({ providers: [{ name, title, issuer, client, ...(!rotates && { secret: { environment: "GRANT_SECRET" } }), scopes }] }),
  );
  return {
    issuer,
    env: { PARLEY_OAUTH: file, GRANT_SECRET: secret },
    issued,
    redeemed,
    async revoke() {
      const authorization = `Basic ${Buffer.from(`${client}:${secret}`).toString("base64")}`;
      for (const token of issued) {
        const body = new URLSearchParams({ token, ...(rotates && { client_id: client }) });
        await fetch(`${issuer}/token/revocation`, { method: "POST", body, headers: rotates ? {} : { authorization } });
      }
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What a page says to whoever has granted access: that of the next question or, if the tool asks that too late or nothing more, the receipt. */
export const COUNTED = /Your answer has arrived|You granted the access/;

/** Opens the page of such a question, goes to the provider, logs in there and comes back. What the page says then, and where it was called back at. */
export async function grant(
  page: string,
  person: string,
  /** With which requests to Parley are made. */
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly callback: URL; readonly status: number; readonly text: string }> {
  const shown = await (await fetch(page, { headers })).text();
  const fields = [...shown.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
    ([, name = "", value = ""]) => [name, value] as [string, string],
  );
  const off = await fetch(page, { method: "POST", headers, body: new URLSearchParams([...fields, ["action", "accept"]]) });
  const [cookie = ""] = (off.headers.getSetCookie()[0] ?? "").split(";");
  const away = new URL((/url=([^"]+)"/.exec(await off.text())?.[1] ?? "").replaceAll("&amp;", "&"));
  const callback = await logIn(away, person);
  const back = await fetch(callback, { headers: { ...headers, cookie } });
  return { callback, status: back.status, text: await back.text() };
}
