/** Notes in the session which task carries an open call, so that any front end can cancel the call. */
import { CallCancelled, cancelTask, ParleyError, RequestCancelled } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { SessionContext, SessionRoute } from "./session-route.ts";
import { shortName } from "./short-name.ts";

export interface CarriedCall {
  readonly taskId: string;
  readonly requestId: RequestId;
}

/** Throws TOO_MANY_CALLS, and `cancelled` if the client has cancelled the call; then cancels the task of the call. */
export async function noteCall(
  route: SessionRoute,
  { session, caller, door }: SessionContext,
  { taskId, requestId }: CarriedCall,
): Promise<void> {
  const { sessions, limits } = route;
  const noted = await sessions.noteCall(session.id, callName(route, requestId), taskId, limits.sessionWaitsMax);
  if (noted !== "full" && noted !== "cancelled") return;
  const reason = noted === "full" ? "The session has too many calls." : CANCELLED;
  await cancelNotedTask(route, { caller, door }, { taskId, reason });
  if (noted === "cancelled") throw cancelled();
  throw new ParleyError("TOO_MANY_CALLS", `${limits.sessionWaitsMax} calls of this session (PARLEY_SESSION_WAITS_MAX) are open`);
}

interface Cancel extends Pick<CarriedCall, "taskId"> {
  readonly reason: string;
}

/**
 * Returns false if the task does not exist: it has expired, or belongs to a repeated call (idempotency key), whose answer is that of the first call's
 * task.
 */
export async function cancelNotedTask(
  { services }: SessionRoute,
  { caller, door }: Pick<SessionContext, "caller" | "door">,
  { taskId, reason }: Cancel,
): Promise<boolean> {
  try {
    await cancelTask(services, { taskId, caller, door, reason });
    return true;
  } catch (error) {
    if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return false;
    throw error;
  }
}

/** What the client of a cancelled call sees, if it still listens. */
export const CANCELLED = "The client cancelled the call.";
export const cancelled = () => new RequestCancelled(CANCELLED);

/**
 * Throws if the client has cancelled a call that has no task yet, or has ended its session. noteCall notices both as well,
 * but only when the task is there.
 */
export async function checkStillWanted(route: SessionRoute, { session }: SessionContext, requestId: RequestId): Promise<void> {
  const call = callName(route, requestId);
  const state = await route.sessions.stateOfCall(session.id, call);
  if (state === "open") return;
  if (state === "gone") throw new CallCancelled("The session has ended.");
  forgetCall(route, { session }, { requestId });
  throw cancelled();
}

/** The task of a call that its client cancels. If it has none yet, it gets none. */
export async function cancelledTaskOf(route: SessionRoute, { session }: SessionContext, requestId: RequestId): Promise<string | undefined> {
  return await route.sessions.cancelCall(session.id, callName(route, requestId), route.limits.sessionWaitsMax);
}

/** The name of the stream of a tasks/result or a repeated call, by which any front end can end it. */
export const heldStream = (route: SessionRoute, requestId: RequestId) => `result ${callName(route, requestId)}`;

/** Removes the note of a call that has ended. Not awaited: at worst the note stays until the session is full or ends. */
export function forgetCall(
  route: SessionRoute,
  { session }: Pick<SessionContext, "session">,
  { taskId, requestId }: Partial<CarriedCall> & Pick<CarriedCall, "requestId">,
): void {
  route.sessions
    .forgetCalls(session.id, [callName(route, requestId)])
    .catch((error: unknown) => route.log.warn({ taskId, err: error }, "call could not be removed from its session"));
}

/** A short name for any request id. The number 1 and the string "1" have different names. */
export function callName({ services }: SessionRoute, requestId: RequestId): string {
  return shortName(services, JSON.stringify(requestId));
}
