/** An upstream of 2025-11-25 whose tools run as tasks, behind real front ends and workers that die. The upstream counts what it did. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient, type TaskState } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import type { Launched } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

let directory: string;
let env: { readonly MARKS: string };
let upstream: RunningUpstream;
let deployment: Deployment;
let workers: Launched[];
let client: Client;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-session-tasks-"));
  env = { MARKS: join(directory, "marks") };
  upstream = await startUpstream("session-tasks.ts", [], env);
  const file = await writeUpstreams(directory, [{ name: "up", url: upstream.url, repeatable: ["strike-again"] }]);
  deployment = await startDeployment({ frontEnds: 2, workers: 1, env: { PARLEY_UPSTREAMS: file } });
  workers = [...deployment.workers];
  // Of the front end that lives to the end.
  client = createClient(`${deployment.frontEnds[1]!.url}/mcp`, 5);
  await until(() => client.call("up_plain", { text: "there?" }));
});

afterAll(async () => {
  client?.close();
  await deployment?.close();
  await upstream?.kill();
  await rm(directory, { recursive: true });
});

const call = async (tool: string, text: string) => (await client.call(tool, { text })).taskId;
const ended = (taskId: string): Promise<TaskState> =>
  until(
    async () => {
      const task = await client.get(taskId);
      return ["completed", "failed", "cancelled"].includes(task.status) && task;
    },
    { timeoutMs: 90_000, everyMs: 100 },
  );
const asked = (taskId: string, key: string) => until(async () => (await client.get(taskId)).inputRequests?.[key]);
const said = ({ result }: TaskState) => JSON.parse(result?.content?.[0]?.text ?? "null") as unknown;
const accept = (ok: boolean) => ({ action: "accept", content: { ok } });
const marked = async (line: string) => (await marksIn(env.MARKS)).filter((mark) => mark === line).length;

async function replaceWorkers(): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  workers.push(await deployment.addWorker());
}

describe("a task of an upstream of 2025-11-25", () => {
  test("asks, and continues with the answers; a front end and workers that are killed while people think change nothing", async () => {
    const first = createClient(`${deployment.frontEnds[0]!.url}/mcp`, 1);
    const { taskId } = await first.call("up_review", { text: "plan" });
    first.close();
    expect(await asked(taskId, "question-1")).toMatchObject({ params: { message: "up asks: first of plan" } });
    await Promise.all([replaceWorkers(), deployment.frontEnds[0]!.kill()]);
    await client.answer(taskId, { "question-1": accept(true) });
    expect(await asked(taskId, "question-2")).toMatchObject({ params: { message: "up asks: second of plan" } });
    await replaceWorkers();
    await client.answer(taskId, { "question-2": accept(false) });
    expect(said(await ended(taskId))).toEqual([accept(true), accept(false)]);
    expect(await marked("called review plan")).toBe(1);
    for (const question of ["first", "second"]) expect(await marked(`answered ${question} of plan`)).toBe(1);
  });

  test("whose worker is killed right after the answer continues with another one, and receives it once", async () => {
    const taskId = await call("up_review", "struck");
    await asked(taskId, "question-1");
    await client.answer(taskId, { "question-1": accept(true) });
    await replaceWorkers();
    await asked(taskId, "question-2");
    await client.answer(taskId, { "question-2": accept(true) });
    expect(said(await ended(taskId))).toEqual([accept(true), accept(true)]);
    for (const question of ["first", "second"]) expect(await marked(`answered ${question} of struck`)).toBe(1);
  });

  test("whose question was read by a worker that died before recording it fails with that reason, and is cancelled there", async () => {
    const [worker] = workers.splice(0);
    const pid = String(worker!.pid);
    const taskId = await call("up_strike", pid);
    await worker!.ended;
    workers.push(await deployment.addWorker());
    expect(await ended(taskId)).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("a worker read before it died"), data: { code: "UPSTREAM_LOST", upstream: "up" } },
    });
    expect(await marked(`called strike ${pid}`)).toBe(1);
    expect(await marked(`answered strike ${pid}`)).toBe(0);
    await until(async () => (await marked(`cancelled strike ${pid}`)) === 1);
  });

  test("the same if it may be repeated: it is called again, once, and asks its question", async () => {
    const [worker] = workers.splice(0);
    const pid = String(worker!.pid);
    const taskId = await call("up_strike-again", pid);
    await worker!.ended;
    workers.push(await deployment.addWorker());
    expect(await asked(taskId, "question-1")).toMatchObject({ params: { message: `up asks: strike ${pid}` } });
    await client.answer(taskId, { "question-1": accept(true) });
    expect(said(await ended(taskId))).toEqual([accept(true)]);
    expect(await marked(`called strike-again ${pid}`)).toBe(2);
    expect(await marked(`answered strike ${pid}`)).toBe(1);
    expect(await marked(`cancelled strike-again ${pid}`)).toBe(1);
  });

  test("that is cancelled is cancelled at the upstream, and its session is ended", async () => {
    const isOpen = async () => (await (await fetch(new URL("/open/unwanted", upstream.url))).text()) === "true";
    const taskId = await call("up_review", "unwanted");
    await asked(taskId, "question-1");
    expect(await isOpen()).toBe(true);
    await client.cancel(taskId);
    await until(async () => (await marked("cancelled review unwanted")) === 1 && !(await isOpen()));
  });

  test("of an upstream that has restarted is lost, and the caller that answers learns so", async () => {
    const taskId = await call("up_review", "forgotten");
    await asked(taskId, "question-1");
    await upstream.kill();
    upstream = await startUpstream("session-tasks.ts", [String(upstream.port)], env);
    await client.answer(taskId, { "question-1": accept(true) });
    expect(await ended(taskId)).toMatchObject({
      status: "failed",
      error: { code: -32000, message: expect.stringContaining("forgotten the session of its task") },
    });
    expect(await marked("called review forgotten")).toBe(1);
  });
});
