/**
 * What clients POST that is no request: replies to what they were asked, on whichever front end, and notifications.
 */
import { answerTask, cancelTask, describeViolations, ParleyError, type Receipt } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { Notice } from "@parley/protocol/sessions";
import { notPermitted } from "../shared/refusals.ts";
import { notedTask } from "./note-call.ts";
import type { SessionContext, SessionRoute } from "./session-route.ts";

/**
 * Delivers the reply to an elicitation, sampling or roots request. An invalid reply is refused and its question asked again, since its
 * sender considers the request answered. Throws NOT_OPEN, INVALID_ANSWER.
 */
export async function takeReply(
  { services, askIds }: SessionRoute,
  { session, caller, dialect }: SessionContext,
  { id, reply }: { readonly id: RequestId; readonly reply: unknown },
) {
  const named = askIds.read(session.id, id);
  if (!named) throw new ParleyError("NOT_OPEN", "the response answers no request that was sent to this session");
  const { receipts } = await answerTask(services, {
    taskId: named.taskId,
    caller,
    door: `${session.version} response`,
    replies: { [named.key]: reply },
    readReply: dialect.readReply,
    countRefusals: true,
  });
  refuse(receipts.get(named.key));
}

function refuse(receipt: Receipt | undefined): void {
  switch (receipt?.type) {
    case "accepted":
    case "duplicate":
      return;
    case "invalid":
      throw new ParleyError("INVALID_ANSWER", `refused, and asked again: ${describeViolations(receipt.violations)}`, {
        violations: receipt.violations,
      });
    case "late":
      throw new ParleyError("NOT_OPEN", "the question was already answered differently, or is no longer open");
    case "forbidden":
      throw notPermitted();
    case "unknown":
    case undefined:
      throw new ParleyError("NOT_OPEN", "the response answers no question");
  }
}

/** notifications/cancelled ends the call's task, wherever it is followed. One that names no call of the session is ignored. */
export async function takeNotice(route: SessionRoute, context: SessionContext, { requestId, reason }: Notice): Promise<void> {
  const taskId = await notedTask(route, context, requestId);
  if (taskId === undefined) return;
  await cancelTask(route.services, {
    taskId,
    caller: context.caller,
    door: `${context.session.version} notifications/cancelled`,
    reason: reason === undefined ? "The client cancelled the call." : `The client cancelled the call: ${reason.slice(0, 200)}`,
  }).catch((error: unknown) => {
    // It ended and was forgotten in the meantime.
    if (!(error instanceof ParleyError && error.code === "TASK_NOT_FOUND")) throw error;
  });
}
