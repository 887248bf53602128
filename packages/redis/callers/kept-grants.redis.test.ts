/** Grants that outlive their tasks, in Redis: who gets which, for how long, and what a thief or a mover of records gets. */
import { randomBytes } from "node:crypto";
import { GRANTS_MAX, ParleyError } from "@parley/core";
import { depositSeal } from "@parley/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRedis, type OpenRedis } from "../../../test/contract/open-redis.ts";
import { startProxy } from "../../../test/contract/proxy.ts";
import { connectRedis, type RedisBackend } from "../backend.ts";
import type { GrantSeal, RegisteredGrant } from "./kept-grants.ts";
import { loadScripts } from "../scripts/load-scripts.ts";

const DAY_MS = 24 * 60 * 60_000;
const TTL_MS = 90 * DAY_MS;
const ABOUT = { upstream: "crm", provider: "id", scopes: ["read"] };
const ANN = { principal: "https://a.example ann", id: "G".repeat(22) };
const KEPT = { text: '{"provider":"id","accessToken":"t0ken","refreshToken":"r1"}', about: ABOUT, ttlMs: TTL_MS, taskId: "0-task" };
const USE = { ttlMs: TTL_MS };

let redis: OpenRedis;
const secret = randomBytes(32).toString("hex");
const grants = (of: RedisBackend = redis, secrets = [secret]) => of.keptGrants.sealedBy(depositSeal(secrets));

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** Another process of the deployment. */
function beside({ url, prefix }: OpenRedis): Promise<RedisBackend> {
  return connectRedis({ url, prefix }, { log: SILENT });
}

