/**
 * The end of .ci/run: `node summary.ts DIRECTORY`. Repeats what has failed, within a number of lines that readers of the last lines of a log see, and
 * prints the totals of all suites as the last line. The exit code is 0 exactly if nothing failed.
 *
 * DIRECTORY has a report `SUITE.json` for each suite, the logs `STEP.log`, and `failed-steps` and `seconds`, a step on each line.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "./reporter.ts";

const SUITES = [
  "kubernetes",
  "test",
  "e2e",
  "simulation",
  "new-cases",
  "fuzz",
  "attack",
  "cluster",
  "chaos",
  "guarded-chaos",
  "approval-chaos",
  "races",
  "soak",
  "flat",
  "events",
  "newcomer",
  "servers",
  "conformance",
];
const LINES_MAX = 180;
const LINE_CHARS_MAX = 1_000;
/** Of the end of each failed step's log. */
const LOG_LINES_MAX = 50;

const [directory = "."] = process.argv.slice(2);
const read = (name: string) => (existsSync(join(directory, name)) ? readFileSync(join(directory, name), "utf8") : undefined);
const linesOf = (name: string) => (read(name) ?? "").split("\n").filter((line) => line !== "");

let passed = 0;
let failed = 0;
const failures: string[] = [];
const repeated: string[] = [];
for (const suite of SUITES) {
  const text = read(`${suite}.json`);
  // A suite that wrote no report counts as failed.
  const report = text === undefined ? { numPassedTests: 0, numFailedTests: 1, failures: ["no report"] } : (JSON.parse(text) as Report);
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  const texts = report.failures ?? (report.numFailedTests > 0 ? [`${report.numFailedTests} failed`] : []);
  failures.push(...texts.map((each) => `✗ ${suite}: ${each}`));
  repeated.push(...(report.repeated ?? []).map((test) => `↻ ${suite}: ${test} passed when it was repeated`));
}
// A step can fail without a failed test: the set-up, the checks, a crash.
const steps = linesOf("failed-steps");
failed = Math.max(failed, steps.length);

const logs = steps.map((step) => {
  const lines = (read(`${step}.log`) ?? "").trimEnd().split("\n");
  return [`✗ the step "${step}" failed; the end of what it printed:`, ...lines.slice(-LOG_LINES_MAX).map((line) => `  ${line}`)].join("\n");
});
for (const line of bounded([...repeated, ...logs, ...failures])) console.log(line);
const seconds = linesOf("seconds").toSorted((one, other) => Number.parseInt(other, 10) - Number.parseInt(one, 10));
if (seconds.length > 0) console.log(`longest: ${seconds.join(", ")}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Each text gets as many lines as there are for it, and what it does not need is for those that follow. */
function bounded(texts: readonly string[]): string[] {
  const out: string[] = [];
  for (const [index, text] of texts.entries()) {
    const lines = text.split("\n").map((line) => (line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)} …` : line));
    const room = Math.floor((LINES_MAX - out.length) / (texts.length - index));
    if (out.length >= LINES_MAX - 1) return [...out, `… and ${texts.length - index} more, see above`];
    if (lines.length <= Math.max(1, room)) out.push(...lines);
    else out.push(...lines.slice(0, Math.max(1, room - 1)), ...(room > 1 ? [`  … ${lines.length - room + 1} more lines, see above`] : []));
  }
  return out;
}
