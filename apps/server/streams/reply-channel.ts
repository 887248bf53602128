import type { Reply } from "@parley/protocol";

/** The way back to the client of one request: alone in its response (Outlet), or one of a batch. */
export interface ReplyChannel {
  /** Whether the client can be told anything before the answer. */
  readonly acceptsStream: boolean;
  /** Aborted when the client has gone away before its answer was complete. */
  readonly closed: AbortSignal;
  /** Makes the response a stream, even if there is nothing to say yet. */
  open(): void;
  /** Sends an event without a message: an id for the client to come back with. */
  prime(eventId: string, retryMs: number): void;
  /** Sends a message ahead of the answer. */
  send(message: object, eventId?: string): void;
  /** Resolves when the reader has taken what was sent, or is gone. */
  drained(): Promise<void>;
  /** Sends the answer, the last of it. Its event id is made where there is a stream. */
  answer(reply: Reply, eventId?: () => string | undefined): void;
  /** Ends without an answer. With `retryMs` the client comes back for what is missing, after that time. */
  letGo(retryMs?: number): void;
}
