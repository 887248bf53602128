/**
 * A foreign server in Python behind the gateway: FastMCP, over stdio and over HTTP. Its tools block on their questions, which they can do
 * only in revisions with sessions.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { ENVIRONMENT, missingPython } from "../support/python-packages.ts";
import { freePorts } from "../support/free-ports.ts";
import { startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { UPSTREAMS, writeUpstreams } from "../support/upstream.ts";

const missing = await missingPython();
const PYTHON = join(ENVIRONMENT, "bin/python");
const SERVER = join(UPSTREAMS, "fastmcp_server.py");

test.skipIf(missing !== undefined)("FastMCP's tools answer, and what they ask is answered by its task", async () => {
  const directory = await mkdtemp(join(tmpdir(), "parley-fastmcp-"));
  const [port = 0] = await freePorts(1);
  const served = spawn(PYTHON, [SERVER, String(port)], { stdio: "ignore" });
  const url = `http://127.0.0.1:${port}/mcp`;
  const file = await writeUpstreams(directory, [
    { name: "web", url, refresh: "2s" },
    { name: "newest", url, revisions: "newest", refresh: "2s" },
    { name: "pipe", command: PYTHON, args: [SERVER] },
  ]);
  const deployment = await startDeployment({ frontEnds: 1, workers: 1, env: { PARLEY_UPSTREAMS: file } });
  const client = createClient(deployment.url, 3);
  onTestFinished(async () => {
    client.close();
    await deployment.close();
    served.kill("SIGKILL");
    await rm(directory, { recursive: true });
  });
  const ended = (taskId: string) =>
    until(async () => {
      const task = await client.get(taskId);
      return ["completed", "failed"].includes(task.status) && task;
    });

  const call = async (tool: string, text: string) =>
    (await until(() => client.call(tool, { text }), { timeoutMs: 90_000, everyMs: 250 })).taskId;
  for (const name of ["web", "newest", "pipe"]) {
    expect((await ended(await call(`${name}_shout`, "hello"))).result?.content?.[0]?.text, name).toBe("HELLO");
  }
  // Nothing needs to be said of it in the file. Where the newest revision is asked for, the tool says what it cannot do there.
  expect((await ended(await call("newest_confirm", "go"))).result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("unavailable on 2026-07-28") }],
  });
  for (const name of ["web", "pipe"]) {
    const taskId = await call(`${name}_confirm`, "go");
    const [[key, asked] = ["", {}]] = await until(async () => {
      const task = await client.get(taskId);
      if (task.status !== "working" && task.status !== "input_required") throw new Error(`${name}: ${JSON.stringify(task)}`);
      return task.status === "input_required" && Object.entries(task.inputRequests ?? {});
    });
    expect(asked, name).toMatchObject({ params: { message: `${name} asks: Really go?` } });
    await client.answer(taskId, { [key]: { action: "accept", content: { ok: true } } });
    expect((await ended(taskId)).result?.content?.[0]?.text, name).toBe("go: accept True");
  }
});
