/** A caller answers questions of a task: finds each ask, checks the policy, validates the reply and records it. */
import { type Actor, noteAudit, withAudit } from "../callers/audit.ts";
import { unmet } from "../callers/assurance.ts";
import { may, seenByAsked, viewOf } from "../callers/policy.ts";
import { cut } from "../values/cut.ts";
import { ParleyError } from "../errors.ts";
import type { ValidateSchema } from "../ports.ts";
import { isOnPage, readReply, readReplyByShape, type ReplyRead } from "../asks/reply.ts";
import { boundedViolations } from "../values/schema-violation.ts";
import { type Ask, type AskRequest, isInternalKey, type Receipt, type Task, type Violation } from "../task.ts";
import { notFound, readable, type TaskRef } from "./get-task.ts";
import {
  acceptWithOthers,
  type Answering,
  compareAnswer,
  type Comparing,
  factOf,
  forbid,
  KEY_CHARS,
  recordAnswer,
  requireLogin,
  tooLarge,
} from "./record-answer.ts";
import type { Services } from "./services.ts";
import { isOfChild, whereAsked } from "./where-asked.ts";

export interface AnswerTask extends TaskRef {
  /** Replies by ask key, as the client sent them. */
  readonly replies: Readonly<Record<string, unknown>>;
  /** Converts a reply from the sender's dialect. Default: unchanged. */
  readonly readReply?: (request: AskRequest, reply: unknown) => unknown;
  /**
   * For senders that cannot be notified of a refusal because they reply to our request. The ask notes the refusal,
   * wakes its watchers and is asked again. The reply that reaches `refusalsMax` counts as `cancel`, and its receipt
   * is that of the cancellation. Otherwise a client that replies automatically and wrongly would be asked forever.
   */
  readonly countRefusals?: boolean;
  /** The task, if its reading has begun already. */
  readonly reading?: Promise<Task | undefined> | undefined;
}

export interface Answered {
  /** The task before these answers, as the caller may see it. */
  readonly task: Task;
  readonly receipts: ReadonlyMap<string, Receipt>;
}

/**
 * Takes answers to a task's asks. Each is judged separately, so an invalid reply does not affect a valid one, and the
 * policy decides for each whether the caller may answer. Throws TASK_NOT_FOUND, TOO_MANY_ANSWERS.
 *
 * An answer is validated before it is recorded, and recorded before it is acknowledged (I6); then the next run is
 * added. The store settles races (I2), and the receipt tells each caller how its race ended.
 */
export async function answerTask(services: Services, request: AnswerTask): Promise<Answered> {
  const keys = Object.keys(request.replies);
  if (keys.length > services.settings.repliesMax) {
    throw new ParleyError(
      "TOO_MANY_ANSWERS",
      `${keys.length} answers in one request; the limit is ${services.settings.repliesMax} (PARLEY_REPLIES_MAX)`,
    );
  }
  return await (keys.some(isOfChild) ? answerChildren(services, request) : answerOwn(services, request));
}

/**
 * Answers the asks of children that the task shows. Those who may answer at the child may do so here, with the same
 * result.
 */
async function answerChildren(services: Services, request: AnswerTask): Promise<Answered> {
  const { taskId, caller, replies } = request;
  const given = Object.entries(replies);
  const own = Object.fromEntries(given.filter(([key]) => !isOfChild(key)));
  const task = await services.store.load(taskId);
  const view = task && viewOf(caller, task);
  const receipts = new Map<string, Receipt>();
  if (Object.keys(own).length > 0) {
    const answered = await orNothing(answerOwn(services, { ...request, replies: own }));
    for (const [key, receipt] of answered?.receipts ?? []) receipts.set(key, receipt);
  }
  for (const [key, reply] of given.filter(([name]) => isOfChild(name))) {
    const at = await whereAsked(services, { taskId, key }, task);
    const answered =
      at && (await orNothing(answerOwn(services, { ...request, taskId: at.taskId, replies: { [at.key]: reply }, reading: undefined })));
    const receipt = at && answered?.receipts.get(at.key);
    // A child that the store has deleted ended long ago.
    if (receipt) receipts.set(key, receipt);
    else if (view) receipts.set(key, { type: at && may(caller, "follow", task) ? "late" : "unknown" });
  }
  if (!task || (!view && receipts.size === 0)) throw notFound(request);
  return { task: view ?? seenByAsked(task, []), receipts };
}

/** Undefined if the task does not exist for the caller. */
async function orNothing(answering: Promise<Answered>): Promise<Answered | undefined> {
  try {
    return await answering;
  } catch (error) {
    if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return undefined;
    throw error;
  }
}

async function answerOwn(services: Services, request: AnswerTask): Promise<Answered> {
  const keys = Object.keys(request.replies);
  const { caller } = request;
  const task = await (request.reading ?? services.store.load(request.taskId));
  const view = task && viewOf(caller, task);
  if (!view) return await answerAgain(services, request, task);
  readable(task);
  const asks = new Map(task.asks.map((ask) => [ask.key, ask]));
  const receipts = await Promise.all(
    keys.map(async (key) => {
      // Clients neither report events and ends of children nor learn of them.
      if (isInternalKey(key)) return [key, { type: "unknown" }] as const;
      const ask = asks.get(key);
      const given = request.replies[key];
      const reply = ask && request.readReply ? request.readReply(ask.request, given) : given;
      const take = () => answerOne(services, { actor: request, task, key, ask, reply, countRefusals: request.countRefusals === true });
      const receipt = await (services.observer?.answering({ task, key, ...(ask && { ask }) }, take) ?? take());
      return [key, receipt] as const;
    }),
  );
  return { task: view, receipts: new Map(receipts) };
}

