/**
 * A person puts a question aside for themselves, until a time.
 *
 *   S1  It is theirs alone: nobody else sees it, and who may answer stays as it is, this person included.
 *   S2  It ends by its time, which is before the deadline, so that nobody loses a question in this way.
 *   S3  It ends when the question changes: people are reminded, others are asked as well, somebody comments, or hands it to this person.
 *
 * It is kept beside the tasks and not in them (ports/snoozes.ts): what changes a question knows nothing of it. Whoever reads a list compares
 * what the question is like with what it was like.
 */
import { noteAudit } from "../callers/audit.ts";
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { namesOfCaller } from "../callers/open-asks.ts";
import { may } from "../callers/policy.ts";
import { openAsk, type ReadAsk, readAsk } from "./read-ask.ts";
import { factOf } from "./record-answer.ts";
import type { Services } from "./services.ts";
import { personOfCaller, seenOf } from "./snoozes-of.ts";

/** The longest time for which a question can be put aside. Most end before, by their deadlines (S2). */
export const SNOOZE_DAYS_MAX = 366;

export type Snoozed =
  | { readonly type: "snoozed"; readonly untilMs: number }
  | { readonly type: "unsnoozed" }
  /** The time is over, or too far away. */
  | { readonly type: "not_then" }
  /** The question closes before that, or at that time. */
  | { readonly type: "closes_before"; readonly deadlineMs: number }
  /** The caller has put SNOOZES_MAX others aside. */
  | { readonly type: "full" }
  /** It is put to others. */
  | { readonly type: "forbidden" }
  /** It is closed. */
  | { readonly type: "late" };

/** Throws TASK_NOT_FOUND and as `readAsk` does. */
export async function snoozeAsk(services: Services, { untilMs, ...ref }: ReadAsk & { readonly untilMs: number }): Promise<Snoozed> {
  const { clock, snoozes, log } = services;
  if (!snoozes) throw new TypeError("this process keeps no snoozes");
  const nowMs = clock.now();
  const { caller } = ref;
  const open = await openAsk(services, ref);
  if (!open) return await lateFor(services, ref);
  const { task, ask } = open;
  if (!may(caller, "answer", task, ask)) return { type: "forbidden" };
  if (!(untilMs > nowMs && untilMs <= nowMs + SNOOZE_DAYS_MAX * 86_400_000)) return { type: "not_then" };
  if (untilMs >= ask.deadlineMs) return { type: "closes_before", deadlineMs: ask.deadlineMs }; // S2
  const at = { taskId: task.id, key: ask.key };
  const kept = await snoozes.put(personOfCaller(caller), { ...at, sinceMs: nowMs, untilMs, seen: seenOf(caller, ask) }, nowMs);
  if (kept === "full") return { type: kept };
  noteAudit(services, ref, () => factOf(services, "snooze", task, ask));
  log.info({ ...at, action: "snooze" }, "question noted");
  await tell(services, caller);
  return { type: "snoozed", untilMs };
}

/** Shows it again; nothing else happens if it was not put aside. Throws as snoozeAsk does. */
export async function unsnoozeAsk(services: Services, ref: ReadAsk): Promise<Snoozed> {
  const { snoozes, log } = services;
  const { caller } = ref;
  const open = await openAsk(services, ref);
  if (!open) return await lateFor(services, ref);
  const { task, ask } = open;
  const at = { taskId: task.id, key: ask.key };
  await snoozes?.remove(personOfCaller(caller), at);
  noteAudit(services, ref, () => factOf(services, "unsnooze", task, ask));
  log.info({ ...at, action: "unsnooze" }, "question noted");
  await tell(services, caller);
  return { type: "unsnoozed" };
}

/** The person's other windows. */
async function tell({ wakeUps, log }: Pick<Services, "wakeUps" | "log">, caller: Caller): Promise<void> {
  const { tenant } = caller;
  const names = namesOfCaller(caller).filter((name) => name.startsWith("person "));
  if (names.length === 0) return;
  // It is kept, whether or not they hear of it at once.
  await wakeUps.tellAsked({ ...(tenant !== DEFAULT_TENANT && { tenant }), names }).catch((error: unknown) => {
    log.warn({ err: error }, "a snooze was not told");
  });
}

/** Throws TASK_NOT_FOUND unless the caller may read how it ended. */
async function lateFor(services: Services, ref: ReadAsk): Promise<Snoozed> {
  await readAsk(services, ref);
  return { type: "late" };
}
