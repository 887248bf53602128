/** Runs each command with which docs/approvals.md tries approvals on one machine, as it is printed there, but for addresses, the folder and the task's id. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../support/free-ports.ts";
import { startParley, type Started } from "../support/parley.ts";
import { MAIN } from "../support/pipe.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const SERVER = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");

let cwd: string;
let srv: string;
let redis: TestRedis;
let started: Started;
let env: Record<string, string>;
let commands: readonly string[];

beforeAll(async () => {
  const page = await readFile(new URL("../../docs/approvals.md", import.meta.url), "utf8");
  const block = (language: string, at: number) =>
    [...page.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([^]*?)\`\`\``, "gm"))].map(([, indent, text = ""]) =>
      text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    )[at] ?? "";
  cwd = await realpath(await mkdtemp(join(tmpdir(), "parley-walk-")));
  srv = join(cwd, "srv");
  await mkdir(srv);
  redis = openTestRedis();
  const [port] = await freePorts(1);
  const here = (text: string) => text.replaceAll("/srv", srv).replaceAll("127.0.0.1:3000", `127.0.0.1:${port}`);
  await writeFile(join(cwd, "parley.rules.yaml"), here(block("yaml", 0)).replace("by: { groups: [operations] }", "by: tenant"));
  const upstreams = here(block("json", 0)).replace('"npx"', JSON.stringify(process.execPath));
  await writeFile(
    join(cwd, "parley.upstreams.json"),
    upstreams.replace('"-y", "@modelcontextprotocol/server-filesystem"', JSON.stringify(SERVER)),
  );
  const isStart = (text: string) => text.startsWith("export ");
  const blocks = [0, 1, 2].map((at) => block("bash", at));
  const settings = [...(blocks.find(isStart) ?? "").matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, here(value)]);
  env = { ...Object.fromEntries(settings), REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix };
  commands = here(blocks[blocks.findIndex(isStart) + 1] ?? "")
    .trim()
    .split("\n");
  started = await startParley(["--port", String(port)], { cwd, env });
});

afterAll(async () => {
  await started?.kill();
  await redis?.close();
  await rm(cwd, { recursive: true, force: true, maxRetries: 5 });
});

/** In a shell. Returns what it prints. */
async function run(command: string): Promise<string> {
  const script = `parley() { "${process.execPath}" "${MAIN}" "$@"; }\n${command}`;
  const child = spawn("bash", ["-c", script], { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  await once(child, "close");
  return said;
}

test("a server that nobody changed: writing elsewhere is refused, a move waits for a colleague, and happens after the yes", async () => {
  const [ann = "", bob = "", write = "", elsewhere = "", move = "", inbox = "", answer = "", ...more] = commands;
  expect(more).toEqual([]);
  for (const command of [ann, bob]) await run(command);
  // The list of the server's tools may still be on its way.
  await until(async () => /Successfully wrote/.test(await run(write)), { timeoutMs: 60_000, everyMs: 500 });
  expect(await run(elsewhere)).toContain("Files are written below /srv only.".replace("/srv", srv));
  const moved = run(move.replace(/ &$/, ""));
  const listed = await until(async () => {
    const said = await run(inbox);
    return said.includes("Deleting files: approve this call") ? said : undefined;
  });
  expect(existsSync(join(srv, "a.txt"))).toBe(true);
  expect(await run(answer.replace("TASK", /\d-[\w-]{22}/.exec(listed)?.[0] ?? "").replace(/ *#.*/, ""))).toContain("answered");
  expect(await moved).toContain("Successfully moved");
  expect([existsSync(join(srv, "a.txt")), existsSync(join(srv, "b.txt"))]).toEqual([false, true]);
});
