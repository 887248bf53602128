/** Questions that people have put aside, in memory, with the rules of packages/redis/scripts/snooze. */
import { type Snooze, SNOOZES_MAX, type Snoozes, type SnoozingPerson } from "../ports/snoozes.ts";

export function createMemorySnoozes(): Snoozes {
  const people = new Map<string, Map<string, Snooze>>();
  const nameOf = ({ tenant, person }: SnoozingPerson) => JSON.stringify([tenant, person]);
  const idOf = ({ taskId, key }: Pick<Snooze, "taskId" | "key">) => `${taskId} ${key}`;
  return {
    async put(person, snooze, nowMs) {
      const all = new Map([...(people.get(nameOf(person)) ?? [])].filter(([, { untilMs }]) => untilMs > nowMs));
      people.set(nameOf(person), all);
      if (!all.has(idOf(snooze)) && all.size >= SNOOZES_MAX) return "full";
      all.set(idOf(snooze), snooze);
      return "snoozed";
    },
    async remove(person, ask) {
      people.get(nameOf(person))?.delete(idOf(ask));
    },
    async list(person, nowMs) {
      return [...(people.get(nameOf(person))?.values() ?? [])].filter(({ untilMs }) => untilMs > nowMs);
    },
  };
}
