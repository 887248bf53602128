/** Two versions of a tool in one deployment: each task runs on its own version, on any worker that serves it, and waits unharmed while no worker does. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { parley } from "../support/parley.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

let redis: TestRedis;
let environment: Readonly<Record<string, string>>;
const files: string[] = [];
const running: Launched[] = [];

/** `greet`, of a version that says so in its result. */
async function version(number: string): Promise<string> {
  const source = await readFile(join(import.meta.dirname, "tools/greet.ts"), "utf8");
  const file = join(import.meta.dirname, `tools/.greet-${number}.ts`);
  files.push(file);
  await writeFile(
    file,
    source.replace('name: "greet",', `name: "greet", version: "${number}",`).replace("${name}!", `\${name} (${number})!`),
  );
  return file;
}

beforeAll(async () => {
  redis = openTestRedis();
  environment = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_MISSING_TOOL_RETRY: "1s" };
});
afterAll(async () => {
  await Promise.all(running.map((each) => each.kill()));
  await Promise.all(files.map((file) => rm(file, { force: true })));
  await redis.close();
});

const worker = async (tools: string) => {
  const started = await startWorkerProcess({ ...environment, PARLEY_TOOLS: tools });
  running.push(started);
  return started;
};
const frontEnd = async (tools: string): Promise<FrontEnd> => {
  const started = await startFrontEnd({ ...environment, PARLEY_TOOLS: tools });
  running.push(started);
  return started;
};

test("tasks run on their own versions; one whose version is gone waits, is named by the doctor, and continues with it", async () => {
  const [one, two] = [await version("1"), await version("2")];
  const [before, after, first] = await Promise.all([frontEnd(one), frontEnd(two), worker(one), worker(two)]);
  const [oldClient, newClient] = [createClient(`${before.url}/mcp`, 4), createClient(`${after.url}/mcp`, 4)];
  const asked = (taskId: string) => until(async () => (await newClient.get(taskId)).status === "input_required");
  const ended = (taskId: string) => until(async () => (await newClient.get(taskId)).status === "completed");
  const answer = (taskId: string) => newClient.answer(taskId, { name: { action: "accept", content: { name: "Ada" } } });

  const tasks = await Promise.all(
    [oldClient, newClient, oldClient, newClient].map((client) => client.call("greet", { greeting: "Hello" })),
  );
  await Promise.all(tasks.map(({ taskId }) => asked(taskId)));
  await Promise.all(tasks.map(({ taskId }) => answer(taskId)));
  await Promise.all(tasks.map(({ taskId }) => ended(taskId)));
  const results = await Promise.all(tasks.map(async ({ taskId }) => JSON.stringify((await newClient.get(taskId)).result)));
  expect(results.map((text) => /\((\d)\)!/.exec(text)?.[1])).toEqual(["1", "2", "1", "2"]);
  const shown = await parley(["task", tasks[0]?.taskId ?? "", "--url", `${after.url}/mcp`]);
  expect(shown.stdout).toMatch(/^ {2}version {2}1$/m);

  const { taskId } = await oldClient.call("greet", { greeting: "Hello" });
  await asked(taskId);
  await first.stop();
  // What the worker that is gone has said is believed for half a minute.
  await redis.redis.zrem(`${redis.prefix}:serving`, "greet 1");
  await answer(taskId);
  await until(async () => (await newClient.get(taskId)).statusMessage === "Waiting for a worker that serves version 1 of the tool greet.");
  const doctor = await parley(["doctor", "--json"], { env: { ...environment, PARLEY_TOOLS: two } });
  expect(doctor.stdout).toContain("1 waiting task needs version 1 of greet, which no worker serves");
  // Others are not kept waiting.
  const { taskId: other } = await newClient.call("greet", { greeting: "Hello" });
  await asked(other);
  await answer(other);
  await ended(other);
  await worker(one);
  await ended(taskId);
  oldClient.close();
  newClient.close();
});
