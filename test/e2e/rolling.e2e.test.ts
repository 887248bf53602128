/** Every process is replaced, one after another, under load and behind a load balancer: no request fails, and no task is lost. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Balancer, startBalancer } from "../support/balancer.ts";
import { freePorts } from "../support/free-ports.ts";
import { type FrontEnd, type Launched, logged, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { startLoad } from "../support/steady-load.ts";
import { until } from "../support/until.ts";

let redis: TestRedis;
let balancer: Balancer;
let galleryDir: string;
let ports: number[];
let frontEnds: FrontEnd[];
let workers: Launched[];
let env: Record<string, string>;

beforeAll(async () => {
  redis = openTestRedis();
  galleryDir = await mkdtemp(join(tmpdir(), "parley-rolling-"));
  env = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_TOOLS: `@parley/gallery,${join(import.meta.dirname, "tools/hold.ts")}`,
    PARLEY_GALLERY_DIR: galleryDir,
    // Longer than the balancer takes to notice, shorter than what it holds: calls that are held are handed over.
    PARLEY_SHUTDOWN_DELAY: "2500ms",
    PARLEY_SHUTDOWN_TIMEOUT: "500ms",
  };
  ports = await freePorts(2);
  frontEnds = await Promise.all(ports.map((port) => startFrontEnd({ ...env, PARLEY_PORT: String(port) })));
  workers = await Promise.all([0, 1].map(() => startWorkerProcess(env)));
  balancer = await startBalancer(ports);
});

afterAll(async () => {
  await Promise.all([...frontEnds, ...workers].map((each) => each.kill()));
  await balancer?.close();
  await redis.close();
  await rm(galleryDir, { recursive: true });
});

describe("a rolling restart of everything", () => {
  test("fails no request and loses no task", async () => {
    const load = startLoad(`${balancer.url}/mcp`, { tasks: 8, calls: 8, held: { name: "hold", arguments: {} } });
    await until(() => load.report.tasks > 10 && load.report.calls > 4);
    const stops: Record<string, number[]> = { "front end": [], worker: [] };
    const timed = async (kind: string, stop: () => Promise<number | null>) => {
      const startedAtMs = performance.now();
      expect(await stop()).toBe(0);
      stops[kind]!.push(Math.round(performance.now() - startedAtMs));
    };

    for (const [index, port] of ports.entries()) {
      await timed("front end", () => frontEnds[index]!.stop());
      frontEnds[index] = await startFrontEnd({ ...env, PARLEY_PORT: String(port) });
      // The balancer sends it requests again before the next one is stopped.
      await logged(frontEnds[index], "request answered");
      await timed("worker", () => workers[index]!.stop());
      workers[index] = await startWorkerProcess(env);
    }
    const before = load.report;
    await until(() => load.report.tasks > before.tasks + 10 && load.report.calls > before.calls + 8);
    const report = await load.stop();

    console.log(JSON.stringify({ behind: balancer.kind, ...report, stopMs: stops }));
    expect(report.failures).toEqual([]);
    expect(report.givenUp).toEqual([]);
    expect(report.handedOver).toBeGreaterThan(0);
  });
});
