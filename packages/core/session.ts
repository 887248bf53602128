/**
 * Sessions of the dialects before 2026, and the streams of such a session, as any front end sees them.
 *
 * A session is one record that expires as a whole, a sliding time after its last use. Streams are named within their session; what is sent on
 * them is derived from tasks, so a stream's name and a cursor are all that another front end needs to continue it (I8).
 */
import type { ClientCapabilities, LogLevel } from "./task.ts";

export interface Session {
  readonly id: string;
  readonly principal: string;
  /** Absent for the default tenant. */
  readonly tenant?: string;
  /** The protocol revision that `initialize` agreed on. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /** Said by the client itself; for logs only. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  readonly logLevel?: LogLevel;
}

/** What a session's standalone stream tells about. */
export interface Interests {
  /** Tasks that were created in the session and are still followed, in no order. */
  readonly taskIds: readonly string[];
  /** `resources/subscribe`. */
  readonly resources: readonly string[];
}

/** A session that is gone is never written to, and nothing brings it back: what comes late changes nothing. */
export interface SessionStore {
  open(session: Session, ttlMs: number): Promise<void>;

  /** The session, kept for another `ttlMs`; undefined when it never was, has expired or was closed. One round trip. */
  touch(sessionId: string, ttlMs: number): Promise<Session | undefined>;

  /** Forgets the session and wakes its watchers. `false` when there was none. */
  close(sessionId: string): Promise<boolean>;

  setLogLevel(sessionId: string, level: LogLevel): Promise<void>;
  /** Wakes the watchers. `full` when the session has `most` subscriptions, or is gone. */
  subscribe(sessionId: string, uri: string, most: number): Promise<"subscribed" | "full">;
  /** Wakes the watchers. */
  unsubscribe(sessionId: string, uri: string): Promise<void>;

  /**
   * Which task carries a call that is being answered, so that any front end can cancel it. `call` stands for the request's id, and is short.
   * `full` when the session has `most` calls.
   */
  noteCall(sessionId: string, call: string, taskId: string, most: number): Promise<"noted" | "full" | "gone">;
  callTask(sessionId: string, call: string): Promise<string | undefined>;
  forgetCalls(sessionId: string, calls: readonly string[]): Promise<void>;
  /** Every call that was noted and not forgotten, with its task. */
  calls(sessionId: string): Promise<ReadonlyMap<string, string>>;

  /**
   * Has the standalone stream tell about a task. Wakes the watchers. `full` when the session follows `most`, or is gone: it is not told
   * about then.
   */
  follow(sessionId: string, taskId: string, most: number): Promise<"following" | "full">;
  /** For tasks that are over. Forgets where their questions were put, too. */
  unfollow(sessionId: string, taskIds: readonly string[]): Promise<void>;
  interests(sessionId: string): Promise<Interests>;

  /**
   * Makes `token` the holder of a stream and wakes the watchers, so that the holder before finds that it lost. Questions that were
   * put on the stream behind its event number `after` are not on it any more, since its client comes back for them; `put` are those that are.
   * `full` when the session has `most` other streams whose holders live; `gone` when it has ended.
   */
  holdStream(
    request: StreamHold & { readonly after: number; readonly most: number },
  ): Promise<{ readonly type: "held"; readonly put: readonly PutAsk[] } | { readonly type: "full" | "gone" }>;
  /** Keeps the hold for another `leaseMs`. `lost` when another token holds the stream or the session is gone. */
  keepStream(request: StreamHold): Promise<"kept" | "lost">;
  /** Gives the stream up, if `token` still holds it, and wakes the watchers: its questions may be put elsewhere. */
  dropStream(request: Pick<StreamHold, "sessionId" | "stream" | "token">): Promise<void>;

  /**
   * Settles on which of a session's streams a question is put: each on one only. `claimed`: on this one, as its event number `event`; `put`: on
   * this one, as an earlier event; `elsewhere`: another stream that is held has it, `token` does not hold this one any more, or the session is gone;
   * `full`: the session has `most` questions.
   */
  claimAsk(request: AskClaim): Promise<"claimed" | "put" | "elsewhere" | "full">;
  /** Every question that was put on a stream and not forgotten. */
  claims(sessionId: string): Promise<readonly ClaimedAsk[]>;
  forgetClaims(sessionId: string, claims: readonly ClaimedAsk[]): Promise<void>;

  /** Wake-ups, never the truth, as WakeUps.watch. Resolves once no later change can be missed. */
  watch(sessionId: string, onChange: () => void): Promise<() => void>;
}

export interface ClaimedAsk {
  readonly taskId: string;
  readonly key: string;
}

export interface PutAsk extends ClaimedAsk {
  /** How often the question had been refused: one that is put again is another. */
  readonly refusals: number;
}

export interface AskClaim extends PutAsk {
  readonly sessionId: string;
  readonly stream: string;
  /** The stream's holder. */
  readonly token: string;
  /** The number of the event that puts the question. Numbers grow along a stream, also from one holder to the next. */
  readonly event: number;
  readonly nowMs: number;
  readonly most: number;
}

export interface StreamHold {
  readonly sessionId: string;
  readonly stream: string;
  /** Unique for the holder. */
  readonly token: string;
  readonly nowMs: number;
  readonly leaseMs: number;
}
