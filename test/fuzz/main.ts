/**
 * The fuzzers' command line. Exits with 0 only if no rule was broken.
 *
 *   npm run test:fuzz -- [--requests N] [--seed N] [--door a,b] [--lanes N] [--report FILE]
 *   npm run test:fuzz -- --door NAME --seed N --path PATH      repeats one finding, and nothing else
 *
 * --requests is the number for each door; 2,000 by default. --lanes is the number of lanes at each door, whose seeds count from --seed.
 * --report writes vitest's totals, for .ci/run. SIGINT or SIGTERM ends a run early, with its report; a second one ends it at once.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { DOORS } from "./doors/index.ts";
import type { Finding } from "./drive.ts";
import { REPLY_RULES, RUN_RULES } from "./rules.ts";
import { runFuzz } from "./run.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    door: { type: "string" },
    path: { type: "string" },
    lanes: { type: "string", default: "1" },
    report: { type: "string" },
  },
});

// One listener for each process of the run.
process.setMaxListeners(0);
const end = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    // Ends in the way that takes all processes along.
    if (end.signal.aborted) process.exit(1);
    end.abort();
  });
}

const names = values.door?.split(",") ?? DOORS.map(({ name }) => name);
const unknown = names.find((name) => DOORS.every((door) => door.name !== name));
if (unknown !== undefined) throw new Error(`no door "${unknown}"; there are ${DOORS.map(({ name }) => name).join(", ")}`);
if (values.path !== undefined && names.length !== 1) throw new Error("--path is of one door: name it by --door");

const { findings, runFindings, facts } = await runFuzz({
  doors: DOORS.filter(({ name }) => names.includes(name)),
  requests: Number(values.requests),
  seed: Number(values.seed),
  path: values.path,
  lanes: Number(values.lanes),
  progress: (line) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`),
  found: tell,
  end: end.signal,
});

for (const [name, value] of Object.entries(facts)) console.log(`${name.padEnd(18)} ${value}`);
for (const { rule, what } of runFindings) console.log(`\n${rule}: ${RUN_RULES[rule]}\n  ${what}`);

// Each door is a test, and each rule of the run.
const failed = new Set([...findings.map(({ door }) => door), ...runFindings.map(({ rule }) => rule)]).size;
const passed = names.length + Object.keys(RUN_RULES).length - failed;
console.log(`\n${passed} passed, ${failed} failed`);
if (values.report !== undefined) await writeFile(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
process.exit(failed === 0 ? 0 : 1);

/** As soon as it is found: a run may take hours. */
function tell({ door, rule, kind, changes, what, seed, path, shrunk, shrinks }: Finding): void {
  console.log(`\n${door}: ${rule}: ${REPLY_RULES[rule]}`);
  console.log(`  request  ${[kind, ...changes].join(" + ")}`);
  console.log(`  ${what}`);
  console.log(`  case     ${shrunk}`);
  console.log(`  again    npm run test:fuzz -- --door ${door} --seed ${seed} --path ${path}    (shrunk in ${shrinks} steps)\n`);
}
