import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { openConnection } from "./connect.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * A sentinel that calls `masterPort` the master, and announces a failover whenever it is asked for the master, before
 * it replies. A real one does that only within a few milliseconds of a failover, which a test cannot hit.
 */
async function announceFailovers(masterPort: number): Promise<{ readonly port: number; readonly asked: () => number; close(): void }> {
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
          setTimeout(() => socket.write(`*2\r\n${bulk("127.0.0.1")}${bulk(String(masterPort))}`), 100);
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
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("the connection to the master that the sentinels name", () => {
  let opened: OpenRedis;
  afterEach(() => opened.close());

  test("survives a failover that is announced while a sentinel is asked for the new master", async () => {
    opened = await openRedis();
    const { username, password, port } = new URL(opened.url);
    const sentinel = await announceFailovers(Number(port));
    const url = `redis-sentinel://${username}:${password}@127.0.0.1:${sentinel.port}/main`;
    const redis = openConnection(url, { log: silent, name: "test", options: { maxRetriesPerRequest: null } });
    // As BullMQ opens the connection on which it waits for jobs.
    const duplicate = redis.duplicate();
    await Promise.all([redis.ping(), duplicate.ping()]);
    await vi.waitFor(() => expect(sentinel.asked()).toBe(2));

    redis.stream.destroy();
    duplicate.stream.destroy();

    expect(await Promise.all([redis.ping(), duplicate.ping()])).toEqual(["PONG", "PONG"]);
    expect(sentinel.asked()).toBe(4);
    redis.disconnect();
    duplicate.disconnect();
    sentinel.close();
  });
});
