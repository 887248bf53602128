import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { openConnection } from "./connect.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * A sentinel that calls `masterPort` the master, and announces a failover whenever it is asked for the master, before
 * it replies. A real one does that only within a few milliseconds of a failover, which a test cannot hit.
 */
async function announceFailovers(
  masterPort: number,
): Promise<{ readonly port: number; readonly asked: () => number; loseMaster(): void; close(): void }> {
  let master = masterPort;
  const sockets = new Set<Socket>();
  const subscribed = new Set<Socket>();
  let asked = 0;
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined); // cut off by its client
    socket.on("close", () => subscribed.delete(socket));
    socket.on("data", (chunk) => {
      for (const command of chunk.toString().split(/(?=\*\d+\r\n)/)) {
        if (/subscribe/i.test(command)) {
          subscribed.add(socket);
          socket.write(`>3\r\n${bulk("subscribe")}${bulk("+switch-master")}:1\r\n`);
        } else if (/get-master-addr-by-name/i.test(command)) {
          asked += 1;
          for (const each of subscribed) each.write(`>3\r\n${bulk("message")}${bulk("+switch-master")}${bulk("main")}`);
          setTimeout(() => socket.write(`*2\r\n${bulk("127.0.0.1")}${bulk(String(master))}`), 100);
        } else if (/sentinels/i.test(command)) socket.write("*0\r\n");
        else socket.write("+OK\r\n");
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    asked: () => asked,
    /** From now on, nothing listens where the master is. */
    loseMaster: () => void (master = 1),
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("the connection to the master that the sentinels name", () => {
  let opened: OpenRedis;
  afterEach(() => opened.close());

  /** A connection to the tests' Redis by way of a sentinel, for as long as the test runs. */
  async function connect() {
    opened = await openRedis();
    const { username, password, port } = new URL(opened.url);
    const sentinel = await announceFailovers(Number(port));
    onTestFinished(sentinel.close);
    const url = `redis-sentinel://${username}:${password}@127.0.0.1:${sentinel.port}/main`;
    const redis = openConnection(url, { log: silent, name: "test", options: { maxRetriesPerRequest: null } });
    onTestFinished(() => redis.disconnect());
    return { redis, asked: sentinel.asked, loseMaster: sentinel.loseMaster };
  }

  test("survives a failover that is announced while a sentinel is asked for the new master", async () => {
    const { redis, asked } = await connect();
    // As BullMQ opens the connection on which it waits for jobs.
    const duplicate = redis.duplicate();
    onTestFinished(() => duplicate.disconnect());
    await Promise.all([redis.ping(), duplicate.ping()]);
    await expect.poll(() => asked()).toBe(2);

    redis.stream.destroy();
    duplicate.stream.destroy();

    expect(await Promise.all([redis.ping(), duplicate.ping()])).toEqual(["PONG", "PONG"]);
    expect(asked()).toBe(4);
  });

  test("is closed once by a master that became a replica, however many of its replies say so, and comes back", async () => {
    const { redis, asked } = await connect();
    await redis.ping();
    const { stream } = redis;
    const listeners = stream.listenerCount("close");
    // As ioredis does for each such reply.
    for (let reply = 0; reply < 20; reply += 1) redis.disconnect(true);
    expect(stream.listenerCount("close") - listeners).toBe(1);
    expect(await redis.ping()).toBe("PONG");
    expect([asked(), redis.stream === stream]).toEqual([2, false]);
  });

  test("ends its subscriptions to the sentinels once, however many attempts it takes to connect again", async () => {
    const { redis, asked, loseMaster } = await connect();
    redis.on("error", () => undefined);
    await redis.ping();
    const detector = await until(
      () => Reflect.get(Reflect.get(redis, "connector") as object, "failoverDetector") as { cleanup(): void } | null,
    );
    const ends = vi.spyOn(detector, "cleanup");
    loseMaster();
    redis.stream.destroy();
    await expect.poll(() => asked()).toBeGreaterThan(3);
    expect(ends).toHaveBeenCalledTimes(1);
  });

  test("ends when it is told to, also while a sentinel is asked for the first time or again", async () => {
    const { redis } = await connect();
    await redis.ping();
    redis.disconnect();
    await once(redis, "end");
    const other = redis.duplicate();
    await once(other, "connecting");
    other.disconnect();
    await once(other, "end");
    const again = redis.duplicate();
    await again.ping();
    again.disconnect(true);
    await once(again, "connecting");
    again.disconnect();
    await once(again, "end");
  });
});
