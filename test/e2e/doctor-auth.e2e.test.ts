/**
 * `parley doctor --auth` with everything that can be wrong with a token, a provider or a clock: each problem has its own sentence, the exit
 * code is 1, the JSON says the same, and no secret is printed.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateKeyPair } from "jose";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  forged,
  INTROSPECTION_CLIENT,
  INTROSPECTION_PATH,
  type Issuer,
  KEYS_PATH,
  METADATA_PATH,
  OPENID_PATH,
  sendJson,
  startIssuer,
} from "../support/issuer.ts";
import { parley } from "../support/parley.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";

let issuer: Issuer;
let other: Issuer;
let redis: TestRedis;
const directory = mkdtempSync(join(tmpdir(), "parley-doctor-"));
beforeAll(async () => {
  [issuer, other] = await Promise.all([startIssuer(), startIssuer()]);
  redis = openTestRedis();
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await Promise.all([issuer.close(), other.close(), redis.close()]);
});
afterEach(() => {
  for (const path of [KEYS_PATH, METADATA_PATH, OPENID_PATH, INTROSPECTION_PATH]) issuer.answer(path, undefined);
});

const nowS = () => Math.floor(Date.now() / 1_000);
const base = () => ({ PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuer.url, PARLEY_PUBLIC_URL: "http://localhost:3000" });
const opaque = () => ({
  PARLEY_AUTH_INTROSPECTION_URL: issuer.introspectionUrl,
  PARLEY_AUTH_INTROSPECTION_CLIENT: INTROSPECTION_CLIENT.client,
  PARLEY_AUTH_INTROSPECTION_SECRET: INTROSPECTION_CLIENT.secret,
});
const introspected = (claims: object) => {
  const token = `opaque-${crypto.randomUUID()}`;
  issuer.introspected.set(token, { active: true, sub: "alice", aud: "http://localhost:3000/mcp", exp: nowS() + 600, ...claims });
  return token;
};
const apiKeys = () => ({ REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_AUTH_API_KEYS: "true" });

interface Case {
  readonly what: string;
  /** Of the token or the provider. */
  readonly about?: "token" | "provider" | "identity";
  readonly token?: () => string | Promise<string>;
  readonly env?: () => Readonly<Record<string, string>>;
  /** What the provider does in place of what it should. */
  readonly does?: () => void;
  readonly says: RegExp;
}

const claims = (what: string, given: () => Readonly<Record<string, unknown>>, says: RegExp): Case => ({
  what: `a token with ${what}`,
  token: () => issuer.token(given()),
  says,
});

