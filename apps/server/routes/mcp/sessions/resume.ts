/** Continues the stream of a request where the client's last event left it, on whichever front end the client came back to. */
import { getOwnTask, type Task } from "@parley/core";
import type { ReplyChannel } from "../../../streams/reply-channel.ts";
import { answerFailure } from "../shared/answer.ts";
import { holdOpen } from "../shared/hold-open.ts";
import type { CallCursor, ResultCursor } from "./event-ids.ts";
import { followCall } from "./follow-call.ts";
import { forgetCall } from "./note-call.ts";
import { type SessionContext, type SessionExchange, type SessionRoute, wantsOf } from "./session-route.ts";
import { waitsOf } from "./session-waits.ts";

export interface Resume {
  readonly cursor: CallCursor | ResultCursor;
  readonly channel: ReplyChannel;
}

/**
 * What goes wrong once the stream is there is the answer to the request. Throws, before that, TASK_NOT_FOUND when the call is over and
 * forgotten, and TOO_MANY_CALLS, OVERLOADED and UNAVAILABLE, which do not mean that the call is over.
 */
export async function resumeCall(route: SessionRoute, context: SessionContext, { cursor, channel }: Resume): Promise<void> {
  const { services } = route;
  const { taskId } = cursor;
  await holdOpen({ services, waits: waitsOf(route, context) }, taskId, async (watch) => {
    const task = await getOwnTask(services, { taskId, caller: context.caller });
    const exchange: SessionExchange = { ...context, ...requestOf(context, cursor, task), channel };
    // A GET is answered by a stream or not at all, also where no priming event opens one.
    channel.open();
    const followed = await followCall(route, exchange, { cursor, task, watch }).catch((error: unknown) => {
      answerFailure(route, exchange, { error });
      return "answered" as const;
    });
    if (followed === "answered" && cursor.stream === "call") forgetCall(route, context, { taskId, requestId: exchange.id });
  });
}

/** The request whose stream is resumed. */
function requestOf(
  context: SessionContext,
  cursor: CallCursor | ResultCursor,
  { id, call }: Task,
): Pick<SessionExchange, "id" | "method" | "wants"> {
  if (cursor.stream === "result") return { id: cursor.requestId, method: "tasks/result", wants: wantsOf(context, {}) };
  if (!call.request) throw new Error(`task ${id} carries no request`);
  return { id: call.request.id, method: call.kind === "tool" ? "tools/call" : "prompts/get", wants: wantsOf(context, call.request) };
}
