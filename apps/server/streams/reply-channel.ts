import type { Reply } from "@parley/protocol";

/** The way back to the client of one request: a response of its own (Outlet), or a part of the response to a batch. */
export interface ReplyChannel {
  /** Whether messages can be sent before the answer. */
  readonly acceptsStream: boolean;
  /** Aborted if the client disconnects before its answer is complete. */
  readonly closed: AbortSignal;
  /** Makes the response a stream, even if there is nothing to send yet. */
  open(): void;
  /** Sends an event without a message, whose id the client can come back with. */
  prime(eventId: string, retryMs: number): void;
  /** Sends a message before the answer. */
  send(message: object, eventId?: string): void;
  /** Resolves once the client has read what was sent, or has disconnected. */
  drained(): Promise<void>;
  /** Sends the answer and ends; ends without it if the client does not want it. `eventId` is called only if the response is a stream. */
  answer(reply: Reply, eventId?: () => string | undefined): void;
  /** Ends without an answer. With `retryMs`, the client comes back for the rest after that time. */
  endUnanswered(retryMs?: number): void;
}
