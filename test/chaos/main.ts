/**
 * The chaos suite's command line. Exits with 0 exactly when nothing was broken.
 *
 *   npm run test:chaos -- [--lifecycles N] [--seed N] [--people N] [--fsync always|everysec] [--keep] [--report FILE]
 *   npm run test:chaos -- --races N [--seed N] [--history FILE] [--report FILE]
 *
 * --keep tells each fault and leaves the servers' directory behind; --report writes vitest's totals, for .ci/run.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { FAULTS } from "./faults.ts";
import { race } from "./races/race.ts";
import { runChaos } from "./run.ts";
import { RULES } from "./story.ts";
import { startSingle } from "./topology.ts";

const { values } = parseArgs({
  options: {
    lifecycles: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    people: { type: "string", default: "24" },
    fsync: { type: "string", default: "always" },
    keep: { type: "boolean", default: false },
    races: { type: "string" },
    history: { type: "string" },
    report: { type: "string" },
  },
});

// Ends in the way that takes all processes along.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

const seed = Number(values.seed);
const fsync = values.fsync === "everysec" ? "everysec" : "always";
const topology = (directory: string) => startSingle({ directory, fsync });
const progress = (line: string) => console.log(`${new Date().toISOString().slice(11, 23)}  ${line}`);

const broken = values.races === undefined ? await chaos() : await races(Number(values.races));
process.exit(broken === 0 ? 0 : 1);

async function chaos(): Promise<number> {
  const lifecycles = Number(values.lifecycles);
  const people = Number(values.people);
  const limitMs = 120_000 + lifecycles * 250;
  const { keep } = values;
  const report = await runChaos({ seed, lifecycles, people, frontEnds: 3, workers: 3, weights: FAULTS, limitMs, keep, topology, progress });
  const { findings, faults, ...facts } = report;
  print(facts, faults);
  console.log(`findings           ${findings.length}`);
  for (const { rule, where, what } of findings.slice(0, 40)) console.log(`  ${rule}: ${where}: ${what}`);
  // Each rule is a test.
  const rules = new Set(findings.map(({ rule }) => rule)).size;
  await writeReport(Object.keys(RULES).length - rules, rules);
  return findings.length;
}

async function races(answers: number): Promise<number> {
  const report = await race({ seed, answers, limitMs: 120_000 + answers * 10, topology, progress, history: values.history });
  const { violations, faults, ...facts } = report;
  print(facts, faults);
  console.log(`violations         ${violations.length}`);
  for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`);
  await writeReport(violations.length === 0 ? 1 : 0, violations.length === 0 ? 0 : 1);
  return violations.length;
}

function print(...facts: readonly object[]): void {
  for (const [name, value] of facts.flatMap((each) => Object.entries(each))) console.log(`${name.padEnd(18)} ${value}`);
}

async function writeReport(numPassedTests: number, numFailedTests: number): Promise<void> {
  if (values.report !== undefined) await writeFile(values.report, JSON.stringify({ numPassedTests, numFailedTests }));
}
