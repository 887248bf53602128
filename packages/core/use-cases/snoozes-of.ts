/** What a person has put aside, as lists and pages need it (snooze-ask.ts). */
import { type Caller, DEFAULT_TENANT, personOf } from "../callers/caller.ts";
import { isAddressed } from "../callers/seats.ts";
import type { Snooze, SnoozingPerson } from "../ports/snoozes.ts";
import type { Ask } from "../task.ts";
import type { Services } from "./services.ts";

/** When and until when the caller has put an ask aside; undefined if they have not, or it has changed since. */
export type SnoozeOf = (taskId: string, ask: Ask) => Pick<Snooze, "sinceMs" | "untilMs"> | undefined;

/** What the caller has put aside. One read, of as many as there can be. */
export async function snoozesOf(
  { snoozes, clock }: Pick<Services, "snoozes" | "clock">,
  caller: Caller,
): Promise<{ readonly all: readonly Snooze[]; readonly of: SnoozeOf }> {
  const all = snoozes ? await snoozes.list(personOfCaller(caller), clock.now()) : [];
  const known = new Map(all.map((snooze) => [`${snooze.taskId} ${snooze.key}`, snooze]));
  return {
    all,
    of(taskId, ask) {
      const snooze = known.get(`${taskId} ${ask.key}`);
      return snooze?.seen === seenOf(caller, ask) ? snooze : undefined; // S3
    },
  };
}

/** What of a question brings it back when it changes (S3). That somebody is on it, or accepts as one of several, does not. */
export function seenOf(caller: Caller, { digest, thread }: Pick<Ask, "digest" | "thread">): string {
  const { comments = 0, reminded, escalatedTo = [], delegations = [], delegated = 0 } = thread ?? {};
  const isMine = delegations.some(({ to }) => isAddressed(caller, to));
  return [digest, comments, reminded?.count ?? 0, escalatedTo.length, isMine ? delegated : 0].join(".");
}

export function personOfCaller(caller: Caller): SnoozingPerson {
  const { tenant } = caller;
  return { ...(tenant !== DEFAULT_TENANT && { tenant }), person: personOf(caller) };
}
