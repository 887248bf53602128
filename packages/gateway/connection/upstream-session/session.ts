/** What a session with an upstream is, who has it, and who opens it. */
import type { Client, ClientCapabilities, ClientOptions, FetchLike } from "@modelcontextprotocol/client";
import type { Upstream } from "../../config/upstreams.ts";
import type { TaskRequests } from "../upstream-tasks.ts";

export interface UpstreamSession {
  readonly client: Client;
  /** What the server says of itself to models. Only in a session in which lists are read, and cut. */
  readonly instructions?: string;
  /** Whether the upstream asks with `input_required`, so that nothing is held while a person thinks. */
  readonly isStateless: boolean;
  /** Set if the upstream may answer a call with a task: any call of 2026-07-28, and in 2025-11-25 calls of tools that declare it. */
  readonly tasks?: TaskRequests;
  /** It publishes events (SEP-3415). */
  readonly hasEvents?: boolean;
  /** It declared that nobody can be asked, because the upstream sends the messages of one session to others. */
  readonly isMute?: boolean;
  /** It was opened in advance (prepared-sessions.ts), so the upstream may have forgotten it. */
  readonly isPrepared?: boolean;
  /** An earlier call has left state in it (kept-sessions.ts). */
  readonly state?: StateOwner;
  /** Another call starts in the session: resets the count of its messages. */
  begin(): void;
  /** Resolves when none of its processes and connections is left. Never throws. */
  close(options?: Closing): Promise<void>;
}

/** Names a caller's state at an upstream, and the process that has it. */
export interface StateOwner {
  readonly key: string;
  readonly process: string;
}

export interface Closing {
  /** The upstream keeps the session, for its task. */
  readonly keeps?: boolean;
  /** Its call ended with a result and left no open question: with `reuseSessions`, the next call may take the session (prepared-sessions.ts). */
  readonly isDone?: boolean;
}

/** Receives what happens in a session: the call that has it, which can later be another one. */
export interface SessionOwner {
  /** The stream of a tool call ended before its result, or an answer could not be delivered: the call will never end. */
  onCut?: ((why: string) => void) | undefined;
  /** An answer was refused for the caller's access token. Resolves when there is another one. */
  onUnauthorized?: (() => Promise<void>) | undefined;
  /** Notifications that arrive with the replies to `tasks`. */
  onNotification?: ((method: string, params: unknown) => void) | undefined;
  /** The upstream sent more than one call may; what comes later is dropped. */
  onFlood?: ((sent: string) => void) | undefined;
  /** A question was dropped, because the upstream sends the messages of one session to others. */
  onDropped?: (() => void) | undefined;
  /** Whether a question of the call waits for an answer. */
  isAsking?: (() => boolean) | undefined;
  /** The session must serve no other call. */
  isSpent?: boolean;
}

export interface OpenSession {
  readonly owner?: SessionOwner;
  /** The caller: a reused session serves only calls of the same caller. See CallFacts.session. */
  readonly principal?: string;
  readonly session?: string;
  /** Names the caller's state at the upstream, for a call that may need it. */
  readonly stateKey?: string;
  /** Returns the caller's current access token, which each request sends in place of an `authorization` header of the file. */
  readonly accessToken?: (() => string) | undefined;
  readonly capabilities: ClientCapabilities;
  /** Registers handlers for the upstream's requests, before it can send any. `isMute`: the session has declared that there are none. */
  readonly prepare?: (client: Client, isMute: boolean) => void;
  readonly signal?: AbortSignal;
  readonly options?: Pick<ClientOptions, "listChanged">;
  /** Opens a new session rather than one that was opened in advance. */
  readonly isFresh?: boolean;
}

export interface UpstreamConnector {
  /** Throws what the client throws if nothing answers, or nothing that speaks MCP. */
  open(upstream: Upstream, request: OpenSession): Promise<UpstreamSession>;
  /** Polls tasks in sessions that any worker opened earlier. */
  sessionTasks(upstream: Upstream, accessToken?: () => string, onNotification?: SessionOwner["onNotification"]): TaskRequests;
  /** The caller was told that this state is lost: the next call starts without any. */
  told?(state: StateOwner): Promise<void>;
  /** Forgets what was detected about an upstream, because another server may answer there now. */
  forget(upstream: Upstream): void;
}

export interface ConnectorOptions {
  readonly fetch: FetchLike;
  readonly version: string;
  /** The name of this deployment, which is sent along so that a gateway notices that it is behind itself. */
  readonly deployment: string;
  readonly messagesMax?: number;
  /** Receives what commands print to standard error. Default: it is dropped, because it may contain anything. */
  readonly onStderr?: (upstream: string, text: string) => void;
}
