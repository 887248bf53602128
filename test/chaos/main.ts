/**
 * npm run test:chaos -- [--lifecycles N] [--seed N] [--people N] [--fsync always|everysec] [--report FILE] [--keep]
 *
 * --keep tells each fault and leaves the servers' directory behind.
 * Exits with 0 exactly when no rule was broken.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { FAULTS } from "./faults.ts";
import { type ChaosReport, runChaos } from "./run.ts";
import { RULES, type Rule } from "./story.ts";
import { startSingle } from "./topology.ts";

const { values } = parseArgs({
  options: {
    lifecycles: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    people: { type: "string", default: "24" },
    fsync: { type: "string", default: "always" },
    report: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});

// Ends in the way that takes all processes along.
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

const lifecycles = Number(values.lifecycles);
const report = await runChaos({
  seed: Number(values.seed),
  lifecycles,
  people: Number(values.people),
  frontEnds: 3,
  workers: 3,
  weights: FAULTS,
  limitMs: 120_000 + lifecycles * 250,
  keep: values.keep,
  progress: (line) => console.log(`${new Date().toISOString().slice(11, 23)}  ${line}`),
  topology: (directory) => startSingle({ directory, fsync: values.fsync === "everysec" ? "everysec" : "always" }),
});
print(report);
if (values.report !== undefined) await writeFile(values.report, JSON.stringify(asTestReport(report)));
process.exit(report.findings.length === 0 ? 0 : 1);

function print({ findings, faults, ...facts }: ChaosReport): void {
  for (const [name, value] of Object.entries(facts)) console.log(`${name.padEnd(18)} ${value}`);
  for (const [fault, count] of Object.entries(faults)) console.log(`${fault.padEnd(18)} ${count}`);
  console.log(`${"findings".padEnd(18)} ${findings.length}`);
  for (const { rule, where, what } of findings.slice(0, 40)) console.log(`  ${rule}: ${where}: ${what}`);
}

/** In the form of vitest's totals, for .ci/run: each rule is a test. */
function asTestReport({ findings }: ChaosReport): object {
  const broken = new Set<Rule>(findings.map(({ rule }) => rule));
  return { numPassedTests: Object.keys(RULES).length - broken.size, numFailedTests: broken.size };
}
