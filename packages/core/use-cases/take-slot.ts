/**
 * Runs of a tool with a limit take a slot before the handler starts and give it back once their end is written.
 * Without a free slot the task parks, and its status message says what it waits for. A tool without a limit costs
 * nothing.
 */
import type { Runnable } from "../catalogue.ts";
import { describeError } from "../task/describe-error.ts";
import { ParleyError } from "../errors.ts";
import { OVER } from "../wait-over.ts";
import type { RunReport } from "../ports.ts";
import type { KeptLimit, Limit, TakeSlot } from "../ports/slots.ts";
import { type Open, openOf } from "../task.ts";
import { earliest } from "./put-back.ts";
import type { Held, RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";

export interface SlotWanted {
  readonly runnable: Runnable;
  readonly begun: Held;
  /** Open asks, which keep their deadlines. */
  readonly asks: readonly Open[];
  readonly lease: RunLease;
  /** Ends the task if the tool fails to compute the limit's key. */
  readonly fail: (error: unknown) => Promise<RunReport>;
}

/** Enough for an id, too short for a document. */
const KEY_CHARS_MAX = 256;

/** The message of every task that waits for a slot starts with this. */
const WAITING = "Waiting for its turn: ";

export async function withSlot(services: Services, wanted: SlotWanted, work: () => Promise<RunReport>): Promise<RunReport> {
  const { slots, clock, settings, log } = services;
  const { runnable, begun, lease } = wanted;
  const { task } = begun;
  const { limit: given } = runnable;
  if (!given || !slots) return await work();
  let limit: KeptLimit;
  try {
    limit = await keptLimit(runnable, given, begun);
  } catch (error) {
    return await wanted.fail(error);
  }
  const { id: taskId, call } = task;
  const { token } = lease;
  const taken = await slots.take({
    limit,
    taskId,
    token,
    nextRun: task.run + 1,
    createdAtMs: call.createdAtMs,
    isNew: isNew(begun),
    nowMs: clock.now(),
    leaseMs: settings.leaseMs,
  });
  if (taken.type === "wait") return await wait(services, wanted, messageOf(runnable, given, taken.by), taken.retryMs);
  if (task.message?.startsWith(WAITING) === true) await lease.report({ items: [], message: "Running." });
  const released = new AbortController();
  void keep(services, { limit, taskId, token }, released.signal);
  try {
    return await work();
  } finally {
    released.abort(OVER);
    // If the slot cannot be given back now, it is free when its lease expires.
    await slots
      .give({ limit, taskId, token, nowMs: clock.now() })
      .then((runs) => Promise.all(runs.map((run) => services.queue.add({ ...run, cause: "overdue" }))))
      .catch((error: unknown) => log.debug({ taskId, ...describeError(error) }, "slot not given back, its lease runs out"));
  }
}

async function keptLimit({ name }: Runnable, { concurrency, rate, keyOf }: Limit, { task: { call } }: Held): Promise<KeptLimit> {
  const key: unknown = await keyOf(call.arguments, call);
  if (typeof key !== "string" || key.length > KEY_CHARS_MAX) {
    const what = typeof key === "string" ? `a string of ${key.length} characters` : typeof key;
    throw new ParleyError(
      "INVALID_LIMIT",
      `limit.per of tool ${name} returned ${what}; it must return a string of at most ${KEY_CHARS_MAX} characters`,
    );
  }
  return { id: JSON.stringify([name, key]), ...(concurrency !== undefined && { concurrency }), ...(rate && { rate }) };
}

/** The task has not done or asked anything yet. */
function isNew({ task, journal, takeovers }: Held): boolean {
  return task.generation === 0 && takeovers === 0 && journal.size === 0 && openOf(task).length === 0;
}

function messageOf({ name }: Runnable, { concurrency, rate }: Limit, by: "concurrency" | "rate"): string {
  if (by === "concurrency") return `${WAITING}${concurrency} of ${name} may run at once.`;
  return `${WAITING}${rate?.count} of ${name} may begin within ${(rate?.windowMs ?? 0) / 1_000} s.`;
}

async function wait({ clock, log }: Services, { begun, asks, lease }: SlotWanted, message: string, retryMs: number): Promise<RunReport> {
  const { task, attempt } = begun;
  const dueAtMs = Math.ceil(earliest(clock.now() + retryMs, asks));
  log.debug({ taskId: task.id, run: task.run, [task.call.kind]: task.call.name, retryMs }, "no slot is free, task waits for its turn");
  const isUnchanged = task.message === message;
  const parked = await lease.park({ entries: [], asks: [], attempt, dueAtMs, ...(!isUnchanged && { message }) });
  return { type: parked.type === "refused" ? "fenced" : "limited" };
}

async function keep(
  { slots, clock, settings }: Services,
  slot: Pick<TakeSlot, "limit" | "taskId" | "token">,
  released: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(settings.renewEveryMs, released);
    if (released.aborted) return;
    // The store may be reachable again before the slot's lease expires. If not, the run's own lease ends the run.
    await slots?.keep({ ...slot, nowMs: clock.now(), leaseMs: settings.leaseMs }).catch(() => undefined);
  }
}
