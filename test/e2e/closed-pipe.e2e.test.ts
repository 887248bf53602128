/** Commands whose output is not read to its end, as in `parley tools | head -1`: they end silently, and no work that began is lost. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { parley, type Ran } from "../support/parley.ts";
import { MAIN, openPipe, type Pipe } from "../support/pipe.ts";
import { until } from "../support/until.ts";

const TOOLS = join(import.meta.dirname, "../dialects/tools.ts");
/** As a shell tells of a command that SIGPIPE has ended. */
const PIPE_CLOSED = 141;
/** Less than anything here would wait for by itself. */
const SOON_MS = 90_000;

let deployment: Deployment;
let env: Record<string, string>;
let taskIds: string[];

beforeAll(async () => {
  deployment = await startDeployment({ frontEnds: 1, workers: 1, tools: [TOOLS] });
  env = { PARLEY_URL: `${deployment.frontEnds[0]?.url}/mcp`, REDIS_URL: deployment.redis.url, PARLEY_PREFIX: deployment.redis.prefix };
  taskIds = await Promise.all(
    ["one", "two"].map(async (marker) => {
      const { stdout } = await parley(["call", "greet", "--marker", marker, "--no-wait"], { env });
      return stdout.trim();
    }),
  );
});

afterAll(() => deployment?.close());

/** `parley … | reader` in a shell; `code` is that of parley. */
function piped(args: readonly string[], { reader, redirect = "" }: { reader: string; redirect?: string }): Promise<Ran> {
  const script = `"$@" ${redirect} | ${reader}; exit "\${PIPESTATUS[0]}"`;
  return new Promise((resolve) => {
    execFile(
      "bash",
      ["-c", script, "bash", process.execPath, MAIN, ...args],
      { env: { ...process.env, ...env }, timeout: SOON_MS },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
  });
}

describe("a reader that is gone", () => {
  test.each([
    "tools",
    "tools --json",
    "tasks",
    "inbox --list",
    "task <id>",
    "call greet --marker unread --no-wait",
    "export --all",
    "doctor",
    "completion bash",
  ])("ends `%s` with the exit code of a closed pipe, and nothing is said", async (command) => {
    const args = command.replace("<id>", taskIds[0] ?? "").split(" ");
    expect(await piped(args, { reader: "true" })).toEqual({ code: PIPE_CLOSED, stdout: "", stderr: "" });
  });

  test("gets the lines that it wanted", async () => {
    const { stdout, stderr } = await piped(["tools"], { reader: "head -1" });
    expect([stdout.split("\n").length, stderr]).toEqual([2, ""]);
    expect((await parley(["tools"], { env })).stdout.startsWith(stdout)).toBe(true);
  });

  test("ends a command that would watch for ever, as soon as it has more to say", async () => {
    let isOver = false;
    const watching = piped(["tasks", "--watch"], { reader: "head -1" }).finally(() => (isOver = true));
    while (!isOver) await parley(["call", "greet", "--marker", "news", "--no-wait"], { env });
    expect(await watching).toMatchObject({ code: PIPE_CLOSED, stderr: "" });
  });

  test("ends a call, and not its task", async () => {
    const gone = join(tmpdir(), `parley-gone-${randomUUID()}`);
    const { pid } = deployment.workers[0]!;
    // The question comes when the reader has gone: nothing else that the command says would show it that.
    process.kill(pid, "SIGSTOP");
    const calling = piped(["call", "greet", "--marker", "left", "--no-input"], {
      reader: `{ head -1; exec <&-; touch ${gone}; }`,
      redirect: "2>&1",
    });
    await until(() => existsSync(gone)).finally(() => process.kill(pid, "SIGCONT"));
    const { code, stdout } = await calling;
    await rm(gone);
    const [, taskId = ""] = /^task (0-[\w-]{22})\n$/.exec(stdout) ?? [];
    expect(code).toBe(PIPE_CLOSED);
    expect((await parley(["answer", taskId, "--set", "name=Ann", "--wait"], { env })).stdout).toBe("Hello, Ann!\n");
  });
});

test("a full disk is reported as an error", async () => {
  expect(await piped(["tools"], { reader: "true", redirect: "> /dev/full" })).toEqual({
    code: 1,
    stdout: "",
    stderr: "parley: standard output cannot be written: ENOSPC: no space left on device, write\n",
  });
});

describe("a client of stdio", () => {
  const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "pipe", version: "1" } };
  async function stdio(work: (pipe: Pipe) => Promise<void>): Promise<void> {
    const pipe = openPipe(["--url", String(env["PARLEY_URL"])]);
    try {
      await pipe.request("initialize", INITIALIZE);
      pipe.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      await work(pipe);
    } finally {
      await pipe.close();
    }
  }

  test("that stops reading ends it, with nothing on standard error", async () => {
    await stdio(async (pipe) => {
      pipe.child.stdout?.destroy();
      for (let id = 1; id <= 3; id += 1) pipe.send({ jsonrpc: "2.0", id, method: "ping" });
      expect(await pipe.ended).toBe(0);
      expect(pipe.said()).toBe("");
    });
  });

  test("that does not read the log is served all the same", async () => {
    const stray = { jsonrpc: "2.0", id: "never-asked", result: {} };
    await stdio(async (pipe) => {
      pipe.send(stray);
      await expect.poll(() => pipe.said()).toMatch(/the server refused an answer/);
    });
    await stdio(async (pipe) => {
      pipe.child.stderr?.destroy();
      for (let round = 0; round < 3; round += 1) {
        pipe.send(stray);
        expect(await pipe.request("ping")).toMatchObject({ result: {} });
      }
    });
  });
});
