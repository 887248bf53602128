/** `npm start`: everything in one process, with a Redis of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { parley, startParley } from "../support/parley.ts";
import { MAIN } from "../support/pipe.ts";
import { until } from "../support/until.ts";

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "parley-start-"));
});
afterEach(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));

/** Calls a tool that throws; what the caller reads. */
async function textOfThrown(env: Record<string, string>): Promise<string | undefined> {
  const tools = join(import.meta.dirname, "tools/throws.ts");
  const { REDIS_URL: _shared, ...rest } = process.env;
  const child = spawn(process.execPath, ["apps/cli/main.ts", "start", "--port", "0", "--tools", tools, "--data-dir", dataDir], {
    cwd: resolve(import.meta.dirname, "../.."),
    env: { ...rest, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  try {
    const url = await until(() => /^Parley serves (http\S+)\n/.exec(printed)?.[1]);
    const client = createClient(url, 1);
    const { taskId } = await client.call("throws", {});
    const task = await until(async () => {
      const got = await client.get(taskId);
      return got.status === "working" ? undefined : got;
    });
    client.close();
    return task.result?.content?.[0]?.text;
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  }
}

test("says at once what is wrong with the settings of front end and worker, and which name is misspelt, before it starts a Redis", async () => {
  const env = { REDIS_URL: "", PARLEY_PORT: "abc", PARLEY_CONCURRENCY: "0", PARLEY_ALLOWED_HOSTS: "http://a.example", PARLEY_LEESE: "9s" };
  expect(await parley(["start", "--data-dir", dataDir], { env })).toEqual({
    code: 1,
    stdout: "",
    stderr: `parley: PARLEY_LEESE is not a setting, and is ignored: if you mean PARLEY_LEASE, rename it
parley: invalid settings:
  PARLEY_ALLOWED_HOSTS: "http://a.example" is not a host: write a name or name:port without scheme and path, and IPv6 addresses in brackets
  PARLEY_PORT: must be a number, and is "abc"
  PARLEY_CONCURRENCY: must be at least 1, and is "0"
`,
  });
  expect(await readdir(dataDir)).toEqual([]);
});

test("shows what tools throw, unless it is configured not to", async () => {
  expect(await textOfThrown({})).toBe("connect ECONNREFUSED postgres://admin:hunter2@db");
  expect(await textOfThrown({ PARLEY_SHOW_ERRORS: "false" })).toMatch(/^tool throws failed\. .* under defect [0-9a-f-]{36}\.$/);
});

/** `START_ROUNDS=100` for as long as it takes. */
const ROUNDS = Number(process.env["START_ROUNDS"] ?? 4);

test("killed and started again, round after round, it loses no waiting task", { timeout: ROUNDS * 30_000 }, async () => {
  const asked: string[] = [];
  const args = ["--tools", join(import.meta.dirname, "../dialects/tools.ts"), "--data-dir", dataDir];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const { url, kill } = await startParley(args);
    const client = createClient(url, 1);
    const { taskId } = await client.call("greet", { marker: String(round) });
    asked.push(taskId);
    // Acknowledged is kept: a kill may come at any moment from here on, at times before the question is there.
    if (round % 2 === 0) await until(async () => (await client.get(taskId)).status === "input_required");
    client.close();
    await kill();
  }
  const { url, kill } = await startParley(args);
  const client = createClient(url, 1);
  try {
    for (const taskId of asked) await until(async () => (await client.get(taskId)).status === "input_required");
    const [first = ""] = asked;
    expect(await parley(["answer", first, "--set", "name=Ann", "--wait", "--url", url])).toMatchObject({
      code: 0,
      stdout: "Hello, Ann!\n",
    });
  } finally {
    client.close();
    await kill();
  }
});

/** Another server, which a command that names a directory does not use. */
const OTHER_URL = "http://127.0.0.1:1/mcp";

/** docs/cli.md has the figure; this bound holds on a machine that does much else. */
const FIRST_QUESTION_MS = 30_000;

test("a call that starts its own server asks its first question soon, and another command answers it", async () => {
  const tools = join(import.meta.dirname, "../dialects/tools.ts");
  const calling = spawn(process.execPath, [MAIN, "call", "greet", "--marker", "m", "--no-input", "--tools", tools, "--data-dir", dataDir], {
    cwd: dataDir,
    env: { ...process.env, REDIS_URL: "" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(calling, "exit");
  const startedAtMs = performance.now();
  let said = "";
  calling.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  try {
    const how = await until(() => /parley answer (0-[\w-]{22}) (\S+)/.exec(said), { timeoutMs: FIRST_QUESTION_MS });
    process.stderr.write(`the first question of an embedded call after ${Math.round(performance.now() - startedAtMs)} ms\n`);
    const [, taskId = "", key = ""] = how;
    const answer = (directory: string) =>
      parley(["answer", taskId, key, "--set", "name=Ann", "--data-dir", directory], { cwd: dataDir, env: { PARLEY_URL: OTHER_URL } });
    expect(await answer(join(dataDir, "other"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no server has kept its data in"),
    });
    expect((await answer(dataDir)).code).toBe(0);
    expect(await ended).toEqual([0, null]);
  } finally {
    calling.kill("SIGKILL");
  }
});
