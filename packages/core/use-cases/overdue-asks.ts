/**
 * Answers asks whose deadline passed before the run began with `timeout`. Such an answer races with late answers of
 * people like any other (I2).
 */
import { withNobody } from "../callers/audit.ts";
import { answerOutcome, entryKey, type Journal } from "../journal.ts";
import type { AnswerRecorded, AnswerRequest } from "../ports.ts";
import { acceptancesSoFar } from "../callers/quorum.ts";
import { type Open, openOf } from "../task.ts";
import type { Held, RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";

/** The journal including those timeouts, and the asks that are still open. */
export async function closeOverdueAsks(
  services: Services,
  { task, journal: before }: Held,
  lease: RunLease,
): Promise<{ readonly journal: Journal; readonly asks: readonly Open[] }> {
  const { clock, settings } = services;
  const nowMs = clock.now();
  const overdue = openOf(task).filter((ask) => ask.deadlineMs <= nowMs);
  const asks = openOf(task).filter((ask) => ask.deadlineMs > nowMs);
  if (overdue.length === 0) return { journal: before, asks };
  const journal = new Map(before);
  for (const [index, ask] of overdue.entries()) {
    const { key, digest, calledAt, deadlineMs } = ask;
    const answer = { action: "timeout" } as const;
    const audit = withNobody(services, task, { ask, door: "deadline", did: "timeout" });
    const timedOut = { taskId: task.id, key, digest, answer, nowMs, graceMs: settings.graceMs, token: lease.token, ...audit };
    const { receipt, quorum } = await closeOverdue(services, timedOut, ask);
    // Otherwise a person answered at the last moment, or asked back, which puts the deadline off. That is in the store, and
    // the next run, which is due at once, finds it.
    if (receipt === "accepted" || receipt === "duplicate") {
      const arrived = { atMs: deadlineMs, revision: task.revision + 1 + index };
      journal.set(entryKey("ask", key), { digest, calledAt, outcome: answerOutcome(answer, undefined, quorum?.acceptances), arrived });
    }
  }
  return { journal, asks };
}

/**
 * With a quorum, the timeout names everyone who had accepted, including people who are counted while it is being
 * written.
 */
async function closeOverdue(
  { store }: Pick<Services, "store">,
  request: AnswerRequest,
  ask: Open,
): Promise<AnswerRecorded & Pick<AnswerRequest, "quorum">> {
  const quorum = acceptancesSoFar(ask);
  if (!quorum) return await store.answer(request);
  const recorded = await store.answer({ ...request, quorum });
  if (recorded.receipt !== "overtaken") return { ...recorded, quorum };
  const now = await store.load(request.taskId);
  const open = now?.asks.find(({ key, digest }) => key === request.key && digest === request.digest);
  return open ? await closeOverdue({ store }, request, open) : { receipt: "late" };
}
