/**
 * A reporter of vitest for .ci/run: writes the totals and the failures to the file that REPORT names. vitest's own JSON leaves out how two values
 * differ, and errors that no test caught.
 */
import { writeFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import type { TestError } from "vitest";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  /** One text for each, which begins with the name of the test. */
  readonly failures?: readonly string[];
  /** Tests that passed when they were repeated. */
  readonly repeated?: readonly string[];
}

const FRAMES_MAX = 6;

export default class CiReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const failures: string[] = [];
    const repeated: string[] = [];
    let numPassedTests = 0;
    const tell = (where: string, errors: readonly SerializedError[]) => failures.push([where, ...errors.map(textOf)].join("\n"));
    for (const module of modules) {
      const file = module.relativeModuleId;
      if (module.errors().length > 0) tell(file, module.errors());
      else if (!["passed", "failed", "skipped"].includes(module.state())) tell(file, [{ message: "the file did not come to its end" }]);
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) tell(`${file} > ${suite.fullName}`, suite.errors());
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        if (state === "passed") numPassedTests += 1;
        if (state === "failed") tell(`${file} > ${test.fullName}`, errors);
        if (test.diagnostic()?.flaky) repeated.push(`${file} > ${test.fullName}`);
      }
    }
    for (const error of unhandled) tell("outside of any test", [error]);
    const report: Report = { numPassedTests, numFailedTests: failures.length, failures, repeated };
    writeFileSync(String(process.env["REPORT"]), JSON.stringify(report));
  }
}

/** The message, where it was thrown, how the values differ, and the same of its cause. */
function textOf({ name, message, stacks = [], diff, cause }: TestError): string {
  const frames = stacks.slice(0, FRAMES_MAX).map(({ method, file, line, column }) => `  at ${method} ${file}:${line}:${column}`);
  const parts = [`${name ?? "Error"}: ${message}`, ...frames, ...(diff ? [diff] : []), ...(cause ? [`caused by ${textOf(cause)}`] : [])];
  return stripVTControlCharacters(parts.join("\n"));
}
