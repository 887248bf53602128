/**
 * Calls that nobody made. Under a rule for approvals that says so, people are now and then asked to approve one whose right answer is no, to see whether they
 * look (docs/adr/0027-tests-of-approvers.md).
 *
 * Such a task is named like the tool with a suffix that no tool's name can have. So nothing runs the tool by it: no catalogue has a tool of that name, in
 * no version of Parley, and the handler that newer workers have for it only asks.
 */
import type { CallFacts } from "../task.ts";

const SUFFIX = "#test";

export function testName(name: string): string {
  return `${name}${SUFFIX}`;
}

export function isTestCall({ name }: Pick<CallFacts, "name">): boolean {
  return name.endsWith(SUFFIX);
}

/** What people read, as long as they have not answered: the tool's name. */
export function toolNameOf({ name }: Pick<CallFacts, "name">): string {
  return isTestCall({ name }) ? name.slice(0, -SUFFIX.length) : name;
}
