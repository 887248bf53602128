/** A Redis whose connections stay open while nothing passes any more, as when its machine has gone and another one has its address. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { connectRedis } from "../backend.ts";

/** Forwards to a Redis. After `swallow`, what was connected by then stays open, and nothing passes. */
async function startHole(url: string) {
  const { hostname, port } = new URL(url);
  let isOpen = { value: true };
  const server = createServer((client) => {
    const redis = connect(Number(port), hostname);
    const mine = isOpen;
    client.on("data", (chunk) => mine.value && redis.write(chunk));
    redis.on("data", (chunk) => mine.value && client.write(chunk));
    for (const [one, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      one.on("error", () => undefined); // its other end was swallowed
      one.on("close", () => other.destroy());
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const own = new URL(url);
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    swallow() {
      isOpen.value = false;
      isOpen = { value: true };
    },
    close: () => void server.close(),
  };
}

test("a worker takes runs again when its connections have been swallowed", async () => {
  const url = process.env["REDIS_URL"] ?? "";
  const hole = await startHole(url);
  const near = await openRedis({ url, partitions: 1 });
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const far = await connectRedis({ url: hole.url, partitions: 1, prefix: near.prefix, commandTimeoutMs: 500 }, { log });
  const taken: string[] = [];
  const consumer = await far.consumeRuns({
    concurrency: 1,
    run: async ({ taskId }) => void taken.push(taskId),
    sweep: async () => undefined,
  });
  const [before, after] = [near.newTaskId(), near.newTaskId()];
  await near.queue.add({ taskId: before, run: 1, cause: "created" });
  await until(() => taken.includes(before));

  hole.swallow();

  await near.queue.add({ taskId: after, run: 1, cause: "created" });
  await until(() => taken.includes(after));
  expect(taken).toEqual([before, after]);
  await consumer.close();
  await far.close();
  await near.close();
  hole.close();
});
