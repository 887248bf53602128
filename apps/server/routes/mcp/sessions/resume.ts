/** Continues the stream of a request where the client's last event left it, on whichever front end the client came back to. */
import { getTask } from "@parley/core";
import { isDefect } from "@parley/protocol";
import { watchTask } from "../../../streams/watch-task.ts";
import type { Door, Talk } from "./door.ts";
import { enterWaits } from "./enter-waits.ts";
import type { CallCursor, ResultCursor } from "./event-ids.ts";
import { followCall } from "./follow-call.ts";
import { forgetCall } from "./note-call.ts";
import type { Voice } from "./voice.ts";

/**
 * What goes wrong once the stream is there is the answer to the request. Throws, before that, TASK_NOT_FOUND when the call is over and
 * forgotten, and TOO_MANY_CALLS, OVERLOADED and UNAVAILABLE, which do not mean that the call is over.
 */
export async function resumeCall(door: Door, talk: Talk, voice: Voice, cursor: CallCursor | ResultCursor): Promise<void> {
  const { services, log } = door;
  const { taskId } = cursor;
  const leave = enterWaits(door, talk);
  try {
    const watch = await watchTask(services, taskId);
    try {
      const task = await getTask(services, { taskId, principal: talk.session.principal });
      const requestId = cursor.stream === "result" ? cursor.requestId : task.call.request?.id;
      if (requestId === undefined) throw new Error(`task ${taskId} carries no request`);
      // A GET is answered by a stream or not at all, also where no priming event opens one.
      voice.open();
      const followed = await followCall(door, talk, { id: requestId, voice }, { cursor, task, watch }).catch((error: unknown) => {
        const defectId = services.ids.uuid();
        if (isDefect(error)) log.error({ defectId, err: error }, "request failed");
        voice.answer(talk.encode.failure({ id: requestId, error, defectId }));
        return "answered" as const;
      });
      if (followed === "answered" && cursor.stream === "call") forgetCall(door, talk, { taskId, requestId });
    } finally {
      watch.close();
    }
  } finally {
    leave();
  }
}
