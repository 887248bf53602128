/**
 * Which code runs a task. A tool may exist in several versions: calls go to the newest, and a task keeps the version
 * that it was created with.
 */
import type { Tool } from "../catalogue.ts";
import type { CallFacts } from "../task.ts";

/**
 * Compares numbers in versions as numbers: `"10"` is newer than `"9"`, `"1.10"` than `"1.9"`. A tool without a
 * version is older than all others.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 0 : 1) - (b === undefined ? 0 : 1);
  return COLLATOR.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** All served versions of a tool, newest first. */
export function versionsOf(tool: Tool): readonly Tool[] {
  return [tool, ...(tool.older ?? [])];
}

/**
 * The served version that runs a task; undefined if the task's own version is not served. A task that was created
 * before its tool had versions runs on the tool without a version, or else on the oldest. An author can therefore
 * give today's code a version and change nothing else.
 */
export function versionFor(tool: Tool, { version }: Pick<CallFacts, "version">): Tool | undefined {
  const all = versionsOf(tool);
  return version === undefined ? all.at(-1) : all.find((each) => each.version === version);
}

/** Which versions the live workers serve. */
export interface Serving {
  /** Whether a live worker has announced that it serves this version. */
  isServed(tool: string, version: string): Promise<boolean>;
}
