/**
 * What a worker loads to serve a plain tool. Parts that only some deployments use are leaves: nothing imports them but what needs them, when it
 * needs them. So they cost others neither memory nor time to start, and a reader of what everybody runs does not meet them.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
const HOOK = pathToFileURL(join(import.meta.dirname, "../support/loaded.mjs")).href;

let directory: string;
let deployment: Deployment;
let loaded: readonly string[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-leaves-"));
  const file = join(directory, "loaded");
  deployment = await startDeployment({
    frontEnds: 1,
    workers: 1,
    tools: [join(import.meta.dirname, "tools/greet.ts")],
    workerEnv: { NODE_OPTIONS: `--import ${HOOK}`, LOADED: file },
  });
  const client = createClient(deployment.url, 1);
  const { taskId } = await client.call("greet", { greeting: "Hello" });
  await until(async () => (await client.get(taskId)).status === "input_required");
  await client.answer(taskId, { name: { action: "accept", content: { name: "Ada" } } });
  await until(async () => (await client.get(taskId)).status === "completed");
  loaded = readFileSync(file, "utf8")
    .split("\n")
    .map((path) => relative(ROOT, path));
});
afterAll(async () => {
  await deployment.close();
  await rm(directory, { recursive: true, force: true });
});

test("a worker loads the engine, the store and the tool", () => {
  for (const path of ["packages/core/replay.ts", "packages/redis/tasks/store.ts", "test/e2e/tools/greet.ts"])
    expect(loaded).toContain(path);
});

describe("a worker with a plain tool does not load", () => {
  test.each([
    ["the client of a key management service", /@aws-sdk\/client-kms|packages\/redis\/content\/kms/],
    ["the client of S3", /@aws-sdk\/(client-s3|lib-storage)|packages\/files\/s3/],
    ["OAuth providers and tokens", /node_modules\/(oauth4webapi|jose)\/|packages\/identity\/oauth\/provider\.ts/],
    ["identity, except for the settings of providers", /packages\/identity\/(?!address\.ts|oauth\/(settings|providers-file)\.ts)/],
    ["the gateway's connections, calls and processes", /packages\/gateway\/(connection|call|offer|lists|processes)\//],
    ["an MCP client", /node_modules\/@modelcontextprotocol\//],
    ["the test kit, replays and lint rules of the SDK", /packages\/sdk\/(testing|replay|lint)\//],
    ["the stores in memory", /packages\/core\/memory\//],
    ["what posts to webhooks", /packages\/webhooks\/(?!every-process)|node_modules\/ipaddr\.js/],
    ["an embedded Redis", /packages\/redis\/embedded\//],
    ["the front end", /apps\/(server|web|cli)\/|packages\/protocol\/|node_modules\/fastify\//],
    ["OpenTelemetry", /node_modules\/@opentelemetry\//],
  ])("%s", (_, leaf) => {
    expect(loaded.filter((path) => leaf.test(path))).toEqual([]);
  });
});

test("of Parley's own modules a worker loads fewer than 330", () => {
  const own = loaded.filter((path) => /^(packages|apps)\//.test(path) && !path.includes("node_modules"));
  expect(own.length).toBeLessThan(330);
  expect(own.length).toBeGreaterThan(100);
});
