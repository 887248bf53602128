/**
 * Data keys that a key management service wraps: a local one with the protocol of AWS KMS, with the official client.
 */
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { CreateAliasCommand, CreateKeyCommand, KMSClient, UpdateAliasCommand } from "@aws-sdk/client-kms";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { aLife, anAsk, HOUR_MS } from "../../../test/contract/builders.ts";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { CREDENTIALS, type Moto, startMoto } from "../../../test/support/moto.ts";
import { until } from "../../../test/support/until.ts";
import { connectRedis } from "../backend.ts";
import { sealWordOf } from "../keys.ts";
import { DEFAULT_REDIS_SETTINGS } from "../settings.ts";
import { ringOf } from "./open-content.ts";

const started = await startMoto();
const missing = "missing" in started ? started.missing : undefined;
const moto = started as Moto;

describe.skipIf(missing !== undefined)("a key management service", () => {
  let client: KMSClient;
  /** A proxy in front of the service: records requests, and can refuse to reply. */
  let door: Server;
  let endpoint: string;
  let isAway = false;
  /** Moto lets disabled keys decrypt, unlike the real service: the proxy replies as the service would. */
  const disabled = new Set<string>();
  const asked: { readonly operation: string; readonly body: string }[] = [];

  beforeAll(async () => {
    for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
    client = new KMSClient({ endpoint: moto.url, region: "us-east-1" });
    door = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const body = Buffer.concat(chunks);
        if (isAway) return request.socket.destroy();
        if ([...disabled].some((keyId) => body.includes(keyId)))
          return response.writeHead(400, { "content-type": "application/x-amz-json-1.1" }).end('{"__type":"DisabledException"}');
        asked.push({ operation: String(request.headers["x-amz-target"]).split(".").at(-1)!, body: body.toString() });
        const headers = Object.entries(request.headers).flatMap(([name, value]) =>
          typeof value === "string" && name !== "connection" && name !== "content-length" ? [[name, value] as [string, string]] : [],
        );
        const answer = await fetch(moto.url, { method: "POST", headers, body });
        response.writeHead(answer.status, { "content-type": "application/x-amz-json-1.1" }).end(Buffer.from(await answer.arrayBuffer()));
      })();
    }).listen(0, "127.0.0.1");
    await once(door, "listening");
    endpoint = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    client.destroy();
    door.closeAllConnections();
    door.close();
    await moto.close();
  });
  beforeEach(() => {
    isAway = false;
    disabled.clear();
    asked.length = 0;
  });

  async function aKey(): Promise<{ readonly alias: string; readonly keyId: string }> {
    const { KeyMetadata } = await client.send(new CreateKeyCommand({}));
    const keyId = KeyMetadata!.KeyId!;
    const alias = `alias/parley-${crypto.randomUUID()}`;
    await client.send(new CreateAliasCommand({ AliasName: alias, TargetKeyId: keyId }));
    return { alias, keyId };
  }
  const operations = (operation: string) => asked.filter((one) => one.operation === operation);
  const opened: { close(): Promise<void> }[] = [];
  async function open(contentKms: string | undefined, more: { readonly contentKeys?: string; readonly contentEpochMs?: number } = {}) {
    const backend = await openRedis({ contentKms, contentKmsEndpoint: endpoint, ...more });
    opened.push(backend);
    return backend;
  }
  /** Another process of the same deployment, which has not requested any key yet. */
  async function another({ url, prefix }: OpenRedis, contentKms: string | undefined, contentKeys?: string) {
    const backend = await connectRedis(
      { url, prefix, contentKms, contentKmsEndpoint: endpoint, ...(contentKeys !== undefined && { contentKeys }) },
      { log: silent },
    );
    opened.push(backend);
    return backend;
  }
  beforeEach(() => async () => {
    isAway = false;
    for (const each of opened.splice(0).toReversed()) await each.close();
  });
  const waiting = async ({ store, newTaskId }: OpenRedis) => {
    const life = aLife(store, newTaskId);
    return await life.parked([anAsk("size")], { arguments: { a: "MARKER" }, retentionMs: HOUR_MS });
  };

  const wordFor = async ({ ids }: OpenRedis, tenant: string) => sealWordOf(await ids.taskId(tenant));
  /** The word of a later epoch. */
  const anotherWord = (one: OpenRedis, known: readonly (string | undefined)[]) =>
    until(async () => {
      const word = await wordFor(one, "default");
      return known.includes(word) ? undefined : word;
    });

  test("wraps a data key once for all tasks of an epoch, unwraps it once in another process, and is never sent content", async () => {
    const { alias } = await aKey();
    const one = await open(alias);
    const tasks = [await waiting(one), await waiting(one), await waiting(one)];
    const other = await another(one, alias);
    for (const taskId of tasks) expect(await other.store.load(taskId)).toMatchObject({ asks: [{ key: "size" }] });
    expect([operations("Encrypt").length, operations("Decrypt").length]).toEqual([1, 1]);
    expect(JSON.stringify(asked)).not.toContain(Buffer.from("MARKER").toString("base64"));
    expect(JSON.stringify(asked)).not.toContain("MARKER");
    expect(await one.content.keys!.tryKeys(10)).toEqual({ open: 1, lacking: 0 });
  });

  test("opens a data key only for its word and its tenant", async () => {
    const { alias } = await aKey();
    const ring = (await ringOf({ ...DEFAULT_REDIS_SETTINGS, contentKms: alias, contentKmsEndpoint: endpoint }, silent))!;
    const dataKey = Buffer.alloc(32, 7);
    const wrapped = await ring.wrap(dataKey, "word tenant");
    expect(wrapped.keyId).toMatch(/^arn:aws:kms:\S+$/);
    expect(wrapped.keyId).toBe(await ring.currentKeyId());
    expect(await ring.unwrap(wrapped, "word tenant")).toEqual(dataKey);
    expect(await ring.unwrap(wrapped, "word another")).toBeUndefined();
    expect(await ring.unwrap({ ...wrapped, wrapped: Buffer.alloc(100).toString("base64url") }, "word tenant")).toBeUndefined();
    expect(await ring.unwrap({ ...wrapped, keyId: "k3Pq1234" }, "word tenant")).toBeUndefined();
  });

  test("replaces a ring: earlier tasks are read, and after a rotation by the service alone", async () => {
    const contentKeys = aContentKey();
    const before = await open(undefined, { contentKeys });
    const taskId = await waiting(before);
    const { alias } = await aKey();
    const both = await another(before, alias, contentKeys);
    expect((await both.store.load(taskId))?.asks).toHaveLength(1);
    const early = await another(before, alias);
    expect(await early.store.load(taskId)).toMatchObject({ unreadable: "key_missing" });
    expect(await early.content.keys!.tryKeys(10)).toEqual({ open: 0, lacking: 1 });
    expect(await both.content.keys!.wrapAnew()).toEqual({ wrapped: 1, current: 0, lacking: 0 });
    const after = await another(before, alias);
    expect((await after.store.load(taskId))?.asks).toHaveLength(1);
    expect(await after.content.keys!.wrapAnew()).toEqual({ wrapped: 0, current: 1, lacking: 0 });
  });

  test("changes its key with the alias, and what the old one wrapped waits while that is disabled", async () => {
    const [old, next] = [await aKey(), await aKey()];
    const one = await open(old.alias);
    const taskId = await waiting(one);
    await client.send(new UpdateAliasCommand({ AliasName: old.alias, TargetKeyId: next.keyId }));
    disabled.add(old.keyId);
    const locked = await another(one, old.alias);
    expect(await locked.store.load(taskId)).toMatchObject({ unreadable: "key_missing" });
    expect(await locked.content.keys!.wrapAnew()).toEqual({ wrapped: 0, current: 0, lacking: 1 });
    disabled.delete(old.keyId);
    expect(await locked.content.keys!.wrapAnew()).toEqual({ wrapped: 1, current: 0, lacking: 0 });
    disabled.add(old.keyId);
    const fresh = await another(one, old.alias);
    expect((await fresh.store.load(taskId))?.asks).toHaveLength(1);
  });

  test("may be unreachable: processes continue with the keys that they have; others get an error and lose nothing", async () => {
    const { alias } = await aKey();
    const one = await open(alias, { contentEpochMs: 1 });
    const taskId = await waiting(one);
    const first = await wordFor(one, "default");
    const last = await anotherWord(one, [first]);
    isAway = true;
    expect((await one.store.load(taskId))?.asks).toHaveLength(1);
    expect(await wordFor(one, "default")).toBe(last);
    await expect(wordFor(one, "a new tenant")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const other = await another(one, alias);
    await expect(other.store.load(taskId)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(other.content.keys!.tryKeys(10)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(other.content.keys!.nextEpoch()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    isAway = false;
    expect((await other.store.load(taskId))?.asks).toHaveLength(1);
    await anotherWord(one, [first, last]);
  });
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };
