/** Notes in the session which task carries an open call, so that any front end can cancel the call. */
import { cancelTask, ParleyError } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { SessionContext, SessionRoute } from "./session-route.ts";

export interface CarriedCall {
  readonly taskId: string;
  readonly requestId: RequestId;
}

/** Longer request ids are noted by their digest. */
const NAME_CHARS = 64;

/** Throws TOO_MANY_CALLS, and then cancels the task of the call. */
export async function noteCall(
  route: SessionRoute,
  { session, caller, door }: SessionContext,
  { taskId, requestId }: CarriedCall,
): Promise<void> {
  const { sessions, services, limits } = route;
  const noted = await sessions.noteCall(session.id, callName(route, requestId), taskId, limits.sessionWaitsMax);
  if (noted !== "full") return;
  await cancelTask(services, { taskId, caller, door, reason: "The session has too many calls." });
  throw new ParleyError("TOO_MANY_CALLS", `${limits.sessionWaitsMax} calls of this session (PARLEY_SESSION_WAITS_MAX) are open`);
}

export async function taskOfCall(route: SessionRoute, { session }: SessionContext, requestId: RequestId): Promise<string | undefined> {
  return await route.sessions.callTask(session.id, callName(route, requestId));
}

/** Removes the note of a call that has ended. Not awaited: at worst the note stays until the session is full or ends. */
export function forgetCall(route: SessionRoute, { session }: SessionContext, { taskId, requestId }: CarriedCall): void {
  route.sessions
    .forgetCalls(session.id, [callName(route, requestId)])
    .catch((error: unknown) => route.log.warn({ taskId, err: error }, "call could not be removed from its session"));
}

/** A short name for any request id. The number 1 and the string "1" have different names. */
export function callName({ services }: SessionRoute, requestId: RequestId): string {
  const name = JSON.stringify(requestId);
  return name.length <= NAME_CHARS ? name : `#${services.digest(name)}`;
}
