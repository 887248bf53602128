import type { FastifyReply } from "fastify";
import type { Reply } from "@parley/protocol";
import { type Outlet, sendJson } from "../../../streams/outlet.ts";
import type { ReplyChannel } from "../../../streams/reply-channel.ts";

/** Channels that share one response: a JSON array, or a stream as soon as any of them sends something before its answer. */
export function batch(outlet: Outlet, reply: FastifyReply, size: number): readonly ReplyChannel[] {
  const answers: Reply["message"][] = [];
  let streaming = false;
  let open = size;
  const endOne = () => {
    open -= 1;
    if (open > 0) return;
    if (streaming) outlet.endUnanswered();
    else sendJson(reply, 200, answers);
  };
  const openStream = () => {
    streaming = true;
    outlet.open();
    for (const answered of answers.splice(0)) outlet.send(answered);
  };
  const send = (message: object, eventId?: string) => {
    openStream();
    outlet.send(message, eventId);
  };
  return Array.from({ length: size }, () => ({
    acceptsStream: outlet.acceptsStream,
    get closed() {
      return outlet.closed;
    },
    open: openStream,
    // 2025-03-26, the only revision with batches, has no priming events.
    prime: () => undefined,
    send,
    drained: () => outlet.drained(),
    // Also one that its client does not want any more: each request of a batch has its response.
    answer({ message }, eventId) {
      if (streaming) send(message, eventId?.());
      else answers.push(message);
      endOne();
    },
    endUnanswered: endOne,
  }));
}
