/** One task in two processes, possibly days apart: one trace, and the same ids in the log. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSession } from "../../apps/server/session-client.fixture.ts";
import { createClient, message, type TaskState } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type SeenSpan, startTraceReceiver, type TraceReceiver } from "../support/trace-receiver.ts";
import { until } from "../support/until.ts";
import { type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const LANE_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const UPSTREAMS_TRACE = "5bd66ef5095369c7b0d1f8f4bd33716a";
const SESSION_TRACE = "6be77f6206480479c2d2a1a6be00844b";
const CALLER = "b7ad6b7169203331";

let receiver: TraceReceiver;
let deployment: Deployment;
let directory: string;
let upstream: RunningUpstream;
let taskId: string;

const story = (traceId = TRACE) => receiver.spans.filter((span) => span.traceId === traceId);
const named = (name: string, attributes: Record<string, string> = {}, traceId = TRACE): SeenSpan | undefined =>
  story(traceId).find((span) => span.name === name && Object.entries(attributes).every(([key, value]) => span.attributes[key] === value));

/** Names of the spans above it, up to the caller's. */
function above(span: SeenSpan): string[] {
  if (span.parentId === CALLER) return [];
  const parent = receiver.spans.find(({ spanId }) => spanId === span.parentId);
  return parent ? [parent.name, ...above(parent)] : ["(unknown)"];
}

/** The request that brought the answer. It ends after what it did, and may be exported after that. */
const updating = () => receiver.spans.find(({ name, traceId }) => name === "tasks/update" && traceId !== TRACE);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-secret-folder-"));
  receiver = await startTraceReceiver();
  upstream = await startUpstream("classic.ts", ["http"]);
  const file = await writeUpstreams(directory, [{ name: "up", url: upstream.url }]);
  deployment = await startDeployment({
    tools: [join(import.meta.dirname, "tools/steps.ts")],
    // A front end that is slow to add its run would be helped by the sweep, whose runs hang below the call alone.
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PARLEY_TASK_GRACE: "10s", PARLEY_UPSTREAMS: file },
    // A worker that has no place to spare hears of no run by a lane: all come by the queue.
    workerEnv: { PARLEY_CONCURRENCY: "1" },
  });
  taskId = await lived(deployment, TRACE);
  const runs = () => ["1", "2"].map((run) => named("run steps", { "parley.run": run }));
  await until(() => named("answer n") && updating() && runs().every((run) => run && !above(run).includes("(unknown)")));
});

/** Resolves with the task's id. */
async function called(url: string, name: string, traceId: string): Promise<string> {
  const { headers, body } = message("tools/call", { name, arguments: { file: join(directory, "marks") } }, name);
  const call = JSON.parse(body) as { params: { _meta: object } };
  Object.assign(call.params._meta, { traceparent: `00-${traceId}-${CALLER}-01` });
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(call) });
  return ((await response.json()) as { result: TaskState }).result.taskId;
}

/** Calls, answers, and waits for the end. Resolves with the task's id. */
async function lived({ url }: Deployment, traceId: string): Promise<string> {
  const client = createClient(url, 2);
  const id = await called(url, "steps", traceId);
  const becomes = (status: string) => until(async () => (await client.get(id)).status === status);
  await becomes("input_required");
  await client.answer(id, { n: { action: "accept", content: { n: 17 } } });
  await becomes("completed");
  client.close();
  return id;
}

afterAll(async () => {
  await deployment.close();
  await receiver.close();
  await upstream.kill();
  await rm(directory, { recursive: true });
});

