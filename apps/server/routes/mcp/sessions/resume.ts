/** Goes on with the stream of a request where the client's last event left it, on whichever front end the client came back to. */
import { getTask } from "@parley/core";
import { holdOpen } from "../shared/hold-open.ts";
import type { Door, Talk } from "./door.ts";
import type { CallCursor } from "./event-ids.ts";
import { followCall } from "./follow-call.ts";
import type { Voice } from "./voice.ts";

/** Throws TASK_NOT_FOUND when the call is over and forgotten, OVERLOADED. */
export async function resumeCall(door: Door, talk: Talk, voice: Voice, cursor: CallCursor): Promise<void> {
  const { services, sessions, log } = door;
  const { taskId, requestId } = cursor;
  await holdOpen(door, taskId, async (watch) => {
    const task = await getTask(services, { taskId, principal: talk.session.principal });
    // A GET is answered by a stream or not at all, also where no priming event opens one.
    voice.open();
    const followed = await followCall(door, talk, { id: requestId, voice }, { cursor, task, watch });
    if (followed === "answered" && task.call.hidden) {
      sessions
        .forgetCall(talk.session.id, JSON.stringify(requestId))
        .catch((error: unknown) => log.warn({ taskId, err: error }, "call not forgotten"));
    }
  });
}
