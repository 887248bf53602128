/**
 * Sessions of the dialects before 2026, and their streams, as any front end sees them.
 *
 * A session is one record that expires as a whole, some time after its last use. Streams are named within their
 * session. What is sent on them is derived from tasks, so any front end can continue a stream with its name and a
 * cursor (I8).
 */
import type { Caller } from "./caller.ts";
import type { ClientCapabilities, LogLevel } from "../task.ts";

export interface Session {
  readonly id: string;
  readonly principal: string;
  /** Absent for the default tenant. */
  readonly tenant?: string;
  /** The protocol revision that `initialize` agreed on. */
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /** As the client named itself; only for logs. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  readonly logLevel?: LogLevel;
}

/** Who owns a session: a caller has both, and a principal of the default tenant has that tenant's name. */
export type SessionOwner = Pick<Caller, "principal" | "tenant">;

/** What a session's standalone stream reports. */
export interface Interests {
  /** Tasks that were created in the session and are still followed, in no particular order. */
  readonly taskIds: readonly string[];
  /** Subscribed with `resources/subscribe`, in the form in which they were noted. */
  readonly resources: readonly string[];
}

/** A session that has ended is never written to or restored: late writes change nothing. */
export interface SessionStore {
  open(session: Session, ttlMs: number): Promise<void>;

  /**
   * Returns the session and extends it by `ttlMs`; undefined if it never existed, has expired or was closed. With
   * `caller`, also undefined if the session belongs to someone else, whose session is then not extended. One round
   * trip.
   */
  touch(sessionId: string, ttlMs: number, caller?: SessionOwner): Promise<Session | undefined>;

  /** Deletes the session and tells its watchers that it has ended. `false` if there was none. */
  close(sessionId: string): Promise<boolean>;

  setLogLevel(sessionId: string, level: LogLevel): Promise<void>;
  /** Wakes the watchers. `uri` may be a short form of it. `full` if the session has `most` subscriptions or has ended. */
  subscribe(sessionId: string, uri: string, most: number): Promise<"subscribed" | "full">;
  /** Wakes the watchers. */
  unsubscribe(sessionId: string, uri: string): Promise<void>;

  /**
   * Notes which task belongs to an unanswered call, so that any front end can cancel it. `call` is a short form of
   * the request's id. `full` if the session has `most` calls; `cancelled` if cancelCall came first.
   */
  noteCall(sessionId: string, call: string, taskId: string, most: number): Promise<"noted" | "full" | "gone" | "cancelled">;
  /**
   * Returns the task of the call. If none is noted, it notes that the call is cancelled, unless the session has `most`
   * calls: the call may not have a task yet.
   */
  cancelCall(sessionId: string, call: string, most: number): Promise<string | undefined>;
  /** `cancelled` if cancelCall has found no task of the call; `gone` if the session has ended. */
  stateOfCall(sessionId: string, call: string): Promise<"open" | "cancelled" | "gone">;
  forgetCalls(sessionId: string, calls: readonly string[]): Promise<void>;
  /** Every noted call with its task, or `CANCELLED_CALL`. */
  calls(sessionId: string): Promise<ReadonlyMap<string, string>>;

  /**
   * Makes the standalone stream report on a task. Wakes the watchers. `full` if the session follows `most` tasks or
   * has ended; the task is then not followed.
   */
  follow(sessionId: string, taskId: string, most: number): Promise<"following" | "full">;
  /** For finished tasks. Also forgets the claims of their questions. */
  unfollow(sessionId: string, taskIds: readonly string[]): Promise<void>;
  interests(sessionId: string): Promise<Interests>;

  /**
   * Makes `token` the holder of a stream and wakes the watchers, so that the previous holder notices that it lost the
   * stream. Questions that were sent after event number `after` no longer count as sent, because the client
   * reconnects for them; `put` lists those that do. `full` if the session has `most` other streams with live holders;
   * `gone` if it has ended.
   */
  holdStream(
    request: StreamHold & { readonly after: number; readonly most: number },
  ): Promise<{ readonly type: "held"; readonly put: readonly PutAsk[] } | { readonly type: "full" | "gone" }>;
  /** Extends the hold by `leaseMs`. `lost` if another token holds the stream or the session has ended. */
  keepStream(request: StreamHold): Promise<"kept" | "lost">;
  /**
   * Gives the stream up, if `token` still holds it, and wakes the watchers: its questions may be sent on other
   * streams.
   */
  dropStream(request: Pick<StreamHold, "sessionId" | "stream" | "token">): Promise<void>;
  /**
   * Takes the stream from its holder, if it has one, and wakes the watchers. The client has its questions: if the stream
   * `heir` is held, they count as sent there.
   */
  endStream(request: { readonly sessionId: string; readonly stream: string; readonly heir: string; readonly nowMs: number }): Promise<void>;

  /**
   * Decides on which of a session's streams a question is sent; each is sent on one only.
   * - `claimed`: on this one, as event number `event`.
   * - `put`: on this one, as an earlier event.
   * - `elsewhere`: another held stream has it, `token` no longer holds this one, or the session has ended.
   * - `full`: the session has `most` questions.
   */
  claimAsk(request: AskClaim): Promise<"claimed" | "put" | "elsewhere" | "full">;
  /** Every claimed question. */
  claims(sessionId: string): Promise<readonly ClaimedAsk[]>;
  forgetClaims(sessionId: string, claims: readonly ClaimedAsk[]): Promise<void>;

  /**
   * Wake-ups are hints, as with WakeUps.watch. Resolves once no later change can be missed. `hasEnded`: the session was
   * closed; otherwise this is unknown.
   */
  watch(sessionId: string, onChange: (hasEnded: boolean) => void): Promise<() => void>;
}

/** Instead of the id of a task: the call was cancelled before it had one. */
export const CANCELLED_CALL = "cancelled";

export interface ClaimedAsk {
  readonly taskId: string;
  readonly key: string;
}

export interface PutAsk extends ClaimedAsk {
  /** How often the question was refused. Asked again, it is a new question. */
  readonly refusals: number;
}

export interface AskClaim extends PutAsk {
  readonly sessionId: string;
  readonly stream: string;
  /** Token of the stream's holder. */
  readonly token: string;
  /** Number of the event that carries the question. Numbers grow along a stream, across holders. */
  readonly event: number;
  readonly nowMs: number;
  readonly most: number;
}

export interface StreamHold {
  readonly sessionId: string;
  readonly stream: string;
  /** Unique per holder. */
  readonly token: string;
  readonly nowMs: number;
  readonly leaseMs: number;
}