async function listed(of = redis, filter = {}): Promise<RegisteredGrant[]> {
  const all: RegisteredGrant[] = [];
  for await (const each of of.keptGrants.list(filter)) all.push(each);
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

beforeEach(async () => {
  redis = await openRedis({ audit: true, partitions: 4 });
});
afterEach(() => redis.close());

describe("a grant", () => {
  test("is available to later tasks of its principal in every process, and Redis holds no readable token", async () => {
    const consent = await grants().keep(ANN, KEPT);
    const other = await beside(redis);
    expect(await grants(other).use(ANN, USE)).toEqual({ consent, text: KEPT.text });
    await other.close();
    const keys = await redis.redis.keys(`${redis.prefix}:*`);
    const dumped = (await Promise.all(keys.map((key) => redis.redis.dumpBuffer(key)))).map((bytes) => bytes?.toString("latin1")).join();
    expect(dumped).not.toMatch(/t0ken|r1"/);
    expect(keys.join()).not.toContain("ann");
  });

  test("belongs to no other principal, tenant, issuer, upstream or scope", async () => {
    await grants().keep(ANN, KEPT);
    const others = [
      { ...ANN, principal: "https://a.example bob" },
      { ...ANN, principal: "https://b.example ann" },
      { ...ANN, principal: "ann" },
      { ...ANN, tenant: "acme" },
      { ...ANN, id: "H".repeat(22) },
    ];
    expect(await Promise.all(others.map((ref) => grants().use(ref, USE)))).toEqual(others.map(() => undefined));
    for (const ref of others) expect(await grants().revoke(ref, "consent")).toBeUndefined();
    expect(redis.logged.filter(({ level }) => level === "error")).toEqual([]);
    // The default tenant is one, whether or not it is named.
    expect(await grants().use({ ...ANN, tenant: "default" }, USE)).toMatchObject({ text: KEPT.text });
  });

  test.each([
    ["principal", { ...ANN, principal: "https://a.example bob" }],
    ["tenant", { ...ANN, tenant: "acme" }],
  ])("that was moved to another %s is not listed there", async (_what, ref) => {
    await grants().keep(ANN, KEPT);
    const [{ owner: from } = { owner: "" }] = await listed();
    await grants().keep(ref, KEPT);
    const to = (await listed(redis, ref)).find(({ owner }) => owner !== from)?.owner;
    expect((await grants().list(ref)).map(({ id }) => id)).toEqual([ref.id]);
    await redis.redis.copy(`${redis.prefix}:grants:{${from}}:${ANN.id}`, `${redis.prefix}:grants:{${to}}:${ref.id}`, "REPLACE");
    expect(await grants().list(ref)).toEqual([]);
    expect((await grants().list(ANN)).map(({ id }) => id)).toEqual([ANN.id]);
  });

  test.each([
    ["principal", { ...ANN, principal: "https://a.example bob" }],
    ["purpose", { ...ANN, id: "H".repeat(22) }],
  ])("that was moved to another %s does not open there, and is removed", async (_what, ref) => {
    await grants().keep(ANN, KEPT);
    await grants().keep(ref, { ...KEPT, text: '{"provider":"id","accessToken":"theirs"}' });
    const [from, to] = await Promise.all(
      [ANN, ref].map(async ({ principal, id }) => {
        const [found] = await listed(redis, { principal, id });
        return `${redis.prefix}:grants:{${found?.owner}}:${id}`;
      }),
    );
    await redis.redis.copy(from!, to!, "REPLACE");
    expect(await grants().use(ref, USE)).toBeUndefined();
    expect(await redis.redis.exists(to!)).toBe(0);
    expect(await grants().use(ANN, USE)).toMatchObject({ text: KEPT.text });
  });

  test.each([
    ["is damaged", (key: string) => redis.redis.hset(key, "about", "neither JSON")],
    ["lacks its purpose", (key: string) => redis.redis.hdel(key, "about")],
    ["lacks its consent", (key: string) => redis.redis.hdel(key, "consent")],
  ])("that %s hides no other, and is removed by its use or revocation", async (_what, damage) => {
    const other = { ...ANN, id: "H".repeat(22) };
    await grants().keep(ANN, KEPT);
    await grants().keep(other, KEPT);
    const [{ owner } = { owner: "" }] = await listed();
    const [list, key] = [`${redis.prefix}:grants:{${owner}}`, `${redis.prefix}:grants:{${owner}}:${ANN.id}`];

    await damage(key);
    expect((await listed()).map(({ id }) => id)).toEqual([other.id]);
    expect((await grants().list(ANN)).map(({ id }) => id)).toEqual([other.id]);
    expect(await grants().use(ANN, USE)).toBeUndefined();
    expect(await redis.redis.exists(key)).toBe(0);
    expect(await redis.redis.zrange(list, "0", "-1")).toEqual([other.id]);

    const consent = await grants().keep(ANN, KEPT);
    await damage(key);
    expect(await grants().revoke(ANN, consent)).toBeUndefined();
    expect(await redis.redis.exists(key)).toBe(0);
    expect(await redis.redis.zrange(list, "0", "-1")).toEqual([other.id]);
  });

  test("that is damaged is reported", async () => {
    await grants().keep(ANN, KEPT);
    const [{ owner } = { owner: "" }] = await listed();
    await redis.redis.hset(`${redis.prefix}:grants:{${owner}}:${ANN.id}`, "about", "neither JSON");
    await grants().list(ANN);
    expect(redis.lines).toContainEqual(["error", { grant: ANN.id }, "grant is damaged"]);
  });

  test("without tokens is removed by its use", async () => {
    await grants().keep(ANN, KEPT);
    const [{ owner } = { owner: "" }] = await listed();
    await redis.redis.hdel(`${redis.prefix}:grants:{${owner}}:${ANN.id}`, "tokens");
    expect(await grants().use(ANN, USE)).toBeUndefined();
    expect(await listed()).toEqual([]);
  });

  test("is under the same keys in every version", async () => {
    await grants().keep(ANN, KEPT);
    const owner = "lpaiVw4nesFhF7umRzWGlt";
    const keys = [`grants:{${owner}}`, `grants:{${owner}}:${ANN.id}`, "{p1}:granted"];
    expect((await redis.redis.keys(`${redis.prefix}:*grant*`)).toSorted()).toEqual(keys.map((key) => `${redis.prefix}:${key}`).toSorted());
  });

  test.each([new SyntaxError("a defect"), new ParleyError("UNAVAILABLE", "a server")])("is not removed because of %s", async (error) => {
    const consent = await grants().keep(ANN, KEPT);
    const broken: GrantSeal = {
      ...depositSeal([secret]),
      open() {
        throw error;
      },
    };
    await expect(redis.keptGrants.sealedBy(broken).use(ANN, USE)).rejects.toBe(error);
    expect(await grants().use(ANN, USE)).toEqual({ consent, text: KEPT.text });
  });

  test("ends some time after its last use, and each use extends it", async () => {
    await grants().keep(ANN, { ...KEPT, ttlMs: 60_000 });
    const [{ owner } = { owner: "" }] = await listed();
    const keys = [`${redis.prefix}:grants:{${owner}}`, `${redis.prefix}:grants:{${owner}}:${ANN.id}`];
    const lives = () => Promise.all(keys.map((key) => redis.redis.pttl(key)));
    for (const ms of await lives()) expect(ms).toBeGreaterThan(55_000);
    for (const key of keys) await redis.redis.pexpire(key, 1_000);
    expect(await grants().use(ANN, { ttlMs: 60_000 })).toBeDefined();
    for (const ms of await lives()) expect(ms).toBeGreaterThan(55_000);
    const [{ usedAtMs, endsAtMs } = { usedAtMs: 0, endsAtMs: 0 }] = await listed();
    expect(endsAtMs).toBe(usedAtMs + 60_000);
    // A shorter time of another one does not take that away.
    await grants().keep({ ...ANN, id: "H".repeat(22) }, { ...KEPT, ttlMs: 30_000 });
    await grants().use({ ...ANN, id: "H".repeat(22) }, { ttlMs: 30_000 });
    expect((await lives())[0]).toBeGreaterThan(40_000);
    await grants().remove({ ...ANN, id: "H".repeat(22) }, (await grants().use({ ...ANN, id: "H".repeat(22) }, USE))!.consent, "ended");
    expect(await redis.redis.zrange(keys[0]!, "0", "-1")).toEqual([ANN.id]);
    await redis.redis.pexpire(keys[1]!, 1);
    await expect.poll(() => redis.redis.exists(keys[1]!)).toBe(0);
    expect(await grants().use(ANN, USE)).toBeUndefined();
    expect(await listed()).toEqual([]);
  });

  test("is replaced by a later consent, after which nothing can change it through the earlier one", async () => {
    const first = await grants().keep(ANN, KEPT);
    const before = (await grants().use(ANN, USE))!;
    const second = await grants().keep(ANN, { ...KEPT, text: "{}" });
    expect(second).not.toBe(first);
    expect(await grants().replace(ANN, before, '{"late":1}')).toBe(false);
    await grants().remove(ANN, first, "refused");
    expect(await grants().use(ANN, USE)).toEqual({ consent: second, text: "{}" });
    await grants().remove(ANN, second, "refused");
    expect(await grants().use(ANN, USE)).toBeUndefined();
  });

  test("is renewed by only one of two simultaneous renewals, and never set back", async () => {
    await grants().keep(ANN, KEPT);
    const before = (await grants().use(ANN, USE))!;
    const both = await Promise.all(["one", "two"].map((text) => grants().replace(ANN, before, text)));
    expect(both.toSorted()).toEqual([false, true]);
    const text = both[0] ? "one" : "two";
    expect(await grants().use(ANN, USE)).toEqual({ ...before, text });
    // Sent again after its reply was lost.
    expect(await grants().replace(ANN, before, text)).toBe(true);
    expect(await grants().replace(ANN, before, KEPT.text)).toBe(false);
    await grants().remove(ANN, before.consent, "ended");
    expect(await grants().replace(ANN, before, text)).toBe(false);
  });

  test("is kept once, however often the command arrives, and keeps what it was renewed to since", async () => {
    const scripts = loadScripts(redis.redis, { names: ["keep", "renew"], folder: "grant/", keyCount: () => 2 });
    const keys = ["grants", "grant"].map((name) => `${redis.prefix}:{slot}:${name}`);
    const keep = () => scripts.keep([...keys, "id", "consent", "first", "about", 1_000, 60_000, 100, "secret"]);
    expect(await keep()).toBe(1);
    for (const time of [1, 2]) expect(await scripts.renew([...keys, "first", "second", "newer"]), `${time}`).toBe(1);
    expect(await keep()).toBe(0);
    expect(await redis.redis.hgetall(keys[1]!)).toEqual({
      consent: "consent",
      tokens: "second",
      secret_id: "newer",
      about: "about",
      kept_at_ms: "1000",
      used_at_ms: "1000",
    });
    await redis.redis.del(...keys);
  });

  test("that has expired leaves the list when it is removed", async () => {
    const consent = await grants().keep(ANN, KEPT);
    const [list, grant] = (await redis.redis.keys(`${redis.prefix}:grants:*`)).toSorted((a, b) => a.length - b.length);
    await redis.redis.del(grant!);
    await grants().remove(ANN, consent, "ended");
    expect(await redis.redis.exists(list!)).toBe(0);
  });

  describe("sealed by a PARLEY_SECRET that this process does not have", () => {
    const other = ["n".repeat(40)];
    const grantKey = async () => `${redis.prefix}:grants:{${(await listed())[0]?.owner}}:${ANN.id}`;

    test("is not found, is reported, and stays for the processes that can open it", async () => {
      const consent = await grants().keep(ANN, KEPT);
      expect(await grants(redis, other).use(ANN, { ...USE, taskId: "0-later" })).toBeUndefined();
      const message = "grant is sealed by a secret that this process does not have (PARLEY_SECRET)";
      expect(redis.lines).toContainEqual(["warn", { grant: ANN.id, upstream: "crm", provider: "id" }, message]);
      expect(await grants(redis, other).replace(ANN, { consent, text: KEPT.text }, "{}")).toBe(false);
      expect(await grants().use(ANN, USE)).toEqual({ consent, text: KEPT.text });
    });

    test("ends nevertheless: to ask for it in vain does not start its time again", async () => {
      await grants().keep(ANN, KEPT);
      await redis.redis.pexpire(await grantKey(), 60_000);
      await grants(redis, other).use(ANN, { ...USE, taskId: "0-later" });
      expect(await redis.redis.pttl(await grantKey())).toBeLessThanOrEqual(60_000);
      await grants().use(ANN, USE);
      expect(await redis.redis.pttl(await grantKey())).toBeGreaterThan(60_000);
    });

    test("is replaced when the person consents again, and can be revoked without its tokens", async () => {
      await grants().keep(ANN, KEPT);
      const second = await grants(redis, other).keep(ANN, { ...KEPT, text: "{}" });
      expect(await grants(redis, other).use(ANN, USE)).toEqual({ consent: second, text: "{}" });
      expect(await grants().revoke(ANN, second)).toEqual({ about: ABOUT, text: undefined });
      expect(await listed()).toEqual([]);
    });

    test("moves to the newest secret with its first use, so that a rotation asks only people whose grants were not used", async () => {
      await grants().keep(ANN, KEPT);
      expect(await grants(redis, [...other, secret]).use(ANN, USE)).toMatchObject({ text: KEPT.text });
      expect(await grants(redis, other).use(ANN, USE)).toMatchObject({ text: KEPT.text });
      expect(await grants().use(ANN, USE)).toBeUndefined();
    });

    test("by an earlier version, which did not name the secret, is used, named and prolonged, or left to end", async () => {
      await grants().keep(ANN, KEPT);
      const key = await grantKey();
      await redis.redis.hdel(key, "secret_id");
      await redis.redis.pexpire(key, 60_000);
      expect(await grants(redis, other).use(ANN, USE)).toBeUndefined();
      expect(redis.logged).toContainEqual({ level: "warn", message: "grant of an earlier version does not open" });
      expect(await redis.redis.pttl(key)).toBeLessThanOrEqual(60_000);
      expect(await grants().use(ANN, USE)).toMatchObject({ text: KEPT.text });
      expect(await redis.redis.pttl(key)).toBeGreaterThan(60_000);
      expect(await redis.redis.hget(key, "secret_id")).toMatch(/^[\w-]{8}$/);
    });
  });

  test("that is sealed by this process's own secret and was damaged is removed", async () => {
    await grants().keep(ANN, KEPT);
    const key = `${redis.prefix}:grants:{${(await listed())[0]?.owner}}:${ANN.id}`;
    await redis.redis.hset(key, "tokens", `${await redis.redis.hget(key, "tokens")}A`);
    expect(await grants().use(ANN, USE)).toBeUndefined();
    expect(await listed()).toEqual([]);
    const fields = { grant: ANN.id, upstream: "crm", provider: "id", why: "unreadable" };
    expect(redis.lines).toContainEqual(["info", fields, "grant no longer kept"]);
  });

  test("that a task begins to use costs it one round trip", async () => {
    const proxy = await startProxy(Number(new URL(redis.url).port));
    const url = new URL(redis.url);
    url.port = String(proxy.port);
    const far = await connectRedis({ url: url.href, prefix: redis.prefix, partitions: 4 }, { log: SILENT });
    const use = () => grants(far).use(ANN, { ...USE, taskId: "0-later" });
    await grants().keep(ANN, KEPT);
    await use(); // scripts are loaded
    const counts: number[] = [];
    for (let time = 0; time < 10; time += 1) {
      const before = proxy.turns();
      expect(await use()).toBeDefined();
      counts.push(proxy.turns() - before);
    }
    await far.close();
    proxy.close();
    // Looks at the clock may come in between.
    expect(Math.min(...counts)).toBe(1);
  });
});

test("a principal has at most 100: one more replaces the one that would end first", async () => {
  expect(GRANTS_MAX).toBe(100);
  const id = (index: number) => String(index).padStart(22, "0");
  // The fourth would end first.
  for (let index = 0; index < GRANTS_MAX; index += 1)
    await grants().keep({ ...ANN, id: id(index) }, { ...KEPT, ttlMs: index === 3 ? DAY_MS : TTL_MS });
  expect(await listed()).toHaveLength(GRANTS_MAX);
  // Another one of the same purpose is none more.
  await grants().keep({ ...ANN, id: id(5) }, KEPT);
  expect(await grants().use({ ...ANN, id: id(3) }, { ttlMs: DAY_MS })).toBeDefined();
  await grants().keep({ ...ANN, id: id(GRANTS_MAX) }, KEPT);
  expect(await listed()).toHaveLength(GRANTS_MAX);
  expect(await grants().use({ ...ANN, id: id(3) }, USE)).toBeUndefined();
  expect(await grants().use({ ...ANN, id: id(GRANTS_MAX) }, USE)).toBeDefined();
});

describe("an operator", () => {
  const BOB = { ...ANN, principal: "bob", tenant: "acme" };

  test("lists grants with their owners and purposes, and revokes those of a principal, a tenant, or a single one", async () => {
    await grants().keep(ANN, KEPT);
    await grants().keep({ ...ANN, id: "H".repeat(22) }, { ...KEPT, about: { ...ABOUT, upstream: "mail" } });
    await grants().keep(BOB, KEPT);
    const all = await listed();
    expect(all.map(({ principal, tenant, about }) => [principal, tenant, about.upstream]).toSorted()).toEqual(
      [
        [ANN.principal, "default", "crm"],
        [ANN.principal, "default", "mail"],
        ["bob", "acme", "crm"],
      ].toSorted(),
    );
    expect(JSON.stringify(all)).not.toContain("t0ken");
    const near = Date.now();
    for (const { keptAtMs, usedAtMs, endsAtMs } of all) {
      expect(Math.abs(keptAtMs - near)).toBeLessThan(60_000);
      expect([usedAtMs - keptAtMs, endsAtMs - keptAtMs]).toEqual([0, TTL_MS]);
    }
    expect(await redis.keptGrants.revoke({ principal: "nobody" })).toBe(0);
    expect(await redis.keptGrants.revoke({ tenant: "acme" })).toBe(1);
    expect(await grants().use(BOB, USE)).toBeUndefined();
    expect(await redis.keptGrants.revoke({ principal: ANN.principal, tenant: "default", id: ANN.id })).toBe(1);
    expect((await listed()).map(({ about }) => about.upstream)).toEqual(["mail"]);
    expect(await redis.keptGrants.revoke({ principal: ANN.principal })).toBe(1);
    expect(await listed()).toEqual([]);
  });

  test("finds the grants of a principal in every tenant", async () => {
    for (const tenant of [undefined, "acme", "other"]) await grants().keep({ ...ANN, tenant }, KEPT);
    expect((await listed(redis, { principal: ANN.principal })).map(({ tenant }) => tenant).toSorted()).toEqual([
      "acme",
      "default",
      "other",
    ]);
    expect(await redis.keptGrants.revoke({ principal: ANN.principal })).toBe(3);
  });

  test("finds each grant once among thousands of owners, also if an owner is listed twice", async () => {
    const people = Array.from({ length: 20 }, (_, at) => `person ${at}`);
    for (const principal of people) await grants().keep({ ...ANN, principal }, KEPT);
    const owners = (await listed()).map(({ owner }) => owner);
    const many = Array.from({ length: 2_000 }, (_, at) => [Date.now() + TTL_MS, `owner ${at}`]).flat();
    for (const partition of [0, 1, 2, 3]) {
      const key = `${redis.prefix}:{p${partition}}:granted`;
      await redis.redis.zadd(key, ...many, Date.now() + TTL_MS, owners[0]!);
      await redis.redis.pexpire(key, 60_000);
    }
    expect((await listed()).map(({ principal }) => principal).toSorted()).toEqual(people.toSorted());
  });

  test("finds a grant for as long as tasks begin to use it", async () => {
    await grants().keep(ANN, { ...KEPT, ttlMs: 60_000 });
    await grants().use(ANN, { ...USE, taskId: "0-later" });
    const [{ owner, keptAtMs } = { owner: "", keptAtMs: 0 }] = await listed();
    // An owner leaves the list of its partition at this time.
    const untilMs = await Promise.all([0, 1, 2, 3].map((at) => redis.redis.zscore(`${redis.prefix}:{p${at}}:granted`, owner)));
    expect(Math.max(...untilMs.map(Number))).toBeGreaterThanOrEqual(keptAtMs + TTL_MS);
  });

  test("revokes a grant once, even if another operator does so at the same time", async () => {
    for (const tenant of ["acme", "other"]) await grants().keep({ ...ANN, tenant }, KEPT);
    const both = await Promise.all([redis.keptGrants.revoke({}), redis.keptGrants.revoke({})]);
    expect(both[0] + both[1]).toBe(2);
  });

  test("finds in the audit when a grant was kept, used by a task, ended and revoked, without a token", async () => {
    const consent = await grants().keep(BOB, KEPT);
    await grants().use(BOB, { ...USE, taskId: "0-later" });
    await grants().use(BOB, USE);
    await grants().remove(BOB, consent, "ended");
    await grants().keep(BOB, KEPT);
    await redis.keptGrants.revoke({ tenant: "acme" });
    const records = async () => (await redis.audit.read(0, 0, 100)).map(({ fact }) => fact);
    await expect.poll(async () => (await records()).length).toBe(5);
    const fact = { action: "grant", principal: "bob", tenant: "acme", grant: ABOUT };
    expect(await records()).toEqual([
      { ...fact, verdict: "kept", taskId: "0-task" },
      { ...fact, verdict: "used", taskId: "0-later" },
      { ...fact, verdict: "ended" },
      { ...fact, verdict: "kept", taskId: "0-task" },
      { ...fact, verdict: "revoked" },
    ]);
  });
});

describe("with content that is sealed", () => {
  const contentKeys = randomBytes(32).toString("base64");

  test("the grants of a tenant whose keys were erased are lost, and those of others are not", async () => {
    const sealed = await openRedis({ contentKeys });
    try {
      for (const tenant of ["acme", "other"]) await grants(sealed).keep({ ...ANN, tenant }, KEPT);
      // Without the ring the secret alone opens nothing.
      const plain = await beside(sealed);
      await expect(grants(plain).use({ ...ANN, tenant: "acme" }, USE)).rejects.toMatchObject({
        code: "CONTENT_KEY_MISSING",
        message: "the key that a grant is sealed with is missing",
      });
      await plain.close();
      // Other processes forget the key within ten seconds. This one, which erased it, does so at once.
      await sealed.content.keys!.erase("acme", async () => undefined);
      expect(await grants(sealed).use({ ...ANN, tenant: "acme" }, USE)).toBeUndefined();
      expect(await grants(sealed).use({ ...ANN, tenant: "other" }, USE)).toMatchObject({ text: KEPT.text });
      expect(await listed(sealed)).toHaveLength(1);
    } finally {
      await sealed.close();
    }
  });

  test("a process without the keys revokes a grant, without its tokens", async () => {
    const sealed = await openRedis({ contentKeys });
    const plain = await openRedis({ prefix: sealed.prefix, drawsIds: false });
    try {
      const consent = await grants(sealed).keep(ANN, KEPT);
      expect(await grants(plain).revoke(ANN, consent)).toEqual({ about: ABOUT, text: undefined });
      expect(await listed(sealed)).toEqual([]);
      expect(plain.lines).toContainEqual([
        "warn",
        expect.objectContaining({ grant: ANN.id, code: "CONTENT_KEY_MISSING" }),
        "revoked grant does not open",
      ]);
    } finally {
      await plain.close();
      await sealed.close();
    }
  });
});
