/**
 * `npm run test:conformance`: the official suite against two front ends behind a proxy without affinity.
 *
 * The suite's own exit code is too kind: warnings and skips never count there, and a dead port passes half of it. So every check is read
 * from its report, a warning is a failure, the number of checks must be the full score, and known gaps are listed with their reason.
 * `--report FILE` writes the totals as JSON.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { once } from "node:events";
import { startDeployment } from "../support/deployment.ts";
import { startSharedRedis } from "../support/shared-redis.ts";

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

interface KnownGap {
  readonly group: string;
  readonly check: string;
  readonly reason: string;
}

const root = resolve(import.meta.dirname, "../..");
const knownGaps = JSON.parse(readFileSync(join(import.meta.dirname, "known-gaps.json"), "utf8")) as readonly KnownGap[];

const TASK_SCENARIOS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-status-notifications",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];

/** `checks`: how many must succeed, the suite's own schema check of each scenario included. */
const GROUPS = [
  { name: "2026-07-28", runs: [["--suite", "all", "--spec-version", "2026-07-28"]], checks: 152 },
  { name: "tasks", runs: TASK_SCENARIOS.map((scenario) => ["--scenario", scenario]), checks: 44 },
];

const shared = await startSharedRedis();
const deployment = await startDeployment({
  redisUrl: shared.url,
  tools: [join(import.meta.dirname, "fixture/index.ts")],
  env: { PARLEY_LOG_LEVEL: "info" },
});
const out = mkdtempSync(join(tmpdir(), "parley-conformance-"));
let passed = 0;
let failed = 0;
try {
  for (const { name, runs, checks: fullScore } of GROUPS) {
    const directory = join(out, name);
    for (const args of runs) await suite([...args, "--url", deployment.url, "-o", directory]);
    const { succeeded, problems } = judge(name, directory);
    passed += succeeded;
    // Fewer checks than there are: a scenario threw or was never run, and left no report.
    if (succeeded + problems.length < fullScore) problems.push(`only ${succeeded} of ${fullScore} checks succeeded`);
    failed += problems.length;
    console.log(`${name}: ${succeeded} of ${fullScore} checks${problems.map((problem) => `\n  ${problem}`).join("")}`);
  }
  const served = deployment.proxy.counts;
  console.log(`requests by front end: ${served.join(", ")}`);
  if (served.some((count) => count === 0)) failed += 1;
} finally {
  await deployment.close();
  await shared.close();
  rmSync(out, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
const report = process.argv[process.argv.indexOf("--report") + 1];
if (process.argv.includes("--report") && report !== undefined) {
  writeFileSync(report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
}
process.exitCode = failed === 0 ? 0 : 1;

async function suite(args: readonly string[]): Promise<void> {
  const child = spawn(join(root, "node_modules/.bin/conformance"), ["server", ...args], { cwd: root, stdio: "ignore", timeout: 300_000 });
  await once(child, "exit");
}

function judge(group: string, directory: string): { succeeded: number; problems: string[] } {
  let succeeded = 0;
  const problems: string[] = [];
  for (const scenario of readdirSync(directory)) {
    const checks = JSON.parse(readFileSync(join(directory, scenario, "checks.json"), "utf8")) as readonly Check[];
    for (const { id, status, errorMessage } of checks) {
      if (status === "SUCCESS") succeeded += 1;
      else if (status !== "INFO" && !knownGaps.some((gap) => gap.group === group && gap.check === id)) {
        problems.push(`${status} ${id} in ${scenario}: ${errorMessage ?? ""}`);
      }
    }
  }
  return { succeeded, problems };
}