/**
 * Once answered, an ask is closed to its audience. A sender whose answer counted and who repeats it, because the
 * acknowledgement was lost, receives the receipt again. For all others the task does not exist, whether it does or not.
 */
async function answerAgain(services: Services, request: AnswerTask, task: Task | undefined): Promise<Answered> {
  const { taskId, caller, replies } = request;
  const mine = new Map<string, Receipt>();
  for (const [key, reply] of Object.entries(replies)) {
    if (isInternalKey(key)) continue;
    // Compares all readings, even after a match, so that an existing task takes as long as a missing one.
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
  /** Undefined if no such ask is open. */
  readonly ask: Ask | undefined;
  readonly reply: unknown;
  readonly countRefusals: boolean;
}

async function answerOne(services: Services, { actor, task, key, ask, reply, countRefusals }: One): Promise<Receipt> {
  const { caller } = actor;
  const isOwner = may(caller, "follow", task);
  const by = isOwner ? undefined : caller.principal;
  // A member of one ask's audience learns nothing about the task's other asks.
  if (!ask || (!isOwner && !may(caller, "answer", task, ask))) {
    return await compareReply(services, { actor, taskId: task.id, key, reply, by });
  }
  if (!may(caller, "answer", task, ask)) return forbid(services, { actor, task }, ask);
  const required = unmet(caller, ask, services.clock.now());
  if (required) return requireLogin(services, { actor, task }, ask, required);
  const read = judgeReply(services, ask.request, reply);
  const invalid = async (why: readonly Violation[]): Promise<Receipt> => {
    if (countRefusals) return await refuse(services, { actor, task, ask, by, violations: why });
    noteAudit(services, actor, () => ({ ...factOf(services, "refuse", task, ask), verdict: "invalid" }));
    return { type: "invalid", violations: why };
  };
  if (!read.ok) return await invalid(read.violations);
  const { answer } = read;
  const foreseen = answer.action === "accept" && services.foresee ? await services.foresee(task, ask, answer.content ?? {}) : [];
  if (foreseen.length > 0) return await invalid(foreseen);
  if (answer.action === "accept" && isOnPage(ask)) return await agree(services, { actor, task, ask, by });
  if (answer.action === "accept" && ask.audience?.quorum !== undefined) {
    const receipt = await acceptWithOthers(services, { actor, task, ask, by, content: answer.content ?? {} });
    // It is too large beside what others have said.
    return receipt.type === "invalid" ? await invalid(receipt.violations) : receipt;
  }
  return await recordAnswer(services, { actor, task, ask, answer, by });
}

/** The answer that a reply gives, or why it is none. */
export function judgeReply(
  { settings, validate }: Pick<Services, "settings" | "validate">,
  request: AskRequest,
  reply: unknown,
): ReplyRead {
  // A reply that is too large is not validated any further.
  const withinSize: ValidateSchema = (schema, value) => {
    const large = tooLarge(settings, value);
    return large.length > 0 ? large : validate(schema, value);
  };
  const read = readReply(request, reply, withinSize);
  const large = read.ok ? tooLarge(settings, read.answer) : [];
  return large.length > 0 ? { ok: false, violations: large } : read;
}

/**
 * A client's acceptance of such an ask says that the person agreed to go to the page. The page does the rest
 * (visit-page.ts).
 */
async function agree(services: Services, { actor, task, ask, by }: Answering & { readonly ask: Ask }): Promise<Receipt> {
  const { store, clock, log } = services;
  const { key, digest } = ask;
  const audit = withAudit(services, actor, () => ({ ...factOf(services, "answer", task, ask), did: "accept" as const }));
  const receipt = await store.agree({ taskId: task.id, key, digest, nowMs: clock.now(), ...audit });
  log.info({ taskId: task.id, key, receipt }, "page agreed to");
  // Completed or withdrawn in the meantime: the recorded answer says which.
  if (receipt === "late") return await compareAnswer(services, { taskId: task.id, key, answer: { action: "accept" }, by });
  return { type: receipt };
}

/** Has the ask asked again, or ends it after too many invalid replies. */
async function refuse(
  services: Services,
  { actor, task, ask, by, violations }: Answering & { readonly ask: Ask; readonly violations: readonly Violation[] },
): Promise<Receipt> {
  const { store, clock, settings, log } = services;
  const { key, digest } = ask;
  const audit = withAudit(services, actor, () => factOf(services, "refuse", task, ask));
  const count = await store.refuse({
    taskId: task.id,
    key,
    digest,
    violations: boundedViolations(violations),
    nowMs: clock.now(),
    ...audit,
  });
  if (count === undefined) return { type: "late" };
  if (count < settings.refusalsMax) {
    log.info({ taskId: task.id, key, count }, "answer refused, question will be asked again");
    return { type: "invalid", violations };
  }
  log.warn({ taskId: task.id, key, count }, "answers refused too often, question cancelled");
  return await recordAnswer(services, { actor, task, ask, answer: { action: "cancel" }, by });
}

/** A reply to a closed ask is a duplicate if one reading of it equals the recorded answer. */
async function compareReply(services: Services, { reply, ...comparing }: Comparing & { readonly reply: unknown }): Promise<Receipt> {
  let receipt: Receipt = { type: "unknown" };
  for (const answer of readReplyByShape(reply)) {
    receipt = await compareAnswer(services, { ...comparing, answer });
    if (receipt.type !== "late") break;
  }
  noteCompared(services, comparing, receipt);
  return receipt;
}

/** Audits an answer that changed nothing, once, however it was read. A reply to an unknown key is not an answer. */
function noteCompared(services: Services, { actor, taskId, key }: Comparing, { type: verdict }: Receipt): void {
  if (verdict !== "unknown") noteAudit(services, actor, () => ({ action: "answer", taskId, ask: cut(key, KEY_CHARS), verdict }));
}
