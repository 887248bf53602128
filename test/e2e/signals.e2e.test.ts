/** Processes that are told to stop: while they start, and again while they stop. In a container the command of the image runs them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { MAIN } from "../support/pipe.ts";
import { openTestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const COMMANDS = [
  ["parley server", [MAIN, "server"]],
  ["parley worker", [MAIN, "worker"]],
  ["the front end's own process", [resolve(ROOT, "apps/server/main.ts")]],
  ["the worker's own process", [resolve(ROOT, "apps/worker/main.ts")]],
] as const;

let child: ChildProcess | undefined;
afterEach(() => child?.kill("SIGKILL"));

function start(args: readonly string[], env: Readonly<Record<string, string>>) {
  const started = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  child = started;
  let log = "";
  started.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  return {
    ended: once(started, "exit"),
    kill: (signal: NodeJS.Signals) => started.kill(signal),
    said: (text: string) => until(() => log.includes(text)),
  };
}

describe.each(COMMANDS)("%s", (_name, args) => {
  test("ends at a signal that comes while it waits for Redis", async () => {
    const { ended, kill, said } = start(args, { REDIS_URL: "redis://127.0.0.1:1" });
    await said("waiting for redis");
    kill("SIGTERM");
    expect(await ended).toEqual([1, null]);
  });
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "a front end that still serves after its first signal ends at a second one, %s",
  async (second) => {
    const redis = openTestRedis();
    try {
      const env = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_PORT: "0", PARLEY_SHUTDOWN_DELAY: "10m" };
      const { ended, kill, said } = start([resolve(ROOT, "apps/server/main.ts")], env);
      await said("front end ready");
      kill("SIGTERM");
      await said("front end draining");
      kill(second);
      expect(await ended).toEqual([1, null]);
    } finally {
      await redis.close();
    }
  },
);
