/**
 * A new user's first steps: packages from tarballs, a project from create-parley in another directory, its tests, a server, a call, and a
 * change of the tool while a task waits.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../support/free-ports.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

let directory: string;
let tarballs: string;
let hasRegistry: boolean;
/** The user's shell: with what the machine needs to reach the registry, without what npm and this run have added. */
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|PARLEY_|REDIS_URL|VITEST|NODE_ENV|NODE_OPTIONS|INIT_CWD)/.test(name)),
  ),
  PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
  npm_config_prefer_offline: "true",
  npm_config_audit: "false",
  npm_config_fund: "false",
};
/** A registry that is slow on the day is no defect of the packages: with a warm cache it takes half a minute. */
const INSTALL_MS = 480_000;
const npm = async (args: readonly string[], cwd: string) => (await run("npm", args, { cwd, env, timeout: INSTALL_MS })).stdout;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-packages-"));
  // .ci/run has built them.
  tarballs = process.env["PACKAGES"] ?? (await built(join(directory, "tarballs")));
  hasRegistry = await npm(["view", "zod", "version", "--prefer-online", "--fetch-retries=0", "--fetch-timeout=20000"], directory).then(
    () => true,
    () => false,
  );
}, 300_000);

async function built(out: string): Promise<string> {
  await run(process.execPath, [join(ROOT, "deploy/release/main.ts"), "--dry-run", "--out", out], { cwd: ROOT });
  return out;
}

afterAll(() => rm(directory, { recursive: true, force: true }));

test(
  "a project from create-parley is installed, tested, served, called, and changed while a task waits",
  { timeout: 2 * INSTALL_MS },
  async ({ skip }) => {
    if (!hasRegistry) skip("no npm registry answers here, and packages have dependencies");
    const packed = (await readdir(tarballs)).map((file) => join(tarballs, file));
    const creator = packed.find((file) => file.includes("create-parley"));
    await npm(["exec", "--yes", `--package=${creator}`, "--", "create-parley", "my-tools"], directory);
    const project = join(directory, "my-tools");
    await npm(["install", ...packed.filter((file) => file !== creator)], project);
    expect(await npm(["test"], project)).toMatch(/pass 3\n.*fail 0/s);
    await npm(["run", "check"], project);
    // A question beside an object that is streamed: the compiler adds the members of each to the other, as undefined.
    const generator = `import { defineTool } from "@parley/sdk";
      export const stream = defineTool({ name: "stream", *run() { yield { ask: "text", message: "?" }; yield { row: 1 }; } });`;
    await writeFile(join(project, "tests/stream.ts"), generator);
    // The declarations of the packages compile as well, under the compiler's own defaults and not only under our settings.
    await npm(["exec", "--", "tsc", "--noEmit", "--skipLibCheck", "false"], project);
    await rm(join(project, "tests/stream.ts"));

    const [port] = await freePorts(1);
    const url = `http://127.0.0.1:${port}/mcp`;
    const parley = (...args: readonly string[]) =>
      run(join(project, "node_modules/.bin/parley"), args, { cwd: project, env: { ...env, PARLEY_URL: url } });
    const tool = join(project, "tools/book-meeting.ts");

    let server = await start("dev", project, port);
    const { stdout: taskId } = await parley("call", "book_meeting", "-a", "topic=Budget", "--no-wait");
    await server.stop();
    // A redeployment under the waiting task: only the text of the result is another one.
    await writeFile(tool, (await readFile(tool, "utf8")).replace("is booked:", "has been booked:"));
    server = await start("start", project, port);
    try {
      const { stdout } = await parley("answer", taskId.trim(), "day", "--set", "day=Tuesday", "--wait");
      expect(stdout).toMatch(/^"Budget" has been booked: Tuesday, room A-\d\.$/m);
    } finally {
      await server.stop();
    }
  },
);

async function start(script: "dev" | "start", project: string, port: number | undefined) {
  const child = spawn("npm", ["run", script, "--", "--port", String(port)], {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", (line) => lines.push(line));
  const ended = once(child, "exit");
  const serving = new Promise<void>((told) => {
    createInterface({ input: child.stdout }).on("line", (line) => line.startsWith("Parley serves") && told());
  });
  await Promise.race([serving, ended.then(() => Promise.reject(new Error(`npm run ${script} ended:\n${lines.join("\n")}`)))]);
  return {
    async stop() {
      // As Ctrl-C does: the whole group.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGINT");
      await ended;
    },
  };
}
