/** What it costs to find what a person's own tasks ask, of which there may be a thousand. */
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aLife, anAsk, newTaskId } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";
import { createKeys } from "../keys.ts";
import { createOwnAsked } from "./own-asked.ts";

const PARTITIONS = 2;
const TASKS = 300;

let server: SharedRedis;
let look: Redis;
let opened: OpenRedis;

beforeAll(async () => {
  server = await startOwnRedis();
  look = new Redis(server.url);
  opened = await openRedis({ url: server.url, partitions: PARTITIONS });
});
afterAll(async () => {
  await opened.close();
  look.disconnect();
  await server.close();
});

async function commandsOf(work: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
  await look.config("RESETSTAT");
  await work();
  const stats = await look.info("commandstats");
  return Object.fromEntries(
    [...stats.matchAll(/^cmdstat_(evalsha|hget|hgetall):calls=(\d+)/gm)].map(([, name = "", calls]) => [name, Number(calls)]),
  );
}

test("only what has changed is read again, also in another order", async () => {
  const life = aLife(opened.store, () => newTaskId());
  const taskIds = await Promise.all(Array.from({ length: TASKS }, () => life.parked([anAsk("name")], { principal: "ada" })));
  const places = (order: "oldest" | "due" = "oldest") => opened.store.ownAsked({ principal: "ada", order, tasksMax: 1_000 });
  const first = await commandsOf(async () => expect(await places()).toHaveLength(TASKS));
  expect(first["hgetall"]).toBe(TASKS);

  expect(await commandsOf(places)).toEqual({ evalsha: expect.any(Number) as number, hget: TASKS });
  expect((await commandsOf(() => places("due")))["hgetall"]).toBeUndefined();

  await life.answer(taskIds[0] ?? "", "name", "Ann");
  await life.cancel(taskIds[1] ?? "");
  expect((await commandsOf(async () => expect(await places()).toHaveLength(TASKS - 2)))["hgetall"]).toBeUndefined();
  await life.park(taskIds[0] ?? "", await life.begin({ taskId: taskIds[0] ?? "", run: 2 }), [anAsk("date")]);
  expect((await commandsOf(async () => expect(await places()).toHaveLength(TASKS - 1)))["hgetall"]).toBe(1);
});

test("keeps as many questions as it may, of the tasks that were wanted last", async () => {
  const life = aLife(opened.store, () => newTaskId());
  const [one, two, three, four] = [
    await life.parked([anAsk("name")], { principal: "bob" }),
    await life.parked([anAsk("name")], { principal: "carol" }),
    await life.parked([anAsk("name")], { principal: "dan" }),
    await life.parked([anAsk("name"), anAsk("date")], { principal: "eve" }),
  ];
  const loaded: string[] = [];
  const { redis, store } = opened;
  const own = createOwnAsked({
    redis,
    keys: createKeys(opened.prefix),
    partitions: PARTITIONS,
    turn: (read) => read(),
    keptMax: 2,
    load(taskId) {
      loaded.push(taskId);
      return store.load(taskId);
    },
  });
  const wantedBy = async (...principals: string[]) => {
    loaded.length = 0;
    for (const principal of principals) await own.places({ principal, order: "oldest", tasksMax: 10 });
    return loaded;
  };
  expect(await wantedBy("bob", "carol", "bob")).toEqual([one, two]);
  expect(await wantedBy("dan", "bob")).toEqual([three]);
  expect(await wantedBy("carol", "bob", "dan")).toEqual([two, three]);
  // Two questions of one task have the places of two tasks.
  expect(await wantedBy("eve", "eve", "bob", "dan")).toEqual([four, one, three]);
});
