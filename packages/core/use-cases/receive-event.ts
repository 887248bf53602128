/**
 * Receives an event from another system. The token that the tool passed to it is the only credential.
 *
 *   token ─▶ issued by us? ─▶ event open? ─▶ valid against the schema? ─▶ recorded, once (I2) ─▶ the tool continues
 *
 * Tokens are signed, so a forged one is refused before the store is asked. Neither the token nor the body is logged.
 */
import { type Actor, type AuditFact, boundTo, noteAudit, toolOf } from "../callers/audit.ts";
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { ParleyError } from "../errors.ts";
import { isJsonLonger } from "../values/json-length.ts";
import { describeViolations } from "../values/schema-violation.ts";
import type { Answer, AwaitedEvent, Json, Task } from "../task.ts";
import { compareAnswer, recordAnswer } from "./record-answer.ts";
import { readable } from "./get-task.ts";
import type { Services } from "./services.ts";

export interface ReceiveEvent {
  readonly token: string;
  /** The parsed body. */
  readonly body: Json;
  readonly door?: string;
  /** Called after the token is verified and before the task is read, to charge the rates of the sender and of the task's tenant. */
  readonly admit?: (sender: Caller) => Promise<void>;
}

/**
 * `duplicate`: the same event was reported before. Throws EVENT_NOT_FOUND, EVENT_LATE, TOO_LARGE and INVALID_EVENT,
 * and as getTask does if the task's content cannot be read.
 */
export async function receiveEvent(services: Services, { token, body, door, admit }: ReceiveEvent): Promise<"accepted" | "duplicate"> {
  const named = services.eventTokens?.read(token);
  if (!named) throw unknownEvent();
  const { taskId, key } = named;
  await admit?.(senderOf(taskId, await tenantOf(services, taskId)));
  const task = await services.store.load(taskId);
  if (!task) throw unknownEvent();
  readable(task);
  const actor = { caller: senderOf(taskId, task.call.tenant), ...(door !== undefined && { door }) };
  const event = task.events?.find((open) => open.key === key);
  const answer = { action: "accept", content: { body } } as const;
  if (!event) return await compare(services, { actor, taskId, key, answer });
  const { storedValueMax } = services.settings;
  if (isJsonLonger(answer, storedValueMax)) {
    refused(services, { actor, task, event });
    throw new ParleyError("TOO_LARGE", `the body has more than ${storedValueMax} characters of JSON (PARLEY_STORED_VALUE_MAX)`);
  }
  const violations = services.validate(event.request.schema, body);
  if (violations.length > 0) {
    refused(services, { actor, task, event });
    throw new ParleyError("INVALID_EVENT", `the body is invalid: ${describeViolations(violations)}`, { violations });
  }
  const { type } = await recordAnswer(services, { actor, task, ask: event, answer });
  if (type === "accepted" || type === "duplicate") return type;
  throw late();
}

interface Reporting {
  readonly actor: Actor;
  readonly taskId: string;
  readonly key: string;
  readonly answer: Answer;
}

/** The recorded event distinguishes a repeated report from a late one. */
async function compare(services: Services, { actor, ...reporting }: Reporting): Promise<"duplicate"> {
  const { type: verdict } = await compareAnswer(services, reporting);
  if (verdict === "unknown") throw unknownEvent();
  noteAudit(services, actor, () => ({ action: "answer", taskId: reporting.taskId, ask: reporting.key, verdict }));
  if (verdict === "duplicate") return verdict;
  throw late();
}

function refused(services: Services, { actor, task, event }: { actor: Actor; task: Task; event: AwaitedEvent }): void {
  noteAudit(services, actor, (): AuditFact => {
    const { id, call } = task;
    return { action: "refuse", taskId: id, ...toolOf(call), ...boundTo(services, id, call, event), verdict: "invalid" };
  });
}

/**
 * The tenant that reports to the task are charged to. Its facts alone are read, because a flood must cost little. A
 * task that is gone has no tenant any more, and nobody else's may pay for it.
 */
async function tenantOf({ store }: Services, taskId: string): Promise<string | undefined> {
  const [task] = await store.summaries([taskId]);
  return task ? task.tenant : `event ${taskId}`;
}

/** A token identifies only the task that it was issued for. */
function senderOf(taskId: string, tenant = DEFAULT_TENANT): Caller {
  return { principal: `event ${taskId}`, tenant, scopes: [], authenticatedBy: "event token", names: [], groups: [], roles: [] };
}

function unknownEvent(): ParleyError {
  return new ParleyError("EVENT_NOT_FOUND", "no such event");
}

function late(): ParleyError {
  return new ParleyError("EVENT_LATE", "the event is no longer expected");
}
