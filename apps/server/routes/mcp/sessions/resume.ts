/** Continues the stream of a request after the last event that the client has read, on any front end. */
import { getOwnTask, type Task } from "@parley/core";
import type { ReplyChannel } from "../../../streams/reply-channel.ts";
import { holdOpen } from "../shared/hold-open.ts";
import type { CallCursor, ResultCursor } from "./event-ids.ts";
import { followCall } from "./follow-call.ts";
import { forgetCall } from "./note-call.ts";
import { progressOf, type SessionContext, type SessionExchange, type SessionRoute, wantsOf } from "./session-route.ts";
import { waitsOf } from "./session-waits.ts";

export interface Resume {
  readonly cursor: CallCursor | ResultCursor;
  readonly channel: ReplyChannel;
}

/**
 * Once the stream is open, an error becomes the answer to the request. Before that, throws TASK_NOT_FOUND if the call has ended and
 * expired, and TOO_MANY_CALLS, OVERLOADED or UNAVAILABLE, after which the client may try again.
 */
export async function resumeCall(route: SessionRoute, context: SessionContext, { cursor, channel }: Resume): Promise<void> {
  const { services } = route;
  const { taskId } = cursor;
  await holdOpen({ services, waits: waitsOf(route, context) }, taskId, async (watch) => {
    const task = await getOwnTask(services, { taskId, caller: context.caller });
    const exchange: SessionExchange = { ...context, ...requestOf(context, cursor, task), channel };
    // A GET is answered with a stream even if no priming event opens it.
    channel.open();
    const followed = await followCall(route, exchange, { cursor, task, watch });
    if (followed === "answered" && cursor.stream === "call") forgetCall(route, context, { taskId, requestId: exchange.id });
  });
}

/** The request whose stream is being resumed. */
function requestOf(
  context: SessionContext,
  cursor: CallCursor | ResultCursor,
  task: Task,
): Pick<SessionExchange, "id" | "method" | "wants"> {
  const { id, call } = task;
  const own = cursor.stream === "result" && cursor.progressToken !== undefined ? cursor : undefined;
  const wants = wantsOf(context, own ?? progressOf(task));
  if (cursor.stream === "result") return { id: cursor.requestId, method: "tasks/result", wants };
  if (!call.request) throw new Error(`task ${id} carries no request`);
  return { id: call.request.id, method: call.kind === "tool" ? "tools/call" : "prompts/get", wants };
}
