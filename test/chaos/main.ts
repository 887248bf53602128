/**
 * The chaos suite's command line. Exits with 0 only if no rule was broken.
 *
 *   npm run test:chaos -- [--lifecycles N] [--seed N] [--people N] [--topology NAME] [--faults a,b] [--limit SECONDS] [--guarded] [--keep]
 *   npm run test:chaos -- --approvals N [--seed N] [--people N] [--topology NAME] [--faults a,b] [--limit SECONDS]
 *   npm run test:chaos -- --races N [--seed N] [--history FILE]
 *   npm run test:chaos -- --sabotage
 *
 * --guarded: callers have tokens and content is encrypted, with keys that are rotated during the run.
 * --keep prints each fault and keeps the servers' directory; --report FILE writes vitest's totals, for .ci/run.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { startTopology, TOPOLOGIES } from "../topologies/topologies.ts";
import { RULES as APPROVAL_RULES } from "./approvals/judge.ts";
import { runApprovalChaos } from "./approvals/run.ts";
import { FAULTS, type FaultWeights } from "./faults.ts";
import { race } from "./races/race.ts";
import { runChaos } from "./run.ts";
import { sabotageAll } from "./sabotage/sabotage.ts";
import { RULES } from "./story.ts";
import { PREFIX } from "./system.ts";

const { values } = parseArgs({
  options: {
    lifecycles: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    people: { type: "string", default: "24" },
    topology: { type: "string", default: "always" },
    faults: { type: "string" },
    limit: { type: "string" },
    guarded: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    approvals: { type: "string" },
    races: { type: "string" },
    history: { type: "string" },
    sabotage: { type: "boolean", default: false },
    report: { type: "string" },
  },
});

// One listener for each process of the run.
process.setMaxListeners(0);
// Ends in the way that takes all processes along.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

const seed = Number(values.seed);
const name = TOPOLOGIES.find((each) => each === values.topology);
if (name === undefined) throw new Error(`no topology "${values.topology}"; there are ${TOPOLOGIES.join(", ")}`);
const topology = (directory: string) => startTopology(name, directory, PREFIX);
const progress = (line: string) => console.log(`${new Date().toISOString().slice(11, 23)}  ${line}`);

const run = chosen();
process.exit((await run()) === 0 ? 0 : 1);

function chosen(): () => Promise<number> {
  if (values.sabotage) return sabotage;
  if (values.approvals !== undefined) return () => approvals(Number(values.approvals));
  return values.races === undefined ? chaos : () => races(Number(values.races));
}

async function approvals(calls: number): Promise<number> {
  const limitMs = values.limit === undefined ? 120_000 + calls * 1_000 : Number(values.limit) * 1_000;
  const weights = weightsOf(values.faults?.split(","));
  const report = await runApprovalChaos({ seed, calls, people: Number(values.people), weights, limitMs, topology, progress });
  const { findings, faults, ...facts } = report;
  print(facts, faults);
  console.log(`findings           ${findings.length}`);
  for (const { rule, where, what } of findings.slice(0, 40)) console.log(`  ${rule}: ${where}: ${what}`);
  const failed = new Set(findings.map(({ rule }) => rule)).size;
  await writeReport({ numPassedTests: Math.max(0, APPROVAL_RULES.length - failed), numFailedTests: failed });
  return findings.length;
}

async function chaos(): Promise<number> {
  const lifecycles = Number(values.lifecycles);
  const people = Number(values.people);
  const limitMs = values.limit === undefined ? 120_000 + lifecycles * 1_000 : Number(values.limit) * 1_000;
  const { keep, guarded } = values;
  const weights = weightsOf(values.faults?.split(","));
  const report = await runChaos({
    seed,
    lifecycles,
    people,
    frontEnds: 3,
    workers: 3,
    weights,
    limitMs,
    guarded,
    keep,
    topology,
    progress,
  });
  const { findings, faults, ...facts } = report;
  print(facts, faults);
  console.log(`findings           ${findings.length}`);
  for (const { rule, where, what } of findings.slice(0, 40)) console.log(`  ${rule}: ${where}: ${what}`);
  const found = Object.fromEntries([...Map.groupBy(findings, ({ rule }) => rule)].map(([rule, each]) => [rule, each.length]));
  // Each rule is a test.
  const failed = Object.keys(found).length;
  await writeReport({ numPassedTests: Object.keys(RULES).length - failed, numFailedTests: failed, found });
  return findings.length;
}

function weightsOf(names: readonly string[] | undefined): FaultWeights {
  const unknown = names?.find((name) => !(name in FAULTS));
  if (unknown !== undefined) throw new Error(`no fault "${unknown}"; there are ${Object.keys(FAULTS).join(", ")}`);
  return Object.fromEntries(Object.entries(FAULTS).filter(([name]) => names?.includes(name) ?? true));
}

async function races(answers: number): Promise<number> {
  const report = await race({ seed, answers, limitMs: 120_000 + answers * 150, topology, progress, history: values.history });
  const { violations, faults, ...facts } = report;
  print(facts, faults);
  console.log(`violations         ${violations.length}`);
  for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`);
  await writeReport({ numPassedTests: violations.length === 0 ? 1 : 0, numFailedTests: violations.length === 0 ? 0 : 1 });
  return violations.length;
}

async function sabotage(): Promise<number> {
  const outcomes = await sabotageAll(progress);
  const missed = outcomes.filter(({ caught }) => !caught).length;
  console.log(`${outcomes.length - missed} of ${outcomes.length} sabotages caught`);
  await writeReport({ numPassedTests: outcomes.length - missed, numFailedTests: missed });
  return missed;
}

function print(...facts: readonly object[]): void {
  for (const [name, value] of facts.flatMap((each) => Object.entries(each))) console.log(`${name.padEnd(18)} ${value}`);
}

async function writeReport(report: {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly found?: object;
}): Promise<void> {
  if (values.report !== undefined) await writeFile(values.report, JSON.stringify(report));
}
