/**
 * Which code runs a task. A tool may be there in several versions: calls go to the newest, and a task keeps the version that it was made with.
 */
import type { Tool } from "./catalogue.ts";
import type { CallFacts } from "./task.ts";

/** Numbers in them count as numbers: `"10"` is newer than `"9"`, `"1.10"` than `"1.9"`. A tool without a version is older than every other. */
export function compareVersions(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 0 : 1) - (b === undefined ? 0 : 1);
  return COLLATOR.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** All versions of a tool that are there, the newest first. */
export function versionsOf(tool: Tool): readonly Tool[] {
  return [tool, ...(tool.older ?? [])];
}

/**
 * The version that a task runs on, of those that are there; undefined where its own is not among them. A task that was made before its tool had
 * versions runs on the tool without one, or else on the oldest: so an author gives the code of today a version and changes nothing else.
 */
export function versionFor(tool: Tool, { version }: Pick<CallFacts, "version">): Tool | undefined {
  const all = versionsOf(tool);
  return version === undefined ? all.at(-1) : all.find((each) => each.version === version);
}

/** Who serves which versions. */
export interface Serving {
  /** Whether some worker that lives serves it, as far as workers have said. */
  isServed(tool: string, version: string): Promise<boolean>;
}
