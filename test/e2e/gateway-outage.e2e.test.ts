/** Redis and front ends die before, during and after a question of a classic upstream. The upstream counts what it did. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient, type TaskState } from "../../bench/client.ts";
import { freePorts } from "../support/free-ports.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";
import { type RedisProcess, startRedis } from "../topologies/redis-process.ts";

let directory: string;
let marks: string;
let redis: RedisProcess;
let classic: RunningUpstream;
let deployment: Deployment;
/** Of the front end that lives to the end. */
let client: Client;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-outage-"));
  marks = join(directory, "marks");
  const [port = 0] = await freePorts(1);
  redis = await startRedis({ directory: join(directory, "redis"), port, fsync: "always" });
  classic = await startUpstream("classic.ts", ["http"], { MARKS: marks });
  const file = await writeUpstreams(directory, [{ name: "up", url: classic.url }]);
  deployment = await startDeployment({ frontEnds: 2, workers: 1, redisUrl: redis.url, env: { PARLEY_UPSTREAMS: file } });
  client = createClient(`${deployment.frontEnds[1]!.url}/mcp`, 5);
  await until(() => client.call("up_plain", { text: "there?" }), { everyMs: 250 });
});

afterAll(async () => {
  client?.close();
  await deployment?.close();
  await Promise.all([classic?.kill(), redis?.stop("SIGKILL")]);
  await rm(directory, { recursive: true });
});

const marked = async (line: string) => (await marksIn(marks)).filter((mark) => mark.startsWith(line)).length;
const reached = (taskId: string, statuses: readonly string[]): Promise<TaskState> =>
  until(
    async () => {
      const task = await client.get(taskId);
      return statuses.includes(task.status) && task;
    },
    { everyMs: 50 },
  );
const ended = (taskId: string) => reached(taskId, ["completed", "failed"]);
const said = (task: TaskState) => JSON.parse(task.result?.content?.[0]?.text ?? "null") as unknown;
/** Sent again until a front end takes it, as clients do. */
const answer = (taskId: string) =>
  until(() => client.answer(taskId, { "question-1": { action: "accept", content: { ok: true } } }), { everyMs: 100 });

async function withoutRedis(meanwhile: () => Promise<unknown> = async () => undefined): Promise<void> {
  await redis.stop("SIGKILL");
  await meanwhile();
  await redis.start();
}

test("Redis killed before the call: the caller gets an error, and the upstream is not called", async () => {
  await withoutRedis(() => expect(client.call("up_confirm", { text: "early" })).rejects.toThrow());
  expect(await marked("called confirm early")).toBe(0);
});

test("Redis killed while a person thinks: the answer reaches the call that waits, which was made once", async () => {
  const { taskId } = await until(() => client.call("up_confirm", { text: "thought" }));
  await reached(taskId, ["input_required"]);
  await withoutRedis();
  await answer(taskId);
  expect(said(await ended(taskId))).toEqual({ said: "thought", action: "accept", content: { ok: true } });
  expect([await marked("called confirm thought"), await marked("answered thought")]).toEqual([1, 1]);
});

test("Redis killed right after the answer: it counts once, and the result arrives or says that the upstream is lost", async () => {
  const { taskId } = await client.call("up_confirm", { text: "after" });
  await reached(taskId, ["input_required"]);
  await answer(taskId);
  await withoutRedis();
  const task = await ended(taskId);
  if (task.status === "completed") expect(said(task)).toEqual({ said: "after", action: "accept", content: { ok: true } });
  else expect(task.error?.data).toMatchObject({ code: "UPSTREAM_LOST" });
  expect(await marked("called confirm after")).toBe(1);
  expect(await marked("answered after")).toBeLessThanOrEqual(1);
});

test("Redis killed while the upstream works: its result is recorded when Redis is back", async () => {
  const { taskId } = await client.call("up_slow", { text: "1500" });
  await until(async () => (await marked("called slow 1500")) === 1);
  await withoutRedis();
  const task = await ended(taskId);
  if (task.status === "completed") expect(task.result?.content?.[0]?.text).toBe("slept");
  else expect(task.error?.data).toMatchObject({ code: "UPSTREAM_LOST" });
  expect(await marked("called slow 1500")).toBe(1);
});

test("the front end that took the call is killed while a person thinks: another one takes the answer", async () => {
  const first = createClient(`${deployment.frontEnds[0]!.url}/mcp`, 1);
  const { taskId } = await first.call("up_confirm", { text: "moved" });
  first.close();
  await reached(taskId, ["input_required"]);
  await deployment.frontEnds[0]!.kill();
  await answer(taskId);
  expect(said(await ended(taskId))).toEqual({ said: "moved", action: "accept", content: { ok: true } });
  expect([await marked("called confirm moved"), await marked("answered moved")]).toEqual([1, 1]);
});
