/**
 * What a worker and a front end load to serve a plain tool. Parts that only some deployments use are leaves: nothing imports them but what
 * needs them, when it needs them. So they cost others neither memory nor time to start, and a reader of what everybody runs does not meet them.
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
/** What each has loaded. */
let loaded: { readonly worker: readonly string[]; readonly frontEnd: readonly string[] };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-leaves-"));
  const noting = (file: string) => ({ NODE_OPTIONS: `--import ${HOOK}`, LOADED: join(directory, file) });
  const noted = (file: string) =>
    readFileSync(join(directory, file), "utf8")
      .split("\n")
      .map((path) => relative(ROOT, path));
  deployment = await startDeployment({
    frontEnds: 1,
    workers: 1,
    tools: [join(import.meta.dirname, "tools/greet.ts")],
    frontEndEnv: noting("front-end"),
    workerEnv: noting("worker"),
  });
  const client = createClient(deployment.url, 1);
  const { taskId } = await client.call("greet", { greeting: "Hello" });
  await until(async () => (await client.get(taskId)).status === "input_required");
  await client.answer(taskId, { name: { action: "accept", content: { name: "Ada" } } });
  await until(async () => (await client.get(taskId)).status === "completed");
  loaded = { worker: noted("worker"), frontEnd: noted("front-end") };
});
afterAll(async () => {
  await deployment.close();
  await rm(directory, { recursive: true, force: true });
});

test("a worker loads the engine, the store and the tool", () => {
  for (const path of ["packages/core/replay.ts", "packages/redis/tasks/store.ts", "test/e2e/tools/greet.ts"])
    expect(loaded.worker).toContain(path);
});

test("a front end loads its routes and the store", () => {
  for (const path of ["apps/server/routes/mcp/route.ts", "packages/redis/tasks/store.ts", "node_modules/fastify/fastify.js"])
    expect(loaded.frontEnd).toContain(path);
});

describe.each(["worker", "frontEnd"] as const)("a plain tool does not make the %s load", (process) => {
  test.each([
    ["the client of a key management service", /@aws-sdk\/client-kms|packages\/redis\/content\/kms/],
    ["the client of S3", /@aws-sdk\/(client-s3|lib-storage)|packages\/files\/s3/],
    ["the evaluator of rules for approvals", /packages\/approvals\/(index|rules|condition)|node_modules\/@bufbuild\//],
    ["the gateway's connections, calls and processes", /packages\/gateway\/(connection|call|offer|lists|processes)\//],
    ["an MCP client", /node_modules\/@modelcontextprotocol\//],
    ["the test kit, replays and lint rules of the SDK", /packages\/sdk\/(testing|replay|lint)\//],
    ["the stores in memory", /packages\/core\/memory\//],
    ["what posts to webhooks", /packages\/webhooks\/(?!every-process)/],
    ["an embedded Redis", /packages\/redis\/embedded\//],
    ["OpenTelemetry", /node_modules\/@opentelemetry\//],
    ["the command line", /apps\/cli\//],
  ])("%s", (_, leaf) => {
    expect(loaded[process].filter((path) => leaf.test(path))).toEqual([]);
  });
});

test("a front end does not load a worker", () => {
  expect(loaded.frontEnd.filter((path) => path.startsWith("apps/worker/"))).toEqual([]);
});

describe("a worker with a plain tool does not load", () => {
  test.each([
    ["OAuth providers and tokens", /node_modules\/(oauth4webapi|jose)\/|packages\/identity\/oauth\/provider\.ts/],
    ["identity, except for the settings of providers", /packages\/identity\/(?!address\.ts|oauth\/(settings|providers-file)\.ts)/],
    ["the front end", /apps\/(server|web)\/|packages\/protocol\/|node_modules\/fastify\//],
  ])("%s", (_, leaf) => {
    expect(loaded.worker.filter((path) => leaf.test(path))).toEqual([]);
  });
});

test("of Parley's own modules a worker loads fewer than 340", () => {
  const own = loaded.worker.filter((path) => /^(packages|apps)\//.test(path) && !path.includes("node_modules"));
  expect(own.length).toBeLessThan(340);
  expect(own.length).toBeGreaterThan(100);
});
