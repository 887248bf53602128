import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { startSweeps, type Sweeps } from "./sweeps.ts";

const nothing = async () => undefined;

let opened: OpenRedis;
let key: string;
let started: Sweeps[];
let logged: unknown[];
beforeEach(async () => {
  opened = await openRedis();
  key = `${opened.prefix}:swept`;
  started = [];
  logged = [];
});
afterEach(async () => {
  for (const each of started) await each.close();
  await opened.close();
});

function start(sweep: (partition: number) => Promise<unknown>): Sweeps {
  const log = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => void logged.push(line) };
  const sweeps = startSweeps({ redis: opened.redis, key, partition: 3, log, sweep });
  started.push(sweeps);
  return sweeps;
}

test("a worker asks at once, and from then on every second", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const sweep = vi.fn(nothing);
  start(sweep);
  await until(() => sweep.mock.calls.length === 1);
  expect(sweep).toHaveBeenCalledWith(3);
  await opened.redis.del(key);
  vi.advanceTimersByTime(999);
  await opened.redis.ping();
  expect(sweep).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  await until(() => sweep.mock.calls.length === 2);
});

test("a partition is swept about every second by one of several workers", async () => {
  const times: number[] = [];
  for (let worker = 0; worker < 3; worker += 1) start(async () => times.push(Date.now()));
  await expect.poll(() => times.length).toBeGreaterThanOrEqual(3);
  expect(times[2]! - times[0]!).toBeGreaterThan(1_200);
});

test("a partition is swept by the others while the worker that swept it hangs", async () => {
  const hangs = Promise.withResolvers<void>();
  const [first, others] = [vi.fn(() => hangs.promise), vi.fn(nothing)];
  start(first);
  await expect.poll(() => first).toHaveBeenCalledTimes(1);
  start(others);
  await expect.poll(() => others).toHaveBeenCalledTimes(2);
  expect(first).toHaveBeenCalledTimes(1);
  hangs.resolve();
});

test("a sweep that fails is reported, and the next one follows", async () => {
  const full = Object.assign(new Error("OOM command not allowed"), { name: "ReplyError" });
  const sweep = vi.fn(nothing).mockRejectedValueOnce(full);
  start(sweep);
  await expect.poll(() => sweep).toHaveBeenCalledTimes(2);
  expect(logged).toEqual([[expect.objectContaining({ partition: 3, error: "ReplyError", reply: "OOM" }), "sweep failed"]]);
});

test("closing waits for the current sweep, and none follows", async () => {
  const atWork = Promise.withResolvers<void>();
  const sweep = vi.fn(() => atWork.promise);
  const sweeps = start(sweep);
  await expect.poll(() => sweep).toHaveBeenCalledTimes(1);
  let isClosed = false;
  const closed = sweeps.close().then(() => (isClosed = true));
  // Others can take their turn, so the time of this worker has come again.
  const other = vi.fn(nothing);
  start(other);
  await expect.poll(() => other).toHaveBeenCalledTimes(1);
  expect(isClosed).toBe(false);
  atWork.resolve();
  await closed;
  await expect.poll(() => other).toHaveBeenCalledTimes(3);
  expect(sweep).toHaveBeenCalledTimes(1);
});
