/** Tools that harm themselves or their worker: each ends only its own task (I12). Two workers, which are started again when they end. */
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createClient, type Client } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import type { Launched, LogLine } from "../support/processes.ts";
import { until } from "../support/until.ts";

let deployment: Deployment;
let client: Client;
let isOver = false;
/** All that were started, and those that have not ended. */
const workers: Launched[] = [];
const living = new Set<Launched>();
const starting = new Set<Promise<Launched>>();

/** What systemd, Docker or Kubernetes does. */
function supervise(worker: Launched): void {
  workers.push(worker);
  living.add(worker);
  void worker.ended.then(async () => {
    living.delete(worker);
    if (isOver) return;
    const started = deployment.addWorker();
    starting.add(started);
    supervise(await started);
    starting.delete(started);
  });
}

beforeAll(async () => {
  deployment = await startDeployment({
    frontEnds: 1,
    tools: [join(import.meta.dirname, "tools/poison.ts")],
    workerEnv: {
      NODE_OPTIONS: "--max-old-space-size=128",
      // Longer than a busy machine keeps a worker waiting: it would be taken for one that is blocked, and its task for poison.
      PARLEY_LEASE: "5s",
      PARLEY_RENEW_EVERY: "1s",
      PARLEY_TAKEOVERS_MAX: "3",
      PARLEY_BLOCKED_REPORT: "500ms",
      PARLEY_BLOCKED_KILL: "5s",
      PARLEY_LOG_LEVEL: "debug",
    },
  });
  deployment.workers.forEach(supervise);
  client = createClient(deployment.url, 20);
});

afterAll(async () => {
  isOver = true;
  client.close();
  // The deployment closes the workers that it knows.
  await Promise.allSettled(starting);
  await deployment.close();
});

async function ended(taskId: string) {
  const task = await until(async () => ((await client.get(taskId)).status === "working" ? undefined : await client.get(taskId)), {
    timeoutMs: 200_000,
    everyMs: 50,
  });
  return { status: task.status, text: task.result?.content?.[0]?.text, code: task.error?.data?.code };
}
const play = async (tool: string) => ended((await client.call(tool, {})).taskId);
const logs = (): LogLine[] => workers.flatMap((worker) => worker.logs);

/** Tasks that work while something happens, continue to their question, and come to their end. */
async function beside(workMs: number, happens: () => Promise<unknown>): Promise<unknown[]> {
  const neighbours = await Promise.all(Array.from({ length: 6 }, () => client.call("neighbour", { workMs })));
  await happens();
  return await Promise.all(
    neighbours.map(async ({ taskId }) => {
      await until(async () => (await client.get(taskId)).status === "input_required");
      await client.answer(taskId, { n: { action: "accept", content: { n: 7 } } });
      return await until(async () => (await client.get(taskId)).result?.content?.[0]?.text);
    }),
  );
}
const WELL = Array.from({ length: 6 }, () => "n is 7");

describe("a handler that harms itself alone", () => {
  let alive: number;
  beforeEach(() => {
    alive = workers.length;
  });

  test.each([
    ["leaves a rejected promise unawaited", "floats", { status: "failed", code: "UNHANDLED_REJECTION" }],
    ["throws in a timer", "throws_in_timer", { status: "failed", code: "UNHANDLED_REJECTION" }],
    ["never comes to its end", "waits_forever", { status: "failed", code: "RUN_TIMEOUT" }],
    ["looks at a failed step only after a slower one", "hears_late", { status: "completed", text: "flight without hotel" }],
    ["forgets an await", "forgets_await", { status: "failed", code: "NOT_AWAITED" }],
    ["returns while a step runs", "returns_early", { status: "completed", text: "early" }],
    ["leaves a timer behind that throws after its end", "throws_late", { status: "completed", text: "done" }],
  ])("and %s: its task ends, its worker lives, and neighbours continue", async (_what, tool, end) => {
    expect(
      await beside(1_000, async () => {
        expect(await play(tool)).toEqual({ text: undefined, code: undefined, ...end });
      }),
    ).toEqual(WELL);
    expect(workers).toHaveLength(alive);
  });

  test("what it leaves behind is logged against its task", async () => {
    const line = await until(() => logs().find(({ of }) => of === "ended_run"));
    const detail = expect.stringContaining("nobody catches this");
    expect(line).toMatchObject({ level: 40, tool: "throws_late", error: "Error", detail, msg: "uncaught exception" });
  });
});

describe("an error that comes out of no run", () => {
  const ofProcess = { of: "process", level: 50 };

  test("is logged when it is a rejection, and the worker continues", async () => {
    const [worker] = living;
    process.kill(worker!.pid, "SIGHUP");
    const line = await until(() => worker!.logs.find((each) => each["of"] === "process"));
    const detail = expect.stringContaining("nobody hears this");
    expect(line).toMatchObject({ ...ofProcess, detail, msg: "unhandled promise rejection" });
    expect(await play("throws_late")).toMatchObject({ status: "completed" });
    expect(worker!.logs.map(({ msg }) => msg)).not.toContain("worker draining");
  });

  test("ends the worker when it is an exception, after the runs at work have ended", async () => {
    const broken = [...living];
    const texts = await beside(1_000, async () => {
      for (const { pid } of broken) process.kill(pid, "SIGUSR2");
    });
    expect(texts).toEqual(WELL);
    expect(await Promise.all(broken.map((worker) => worker.ended))).toEqual(broken.map(() => 1));
    for (const { logs: lines } of broken) {
      const detail = expect.stringContaining("nobody catches this") as unknown;
      expect(lines).toContainEqual(expect.objectContaining({ msg: "uncaught exception", detail, ...ofProcess }));
      expect(lines.map(({ msg }) => msg)).toContain("worker stopped");
    }
  });
});

test("handlers that end their worker fail as poisoned, all at once, and no neighbour is taken for one of them", async () => {
  const texts = await beside(4_000, async () => {
    const poisons = await Promise.all(["exits", "blocks", "allocates"].map((tool) => client.call(tool, {})));
    for (const { taskId } of poisons) expect(await ended(taskId)).toMatchObject({ status: "failed", code: "POISONED" });
  });
  expect(texts).toEqual(WELL);
  const said = (message: string) => logs().filter(({ msg = "" }) => msg.includes(message));
  expect(said("event loop blocked")).toContainEqual(expect.objectContaining({ blocks: expect.objectContaining({ tool: "blocks" }) }));
  expect(said("process killed")).not.toEqual([]);
  expect(said("JavaScript heap out of memory")).not.toEqual([]);
  expect((await client.call("neighbour", { workMs: 0 })).status).toBe("working");
});
