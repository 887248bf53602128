/**
 * The simulation's command line. Exits with 0 exactly when no rule was broken.
 *
 *   npm run test:simulation -- [--cases N] [--seed N] [--threads N] [--rules a,b] [--stop] [--report FILE]
 *   npm run test:simulation -- --seed N --only [--rules a,b]
 *   npm run test:simulation -- --known
 *   npm run test:simulation -- --planted
 *
 * The seeds of a run count from --seed. A line after every 5,000 cases of a thread says which seeds are done. SIGINT and SIGTERM end the run
 * after the case that it is at, with the totals of the cases before it: another run can continue with the next seed.
 * --only runs the one case of --seed again, makes it small if it fails, and tells all of the small one.
 * --rules looks at these rules alone; --stop ends at the first failing case.
 * --known runs the handlers that replay once got wrong; --planted breaks copies of the code and expects to find out.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { describeProgram } from "./describe.ts";
import { KNOWN_HANDLERS, schedulesUntilBroken } from "./known-handlers.ts";
import { plantAll } from "./planted/plant.ts";
import { type Rule, RULES, type Violation } from "./rules.ts";
import { runCases, type Summary } from "./run-cases.ts";
import { shrink } from "./shrink.ts";
import { simulateKept, simulateSeed, type Verdict } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "300000" },
    seed: { type: "string", default: "1" },
    threads: { type: "string", default: "1" },
    rules: { type: "string" },
    stop: { type: "boolean", default: false },
    only: { type: "boolean", default: false },
    known: { type: "boolean", default: false },
    planted: { type: "boolean", default: false },
    report: { type: "string" },
  },
});

const seed = Number(values.seed);
const rules = rulesOf(values.rules?.split(","));
const SHOWN = 3;
const KNOWN_SCHEDULES = 5_000;

// Promises that are rejected first and heard later are part of what is tried.
process.on("rejectionHandled", () => undefined);
const run = values.only ? one : values.known ? known : values.planted ? planted : many;
process.exit((await run()) ? 0 : 1);

function rulesOf(names: readonly string[] | undefined): readonly Rule[] {
  const all = Object.keys(RULES) as Rule[];
  const unknown = names?.find((name) => !(name in RULES));
  if (unknown !== undefined) throw new Error(`no rule "${unknown}"; there are ${all.join(", ")}`);
  return names === undefined ? all : all.filter((rule) => names.includes(rule));
}

async function many(): Promise<boolean> {
  const request = { cases: Number(values.cases), seed, threads: Number(values.threads), rules, stop: values.stop };
  const stopped = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());
  const progress = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`);
  const { found, ...facts } = await runCases(request, { progress, signal: stopped.signal });
  for (const [name, value] of Object.entries(facts))
    console.log(`${name.padEnd(18)} ${typeof value === "object" ? JSON.stringify(value) : value}`);
  for (const [rule, { cases, seeds }] of Object.entries(found))
    console.log(`broken             ${rule}: ${cases} cases, seeds ${seeds.join(", ")} …`);
  for (const [rule, { seeds }] of Object.entries(found).slice(0, SHOWN)) await explain(seeds[0] ?? seed, rule as Rule);
  // Each rule is a test. A run that was stopped has not passed them: CI counts a missing report as failed.
  const failed = Object.keys(found).length;
  if (!stopped.signal.aborted) await writeReport({ numPassedTests: rules.length - failed, numFailedTests: failed, found });
  return Object.keys(found).length === 0;
}

async function one(): Promise<boolean> {
  const verdict = await simulateSeed(seed);
  const broken = verdict.violations.filter(({ rule }) => rules.includes(rule));
  console.log(describeProgram(verdict.program));
  console.log(verdict.facts);
  if (broken.length === 0) {
    await simulateSeed(seed, (line) => console.log(line));
    return true;
  }
  for (const { rule, what } of broken) console.log(`${rule}: ${what}`);
  const small = await explain(seed, (broken[0] as Violation).rule);
  await simulateKept(small.program, small.choices, (line) => console.log(line));
  return false;
}

async function known(): Promise<boolean> {
  let broken = 0;
  for (const { finding, name, program, breaks } of KNOWN_HANDLERS) {
    const after = await schedulesUntilBroken(program, { rules: breaks, schedules: KNOWN_SCHEDULES });
    const any = await schedulesUntilBroken(program, { rules, schedules: KNOWN_SCHEDULES });
    if (any !== undefined) broken += 1;
    const how = after === undefined ? "holds" : `${breaks.join(" or ")} broken by schedule ${after}`;
    console.log(`finding ${finding}, ${name}: ${how}${any === undefined ? "" : `, something by schedule ${any}`}`);
  }
  await writeReport({ numPassedTests: KNOWN_HANDLERS.length - broken, numFailedTests: broken });
  return broken === 0;
}

async function planted(): Promise<boolean> {
  const outcomes = await plantAll((line) => console.log(line));
  const missed = outcomes.filter(({ foundAfter }) => foundAfter === undefined).length;
  console.log(`${outcomes.length - missed} of ${outcomes.length} found`);
  await writeReport({ numPassedTests: outcomes.length - missed, numFailedTests: missed });
  return missed === 0;
}

/** Tells the small form of a failing case. */
async function explain(failingSeed: number, rule: Rule): Promise<Verdict> {
  const { verdict, tries } = await shrink(await simulateSeed(failingSeed), rule);
  console.log(`\nseed ${failingSeed}, ${rule}: ${RULES[rule]}; made small in ${tries} tries:`);
  console.log(describeProgram(verdict.program));
  for (const violation of verdict.violations.filter((each) => each.rule === rule).slice(0, 2)) console.log(`  ${violation.what}`);
  console.log(`  program  ${JSON.stringify(verdict.program)}\n  schedule ${JSON.stringify(verdict.choices)}`);
  return verdict;
}

async function writeReport(totals: {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly found?: Summary["found"];
}): Promise<void> {
  if (values.report !== undefined) await writeFile(values.report, JSON.stringify(totals));
}
