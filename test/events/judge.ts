/** What a receiver was told, beside what was acknowledged: nothing lost, nothing twice under two ids, and each task in its order. */
import { QUESTIONS } from "./tools.ts";
import type { Told } from "./receiver.ts";

/** The events of a task that was called, answered and seen to end. */
export function eventsOf(taskId: string): readonly Omit<Told, "id">[] {
  return [
    ...QUESTIONS.flatMap((key) => ["ask.opened", "ask.settled"].map((type) => ({ type, taskId, key }))),
    { type: "task.ended", taskId },
  ];
}

const nameOf = ({ type, taskId, key }: Omit<Told, "id">) => `${taskId} ${type} ${key ?? ""}`;

/** Returns what is wrong, a bounded number of lines. `mayMiss`: it was told that something is missing. */
export function judge(
  told: readonly Told[],
  {
    taskIds,
    types,
    mayMiss = false,
  }: { readonly taskIds: readonly string[]; readonly types?: readonly string[]; readonly mayMiss?: boolean },
): readonly string[] {
  const problems: string[] = [];
  const ids = new Map<string, string>();
  const last = new Map<string, bigint>();
  for (const each of told) {
    const name = nameOf(each);
    const before = ids.get(name);
    if (before !== undefined) problems.push(`${name} came under two ids: ${before}, ${each.id}`);
    ids.set(name, each.id);
    const order = orderOf(each.id);
    if (order < (last.get(each.taskId) ?? 0n)) problems.push(`${name} was overtaken`);
    last.set(each.taskId, order);
  }
  if (!mayMiss) {
    const expected = taskIds.flatMap(eventsOf).filter(({ type }) => types?.includes(type) ?? true);
    problems.push(...expected.filter((each) => !ids.has(nameOf(each))).map((each) => `${nameOf(each)} is lost`));
  }
  return problems.length > 10 ? [...problems.slice(0, 10), `… ${problems.length} in all`] : problems;
}

/** `<partition>-<ms>-<number>-<change>-<type>`: the place of the change in its partition, where a task always is. */
function orderOf(id: string): bigint {
  const [, ms = "0", number = "0", change = "0"] = id.split("-");
  return (BigInt(ms) * 2n ** 40n + BigInt(number)) * 4_096n + BigInt(change);
}
