import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { resolve } from "node:path";
import { parseDuration } from "@parley/core";
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { describe, expect, onTestFinished, test } from "vitest";
import { message } from "../../bench/client.ts";
import { freePorts } from "../support/free-ports.ts";
import { openTestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { PLATFORMS, type PlatformProcess } from "./platforms.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SETTINGS = new Set(Object.keys({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape }));
const processes = PLATFORMS.flatMap(({ name: platform, silenceMs, processes: all }) =>
  all.map((each) => ({ platform, silenceMs, process: each, role: each.args[0] ?? "" })),
);

test("every platform has front ends and workers", () => {
  for (const { processes: all } of PLATFORMS) expect(all.map(({ args }) => args.join(" ")).toSorted()).toEqual(["server", "worker"]);
});

describe.each(processes)("$platform, $role", ({ silenceMs, process: example, role }) => {
  test("is given settings that there are, and keeps streams from falling silent", () => {
    for (const name of Object.keys(example.env))
      if (/^(PARLEY_|PORT$)/.test(name)) expect([...SETTINGS, "PARLEY_GALLERY_DIR"]).toContain(name);
    expect(parseDuration(example.env["PARLEY_KEEP_ALIVE"] ?? "15s")).toBeLessThan(silenceMs / 2);
  });

  test("has time to end before it is killed", () => {
    const ms = (name: string, fallback: string) => parseDuration(example.env[name] ?? fallback);
    const server = ms("PARLEY_SHUTDOWN_DELAY", "0s") + ms("PARLEY_SHUTDOWN_TIMEOUT", "10s");
    const drainMs = role === "server" ? server : ms("PARLEY_DRAIN_TIMEOUT", "20s");
    expect(drainMs + 2_000).toBeLessThan(example.killedAfterMs);
  });

  test(
    role === "server"
      ? "listens where PORT says, serves the host that is named and no other, to callers with a token, and ends"
      : "starts and ends",
    async () => {
      const [http = 0, operator = 0] = await freePorts(2);
      const started = await start(example, http, operator);
      if (role === "server") {
        const host = example.env["PARLEY_ALLOWED_HOSTS"] ?? "";
        await until(async () => (await get(http, "/readyz", "health.check")) === 200, { everyMs: 100 });
        expect(await call(http, host)).toBe(401);
        expect(await call(http, "elsewhere.example")).toBe(403);
      } else {
        await until(() => started.said().includes("worker ready"));
      }
      expect(await started.stop()).toBe(0);
    },
  );
});

async function start({ args, env }: PlatformProcess, http: number, operator: number) {
  const redis = openTestRedis();
  const child = spawn(process.execPath, ["apps/cli/main.ts", ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env["PATH"],
      ...env,
      // The platform's own: another port, since many of them run here.
      ...(env["PORT"] !== undefined && { PORT: String(http) }),
      ...(env["PARLEY_METRICS_PORT"] !== undefined && { PARLEY_METRICS_PORT: String(operator) }),
      REDIS_URL: redis.url,
      PARLEY_PREFIX: redis.prefix,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    await redis.close();
  });
  return {
    said: () => said,
    async stop(): Promise<unknown> {
      child.kill("SIGTERM");
      return (await ended)[0];
    },
  };
}

function get(port: number, path: string, host: string): Promise<number | undefined> {
  return new Promise((answered, failed) => {
    request({ port, path, headers: { host } }, (response) => answered(response.resume().statusCode))
      .on("error", failed)
      .end();
  });
}

/** tools/list, as a client of that host sends it. */
function call(port: number, host: string): Promise<number | undefined> {
  const { headers, body } = message("tools/list", {}, "tools/list");
  return new Promise((answered, failed) => {
    const options = { port, path: "/mcp", method: "POST", headers: { ...headers, host, "content-length": Buffer.byteLength(body) } };
    request(options, (response) => answered(response.resume().statusCode))
      .on("error", failed)
      .end(body);
  });
}
