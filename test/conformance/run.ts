/**
 * `npm run test:conformance`: runs the official suite against two front ends behind a proxy without affinity, two workers, and the
 * fixture's tools.
 *
 *   --report <file>   writes the totals as JSON, in vitest's format
 *   --scenario <name> runs only that scenario, with the suite's output
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startDeployment } from "../support/deployment.ts";
import { startSharedRedis } from "../support/shared-redis.ts";
import { type Check, type Expected, failing, type Gap, readChecks, score } from "./score.ts";

interface Group extends Expected {
  readonly name: string;
  /** Arguments of every run. */
  readonly always: readonly string[];
  /** Arguments of each run of the suite. */
  readonly runs: readonly (readonly string[])[];
}

// The suite never selects these by --spec-version; they are run by name.
const TASKS = ["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers"].concat([
  "dispatch-and-envelope",
  "status-notifications",
  "required-task-error",
  "mrtr-composition",
]);

/** The full scores of 0.2.0-alpha.12, which other servers have reached. */
const GROUPS: readonly Group[] = [
  { name: "2025-11-25", always: ["--spec-version", "2025-11-25"], runs: [["--suite", "all"]], scenarios: 33, checks: 84 },
  { name: "2026-07-28", always: ["--spec-version", "2026-07-28"], runs: [["--suite", "all"]], scenarios: 40, checks: 152 },
  { name: "tasks", always: [], runs: TASKS.map((name) => ["--scenario", `tasks-${name}`]), scenarios: 10, checks: 44 },
];

/** The suite waits 500 ms for many a reply. On a machine that is busy with something else one comes late now and then, a wrong one comes each time. */
const TRIES = 3;

const { values } = parseArgs({ options: { report: { type: "string" }, scenario: { type: "string" } } });
const gaps = JSON.parse(await readFile(join(import.meta.dirname, "known-gaps.json"), "utf8")) as Gap[];
const reports = await mkdtemp(join(tmpdir(), "parley-conformance-"));
const redis = await startSharedRedis();
const deployment = await startDeployment({ tools: [join(import.meta.dirname, "fixture/index.ts")], redisUrl: redis.url });
try {
  await assertAnswers(deployment.url);
  if (values.scenario === undefined) await runGroups(deployment.url);
  else process.stdout.write(await suite(deployment.url, ["--scenario", values.scenario, "--verbose"], reports));
} finally {
  await deployment.close();
  await redis.close();
  await rm(reports, { recursive: true, force: true });
}

async function runGroups(url: string): Promise<void> {
  let passed = 0;
  let failed = 0;
  for (const { name, always, runs, ...expected } of GROUPS) {
    const checks = new Map<string, readonly Check[]>();
    let left: readonly (readonly string[])[] = runs;
    for (let attempt = 1; attempt <= TRIES && left.length > 0; attempt += 1) {
      const directory = join(reports, `${name}-${attempt}`);
      for (const args of left) await suite(url, [...args, ...always], directory);
      for (const [scenario, made] of await readChecks(directory)) checks.set(scenario, made);
      const again = failing(checks, gaps);
      if (again.length > 0 && attempt < TRIES) console.log(`${name}: once more: ${again.join(", ")}`);
      left = again.map((scenario) => ["--scenario", scenario]);
    }
    const result = score(checks, expected, gaps);
    console.log(`${name}: ${result.scenarios} of ${expected.scenarios} scenarios, ${result.passed} of ${expected.checks} checks passed`);
    for (const line of result.failures) console.log(`  ✗ ${line}`);
    for (const line of result.allowed) console.log(`  ~ ${line}`);
    passed += result.passed;
    failed += result.failures.length;
  }
  const { counts } = deployment.proxy;
  console.log(`requests by front end: ${counts.join(", ")}`);
  if (counts.includes(0)) failed += 1;
  console.log(`${passed} passed, ${failed} failed`);
  if (values.report !== undefined) await writeFile(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
  process.exitCode = failed === 0 ? 0 : 1;
}

/** What the suite prints. Its exit code says less than its reports, which are read afterwards. */
function suite(url: string, args: readonly string[], directory: string): Promise<string> {
  const bin = resolve(import.meta.dirname, "../../node_modules/.bin/conformance");
  return new Promise((done) => {
    execFile(bin, ["server", "--url", url, ...args, "-o", directory], { maxBuffer: 64 * 1_024 * 1_024 }, (_error, stdout) => done(stdout));
  });
}

/** The suite's own schema check passes when nobody answers, so somebody must be known to. */
async function assertAnswers(url: string): Promise<void> {
  const revision = "2026-07-28";
  const meta = { "io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {} };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": revision,
      "mcp-method": "server/discover",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: meta } }),
  });
  const body = await response.text();
  if (!body.includes('"supportedVersions"')) throw new Error(`the server does not answer server/discover: ${response.status} ${body}`);
}
