/**
 * Where channels are subscribed, and which are reported as lost. The test says which node has which slots; the nodes are
 * two addresses of one real server, which knows sharded pub/sub without being a cluster.
 */
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { until } from "../../../test/support/until.ts";
import { createShardedSubscriber, type Node, slotOf } from "./sharded-subscriber.ts";

const LAST_SLOT = 16_383;

let opened: TestRedis;
let nodes: readonly [Node, Node];
/** To the nodes, in the order in which they were opened. */
let connections: Redis[];
/** Whether they were given up, in the same order. */
let givenUp: { readonly mock: { readonly calls: unknown[][] } }[];
let slots: readonly (readonly [first: number, last: number, master: Node])[];
let looks: { count: number };
let lost: string[];
let heard: unknown[][];

beforeEach(async ({ skip }) => {
  opened = openTestRedis();
  const [known] = (await opened.redis.call("COMMAND", "INFO", "ssubscribe")) as unknown[];
  if (!known) skip("this server has no sharded pub/sub");
  const { port = 6_379 } = opened.redis.options;
  nodes = [
    { host: "127.0.0.1", port },
    { host: "localhost", port },
  ];
  connections = [];
  givenUp = [];
  looks = { count: 0 };
  lost = [];
  heard = [];
  slots = [[0, LAST_SLOT, nodes[0]]];
});
afterEach(() => opened.close());

