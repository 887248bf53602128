import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { createKeys } from "./keys.ts";
import { ALIVE_MS, BEAT_EVERY_MS, createLiveWorkers, type LiveWorker } from "./live-workers.ts";

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const [ada, bob]: [LiveWorker, LiveWorker] = [
  { id: "ada", share: 4 },
  { id: "bob", share: 4 },
];

let opened: OpenRedis;
let atMs: number;
beforeEach(async () => {
  opened = await openRedis();
  atMs = opened.now();
});
afterEach(() => opened.close());

/** As one process has it; the time is the test's. */
const open = () =>
  createLiveWorkers({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 16, now: () => atMs, log: silent });

describe("who lives", () => {
  test("is who spoke within six seconds, at the limit and one millisecond beyond", async () => {
    const [one, other] = [open(), open()];
    await other.beat(bob);
    atMs += ALIVE_MS - 1;
    expect(await one.beat(ada)).toEqual(expect.arrayContaining([ada, bob]));
    atMs += 1;
    expect(await one.beat(ada)).toEqual([ada]);
  });

  test("is not who has left", async () => {
    const [one, other] = [open(), open()];
    await other.beat(bob);
    await other.leave(bob);
    expect(await one.beat(ada)).toEqual([ada]);
  });

  test("is, for the first who speaks after Redis was away, who lived before; who says nothing then is dead a beat later", async () => {
    const [one, other] = [open(), open()];
    await one.beat(ada);
    await other.beat(bob);
    atMs += 10 * 60_000;
    expect(await one.beat(ada)).toEqual(expect.arrayContaining([ada, bob]));
    atMs += BEAT_EVERY_MS;
    expect(await one.beat(ada)).toEqual([ada]);
    expect(await other.beat(bob)).toEqual(expect.arrayContaining([ada, bob]));
  });
});
