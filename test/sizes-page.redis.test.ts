/** docs/scaling.md says what a task takes in Redis: its rows are those that are measured, some of them are measured here, and what is computed from them fits. */
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bytesOf, ROWS, SHIPPED } from "../bench/sizes-of.ts";
import { type SharedRedis, startOwnRedis } from "./support/shared-redis.ts";

const page = readFileSync(new URL("../docs/scaling.md", import.meta.url), "utf8");
const numberIn = (text = "") => Number(text.replaceAll(",", ""));
/** Name of a row → with the shipped redis.conf, with Redis' defaults, how many a GB has room for. */
const rows = new Map(
  [...page.matchAll(/^\| (.+) \| ([\d,]+) B \| ([\d,]+) B \| ([\d,]+) \|$/gm)].map(([, what = "", ...numbers]) => [
    what,
    numbers.map(numberIn),
  ]),
);
const [waiting, finished, kept] = [
  "task that waits, 300 B of arguments",
  "finished task, a result of 20 B",
  "finished task with `keepContent`, 300 B of arguments, a step of 500 B",
];
const shipped = (what: string) => rows.get(what)?.[0] ?? Number.NaN;

let server: SharedRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url);
  // Its buffers come and go.
  await redis.config("SET", "appendonly", "no");
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

test("its rows are those of bench/sizes.ts", () => {
  expect([...rows.keys()]).toEqual(ROWS.map(({ what }) => what));
  for (const [what, [size = 0, , room]] of rows) expect(Number((1e9 / size).toPrecision(2)), what).toBe(room);
});

test.each([waiting, finished, kept])("a %s takes what it says, within a tenth", async (what) => {
  const [size = 0] = await bytesOf({
    redisUrl: server.url,
    redis,
    settings: SHIPPED,
    count: 1_000,
    rows: ROWS.filter((row) => row.what === what),
  });
  expect(size / shipped(what)).toBeGreaterThan(0.9);
  expect(size / shipped(what)).toBeLessThan(1.1);
});

test("what it says elsewhere is computed from these", () => {
  for (const [start, what] of [
    ["parked task, 300 B of arguments", waiting],
    ["finished task, a short result", finished],
  ] as const) {
    const [, size, plain] = new RegExp(`${start} \\| ([\\d,]+) B [^|]*?([\\d,]+) B`).exec(page) ?? [];
    expect([size, plain].map(numberIn), start).toEqual(rows.get(what)?.slice(0, 2));
  }
  /** Of a row of the table from 1× to 1000×. */
  const GB = { MB: 1e-3, GB: 1, TB: 1e3 };
  const of = (start: string) => {
    const line = page.split("\n").find((each) => each.startsWith(`| ${start} |`)) ?? "";
    return [...line.matchAll(/([\d.]+) (MB|GB|TB) /g)].map(([, number, unit]) => Number(number) * GB[unit as keyof typeof GB]);
  };
  const perSecond = [100, 1_000, 10_000, 100_000];
  for (const [start, what, seconds] of [
    ["parked after an hour", waiting, 3_600],
    ["parked after a day", waiting, 86_400],
    ["finished tasks, kept for a day", finished, 86_400],
    ["finished tasks, kept for an hour", finished, 3_600],
  ] as const) {
    const said = of(start);
    expect(said, start).toHaveLength(4);
    for (const [index, rate] of perSecond.entries())
      expect((said[index] ?? 0) / ((rate * seconds * shipped(what)) / 1e9), `${start}, ${rate}/s`).toBeCloseTo(1, 1);
  }
  // docker-compose.yml: 1 GiB, 40 % of it for data (deploy/redis/start.sh), half of that for finished tasks.
  const compose = (0.4 * 2 ** 30) / 2 / shipped(finished);
  const [, aDay, anHour] =
    /half of that for finished tasks \| (\d+) tasks a second[^;]*; (\d+) if they are kept for an hour/.exec(page) ?? [];
  expect([aDay, anHour].map(Number)).toEqual([Math.floor(compose / 86_400), Number((compose / 3_600).toPrecision(1))]);
});
