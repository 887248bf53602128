/** The way back to the client for one request: alone in its response, or one of a batch. */
import type { FastifyReply } from "fastify";
import type { Reply } from "@parley/protocol";
import { type Outlet, sendJson } from "../../../streams/outlet.ts";

export interface Voice {
  /** Whether the client can be told anything before the answer. */
  readonly acceptsStream: boolean;
  readonly closed: AbortSignal;
  /** Makes the response a stream, whatever there is to say. */
  open(): void;
  prime(eventId: string, retryMs: number): void;
  send(message: object, eventId?: string): void;
  drained(): Promise<void>;
  /** The last of it. An event id is used where there is a stream. */
  answer(reply: Reply, eventId?: string): void;
  /** Ends without an answer: the client comes back. */
  letGo(retryMs?: number): void;
}

export function aloneIn(outlet: Outlet): Voice {
  return {
    acceptsStream: outlet.acceptsStream,
    get closed() {
      return outlet.closed;
    },
    open: () => outlet.open(),
    prime: (eventId, retryMs) => outlet.prime(eventId, retryMs),
    send: (message, eventId) => outlet.send(message, eventId),
    drained: () => outlet.drained(),
    answer(reply, eventId) {
      if (outlet.prefersStream && reply.httpStatus === 200) outlet.open();
      outlet.end(reply, eventId);
    },
    letGo: (retryMs) => outlet.letGo(retryMs),
  };
}

/** Voices that share a response: one JSON array, or one stream as soon as any of them has to say something before its answer. */
export function batch(outlet: Outlet, reply: FastifyReply, size: number): readonly Voice[] {
  const answers: Reply["message"][] = [];
  let streaming = false;
  let open = size;
  const oneLess = () => {
    open -= 1;
    if (open > 0) return;
    if (streaming) outlet.letGo();
    else sendJson(reply, 200, answers);
  };
  const send = (message: object, eventId?: string) => {
    if (!streaming) for (const answered of answers.splice(0)) outlet.send(answered);
    streaming = true;
    outlet.send(message, eventId);
  };
  return Array.from({ length: size }, () => ({
    acceptsStream: outlet.acceptsStream,
    get closed() {
      return outlet.closed;
    },
    open: () => outlet.open(),
    // The revision that has batches knows no priming.
    prime: () => undefined,
    send,
    drained: () => outlet.drained(),
    answer({ message }, eventId) {
      if (streaming) send(message, eventId);
      else answers.push(message);
      oneLess();
    },
    letGo: oneLess,
  }));
}
