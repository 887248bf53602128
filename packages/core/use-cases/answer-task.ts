import { ParleyError } from "../errors.ts";
import { readReply, readReplyByShape } from "../reply.ts";
import { type Ask, isFinished, type Receipt, type Task } from "../task.ts";
import { getTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

export interface AnswerTask extends TaskRef {
  /** Ask key → reply as the client sent it. */
  readonly replies: Readonly<Record<string, unknown>>;
}

export interface Answered {
  /** The task as it was before these answers. */
  readonly task: Task;
  readonly receipts: ReadonlyMap<string, Receipt>;
}

/**
 * Takes answers to a task's asks, each judged on its own: one bad reply does not keep a good one from counting.
 *
 * Validates before it records, records before it acknowledges (I6), and adds the next run. The race is settled by the store (I2); whoever
 * lost it is told by the receipt.
 */
export async function answerTask(services: Services, request: AnswerTask): Promise<Answered> {
  const keys = Object.keys(request.replies);
  if (keys.length > services.settings.repliesMax) {
    throw new ParleyError(
      "TOO_MANY_ANSWERS",
      `${keys.length} answers in one request; the limit is ${services.settings.repliesMax} (PARLEY_REPLIES_MAX)`,
    );
  }
  const task = await getTask(services, request);
  const asks = new Map(task.asks.map((ask) => [ask.key, ask]));
  const receipts = await Promise.all(
    keys.map(async (key) => {
      const ask = asks.get(key);
      const take = () => answerOne(services, task, key, ask, request.replies[key]);
      const receipt = await (services.observer?.answering({ task, key, ...(ask && { ask }) }, take) ?? take());
      return [key, receipt] as const;
    }),
  );
  return { task, receipts: new Map(receipts) };
}

async function answerOne(services: Services, task: Task, key: string, ask: Ask | undefined, reply: unknown): Promise<Receipt> {
  const { store, queue, clock, settings, log } = services;
  if (ask) {
    const read = readReply(ask.request, reply, services.validate);
    if (!read.ok) return { type: "invalid", violations: read.violations };
    // The answer and the run it most likely makes due travel together; the store's word below is what counts.
    const likelyRun = task.run + 1;
    const [recorded] = await Promise.all([
      store.answer({ taskId: task.id, key, digest: ask.digest, answer: read.answer, nowMs: clock.now(), graceMs: settings.graceMs }),
      queue.add({ taskId: task.id, run: likelyRun, cause: "answered" }),
    ]);
    if (recorded.nextRun !== undefined && recorded.nextRun !== likelyRun)
      await queue.add({ taskId: task.id, run: recorded.nextRun, cause: "answered" });
    log.info({ taskId: task.id, key, receipt: recorded.receipt }, "answer received");
    return { type: recorded.receipt };
  }
  const answer = readReplyByShape(reply);
  if (!answer) return { type: "unknown" };
  const recorded = await store.answer({ taskId: task.id, key, answer, nowMs: clock.now(), graceMs: settings.graceMs });
  // Whoever recorded it may have died before it added the run: adding it again is adding it once.
  if (recorded.nextRun !== undefined && !isFinished(task.status))
    await queue.add({ taskId: task.id, run: recorded.nextRun, cause: "answered" });
  log.info({ taskId: task.id, key, receipt: recorded.receipt }, "answer received");
  return { type: recorded.receipt };
}
