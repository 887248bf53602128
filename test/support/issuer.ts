/**
 * A provider of identity on loopback: metadata, keys and introspection over real HTTP, and tokens as a test wants them. What it answers can be
 * replaced, to have a provider that is down, slow, or lies.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface Signing {
  readonly alg?: string;
  readonly header?: Readonly<Record<string, unknown>>;
  /** By default the newest of the issuer. */
  readonly key?: Pair["privateKey"] | Uint8Array;
  readonly kid?: string | undefined;
}

export interface Issuer {
  readonly url: string;
  readonly introspectionUrl: string;
  /** Paths in the order in which they were asked for. */
  readonly asked: readonly string[];
  /** Signs claims with defaults for all that a token must have; `undefined` takes one away. */
  token(claims?: Readonly<Record<string, unknown>>, signing?: Signing): Promise<string>;
  /** A new key; the ones before it stay published unless `alone`. */
  rotate(alone?: boolean): Promise<void>;
  /** What introspection says of a token. */
  readonly introspected: Map<string, Readonly<Record<string, unknown>>>;
  /** Replaces the answers to a path; undefined: as it should be. */
  answer(path: string, answer: Answer | undefined): void;
  readonly keys: readonly object[];
  close(): Promise<void>;
}

export const KEYS_PATH = "/keys";
export const METADATA_PATH = "/.well-known/oauth-authorization-server";
export const OPENID_PATH = "/.well-known/openid-configuration";
export const INTROSPECTION_PATH = "/introspect";
export const INTROSPECTION_CLIENT = { client: "parley & sons", secret: "s3cret: of the server" };

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
/** Of issuers that are closed: a pair takes a tenth of a second to make, and no two that live at once have the same. */
const spare: Pair[] = [];

export async function startIssuer({ audience = "http://localhost:3000/mcp", port = 0 } = {}): Promise<Issuer> {
  const asked: string[] = [];
  const replaced = new Map<string, Answer>();
  const introspected = new Map<string, Readonly<Record<string, unknown>>>();
  const pairs: Pair[] = [];
  const keys: { kid: string; jwk: object; privateKey: Pair["privateKey"] }[] = [];
  let made = 0;

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    asked.push(pathname);
    const given = replaced.get(pathname);
    if (given) given(request, response);
    else if (pathname === METADATA_PATH || pathname === OPENID_PATH) {
      sendJson(response, { issuer: url, jwks_uri: `${url}${KEYS_PATH}`, introspection_endpoint: `${url}${INTROSPECTION_PATH}` });
    } else if (pathname === KEYS_PATH) sendJson(response, { keys: keys.map(({ jwk }) => jwk) });
    else if (pathname === INTROSPECTION_PATH) void introspect(request, response);
    else response.writeHead(404).end();
  });

  async function introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { client, secret } = INTROSPECTION_CLIENT;
    const encoded = [client, secret].map((part) => encodeURIComponent(part).replaceAll("%20", "+")).join(":");
    if (request.headers.authorization !== `Basic ${Buffer.from(encoded).toString("base64")}`) return void response.writeHead(401).end();
    let body = "";
    for await (const chunk of request) body += String(chunk);
    sendJson(response, introspected.get(new URLSearchParams(body).get("token") ?? "") ?? { active: false });
  }

  async function rotate(alone = false): Promise<void> {
    const kid = `key-${(made += 1)}`;
    const pair = spare.pop() ?? (await generateKeyPair("RS256", { extractable: true }));
    pairs.push(pair);
    const { publicKey, privateKey } = pair;
    if (alone) keys.length = 0;
    keys.push({ kid, jwk: { ...(await exportJWK(publicKey)), kid, use: "sig", alg: "RS256" }, privateKey });
  }

  server.listen(port, "127.0.0.1");
  await Promise.all([once(server, "listening"), rotate()]);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    introspectionUrl: `${url}${INTROSPECTION_PATH}`,
    asked,
    introspected,
    get keys() {
      return keys.map(({ jwk }) => jwk);
    },
    rotate,
    answer(path, answer) {
      if (answer) replaced.set(path, answer);
      else replaced.delete(path);
    },
    async token(claims = {}, { alg = "RS256", header = {}, key, kid } = {}) {
      const newest = keys.at(-1)!;
      const nowS = Math.floor(Date.now() / 1_000);
      const all = { iss: url, aud: audience, sub: "alice", exp: nowS + 600, iat: nowS, scope: "tools tasks asks", ...claims };
      const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JWTPayload;
      return await new SignJWT(given)
        .setProtectedHeader({ alg, kid: kid ?? newest.kid, typ: "at+jwt", ...header })
        .sign(key ?? newest.privateKey);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      spare.push(...pairs.splice(0));
    },
  };
}

export function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A token whose parts are as given, whether or not anybody could have signed it. */
export function forged(header: object, claims: object, signature = ""): string {
  return `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.${signature}`;
}
