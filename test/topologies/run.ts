/**
 * npm run test:topologies -- [name …] [--lifecycles N] [--report FILE]
 *
 * Holds every topology that this machine can start to the contract, the integration tests and a short chaos run, and says which could not
 * be started and why. Exits with 0 exactly when nothing failed on those that were.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startTopology, TOPOLOGIES, type TopologyName } from "./topologies.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const CONTRACT = ["test/contract", "packages/redis/connection/clock", "packages/redis/runs/consume-runs", "packages/redis/runs/census"];
/** Need one server, which they cut off through a wire and look into as they like. */
const WIRED = ["packages/redis/tasks/store.redis", "packages/redis/tasks/store-edges", "packages/redis/sessions"];
const UNWIRED = new Set<TopologyName>(["sentinel", "cluster", "acl"]);

interface Totals {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

// A file that has moved would only be left out.
for (const path of [...CONTRACT, ...WIRED])
  if (globSync(`${path}*`, { cwd: ROOT }).length === 0) throw new Error(`no test begins with ${path}`);

const { values, positionals } = parseArgs({
  options: { lifecycles: { type: "string", default: "100" }, report: { type: "string" } },
  allowPositionals: true,
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

let passed = 0;
let failed = 0;
const lines: string[] = [];
for (const name of TOPOLOGIES.filter((each) => positionals.length === 0 || positionals.includes(each))) {
  const directory = await mkdtemp(join(tmpdir(), "parley-topology-"));
  try {
    const tests = await integration(name, directory);
    if (typeof tests === "string") {
      lines.push(`${name.padEnd(10)} skipped: ${tests}`);
      continue;
    }
    const report = join(directory, "chaos.json");
    const lifecycles = ["--lifecycles", values.lifecycles, "--topology", name, "--report", report];
    const chaos = await totalsOf(report, process.execPath, ["test/chaos/main.ts", ...lifecycles], {});
    passed += tests.numPassedTests + chaos.numPassedTests;
    failed += tests.numFailedTests + chaos.numFailedTests;
    const told = ({ numPassedTests, numFailedTests }: Totals) => `${numPassedTests} passed, ${numFailedTests} failed`;
    lines.push(`${name.padEnd(10)} tests ${told(tests)}; chaos, ${values.lifecycles} lifecycles: rules ${told(chaos)}`);
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
console.log(lines.join("\n"));
if (values.report !== undefined) await writeFile(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
process.exit(failed === 0 ? 0 : 1);

/** Why the topology cannot be started here, or how its tests went. */
async function integration(name: TopologyName, directory: string): Promise<string | Totals> {
  const prefix = "test-";
  const started = await startTopology(name, directory, prefix).catch((error: unknown) => String(error));
  if (typeof started === "string") return started;
  const report = join(directory, "tests.json");
  const files = UNWIRED.has(name) ? CONTRACT : [...CONTRACT, ...WIRED];
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--project", "redis", ...reporters, ...files];
  // What is tested may not look at everything; the tests may.
  const look = name === "acl" ? { LOOK_URL: started.url.replace(/\/\/.*@/, "//") } : {};
  const totals = await totalsOf(report, process.execPath, vitest, { REDIS_URL: started.url, ...started.env, ...look });
  try {
    await started.close();
    return totals;
  } catch (error) {
    console.error(String(error));
    return { ...totals, numFailedTests: totals.numFailedTests + 1 };
  }
}

/** A run that wrote no report has failed as a whole. */
async function totalsOf(report: string, command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Totals> {
  const run = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: "inherit" });
  const onExit = () => run.kill("SIGTERM");
  process.once("exit", onExit);
  await once(run, "exit");
  process.off("exit", onExit);
  const text = await readFile(report, "utf8").catch(() => undefined);
  return text === undefined ? { numPassedTests: 0, numFailedTests: 1 } : (JSON.parse(text) as Totals);
}