function open(channels: readonly string[]) {
  // A subscriber that was just closed may still look or report something: that belongs to its own test.
  const own = { connections, givenUp, looks, lost, heard };
  const cluster = async () => {
    own.looks.count += 1;
    return slots.map(([first, last, { host, port }]) => [first, last, [host, port, "id"]]);
  };
  const subscriber = createShardedSubscriber({
    redis: { cluster } as unknown as Redis,
    openNode({ host, port }) {
      const url = new URL(opened.url);
      [url.hostname, url.port] = [host, String(port)];
      const connection = new Redis(url.href, { autoResubscribe: false, maxRetriesPerRequest: null });
      connection.on("error", () => undefined);
      own.givenUp.push(vi.spyOn(connection, "disconnect"));
      own.connections.push(connection);
      return connection;
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  subscriber.listenTo({
    message: (...message) => own.heard.push(message),
    lost: (which) => own.lost.push(...channels.filter(which)),
  });
  onTestFinished(() => subscriber.close());
  return subscriber;
}

const channel = (name: string) => `${opened.prefix}:{${name}}`;
const hosts = () => connections.map(({ options }) => options.host);
const listeners = async (name: string) => Number(((await opened.redis.call("PUBSUB", "SHARDNUMSUB", name)) as unknown[])[1]);
/** Cuts a connection to a node, from the server's side. */
async function cut(connection: Redis | undefined): Promise<void> {
  await opened.redis.call("CLIENT", "KILL", "ID", String(await connectionId(connection)));
}
async function connectionId(connection: Redis | undefined): Promise<number> {
  const { localPort } = connection!.stream as { readonly localPort: number };
  const clients = String(await opened.redis.client("LIST"));
  return Number(new RegExp(`id=(\\d+) addr=\\S+:${localPort} `).exec(clients)?.[1]);
}

describe("channels of a cluster", () => {
  test("are subscribed at the node that has their slot, over one connection to each", async () => {
    const [a, b, c] = [channel("a"), channel("b"), channel("c")];
    slots = [
      [0, slotOf(a) - 1, nodes[1]],
      [slotOf(a), slotOf(a), nodes[0]],
      [slotOf(a) + 1, LAST_SLOT, nodes[1]],
    ];
    const besideA = `${a}:task`;
    const subscriber = open([a, besideA, b, c]);
    await subscriber.subscribe([a, besideA, b, c]);
    expect([await listeners(a), await listeners(besideA)]).toEqual([1, 1]);
    expect(hosts()).toEqual(["127.0.0.1", "localhost"]);
    const looked = looks.count;
    await subscriber.subscribe([a]);
    expect(looks.count).toBe(looked);
    for (const name of [a, b, c]) await opened.redis.spublish(name, "hello");
    await until(() => heard.length === 3);
    expect(heard.toSorted()).toEqual([a, b, c].map((name) => [name, "hello"]).toSorted());

    await subscriber.unsubscribe([a, c]);
    expect([await listeners(a), await listeners(b), await listeners(c)]).toEqual([0, 1, 0]);
    subscriber.close();
    await until(async () => (await listeners(b)) === 0);
    await until(() => connections.every(({ status }) => status === "end"));
  });

  test("cannot be subscribed while no node has their slot", async () => {
    const a = channel("a");
    slots = [];
    const subscriber = open([a]);
    await expect(subscriber.subscribe([a])).rejects.toThrow("no node of the cluster has the slot");
    slots = [[0, LAST_SLOT, nodes[0]]];
    await subscriber.subscribe([a]);
    expect(await listeners(a)).toBe(1);
  });

  test("that a node refuses are subscribed once more, after another look at who has the slot", async () => {
    const a = channel("a");
    const subscriber = open([a]);
    const refuse = vi.spyOn(Redis.prototype, "ssubscribe").mockRejectedValueOnce(new Error("MOVED 1 elsewhere:1"));
    onTestFinished(() => refuse.mockRestore());
    await subscriber.subscribe([a]);
    expect(looks.count).toBe(2);
    expect(await listeners(a)).toBe(1);
    refuse.mockRejectedValue(new Error("MOVED 1 elsewhere:1"));
    await expect(subscriber.subscribe([a])).rejects.toThrow("MOVED");
    expect(refuse).toHaveBeenCalledTimes(4);
  });

  test("of a connection that was lost are reported when it is back, and only those", async () => {
    const [a, b] = [channel("a"), channel("b")];
    slots = [
      [0, slotOf(a) - 1, nodes[1]],
      [slotOf(a), slotOf(a), nodes[0]],
      [slotOf(a) + 1, LAST_SLOT, nodes[1]],
    ];
    const subscriber = open([a, b]);
    await subscriber.subscribe([a, b]);
    expect(lost).toEqual([]);
    await cut(connections[0]);
    await until(() => lost.length > 0);
    expect(lost).toEqual([a]);
    expect(connections).toHaveLength(2);
  });

  test("whose node has no slots any more are reported as soon as its connection is lost, which is given up", async () => {
    const a = channel("a");
    const subscriber = open([a]);
    await subscriber.subscribe([a]);
    slots = [[0, LAST_SLOT, nodes[1]]];
    await cut(connections[0]);
    // Long before the next look that is due.
    await until(() => (givenUp[0]?.mock.calls.length ?? 0) > 0, { timeoutMs: 4_000 });
    expect(lost).toContain(a);
    lost.length = 0;
    await subscriber.subscribe([a]);
    expect(hosts()).toEqual(["127.0.0.1", "localhost"]);
    expect(await listeners(a)).toBe(1);
    // Its node comes back to the cluster: it gets a new connection.
    slots = [[0, LAST_SLOT, nodes[0]]];
    await cut(connections[1]);
    await until(() => (givenUp[1]?.mock.calls.length ?? 0) > 0, { timeoutMs: 4_000 });
    expect(lost).toContain(a);
    await subscriber.subscribe([a]);
    expect(hosts()).toEqual(["127.0.0.1", "localhost", "127.0.0.1"]);
    expect(await listeners(a)).toBe(1);
  });

  test("that have moved are reported within five seconds, although no connection was lost", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const [a, b] = [channel("a"), channel("b")];
    const subscriber = open([a, b]);
    await subscriber.subscribe([a, b]);
    vi.advanceTimersByTime(5_000);
    await until(() => looks.count === 3);
    expect(lost).toEqual([]);
    slots = [
      [0, slotOf(a) - 1, nodes[0]],
      [slotOf(a), slotOf(a), nodes[1]],
      [slotOf(a) + 1, LAST_SLOT, nodes[0]],
    ];
    vi.advanceTimersByTime(5_000);
    await until(() => lost.length > 0);
    expect(lost).toEqual([a]);
    subscriber.close();
    vi.advanceTimersByTime(60_000);
    expect(looks.count).toBe(4);
  });

  test("that were left are not reported any more", async () => {
    const [a, b] = [channel("a"), channel("b")];
    const subscriber = open([a, b]);
    await subscriber.subscribe([a, b]);
    await subscriber.unsubscribe([a]);
    await cut(connections[0]);
    await until(() => lost.length > 0);
    expect(lost).toEqual([b]);
  });
});
