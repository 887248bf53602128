import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { aLife, anAsk } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { type EmbeddedRedis, startEmbeddedRedis } from "../embedded/embedded.ts";

describe("waiting for replicas", () => {
  let directory: string;
  let master: EmbeddedRedis;
  let replica: EmbeddedRedis;
  let opened: OpenRedis;
  let ofReplica: Redis;
  let replicaPid: number;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "parley-replicas-"));
    const start = (name: string) => startEmbeddedRedis({ dataDir: join(directory, name), sources: ["path", "wheel"] });
    [master, replica] = await Promise.all([start("master"), start("replica")]);
    ofReplica = new Redis(replica.url);
    await ofReplica.config("SET", "masterauth", new URL(master.url).password);
    // Otherwise it would rewrite its file after each synchronisation, and not stop before that is done.
    await ofReplica.config("SET", "appendonly", "no");
    const ofMaster = new Redis(master.url);
    await ofMaster.config("SET", "repl-diskless-sync-delay", "0");
    ofMaster.disconnect();
    opened = await openRedis({ url: master.url, replicas: 1, commandTimeoutMs: 1_000 });
    replicaPid = Number(/^process_id:(\d+)/m.exec(await ofReplica.info("server"))?.[1]);
  });
  // Also after a test that failed, or that promoted the replica.
  beforeEach(follow);
  afterAll(async () => {
    await opened.close();
    ofReplica.disconnect();
    // In this order: a stopping master waits for its replicas.
    await replica.close();
    await master.close();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });

  /** A replica that has just caught up receives writes from its first acknowledgement on, up to a second later. */
  async function follow(): Promise<void> {
    await ofReplica.replicaof("127.0.0.1", master.port);
    const fed = async () => {
      await opened.writable();
      return await opened.redis.info("replication");
    };
    await expect.poll(fed).toMatch(/slave0:.*state=online,offset=[1-9]/);
  }

  /** Stops the replica until the returned function is called, or the test ends. */
  function freeze(): () => void {
    const thaw = () => void process.kill(replicaPid, "SIGCONT");
    process.kill(replicaPid, "SIGSTOP");
    onTestFinished(thaw);
    return thaw;
  }
  /** Another process on the same data, for as long as the test runs. */
  async function anotherAt(url: string, settings: Parameters<typeof openRedis>[0] = {}): Promise<OpenRedis> {
    const another = await openRedis({ ...settings, url, prefix: opened.prefix });
    onTestFinished(() => another.close());
    return another;
  }
  async function waits(): Promise<number> {
    return Number(/cmdstat_wait:calls=(\d+)/.exec(await opened.redis.info("commandstats"))?.[1] ?? 0);
  }

  test("fails without them, saying how many have the write; the write took effect, and can be repeated once they are back", async () => {
    const life = aLife(opened.store);
    const taskId = await life.parked([anAsk("size")]);
    const thaw = freeze();

    const answered = life.answer(taskId, "size", "4");
    await expect(answered).rejects.toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("0 of 1 replicas have it") });

    thaw();
    expect(await life.answer(taskId, "size", "4")).toMatchObject({ receipt: "duplicate" });
  });

  test("covers everything that any process wrote before: a task that another caller reads, an answer repeated elsewhere", async () => {
    const elsewhere = await anotherAt(master.url, { replicas: 1, commandTimeoutMs: 1_000 });
    const life = aLife(opened.store);
    const [ended, parked] = [await life.create(), await life.parked([anAsk("size")])];
    const token = await life.begin({ taskId: ended, run: 1 });
    const thaw = freeze();
    await life.finish(ended, token);
    await expect(life.answer(parked, "size", "4")).rejects.toMatchObject({ code: "UNAVAILABLE" });

    const unavailable = expect.objectContaining({ code: "UNAVAILABLE" });
    await expect(elsewhere.store.load(ended)).rejects.toEqual(unavailable);
    await expect(aLife(elsewhere.store).answer(parked, "size", "4")).rejects.toEqual(unavailable);
    // A state that may still change is shown as it is.
    expect(await elsewhere.store.load(parked)).toMatchObject({ status: "working" });

    thaw();
    expect(await elsewhere.store.load(ended)).toMatchObject({ status: "completed" });
    expect(await aLife(elsewhere.store).answer(parked, "size", "4")).toMatchObject({ receipt: "duplicate" });
  });

  test("that fails is not a takeover: the run of a live worker whose begin was not acknowledged does not count", async () => {
    const life = aLife(opened.store);
    const taskId = await life.create();
    const thaw = freeze();
    const begin = { taskId, run: 1, token: "first", nowMs: Date.now(), leaseMs: 1_000 };
    await expect(opened.store.begin(begin)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await opened.store.release(begin);
    thaw();
    expect(await opened.store.begin({ ...begin, run: 2, token: "second" })).toMatchObject({ type: "begun", takeovers: 0 });
  });

  test("is shared: commands of one turn of the event loop take one WAIT", async () => {
    const life = aLife(opened.store);
    const taskIds = await Promise.all(Array.from({ length: 20 }, () => life.parked([anAsk("size")])));
    const before = await waits();
    await Promise.all(taskIds.map((taskId) => life.answer(taskId, "size", "4")));
    expect((await waits()) - before).toBe(1);
  });

  test("fails if the connection is lost meanwhile: the next server cannot say whether replicas have the write", async () => {
    const patient = await anotherAt(master.url, { replicas: 1, commandTimeoutMs: 60_000 });
    const life = aLife(opened.store);
    const taskId = await life.parked([anAsk("size")]);
    const thaw = freeze();

    const answered = aLife(patient.store).answer(taskId, "size", "4");
    const blocked = async () => /^id=(\d+) .*cmd=wait/m.exec(String(await opened.redis.client("LIST")))?.[1];
    const id = await until(blocked);
    await opened.redis.client("KILL", "ID", id);
    thaw();

    const message = "Redis: the connection was lost before replicas had it";
    await expect(answered).rejects.toMatchObject({ code: "UNAVAILABLE", message });
  });

  test("puts the write on a replica before it is acknowledged", async () => {
    const life = aLife(opened.store);
    const taskId = await life.parked([anAsk("size")]);
    await life.answer(taskId, "size", "4");

    // As after a failover.
    await ofReplica.replicaof("NO", "ONE");
    const promoted = await anotherAt(replica.url);
    expect(await promoted.store.load(taskId)).toMatchObject({ status: "working", asks: [] });
  });
});
