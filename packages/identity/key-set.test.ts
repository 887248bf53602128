/** Keys of two issuers, whose keys have the same name, at providers that fail and come back. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { keySet } from "./key-set.ts";

const SETTINGS = { providerTimeoutMs: 5_000, keysTtlMs: 600_000, keysStaleMs: 3_600_000, keysCooldownMs: 30_000, allowHttp: true };
const HEADER = { alg: "ES256", kid: "2026" };

interface Provider {
  readonly set: ReturnType<typeof keySet>;
  /** What it publishes; an error status instead of keys if it is a number. */
  serves: readonly JWK[] | number;
  asked: number;
}

/** Of two issuers, with one name. */
let made: readonly JWK[];
let elapsedMs: number;

beforeAll(async () => {
  const pairs = await Promise.all([1, 2, 3].map(() => generateKeyPair("ES256", { extractable: true })));
  made = await Promise.all(pairs.map(async ({ publicKey }) => ({ ...(await exportJWK(publicKey)), ...HEADER })));
});
beforeEach(() => void (elapsedMs = 0));

async function open(...serves: readonly JWK[]): Promise<Provider> {
  const provider = { serves, asked: 0 } as { -readonly [Name in keyof Provider]: Provider[Name] };
  const server = createServer((_request, response) => {
    provider.asked += 1;
    if (typeof provider.serves === "number") response.writeHead(provider.serves).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: provider.serves }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  const name = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const nothing = () => undefined;
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  provider.set = keySet({ name, jwksUrl: `${name}/keys` }, SETTINGS, { log, elapsedMs: () => elapsedMs });
  return provider;
}

async function keyOf({ set }: Provider, header = HEADER): Promise<string | undefined> {
  const key = await set.keyOf(header, { payload: "", signature: "" });
  return ((await crypto.subtle.exportKey("jwk", key)) as JWK).x;
}

const codeOf = (found: Promise<unknown>) =>
  found.then(
    () => "found",
    (error: { code?: string }) => error.code,
  );

describe("the keys of an issuer", () => {
  test("are its own, also where another one's have the same name", async () => {
    const [one, other] = [await open(made[0] as JWK), await open(made[1] as JWK)];
    expect(await Promise.all([keyOf(one), keyOf(other), keyOf(one)])).toEqual([made[0]?.x, made[1]?.x, made[0]?.x]);
    expect([one.asked, other.asked]).toEqual([1, 1]);
  });

  test("are used while another issuer's provider is away, and are not asked for more often because of it", async () => {
    const [one, other] = [await open(made[0] as JWK), await open(made[1] as JWK)];
    other.serves = 503;
    expect(await codeOf(keyOf(other))).toBe("PROVIDER_UNAVAILABLE");
    expect(await keyOf(one)).toBe(made[0]?.x);
    expect(one.asked).toBe(1);
  });

  test("after a failure that is over are judged by themselves: an unknown key is the token's fault again", async () => {
    const one = await open(made[0] as JWK);
    one.serves = 503;
    expect(await codeOf(keyOf(one))).toBe("PROVIDER_UNAVAILABLE");
    one.serves = [made[0] as JWK];
    elapsedMs += 1_000;
    expect(await keyOf(one)).toBe(made[0]?.x);
    elapsedMs += SETTINGS.keysCooldownMs;
    expect(await codeOf(keyOf(one, { ...HEADER, kid: "unknown" }))).toBe("TOKEN_KEY_UNKNOWN");
    expect(await one.set.fetchNow()).toBe(1);
  });

  test("while the provider is away a token with an unknown key may be good, and is not refused as bad", async () => {
    const one = await open(made[0] as JWK);
    expect(await keyOf(one)).toBe(made[0]?.x);
    elapsedMs += SETTINGS.keysCooldownMs;
    one.serves = 503;
    expect(await codeOf(keyOf(one, { ...HEADER, kid: "unknown" }))).toBe("PROVIDER_UNAVAILABLE");
    expect(await keyOf(one)).toBe(made[0]?.x);
  });

  test("are replaced when it replaces them, and fetched once for all who ask, each time that they are old", async () => {
    const one = await open(made[0] as JWK);
    for (let use = 0; use < 3; use += 1) {
      one.serves = [made[use] as JWK];
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const found = await Promise.all(Array.from({ length: 20 }, () => keyOf(one)));
      expect([use, new Set(found), one.asked]).toEqual([use, new Set([made[use]?.x]), use + 1]);
      elapsedMs += SETTINGS.keysTtlMs + 1;
    }
  });
});
