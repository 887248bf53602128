/** What the parts of a bridge share: its two ends, and what is open between them. */
import type { Exchange } from "./exchange.ts";
import type { ToolSchemas } from "./headers.ts";
import type { Remote } from "./remote.ts";
import type { SessionMemory } from "./session.ts";

export interface BridgeLimits {
  /** Unanswered requests. */
  readonly requestsMax: number;
  /** Characters of messages that wait to be sent. */
  readonly waitingCharsMax: number;
  /** How long a request is retried while the server is unreachable. */
  readonly requestPatienceMs: number;
  /** How long the bridge tries to resume a stream. */
  readonly streamPatienceMs: number;
}

export interface Link {
  readonly remote: Remote;
  /** Writes one message to the client; resolves when there is room for the next. */
  readonly write: (message: unknown) => Promise<void>;
  /** Reports a problem to the operator. The text never contains content. */
  readonly log: (text: string) => void;
  readonly limits: BridgeLimits;
  /** Unanswered requests, by the keys of their ids. */
  readonly exchanges: Map<string, Exchange>;
  readonly memory: SessionMemory;
  readonly schemas: ToolSchemas;
  /** Aborted when the bridge closes. */
  readonly closing: AbortSignal;
}
