/** An upstream that misbehaves in every way: each ends in one clear error or in nothing at all, and the gateway stays up. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient, message, type TaskState } from "../../bench/client.ts";
import { freePorts } from "../support/free-ports.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

let directory: string;
let hostile: RunningUpstream;
let deployment: Deployment;
let client: Client;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-hostile-"));
  hostile = await startUpstream("hostile.ts", []);
  const [nobody = 0] = await freePorts(1);
  const file = await writeUpstreams(directory, [
    { name: "bad", url: hostile.url, revisions: "sessions", callTimeout: "3s" },
    { name: "pouring", url: hostile.url, revisions: "sessions", callTimeout: "60s", include: ["endless-event", "endless-stream"] },
    { name: "away", url: `http://127.0.0.1:${nobody}/mcp` },
  ]);
  deployment = await startDeployment({ frontEnds: 1, workers: 1, env: { PARLEY_UPSTREAMS: file } });
  client = createClient(deployment.url, 5);
  await until(async () => (await client.call("bad_plain", {})).taskId);
});

afterAll(async () => {
  client?.close();
  await deployment?.close();
  await hostile?.kill();
  await rm(directory, { recursive: true });
});

/** The worker is the one that was started, and serves. */
afterEach(async () => {
  const ERROR = 50;
  expect(deployment.workers[0]!.logs.filter(({ level }) => typeof level !== "number" || level >= ERROR)).toEqual([]);
  expect(said(await run("bad_plain"))).toBe("plain");
});

async function run(tool: string): Promise<TaskState> {
  const { taskId } = await client.call(tool, {});
  return await until(
    async () => {
      const task = await client.get(taskId);
      return ["completed", "failed", "cancelled"].includes(task.status) && task;
    },
    { everyMs: 50 },
  );
}

const said = ({ result }: TaskState) => JSON.parse(result?.content?.[0]?.text ?? "null") as unknown;

describe("questions", () => {
  test("that are malformed are refused one by one, and the upstream is notified", async () => {
    expect(said(await run("bad_malformed"))).toEqual(Array.from({ length: 6 }, () => -32602));
  });

  test("that are nested five hundred deep are refused", async () => {
    expect(said(await run("bad_nested"))).toBe(-32602);
  });

  test("with the same id end the call: their answers could not be told apart", async () => {
    expect(await run("bad_one-id")).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("two questions with one id"), data: { code: "UPSTREAM_INVALID", upstream: "bad" } },
    });
  });

  test("that arrive twice, as on a stream that was resumed, are asked once", async () => {
    const { taskId } = await client.call("bad_asked-twice", {});
    const { inputRequests } = await until(async () => {
      const task = await client.get(taskId);
      return task.status === "input_required" && task;
    });
    expect(Object.keys(inputRequests ?? {})).toEqual(["question-1"]);
    await client.answer(taskId, { "question-1": { action: "accept", content: { ok: true } } });
    const task = await until(async () => {
      const now = await client.get(taskId);
      return now.status === "completed" && now;
    });
    expect(said(task)).toEqual({ action: "accept", content: { ok: true } });
  });

  test("after the end of their call are asked of no one", async () => {
    const task = await run("bad_after-end");
    expect(said(task)).toBe("ended");
    expect(task.inputRequests).toBeUndefined();
  });

  test("of a method that MCP does not have are refused", async () => {
    expect(said(await run("bad_unknown-method"))).toBe(-32601);
  });
});

test("twenty thousand pings at once end the call, and the worker is not blocked by replies to them", async () => {
  expect(await run("bad_pings")).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("more than 1000 requests"), data: { code: "UPSTREAM_INVALID", upstream: "bad" } },
  });
});

describe("answers of an upstream", () => {
  test.each([
    ["bad_other-result", "yours"],
    ["bad_two-results", "first"],
    ["bad_not-json", "after all"],
    ["bad_large-log", "told"],
  ])("%s: what does not belong to the call is dropped", async (tool, expected) => {
    expect(said(await run(tool))).toBe(expected);
  });

  test.each([
    ["bad_no-result", "UPSTREAM_LOST"],
    ["bad_wrong-result", "UPSTREAM_INVALID"],
    ["pouring_endless-event", "UPSTREAM_LOST"],
    ["pouring_endless-stream", "UPSTREAM_LOST"],
    ["bad_unreadable", "UPSTREAM_TIMEOUT"],
    ["bad_slow-bytes", "UPSTREAM_TIMEOUT"],
  ])("%s: the call fails as %s", async (tool, code) => {
    expect(await run(tool)).toMatchObject({ status: "failed", error: { data: { code, upstream: tool.split("_")[0] } } });
  });
});

describe("capabilities that an upstream does not keep", () => {
  test("are prompts and resources that it does not have: its tools are still listed, and nothing in place of the others", async () => {
    const listed = async (method: string) => {
      const { headers, body } = message(method, {}, "");
      return ((await (await fetch(deployment.url, { method: "POST", headers, body })).json()) as { result: object }).result;
    };
    expect(JSON.stringify(await listed("tools/list"))).toContain("bad_plain");
    for (const method of ["prompts/list", "resources/list", "resources/templates/list"]) {
      expect(JSON.stringify(await listed(method))).not.toContain("bad_");
    }
  });

  test("are tasks: a tool that answers without one is believed, and an unknown one fails with the upstream's own error", async () => {
    expect(said(await run("bad_task-none"))).toBe("task-none");
    expect(await run("bad_task-unknown")).toMatchObject({
      status: "failed",
      error: { code: -32601, message: "no such method" },
    });
  });
});

describe("lists", () => {
  test("that are announced as changed five thousand times are read once a second at most, and differ each time", async () => {
    const readings = async () => Number(await (await fetch(new URL("/readings", hostile.url))).text());
    const [before, startedMs] = [await readings(), Date.now()];
    await (await fetch(new URL("/flood", hostile.url))).text();
    await until(async () => (await readings()) > before);
    // Two upstreams are that one server, and either may have read it last.
    expect((await readings()) - before).toBeLessThanOrEqual(2 * ((Date.now() - startedMs) / 1_000 + 1));
    await until(async () => {
      for (let reading = await readings(); reading > before; reading -= 1) {
        const called = await client.call(`bad_only-${reading}`, {}).catch(() => undefined);
        if (called) return called.taskId;
      }
      return undefined;
    });
  });

  test("of an unreachable upstream are empty, which is logged", () => {
    const line = deployment.workers[0]!.logs.find(({ msg, upstream }) => msg === "upstream could not be listed" && upstream === "away");
    expect(line).toMatchObject({ problem: expect.stringContaining("ECONNREFUSED") });
  });
});
