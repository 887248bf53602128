/** Commands whose reply is lost with the connection: ioredis sends them again, and the second reply must say what the first one did. */
import type { ApiKey } from "@parley/core";
import { depositSeal } from "@parley/node";
import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { startProxy, type TcpProxy } from "../../../test/contract/proxy.ts";
import { aSession } from "../../../test/contract/session-contract.ts";
import { createApiKeys } from "../callers/api-keys.ts";
import { plainContent } from "../content/codec.ts";
import { createDataKeys } from "../content/data-keys.ts";
import { fixedKeyRing } from "../content/key-ring.ts";
import { createGatewayShare } from "../gateway.ts";
import { createKeys } from "../keys.ts";
import { createGrantRegister } from "../callers/kept-grants.ts";
import { createRedisSessions } from "../sessions/sessions.ts";
import { reached } from "../connection/unavailable.ts";

let opened: OpenRedis;
let proxy: TcpProxy;
/** Through the proxy. */
let redis: Redis;

beforeEach(async () => {
  opened = await openRedis({ audit: true });
  const url = new URL(opened.url);
  proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  redis = new Redis(url.href, { maxRetriesPerRequest: null });
  await redis.ping();
});
afterEach(async () => {
  redis.disconnect();
  proxy.close();
  await opened.close();
});

const keys = () => createKeys(opened.prefix);

test("an API key that was added does not exist already", async () => {
  const { add, list } = createApiKeys({ redis, keys: keys(), acknowledge: reached });
  const key: ApiKey = { id: "AAAAAAAAAAAA", digest: "d", name: "nightly", tenant: "acme", scopes: ["tools"], createdAtMs: 2 };
  proxy.loseReplyTo("hsetnx");
  await add(key);
  expect(proxy.lost()).toBe(1);
  expect(await list()).toEqual([key]);
  await expect(add({ ...key, name: "other" })).rejects.toThrow("exists already");
  await redis.del(keys().apiKeys);
});

test("a grant that was removed was there, and its tokens are known", async () => {
  const options = {
    codec: plainContent,
    ids: { taskId: async () => "0-consent" },
    acknowledge: reached,
    audit: opened.audit,
    now: Date.now,
  };
  const register = createGrantRegister({ ...options, redis, keys: keys(), partitions: 1, log: SILENT });
  const grants = register.sealedBy(depositSeal(["s".repeat(40)]));
  const ann = { principal: "ann", id: "G".repeat(22) };
  const about = { upstream: "crm", provider: "id", scopes: ["read"] };
  for (const text of ["first", "second"]) {
    const consent = await grants.keep(ann, { text, about, ttlMs: 60_000, taskId: "0-task" });
    proxy.loseReplyTo(`${ann.id}:removed:`);
    expect(await grants.revoke(ann, consent, "accounts")).toEqual({ about, text });
    expect(await grants.list(ann)).toEqual([]);
  }
  expect(proxy.lost()).toBe(2);
  expect(await grants.revoke(ann, "0-consent", "accounts")).toBeUndefined();
  const verdicts = async () => (await opened.audit.read(0, 0, 100)).map(({ fact }) => fact.verdict);
  await expect.poll(verdicts).toEqual(["kept", "revoked", "kept", "revoked"]);
});

test("a request that was claimed is handled, and once if it arrives twice", async () => {
  const share = createGatewayShare({ redis, wakeUps: { listen: async () => () => undefined }, keys: keys(), now: Date.now });
  expect(await share.claimAsked("1", 60_000)).toBe(true);
  proxy.loseReplyTo("gateway:claim:2");
  expect(await share.claimAsked("2", 60_000)).toBe(true);
  expect(await share.claimAsked("2", 60_000)).toBe(false);
  expect(proxy.lost()).toBe(1);
});

test("a resource that was unsubscribed wakes the streams of its session", async () => {
  const { sessions } = opened;
  const { id } = aSession();
  await sessions.open(aSession({ id }), 60_000);
  await sessions.subscribe(id, "file:///menu", 10);
  const woken = vi.fn();
  const stop = await sessions.watch(id, woken);
  proxy.loseReplyTo("uri:file:///menu");
  const { unsubscribe } = createRedisSessions({ redis, wakeUps: { listen: async () => () => undefined }, keys: keys() });
  await unsubscribe(id, "file:///menu");
  expect(proxy.lost()).toBe(1);
  expect(await sessions.interests(id)).toEqual({ taskIds: [], resources: [] });
  await expect.poll(() => woken).toHaveBeenCalledOnce();
  stop();
});

test("a data key that was added is the one that its tenant uses, and no other is left", async () => {
  const hashKey = `${opened.prefix}:content`;
  const options = { hashKey, ring: fixedKeyRing(aContentKey()), now: Date.now, epochMs: 60_000, acknowledge: reached, log: SILENT };
  const dataKeys = createDataKeys({ redis, ...options });
  proxy.loseReplyTo("key:");
  const word = await dataKeys.current("acme");
  expect(proxy.lost()).toBe(1);
  expect(Object.keys(await redis.hgetall(hashKey)).toSorted()).toEqual([`key:${word}`, expect.stringMatching(/^tenant:/)]);
  await redis.del(hashKey);
});

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