describe("the trace of a task", () => {
  test("continues the caller's, through call, run, steps, park, answer and the next run", () => {
    expect(above(named("tools/call steps")!)).toEqual([]);
    expect(above(named("run steps", { "parley.run": "1" })!)).toEqual(["process run", "add run.created", "tools/call steps"]);
    expect(above(named("step before")!)).toContain("run steps");
    expect(above(named("park")!)[0]).toBe("run steps");
    expect(above(named("answer n")!)).toEqual(["tools/call steps"]);
    expect(above(named("run steps", { "parley.run": "2" })!)).toEqual(["process run", "add run.answered", "answer n", "tools/call steps"]);
    expect(above(named("step after")!)[0]).toBe("run steps");
    expect(named("run steps", { "parley.run": "2" })!.attributes).toMatchObject({ "parley.task.id": taskId, "parley.end": "completed" });
  });

  test("spans front ends and workers", () => {
    expect(new Set(story().map(({ service }) => service))).toEqual(new Set(["parley-server", "parley-worker"]));
  });

  test("is linked from the request that brought the answer, which has a trace of its own", () => {
    expect(named("answer n")!.links).toEqual([updating()?.traceId]);
  });

  test("does not repeat a step that was recorded", () => {
    expect(story().filter(({ name }) => name === "step before")).toHaveLength(1);
  });

  test("holds nothing of arguments and answers", () => {
    expect(receiver.raw()).not.toContain("secret-folder");
    expect(story().flatMap(({ attributes }) => Object.values(attributes))).not.toContain("17");
  });
});

test("continues at an upstream below the call that the gateway received", async () => {
  const client = createClient(deployment.url, 1);
  await until(() => client.call("up_plain", {}), { everyMs: 100 });
  const id = await called(deployment.url, "up_traced", UPSTREAMS_TRACE);
  const { result } = await until(async () => {
    const task = await client.get(id);
    return task.status === "completed" && task;
  });
  client.close();
  const { spanId } = await until(() => named("tools/call up_traced", {}, UPSTREAMS_TRACE));
  expect(result?.content?.[0]?.text).toBe(`00-${UPSTREAMS_TRACE}-${spanId}-01`);
});

test("has the answer of a session, linked from the response that brought it, and the run after it", async () => {
  const client = await openSession(deployment);
  const _meta = { traceparent: `00-${SESSION_TRACE}-${CALLER}-01` };
  const call = await client.stream(deployment, "tools/call", { name: "steps", arguments: { file: join(directory, "session") }, _meta }, 1);
  const ask = await call.next();
  await client.reply(deployment, ask.id, { action: "accept", content: { n: 3 } });
  expect(await call.next()).toMatchObject({ id: 1, result: {} });
  const story = { answer: () => named("answer n", {}, SESSION_TRACE), run: () => named("run steps", { "parley.run": "2" }, SESSION_TRACE) };
  const brought = () => receiver.spans.find(({ name, traceId }) => name === "response" && story.answer()?.links.includes(traceId));
  await until(() => brought() && story.run() && !above(story.run()!).includes("(unknown)"));
  expect(above(story.answer()!)).toEqual(["tools/call steps"]);
  expect(above(story.run()!).at(-1)).toBe("tools/call steps");
  expect(above(story.run()!)).toContain("answer n");
});

test("a run that comes by a lane hangs below the call", async () => {
  const lanes = await startDeployment({
    tools: [join(import.meta.dirname, "tools/steps.ts")],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  });
  try {
    // Front ends learn within a second or two which workers listen.
    await until(async () => {
      const id = await lived(lanes, LANE_TRACE);
      const second = await until(() => named("run steps", { "parley.task.id": id, "parley.run": "2" }, LANE_TRACE));
      const parent = await until(() => receiver.spans.find(({ spanId }) => spanId === second.parentId));
      return parent.name === "tools/call steps";
    });
  } finally {
    await lanes.close();
  }
});

describe("the log", () => {
  const lines = () => [...deployment.frontEnds, ...deployment.workers].flatMap(({ logs }) => logs);
  const of = (msg: string) => lines().find((line) => line.msg === msg && line["taskId"] === taskId);

  test("carries the trace wherever the task was at work", () => {
    for (const msg of ["task created", "task parked", "answer received", "task finished"]) {
      expect(of(msg), msg).toMatchObject({ traceId: TRACE });
    }
  });

  test("shows by the request's id which lines belong to one request", () => {
    const created = of("task created")!;
    expect(created["requestId"]).toEqual(expect.any(String));
    const answered = lines().filter((line) => line.msg === "request answered" && line["requestId"] === created["requestId"]);
    expect(answered).toMatchObject([{ rpcMethod: "tools/call", traceId: TRACE }]);
  });
});
