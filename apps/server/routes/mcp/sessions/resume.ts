/** Goes on with the stream of a request where the client's last event left it, on whichever front end the client came back to. */
import { getTask } from "@parley/core";
import { holdOpen } from "../shared/hold-open.ts";
import type { CallCursor } from "./event-ids.ts";
import { followCall } from "./follow-call.ts";
import type { SessionExchange, SessionRoute } from "./session-route.ts";

/** Throws TASK_NOT_FOUND when the call is over and forgotten, OVERLOADED. */
export async function resumeCall(route: SessionRoute, exchange: SessionExchange, cursor: CallCursor): Promise<void> {
  const { taskId } = cursor;
  await holdOpen(route, taskId, async (watch) => {
    const task = await getTask(route.services, { taskId, principal: exchange.caller.principal });
    // A GET is answered by a stream or not at all, also where no priming event opens one.
    exchange.channel.open();
    await followCall(route, exchange, { cursor, task, watch });
  });
}
