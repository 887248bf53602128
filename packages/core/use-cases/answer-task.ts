import { type Actor, type AuditFact, boundTo, noteAudit, toolOf, withAudit } from "../audit.ts";
import { may, seenByAsked, viewOf } from "../policy.ts";
import { cut } from "../cut.ts";
import { ParleyError } from "../errors.ts";
import type { AnswerRequest, ValidateSchema } from "../ports.ts";
import { isOnPage, readReply, readReplyByShape } from "../reply.ts";
import { toldViolations } from "../schema-violation.ts";
import type { Settings } from "../settings.ts";
import { type Answer, type Ask, isEventKey, type Open, type Receipt, type Task, type Violation } from "../task.ts";
import { notFound, readable, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

export interface AnswerTask extends TaskRef {
  /** Ask key → reply as the client sent it. */
  readonly replies: Readonly<Record<string, unknown>>;
  /**
   * For replies whose sender cannot be told what is wrong with them, since they answer a request of ours: the ask notes it, wakes its
   * watchers and is put again. The reply that reaches `refusalsMax` is taken as `cancel`, and its receipt is the cancellation's: a client
   * that answers by machine, and wrongly, would be asked forever.
   */
  readonly countRefusals?: boolean;
}

export interface Answered {
  /** The task as it was before these answers, as the caller may see it. */
  readonly task: Task;
  readonly receipts: ReadonlyMap<string, Receipt>;
}

/**
 * Takes answers to a task's asks, each judged on its own: one bad reply does not keep a good one from counting. Whether the caller may answer is
 * decided for each (policy.ts). Throws TASK_NOT_FOUND, TOO_MANY_ANSWERS.
 *
 * Validates before it records, records before it acknowledges (I6), and adds the next run. The race is settled by the store (I2); a caller that
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
  const { caller } = request;
  const task = await services.store.load(request.taskId);
  const view = task && viewOf(caller, task);
  if (!view) return await answerAgain(services, request, task);
  readable(task);
  const asks = new Map(task.asks.map((ask) => [ask.key, ask]));
  const receipts = await Promise.all(
    keys.map(async (key) => {
      // No client tells of events, or learns of them.
      if (isEventKey(key)) return [key, { type: "unknown" }] as const;
      const ask = asks.get(key);
      const take = () =>
        answerOne(services, { actor: request, task, key, ask, reply: request.replies[key], countRefusals: request.countRefusals === true });
      const receipt = await (services.observer?.answering({ task, key, ...(ask && { ask }) }, take) ?? take());
      return [key, receipt] as const;
    }),
  );
  return { task: view, receipts: new Map(receipts) };
}

/**
 * What somebody else was asked is closed to them once it is answered. One whose answer counted, and who sends it again since no
 * acknowledgement came, is told that it did; to everybody else there is no such task, whether there is one or not.
 */
async function answerAgain(services: Services, request: AnswerTask, task: Task | undefined): Promise<Answered> {
  const { taskId, caller, replies } = request;
  const mine = new Map<string, Receipt>();
  for (const [key, reply] of Object.entries(replies)) {
    if (isEventKey(key)) continue;
    // All of them, regardless of the results, so that a task that is there takes as long as one that is not.
    const given = readReplyByShape(reply).map((answer) => compareAnswer(services, { taskId, key, answer, by: caller.principal }));
    const found = (await Promise.all(given)).find(({ type }) => type === "duplicate");
    if (!found) continue;
    mine.set(key, found);
    noteCompared(services, { actor: request, taskId, key }, found);
  }
  if (!task || mine.size === 0) throw notFound(request);
  return { task: seenByAsked(task, []), receipts: mine };
}

interface One {
  readonly actor: Actor;
  readonly task: Task;
  readonly key: string;
  /** Undefined when no such ask is open. */
  readonly ask: Ask | undefined;
  readonly reply: unknown;
  readonly countRefusals: boolean;
}

async function answerOne(services: Services, { actor, task, key, ask, reply, countRefusals }: One): Promise<Receipt> {
  const { caller } = actor;
  const isOwner = may(caller, "follow", task);
  const by = isOwner ? undefined : caller.principal;
  // Of what is put to others, those who are asked something else know nothing.
  if (!ask || (!isOwner && !may(caller, "answer", task, ask))) {
    return await compareReply(services, { actor, taskId: task.id, key, reply, by });
  }
  if (!may(caller, "answer", task, ask)) return { type: "forbidden" };
  const { settings, validate } = services;
  // What is too large is not looked at any further.
  const withinSize: ValidateSchema = (schema, value) => {
    const large = tooLarge(settings, value);
    return large.length > 0 ? large : validate(schema, value);
  };
  const read = readReply(ask.request, reply, withinSize);
  const violations = read.ok ? tooLarge(settings, read.answer) : read.violations;
  if (read.ok && violations.length === 0 && read.answer.action === "accept" && isOnPage(ask))
    return await agree(services, { actor, task, ask, by });
  if (read.ok && violations.length === 0) return await recordAnswer(services, { actor, task, ask, answer: read.answer, by });
  if (countRefusals) return await refuse(services, { actor, task, ask, by, violations });
  noteAudit(services, actor, () => ({ ...factOf(services, "refuse", task, ask), verdict: "invalid" }));
  return { type: "invalid", violations };
}

/** What a client says about such an ask is that the person agreed to go there. The page has the rest (visit-page.ts). */
async function agree(services: Services, { actor, task, ask, by }: Answering & { readonly ask: Ask }): Promise<Receipt> {
  const { store, clock, log } = services;
  const { key, digest } = ask;
  const audit = withAudit(services, actor, () => ({ ...factOf(services, "answer", task, ask), did: "accept" as const }));
  const receipt = await store.agree({ taskId: task.id, key, digest, nowMs: clock.now(), ...audit });
  log.info({ taskId: task.id, key, receipt }, "page agreed to");
  // Completed meanwhile, or given up: the recorded answer says which.
  if (receipt === "late") return { type: (await store.answer(comparedWith(services, { taskId: task.id, key, by }))).receipt };
  return { type: receipt };
}

/** A bare acceptance that claims nothing: what is recorded decides what it is. */
export function comparedWith({ clock, settings }: Services, { taskId, key, by }: Omit<Comparing, "actor">): AnswerRequest {
  const answer: Answer = { action: "accept" };
  return { taskId, key, answer, ...(by !== undefined && { by }), nowMs: clock.now(), graceMs: settings.graceMs };
}

/** An answer on its way to what is open. */
interface Answering {
  readonly actor: Actor;
  readonly task: Task;
  /** The principal that answers, where that is not the owner. */
  readonly by?: string | undefined;
}

/** An answer to what is not open. */
interface Comparing extends Omit<Answering, "task"> {
  readonly taskId: string;
  readonly key: string;
}

/** A journal carries every answer through every run. */
function tooLarge({ storedValueMax }: Settings, value: unknown): readonly Violation[] {
  if (JSON.stringify(value).length <= storedValueMax) return [];
  return [{ path: "", message: `must have at most ${storedValueMax} characters of JSON (PARLEY_STORED_VALUE_MAX)` }];
}

function factOf(services: Services, action: AuditFact["action"], task: Task, ask: Open): AuditFact {
  return { action, taskId: task.id, ...toolOf(task.call), ...boundTo(services, task.id, task.call, ask) };
}

/** Records the answer to an open ask and adds the next run. */
export async function recordAnswer(
  services: Services,
  {
    actor,
    task,
    ask,
    answer,
    by,
    page,
  }: Answering & { readonly ask: Open; readonly answer: Answer; readonly page?: AnswerRequest["page"] },
): Promise<Receipt> {
  const { store, queue, clock, settings, log } = services;
  const audit = withAudit(services, actor, () => ({ ...factOf(services, "answer", task, ask), did: answer.action }));
  const { key, digest } = ask;
  // A worker that listens is told by the store. Else the answer and the run it most likely makes due travel together; the store's word below is
  // what counts.
  const likelyRun = task.run + 1;
  const lane = queue.lane?.(task.id);
  const [recorded] = await Promise.all([
    store.answer({
      taskId: task.id,
      key,
      digest,
      answer,
      ...(by !== undefined && { by }),
      ...(page && { page }),
      nowMs: clock.now(),
      graceMs: settings.graceMs,
      ...(lane !== undefined && { lane }),
      ...audit,
    }),
    lane === undefined && queue.add({ taskId: task.id, run: likelyRun, cause: "answered" }),
  ]);
  if (recorded.nextRun !== undefined && (lane !== undefined || recorded.nextRun !== likelyRun))
    await queue.add({ taskId: task.id, run: recorded.nextRun, cause: "answered" });
  log.info({ taskId: task.id, key, receipt: recorded.receipt }, "answer received");
  return { type: recorded.receipt };
}

/** Has the ask put again, or ends it when that has not helped often enough. */
async function refuse(
  services: Services,
  { actor, task, ask, by, violations }: Answering & { readonly ask: Ask; readonly violations: readonly Violation[] },
): Promise<Receipt> {
  const { store, clock, settings, log } = services;
  const { key, digest } = ask;
  const audit = withAudit(services, actor, () => factOf(services, "refuse", task, ask));
  const count = await store.refuse({ taskId: task.id, key, digest, violations: toldViolations(violations), nowMs: clock.now(), ...audit });
  if (count === undefined) return { type: "late" };
  if (count < settings.refusalsMax) {
    log.info({ taskId: task.id, key, count }, "answer refused, to be asked again");
    return { type: "invalid", violations };
  }
  log.warn({ taskId: task.id, key, count }, "answers refused too often, question cancelled");
  return await recordAnswer(services, { actor, task, ask, answer: { action: "cancel" }, by });
}

/** A reply to what is not open is a duplicate if one way to read it is what was recorded. */
async function compareReply(services: Services, { reply, ...comparing }: Comparing & { readonly reply: unknown }): Promise<Receipt> {
  let receipt: Receipt = { type: "unknown" };
  for (const answer of readReplyByShape(reply)) {
    receipt = await compareAnswer(services, { ...comparing, answer });
    if (receipt.type !== "late") break;
  }
  noteCompared(services, comparing, receipt);
  return receipt;
}

/** An answer that changed nothing is noted by itself, once, however it was read. What names nothing that is here is no answer. */
function noteCompared(services: Services, { actor, taskId, key }: Comparing, { type: verdict }: Receipt): void {
  if (verdict !== "unknown") noteAudit(services, actor, () => ({ action: "answer", taskId, ask: cut(key, KEY_CHARS), verdict }));
}

/** In the log. After a restart any key that names no later generation is one of an ask that may have been. */
const KEY_CHARS = 200;

/** An answer to what is not open is compared with what was recorded. */
export async function compareAnswer(
  services: Services,
  { taskId, key, answer, by }: Omit<Comparing, "actor"> & { readonly answer: Answer },
): Promise<Receipt> {
  const { store, queue, clock, settings, log } = services;
  const given = by === undefined ? { answer } : { answer, by };
  const recorded = await store.answer({ taskId, key, ...given, nowMs: clock.now(), graceMs: settings.graceMs });
  // The front end that recorded it may have died before it added the run: adding it again is adding it once.
  if (recorded.nextRun !== undefined) await queue.add({ taskId, run: recorded.nextRun, cause: "answered" });
  // Names that nothing here has are their sender's, of any length, and changed nothing.
  if (recorded.receipt !== "unknown") log.info({ taskId, key: cut(key, KEY_CHARS), receipt: recorded.receipt }, "answer received");
  return { type: recorded.receipt };
}
