/**
 * Reads the official suite's reports strictly. The suite's exit code ignores warnings, skips, scenarios that never ran, and a server that
 * never answered; this does not.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** A check that we know to fail, and why it may. */
export interface Gap {
  readonly scenario: string;
  readonly check: string;
  readonly reason: string;
}

export interface Expected {
  readonly scenarios: number;
  /** Checks that must succeed for the full score. */
  readonly checks: number;
}

export interface Score {
  readonly scenarios: number;
  readonly passed: number;
  /** What stands between this run and the full score, a line each. */
  readonly failures: readonly string[];
  /** Failures that known-gaps.json allows. */
  readonly allowed: readonly string[];
}

/** Reads `<directory>/server-<scenario>-<time>/checks.json` of every scenario that was run. */
export async function readChecks(directory: string): Promise<Map<string, readonly Check[]>> {
  const scenarios = new Map<string, readonly Check[]>();
  for (const folder of (await readdir(directory).catch(() => [])).toSorted()) {
    const scenario = /^server-(.+?)-\d{4}-\d{2}-\d{2}T/.exec(folder)?.[1];
    if (scenario === undefined) continue;
    const checks = JSON.parse(await readFile(join(directory, folder, "checks.json"), "utf8")) as Omit<Check, "scenario">[];
    scenarios.set(
      scenario,
      checks.map((check) => ({ ...check, scenario })),
    );
  }
  return scenarios;
}

export function score(scenarios: ReadonlyMap<string, readonly Check[]>, expected: Expected, gaps: readonly Gap[]): Score {
  const checks = [...scenarios.values()].flat();
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  const bad = checks.filter(isBad);
  const gapOf = (check: Check) => gaps.find(covers(check));
  const say = ({ scenario, id, status, errorMessage }: Check) => `${scenario} ${id}: ${status.toLowerCase()} ${errorMessage ?? ""}`.trim();

  const failures = bad.filter((check) => !gapOf(check)).map(say);
  const allowed = bad.flatMap((check) => {
    const gap = gapOf(check);
    return gap ? [`${say(check)} (known: ${gap.reason})`] : [];
  });
  for (const gap of gaps) {
    const closed = checks.some((check) => gapOf(check) === gap) && !bad.some((check) => gapOf(check) === gap);
    if (closed) failures.push(`${gap.scenario} ${gap.check}: passes now, take it off known-gaps.json`);
  }
  // A scenario that threw writes no report, and a check that was never made fails nowhere.
  if (scenarios.size < expected.scenarios)
    failures.push(`${expected.scenarios - scenarios.size} of ${expected.scenarios} scenarios left no report`);
  const missing = expected.checks - checks.filter(({ status }) => status !== "INFO" && status !== "SKIPPED").length;
  if (missing > 0) failures.push(`${missing} of ${expected.checks} checks were not made`);
  return { scenarios: scenarios.size, passed, failures, allowed };
}

/** Scenarios that stand between this run and the full score. */
export function failing(scenarios: ReadonlyMap<string, readonly Check[]>, gaps: readonly Gap[]): readonly string[] {
  return [...scenarios].flatMap(([name, checks]) => (checks.some((check) => isBad(check) && !gaps.some(covers(check))) ? [name] : []));
}

function isBad({ status }: Check): boolean {
  return status !== "SUCCESS" && status !== "INFO";
}

function covers({ scenario, id }: Check): (gap: Gap) => boolean {
  return (gap) => gap.scenario === scenario && gap.check === id;
}
