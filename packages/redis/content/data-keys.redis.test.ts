/** Keys of tenants: made once, found by word, wrapped anew, begun anew, erased; and what becomes of tasks that need one that cannot be had. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { aLife, anAsk, GRACE_MS, HOUR_MS, LEASE_MS } from "../../../test/contract/builders.ts";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { createKeys, sealWordOf } from "../keys.ts";
import { createDataKeys } from "./data-keys.ts";
import { fixedKeyRing, type KeyRing } from "./key-ring.ts";

const begin = { run: 1, token: "token", leaseMs: LEASE_MS };
const wordOf = async ({ ids }: OpenRedis, tenant?: string) => sealWordOf(await ids.taskId(tenant)) ?? "";

/** Every process of one deployment, which leaves nothing behind. */
function deployment() {
  const opened: OpenRedis[] = [];
  return {
    async join(settings: Parameters<typeof openRedis>[0]): Promise<OpenRedis> {
      const prefix = opened[0]?.prefix;
      const member = await openRedis({ ...settings, ...(prefix !== undefined && { prefix }) });
      opened.push(member);
      return member;
    },
    async close() {
      for (const member of opened) await member.close();
    },
  };
}

describe("data keys", () => {
  let deployed: ReturnType<typeof deployment>;
  let now: ReturnType<typeof vi.spyOn> | undefined;
  beforeEach(() => {
    deployed = deployment();
  });
  afterEach(async () => {
    now?.mockRestore();
    now = undefined;
    await deployed.close();
  });

  /** All that this process knows of Redis is older than it may be. */
  function laterBy(ms: number): void {
    now?.mockRestore();
    const real = performance.now.bind(performance);
    now = vi.spyOn(performance, "now").mockImplementation(() => real() + ms);
  }

  const key = ({ prefix }: OpenRedis) => createKeys(prefix).content;

  test("are one for each tenant, also where two processes make them at once, and stand in Redis wrapped", async () => {
    const contentKeys = aContentKey();
    const [one, other] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys })];
    const drawn = await Promise.all([one, other, one, other].flatMap((each) => ["acme", "globex"].map((tenant) => wordOf(each, tenant))));
    const [acme = "", globex = ""] = drawn;
    expect(acme).not.toBe(globex);
    expect(new Set(drawn)).toEqual(new Set([acme, globex]));
    // "default" is who asked for an id without a tenant, as the tests' own set-up does.
    const fields = await one.redis.hgetall(key(one));
    expect(Object.keys(fields).filter((field) => field.startsWith("tenant:"))).toHaveLength(3);
    expect(Object.keys(fields).filter((field) => field.startsWith("key:"))).toHaveLength(3);
    expect(JSON.stringify(fields)).not.toContain("acme");
  });

  test("follow one another by age: new tasks have the next, those that wait keep theirs", async () => {
    const contentKeys = aContentKey();
    const [day, hour] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys, contentEpochMs: 1 })];
    const waiting = await aLife(day.store, day.newTaskId).parked([anAsk("size")]);
    await until(async () => (await wordOf(hour)) !== sealWordOf(waiting));
    expect(await hour.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
    expect(await aLife(hour.store).answer(waiting, "size", "4")).toMatchObject({ receipt: "accepted" });
  });

  test("begin anew by command, for one tenant or for all, and other processes notice within ten seconds of use", async () => {
    const contentKeys = aContentKey();
    const [operator, server] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys })];
    const before = [await wordOf(server, "acme"), await wordOf(server, "globex")];

    expect(await operator.content.keys?.nextEpoch("acme")).toBe(1);
    expect(await operator.content.keys?.nextEpoch("nobody")).toBe(0);
    expect(await wordOf(server, "acme")).toBe(before[0]);
    laterBy(11_000);
    expect(await wordOf(server, "acme")).not.toBe(before[0]);
    expect(await wordOf(server, "globex")).toBe(before[1]);

    expect(await operator.content.keys?.nextEpoch()).toBe(3);
    laterBy(22_000);
    expect(await wordOf(server, "globex")).not.toBe(before[1]);
  });

  test("are wrapped anew while tasks are parked, after which the old key of the ring is needed no longer", async () => {
    const [older, newer] = [aContentKey(), aContentKey()];
    const first = await deployed.join({ contentKeys: older });
    const waiting = await aLife(first.store, first.newTaskId).parked([anAsk("size")]);
    const both = await deployed.join({ contentKeys: `${newer},${older}` });
    expect(await both.content.keys?.wrapAnew()).toEqual({ wrapped: 1, current: 0, lacking: 0 });
    expect(await both.content.keys?.wrapAnew()).toEqual({ wrapped: 0, current: 1, lacking: 0 });

    const last = await deployed.join({ contentKeys: newer });
    expect(await last.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
    // The first has read the key before: what it has in memory does not change.
    expect(await aLife(first.store).answer(waiting, "size", "4")).toMatchObject({ receipt: "accepted" });
    expect(await aLife(last.store).answer(waiting, "size", "4")).toMatchObject({ receipt: "duplicate" });
  });

  test("are found where the ring's key is replaced between the look at what is wrapped and the look at the ring", async () => {
    const [older, newer] = [aContentKey(), aContentKey()];
    const first = await deployed.join({ contentKeys: older });
    const word = await wordOf(first, "acme");
    const both = await deployed.join({ contentKeys: `${newer},${older}` });
    const last = fixedKeyRing(newer);
    const ring: KeyRing = {
      ...last,
      unwrap: async (wrapped, context) => {
        await both.content.keys?.wrapAnew();
        return await last.unwrap(wrapped, context);
      },
    };
    const acknowledge = <T>(write: Promise<T>) => write;
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const keys = createDataKeys({ redis: first.redis, hashKey: key(first), ring, now: Date.now, epochMs: HOUR_MS, acknowledge, log });
    expect(await keys.find(word)).toBe("open");
  });

  test("whose own key the ring does not have are left as they are, and counted; no new task is made with them", async () => {
    const first = await deployed.join({ contentKeys: aContentKey() });
    await wordOf(first, "acme");
    const before = await first.redis.hgetall(key(first));
    const other = await deployed.join({ contentKeys: aContentKey(), drawsIds: false });
    await expect(other.ids.taskId("acme")).rejects.toMatchObject({ code: "CONTENT_KEY_MISSING" });
    expect(await other.content.keys?.wrapAnew()).toEqual({ wrapped: 0, current: 0, lacking: 2 });
    expect(await first.redis.hgetall(key(first))).toEqual(before);
    expect(await wordOf(other, "globex")).toMatch(/^\w{4}$/);
  });

  test("that are not in the ring harm no task: it is read by nobody, run by nobody, unchanged, and continues when the key is back", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parley-ring-"));
    const contentRing = join(folder, "ring");
    const [theirs, ours] = [aContentKey(), aContentKey()];
    const whole = await deployed.join({ contentKeys: theirs });
    const waiting = await aLife(whole.store, whole.newTaskId).parked([anAsk("size")]);
    const fresh = await aLife(whole.store, whole.newTaskId).create();
    const plain = await deployed.join({});
    await writeFile(contentRing, ours);
    const bereft = await deployed.join({ contentRing, drawsIds: false });

    const before = await Promise.all(keysOfTask(whole, waiting).map((each) => whole.redis.dumpBuffer(each)));
    for (const { store } of [plain, bereft]) {
      expect(await store.load(waiting)).toMatchObject({ status: "input_required", asks: [], unreadable: "key_missing" });
      expect(await store.begin({ ...begin, taskId: fresh, nowMs: Date.now() })).toEqual({ type: "refused", reason: "key_missing" });
      expect(await store.summaries([waiting])).toMatchObject([{ id: waiting, status: "input_required" }]);
      const answer = { taskId: waiting, key: "size", digest: "digest-of-size", answer: { action: "decline" }, nowMs: Date.now() } as const;
      await expect(store.answer({ ...answer, graceMs: GRACE_MS })).rejects.toMatchObject({ code: "CONTENT_KEY_MISSING" });
    }
    expect(await Promise.all(keysOfTask(whole, waiting).map((each) => whole.redis.dumpBuffer(each)))).toEqual(before);
    expect(bereft.logged.map(({ message }) => message)).toContain("the key ring does not open a data key, tasks sealed with it wait");

    // Put off, the task does not stand in the way of others; an answer makes it due as usual.
    const nowMs = Date.now() + HOUR_MS;
    await bereft.store.postpone({ taskId: fresh, nowMs, dueAtMs: nowMs + 15_000 });
    const overdue = async (atMs: number) =>
      (await whole.store.overdue({ partition: 0, nowMs: atMs, limit: 100 })).map(({ taskId }) => taskId);
    expect(await overdue(nowMs)).not.toContain(fresh);
    expect(await overdue(nowMs + 15_000)).toContain(fresh);

    await writeFile(contentRing, `${ours}\n${theirs}`);
    laterBy(3_000);
    expect(await bereft.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
    expect(await bereft.store.begin({ ...begin, taskId: fresh, nowMs: Date.now() })).toMatchObject({ type: "begun" });
    await rm(folder, { recursive: true });
  });

  test("that were erased leave nothing to read: tasks of the tenant are due, can only be ended, and other tenants' are as before", async () => {
    const contentKeys = aContentKey();
    const [operator, worker] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys })];
    const [acme, globex] = [await operator.ids.taskId("acme"), await operator.ids.taskId("globex")];
    const done = await operator.ids.taskId("acme");
    for (const taskId of [acme, globex, done]) {
      const life = aLife(operator.store, () => taskId);
      await life.create();
      const token = await life.begin({ taskId, run: 1 });
      if (taskId === done) await life.finish(taskId, token);
      else await life.park(taskId, token, [anAsk("size")]);
      expect(await worker.store.load(taskId)).not.toHaveProperty("unreadable");
    }

    const unreadable = { asks: [], unreadable: "erased" };
    // Another process knows the key for some seconds more, and the command waits for those.
    const forget = async (ms: number) => {
      expect(await operator.store.load(acme)).toMatchObject(unreadable);
      expect(await worker.store.load(acme)).not.toHaveProperty("unreadable");
      expect(await worker.store.overdue({ partition: 0, nowMs: Date.now(), limit: 100 })).toEqual([]);
      laterBy(ms);
    };
    const erasing = operator.content.keys?.erase("acme", () => Promise.reject(new Error("interrupted")));
    await expect(erasing).rejects.toThrow("interrupted");
    expect(await operator.content.keys?.erase("acme", forget)).toEqual({ keys: 1, waiting: 1 });
    expect(await operator.content.keys?.erase("acme", forget)).toEqual({ keys: 0, waiting: 0 });
    expect(await worker.store.load(acme)).toMatchObject({ status: "input_required", ...unreadable });
    expect(await worker.store.load(done)).toMatchObject({ status: "completed", ...unreadable });
    expect(await worker.store.load(globex)).toMatchObject({ asks: [{ key: "size" }] });

    const due = await worker.store.overdue({ partition: 0, nowMs: worker.now(), limit: 100 });
    expect(due).toEqual([{ taskId: acme, run: 2 }]);
    const began = { taskId: acme, run: 2, token: "token", nowMs: Date.now(), leaseMs: LEASE_MS };
    expect(await worker.store.begin(began)).toMatchObject({ type: "unreadable", reason: "erased", task: { id: acme } });
    const outcome = { type: "error", error: { code: -32603, message: "erased" } } as const;
    expect(await worker.store.finish({ taskId: acme, token: "token", nowMs: Date.now(), entries: [], outcome })).toBe("finished");
    expect(await worker.store.load(acme)).toMatchObject({ status: "failed", ...unreadable });
    expect(await worker.store.summaries([acme])).toMatchObject([{ status: "failed" }]);

    // The tenant may come back, with a key of its own.
    const anew = await operator.ids.taskId("acme");
    expect(sealWordOf(anew)).not.toBe(sealWordOf(acme));
    expect(await aLife(worker.store, () => anew).create()).toBe(anew);
  });

  test("that were erased are neither wrapped anew nor put back", async () => {
    const [older, newer] = [aContentKey(), aContentKey()];
    const [operator, server] = [
      await deployed.join({ contentKeys: `${newer},${older}` }),
      await deployed.join({ contentKeys: `${older},${newer}` }),
    ];
    const word = await wordOf(server, "acme");
    await operator.content.keys?.erase("acme", async () => undefined);
    await operator.content.keys?.wrapAnew();
    laterBy(61_000);
    expect(await wordOf(server, "acme")).not.toBe(word);
    expect(await operator.redis.hget(key(operator), `key:${word}`)).toMatch(/^erased \d+$/);
  });

  test("that Redis lost are put back by any process that still has them", async () => {
    const contentKeys = aContentKey();
    const [one, other] = [await deployed.join({ contentKeys }), await deployed.join({ contentKeys, drawsIds: false })];
    const waiting = await aLife(one.store, one.newTaskId).parked([anAsk("size")]);
    await one.redis.hdel(key(one), `key:${sealWordOf(waiting)}`);
    expect(await other.store.load(waiting)).toMatchObject({ unreadable: "key_missing" });
    laterBy(11_000);
    await one.store.load(waiting);
    await until(async () => (await one.redis.hexists(key(one), `key:${sealWordOf(waiting)}`)) === 1);
    laterBy(14_000);
    expect(await other.store.load(waiting)).toMatchObject({ asks: [{ key: "size" }] });
  });

  test("do not open in the place of another tenant's", async () => {
    const contentKeys = aContentKey();
    const one = await deployed.join({ contentKeys });
    const [acme, globex] = [await one.ids.taskId("acme"), await one.ids.taskId("globex")];
    await aLife(one.store, () => acme).create();
    const record = (await one.redis.hget(key(one), `key:${sealWordOf(globex)}`)) ?? "";
    await one.redis.hset(key(one), `key:${sealWordOf(acme)}`, record);
    const other = await deployed.join({ contentKeys });
    expect(await other.store.load(acme)).toMatchObject({ unreadable: "key_missing" });
  });

  const keysOfTask = ({ prefix }: OpenRedis, taskId: string) => (createKeys(prefix).task(taskId) ?? []).slice(0, 2);
});