const CASES: readonly Case[] = [
  { what: "an empty token", token: () => "", says: /\((TOKEN_REQUIRED|TOKEN_MALFORMED|UNAUTHENTICATED|TOKEN_MISSING)\)$/ },
  { what: "garbage", token: () => "garbage-that-no-provider-made", says: /\(TOKEN_MALFORMED\)$/ },
  { what: "garbage in three parts", token: () => "gar.ba.gethatnobodymade", says: /\(TOKEN_MALFORMED\)$/ },
  { what: "64 kB", token: () => "x".repeat(65_536), says: /8,?192.*\(TOKEN_TOO_LARGE\)$/ },
  claims("an end 3 minutes ago", () => ({ exp: nowS() - 180, iat: nowS() - 600 }), /the token expired 3 min ago \(TOKEN_EXPIRED\)$/),
  {
    what: "a token that ended seconds ago, where clocks may not differ",
    token: () => issuer.token({ exp: nowS() - 3 }),
    env: () => ({ PARLEY_AUTH_CLOCK_SKEW: "0s" }),
    says: /the token expired \d+ s ago \(TOKEN_EXPIRED\)$/,
  },
  claims("a beginning in 5 minutes", () => ({ nbf: nowS() + 300 }), /valid 5 min from now \(nbf\) \(TOKEN_NOT_YET_VALID\)$/),
  claims("an issue in 5 minutes: clocks differ", () => ({ iat: nowS() + 300 }), /issued 5 min from now \(iat\) \(TOKEN_NOT_YET_VALID\)$/),
  claims("no end", () => ({ exp: undefined }), /the token has no exp, so it would never expire \(TOKEN_CLAIM_INVALID\)$/),
  claims("no sub", () => ({ sub: undefined }), /the token has no sub, so it names no caller \(TOKEN_CLAIM_INVALID\)$/),
  claims("no audience", () => ({ aud: undefined }), /names no audience \(aud\); expected "http:\/\/localhost:3000\/mcp" \(TOKEN_AUDIENCE/),
  claims(
    "another audience",
    () => ({ aud: "https://other.example" }),
    /is for "https:\/\/other.example"; expected "http:\/\/localhost:3000\/mcp" and nothing else \(TOKEN_AUDIENCE_REFUSED\)$/,
  ),
  claims(
    "a list of audiences",
    () => ({ aud: ["http://localhost:3000/mcp", "https://other.example"] }),
    /is for \["http:\/\/localhost:3000\/mcp","https:\/\/other.example"\]; expected .*\(TOKEN_AUDIENCE_REFUSED\)$/,
  ),
  {
    what: "a token of another issuer",
    token: () => other.token(),
    says: /issuer is "http:\/\/127.*"; trusted: "http:\/\/127.*" \(TOKEN_ISSUER_UNKNOWN\)$/,
  },
  {
    what: "alg none",
    token: () =>
      forged({ alg: "none", typ: "at+jwt" }, { iss: issuer.url, aud: "http://localhost:3000/mcp", sub: "alice", exp: nowS() + 600 }),
    says: /"none".*\((TOKEN_ALGORITHM_REFUSED|TOKEN_MALFORMED)\)$/,
  },
  {
    what: "HS256 signed by the public key",
    token: () => issuer.token({}, { alg: "HS256", key: Buffer.from(JSON.stringify(issuer.keys[0])) }),
    says: /"HS256".*\(TOKEN_ALGORITHM_REFUSED\)$/,
  },
  {
    what: "an unknown kid",
    token: async () => issuer.token({}, { kid: "somebody-elses", key: (await generateKeyPair("RS256")).privateKey }),
    says: /"somebody-elses".*\(TOKEN_KEY_UNKNOWN\)$/,
  },
  {
    what: "a signature by another key than it names",
    token: async () => issuer.token({}, { key: (await generateKeyPair("RS256")).privateKey }),
    says: /\(TOKEN_SIGNATURE_INVALID\)$/,
  },
  {
    what: "keys that cannot be had",
    about: "provider",
    does: () => issuer.answer(KEYS_PATH, (_request, response) => void response.writeHead(500).end()),
    says: /HTTP 500 \(PROVIDER_UNAVAILABLE\)$/,
  },
  {
    what: "keys that take too long",
    about: "provider",
    env: () => ({ PARLEY_AUTH_PROVIDER_TIMEOUT: "3s" }),
    does: () => issuer.answer(KEYS_PATH, () => undefined),
    says: /within 3 s.*\(PROVIDER_UNAVAILABLE\)$/,
  },
  {
    what: "keys that are no JSON",
    about: "provider",
    does: () => issuer.answer(KEYS_PATH, (_request, response) => void response.end("<html>login</html>")),
    says: /JSON.*\(PROVIDER_INVALID\)$/,
  },
  {
    what: "megabytes of keys",
    about: "provider",
    does: () => issuer.answer(KEYS_PATH, (_request, response) => sendJson(response, { keys: [], padding: "x".repeat(5_000_000) })),
    says: /(bytes|large|MB|KiB|kB).*\(PROVIDER_INVALID\)$/,
  },
  {
    what: "metadata of somebody else",
    about: "provider",
    does() {
      for (const path of [METADATA_PATH, OPENID_PATH])
        issuer.answer(path, (_request, response) =>
          sendJson(response, { issuer: "https://evil.example", jwks_uri: `${issuer.url}${KEYS_PATH}` }),
        );
    },
    says: /evil\.example.*\(PROVIDER_INVALID\)$/,
  },
  {
    what: "a provider that is not there",
    about: "provider",
    env: () => ({ PARLEY_AUTH_ISSUERS: "http://127.0.0.1:9" }),
    says: /\(PROVIDER_UNAVAILABLE\)$/,
  },
  {
    what: "an opaque token that is not active",
    env: opaque,
    token: () => "opaque-that-was-revoked-long-ago",
    says: /not active \(TOKEN_INACTIVE\)$/,
  },
  { what: "an opaque token, where none are introspected", token: () => "opaque-that-nobody-knows-here", says: /\(TOKEN_MALFORMED\)$/ },
  {
    what: "introspection that lies about the audience",
    env: opaque,
    token: () => introspected({ aud: "https://other.example" }),
    says: /is for "https:\/\/other.example".*\(TOKEN_AUDIENCE_REFUSED\)$/,
  },
  {
    what: "introspection that does not say whether a token is active",
    env: opaque,
    token: () => introspected({ active: "yes" }),
    says: /does not say whether the token is active \(PROVIDER_INVALID\)$/,
  },
  {
    what: "introspection that times out",
    env: () => ({ ...opaque(), PARLEY_AUTH_PROVIDER_TIMEOUT: "3s" }),
    token: () => "opaque-that-takes-forever",
    does: () => issuer.answer(INTROSPECTION_PATH, () => undefined),
    says: /within 3 s.*\(PROVIDER_UNAVAILABLE\)$/,
  },
  {
    what: "introspection with a wrong secret",
    env: () => ({ ...opaque(), PARLEY_AUTH_INTROSPECTION_SECRET: "wrong-s3cret-of-the-server" }),
    token: () => "opaque-that-nobody-may-ask-about",
    says: /HTTP 401 \(PROVIDER_(UNAVAILABLE|INVALID)\)$/,
  },
  {
    what: "an API key that was revoked",
    env: apiKeys,
    async token() {
      const made = await parley(["keys", "create", "nightly", "--scopes", "tools", "--json"], { env: { ...base(), ...apiKeys() } });
      const { key, id } = JSON.parse(made.stdout) as { key: string; id: string };
      await parley(["keys", "revoke", id], { env: { ...base(), ...apiKeys() } });
      return key;
    },
    says: /revoked|no such|not known.*\(TOKEN_INACTIVE\)$/,
  },
];

interface Printed {
  readonly findings: readonly { readonly level: string; readonly about: string; readonly says: string; readonly cure?: string }[];
}

test.each(CASES)("$what", async ({ what, about = "token", token, env, does, says }) => {
  const given = await token?.();
  does?.();
  const file = join(directory, `token-${crypto.randomUUID()}`);
  if (given !== undefined) writeFileSync(file, `${given}\n`);
  const run = async (...more: string[]) =>
    await parley(["doctor", "--auth", ...(given === undefined ? [] : ["--token-file", file]), ...more], { env: { ...base(), ...env?.() } });

  const asJson = await run("--json");

  const problems = (JSON.parse(asJson.stdout) as Printed).findings.filter(({ level }) => level === "problem");
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({ about, says: expect.stringMatching(says), cure: expect.stringMatching(/\w{3}.*\.$/s) });
  expect(asJson.code).toBe(1);
  // Printed for people by the same findings: once for the token and once for the provider.
  const asText = AS_TEXT.includes(what) ? [await run()] : [];
  for (const { code, stdout } of asText) {
    expect(code).toBe(1);
    expect(stdout).toContain(`✗ ${about}: ${problems[0]!.says}`);
  }
  const printed = [asJson, ...asText].map(({ stdout, stderr }) => stdout + stderr).join("\n");
  for (const secret of [INTROSPECTION_CLIENT.secret, "wrong-s3cret", ...secretsOf(given ?? "")]) expect(printed).not.toContain(secret);
});

const AS_TEXT = ["garbage", "a token with another audience", "keys that cannot be had", "introspection with a wrong secret"];

/** All of the token, and each of its parts that is not about nothing. */
function secretsOf(token: string): readonly string[] {
  return [token, ...token.split(".")].filter((part) => part.length >= 12);
}
