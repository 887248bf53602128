/**
 * npm run test:newcomer -- [--nodes 20,22,24] [--tarballs DIRECTORY] [--report FILE]
 *
 * A newcomer with each version of Node.js, and without Redis: ten minutes from `npm create parley` to the first tool of their own that asks.
 * One that is too old says so in one sentence. A version that cannot be fetched from the registry is skipped, and that is said.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { freePorts } from "../support/free-ports.ts";
import { machineWith } from "./machine.ts";
import { tooOld } from "./too-old.ts";
import { otherCommands, plainProject, totalMs, walk } from "./walk.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MINUTES_MAX = 10;
const OLDEST = 22;

const { values } = parseArgs({
  options: { nodes: { type: "string", default: "20,22,24" }, tarballs: { type: "string" }, report: { type: "string" } },
});
const place = await mkdtemp(join(tmpdir(), "parley-newcomer-"));
const failures: string[] = [];
let passed = 0;
try {
  const tarballs = values.tarballs === undefined ? await built(join(place, "tarballs")) : resolve(values.tarballs);
  for (const major of values.nodes.split(",")) {
    const folder = join(place, major);
    await mkdir(folder);
    const node = await nodeOf(major, folder);
    if (node === undefined) {
      console.log(`Node.js ${major}: skipped, the registry does not give it`);
      continue;
    }
    try {
      console.log(await newcomer(Number(major), { node, folder, tarballs }));
      passed += 1;
    } catch (error) {
      failures.push(`Node.js ${major}: ${error instanceof Error ? error.message : String(error)}`);
      console.error(failures.at(-1));
    }
  }
} finally {
  await rm(place, { recursive: true, force: true });
}
if (values.report) await writeFile(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failures.length, failures }));
if (failures.length > 0) process.exitCode = 1;

interface With {
  readonly node: string;
  readonly folder: string;
  readonly tarballs: string;
}

/** Resolves to what is to be printed. */
async function newcomer(major: number, { node, folder, tarballs }: With): Promise<string> {
  const machine = await machineWith(node, folder);
  if (major < OLDEST) return `Node.js ${major}: ${await tooOld({ machine, folder, tarballs })}`;
  const [port = 0] = await freePorts(1);
  const steps = await walk({ machine, folder, tarballs, port });
  await otherCommands({ machine, folder });
  await plainProject({ machine, folder, tarballs });
  const minutes = totalMs(steps) / 60_000;
  const lines = steps.map(
    ({ does, ms, typed, read }) =>
      `  ${(ms / 1_000).toFixed(1).padStart(6)} s  ${String(typed).padStart(4)} typed  ${String(read).padStart(4)} read  ${does}`,
  );
  if (minutes > MINUTES_MAX) throw new Error(`takes ${minutes.toFixed(1)} minutes:\n${lines.join("\n")}`);
  return [`Node.js ${major}: ${minutes.toFixed(1)} minutes with typing and reading`, ...lines].join("\n");
}

async function built(out: string): Promise<string> {
  await promisify(execFile)(process.execPath, [join(ROOT, "deploy/release/main.ts"), "--dry-run", "--out", out], { cwd: ROOT });
  return out;
}

/** From the package `node`, whose script fetches the program. */
async function nodeOf(major: string, folder: string): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const project = join(folder, "node");
  await mkdir(project);
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true, allowScripts: { node: true } }));
  try {
    await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", `node@${major}`], { cwd: project });
    return join(project, "node_modules/node/bin/node");
  } catch {
    return undefined;
  }
}
