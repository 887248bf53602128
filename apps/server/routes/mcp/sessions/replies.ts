/**
 * The messages of clients that are not requests: replies to asks and notifications. Any front end receives them.
 */
import { answerTask, describeProblems, ParleyError, type Receipt, type Task } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { Notice } from "@parley/protocol/sessions";
import { loginRequired, notPermitted } from "../shared/refusals.ts";
import { CANCELLED, cancelledTaskOf, cancelNotedTask, forgetCall, heldStream } from "./note-call.ts";
import { STANDALONE } from "./hold-stream.ts";
import type { SessionContext, SessionRoute } from "./session-route.ts";

/**
 * Begins to read the task that a message replies to, beside the session, which saves a round trip. The id of the message must have been
 * sent to the session that the request names. Whether the session exists, and belongs to the caller, is not known yet.
 */
export function beginReading(
  { services, askIds }: Pick<SessionRoute, "services" | "askIds">,
  sessionId: string | undefined,
  message: unknown,
): Promise<Task | undefined> | undefined {
  if (sessionId === undefined || typeof message !== "object" || message === null || "method" in message || !("id" in message))
    return undefined;
  const asked = askIds.read(sessionId, message.id);
  const reading = asked && services.store.load(asked.taskId);
  // If the request is refused, nothing awaits it.
  reading?.catch(() => undefined);
  return reading;
}

/**
 * Delivers the reply to an elicitation, sampling or roots request. If it is invalid, the question is asked again, because its sender
 * considers the request answered. Throws NOT_OPEN, INVALID_ANSWER.
 */
export async function receiveReply(
  { services, askIds, shown, log, urlOf }: SessionRoute,
  { session, caller, dialect }: SessionContext,
  { id, reply }: { readonly id: RequestId; readonly reply: unknown },
  reading?: Promise<Task | undefined>,
) {
  const asked = askIds.read(session.id, id);
  if (!asked) throw new ParleyError("NOT_OPEN", "the response answers no request that was sent to this session");
  // First, because a stream may hear of the answer before this does.
  if (!shown.replied(String(id))) {
    services.wakeUps
      .tell(asked.taskId, { type: "replied", requestId: String(id) })
      .catch((error: unknown) => log.warn({ err: error }, "reply could not be told"));
  }
  const { receipts } = await answerTask(services, {
    taskId: asked.taskId,
    caller,
    door: `${session.version} response`,
    replies: { [asked.key]: reply },
    readReply: dialect.readReply,
    countRefusals: true,
    reading,
  });
  throwIfRefused(receipts.get(asked.key), { ...asked, urlOf });
}

function throwIfRefused(receipt: Receipt | undefined, at: Parameters<typeof loginRequired>[1]): void {
  switch (receipt?.type) {
    case "accepted":
    case "duplicate":
      return;
    case "invalid":
      throw new ParleyError("INVALID_ANSWER", `refused, and the question is asked again: ${describeProblems(receipt.violations)}`, {
        violations: receipt.violations,
      });
    case "late":
      throw new ParleyError("NOT_OPEN", "the question was already answered differently, or is no longer open");
    case "forbidden":
      throw notPermitted();
    case "login_required":
      throw loginRequired(receipt, at);
    case "unknown":
    case undefined:
      throw new ParleyError("NOT_OPEN", "the response answers no question");
  }
}

/**
 * notifications/cancelled: cancels the task of the call, also if another front end follows it. A call that has no task yet gets none, or one that is
 * cancelled at once. The stream of a tasks/result or of a repeated call ends, and its task continues. Any other request is not affected.
 */
export async function receiveNotice(route: SessionRoute, context: SessionContext, { requestId, reason: given }: Notice): Promise<void> {
  const { sessions, services, log } = route;
  const { session, caller } = context;
  const taskId = await cancelledTaskOf(route, context, requestId);
  const door = `${session.version} notifications/cancelled`;
  const reason = given === undefined ? CANCELLED : `The client cancelled the call: ${given.slice(0, 200)}`;
  if (taskId !== undefined) {
    // First, so that the stream of the call knows when it hears of the end. If this is lost, the client ignores a response.
    const told = services.wakeUps.tell(taskId, { type: "cancelled" });
    told.catch((error: unknown) => log.warn({ err: error }, "cancellation could not be told"));
    if (await cancelNotedTask(route, { caller, door }, { taskId, reason })) return;
    // Now that no task is noted, this notes the cancellation.
    forgetCall(route, context, { taskId, requestId });
    await cancelledTaskOf(route, context, requestId);
  }
  await sessions.endStream({
    sessionId: session.id,
    stream: heldStream(route, requestId),
    heir: STANDALONE,
    nowMs: services.clock.now(),
  });
}
