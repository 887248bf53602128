/** The end of a tenant: its grants are revoked with its keys, and their provider is asked to end them, which takes the tokens. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { depositSeal } from "@parley/node";
import { afterEach, beforeEach, expect, test } from "vitest";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { openRedis, type OpenRedis } from "../../../test/contract/open-redis.ts";
import { parley } from "../../../test/support/parley.ts";

const ABOUT = { upstream: "crm", provider: "id", scopes: ["read"] };
let folder: string;
let provider: Server;
let redis: OpenRedis;
let env: Record<string, string>;
/** The tokens that the provider was asked to end. */
let ended: (string | null)[];
/** It replies once it has received so many requests. */
let together: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-erase-"));
  ended = [];
  together = 1;
  const waiting: (() => unknown)[] = [];
  provider = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const token = new URLSearchParams(body).get("token");
      ended.push(token);
      waiting.push(() => response.writeHead(token === "r-bad" && together === 1 ? 503 : 200).end());
      if (waiting.length >= together) for (const reply of waiting.splice(0)) reply();
    });
  }).listen(0, "127.0.0.1");
  await once(provider, "listening");
  const at = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const endpoints = { authorization: `${at}/auth`, token: `${at}/token`, revocation: `${at}/revoke` };
  const file = join(folder, "oauth.json");
  await writeFile(file, JSON.stringify({ providers: [{ name: "id", title: "Id", endpoints, client: "parley", scopes: ["read"] }] }));
  const [contentKeys, secret] = [aContentKey(), randomBytes(32).toString("hex")];
  redis = await openRedis({ contentKeys });
  env = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_CONTENT_KEYS: contentKeys,
    PARLEY_SECRET: secret,
    PARLEY_OAUTH: file,
  };
  const grants = redis.keptGrants.sealedBy(depositSeal([secret]));
  const kept = [
    ["acme", "ann", "r-ann"],
    ["acme", "bob", "r-bad"],
    ["other", "cid", "r-cid"],
    ["quiet", "dan", "r-dan"],
  ] as const;
  for (const [tenant, principal, refreshToken] of kept) {
    const text = JSON.stringify({ provider: "id", accessToken: `a-${principal}`, refreshToken, scopes: ["read"] });
    await grants.keep({ tenant, principal, id: "G".repeat(22) }, { text, about: ABOUT, ttlMs: 60_000, taskId: "0-task" });
  }
});
afterEach(async () => {
  await redis.close();
  provider.closeAllConnections();
  provider.close();
  await rm(folder, { recursive: true });
});

const erase = (tenant: string, given = env, signal?: AbortSignal) =>
  parley(["content", "erase-tenant", tenant, "--yes", "--json"], { env: given, ...(signal && { signal }) });

test("revokes only its grants, and asks their provider to end them, if PARLEY_OAUTH is set; the provider may fail", async () => {
  const { PARLEY_OAUTH: _, ...without } = env;
  const [acme, quiet] = await Promise.all([erase("acme"), erase("quiet", without)]);
  expect(JSON.parse(acme.stdout)).toEqual({ tenant: "acme", keys: 1, waiting: 0, atProvider: { ended: 1, unsupported: 0, failed: 1 } });
  expect(JSON.parse(quiet.stdout)).toEqual({ tenant: "quiet", keys: 1, waiting: 0 });
  expect(ended.toSorted()).toEqual(["r-ann", "r-bad"]);
  const left: string[] = [];
  for await (const { tenant } of redis.keptGrants.list()) left.push(tenant);
  expect(left).toEqual(["other"]);
  expect(acme.stdout + acme.stderr).not.toMatch(/r-ann|r-bad|a-ann|a-bob/);
});

test("a revocation without the end of the tenant asks about several grants at once, so that a slow provider delays it once", async () => {
  together = 2;
  const { stdout } = await parley(["grants", "revoke", "--tenant", "acme", "--json"], { env });
  expect(JSON.parse(stdout)).toEqual({ revoked: 2, atProvider: { ended: 2, unsupported: 0, failed: 0 } });
});

test("asks providers before anything is erased, so that a command that is killed can be run again", async () => {
  together = Infinity;
  const killing = new AbortController();
  const killed = erase("acme", env, killing.signal);
  await expect.poll(() => ended.length).toBe(2);
  killing.abort();
  await killed;

  together = 1;
  ended = [];
  expect(JSON.parse((await erase("acme")).stdout)).toMatchObject({ keys: 1, atProvider: { ended: 1, unsupported: 0, failed: 1 } });
  expect(ended.toSorted()).toEqual(["r-ann", "r-bad"]);
});
