/**
 * The effects of a handler: the untyped interface between the replay engine and `ctx` of packages/sdk.
 *
 * Every effect has a name; a repeated name gets an occurrence number. Recorded effects return at once on replay.
 */
import type { ApprovalNews, Given } from "./journal.ts";
import type { Announcement } from "./ports.ts";
import type {
  Acceptance,
  Answer,
  AskRequest,
  Audience,
  Call,
  EventRequest,
  FeedItem,
  Json,
  JsonObject,
  Outcome,
  TimeoutPolicy,
} from "./task.ts";

export interface Effects {
  readonly taskId: string;
  readonly call: Call;
  /** Aborted when the task is cancelled, the run times out or ends, or another worker took the task over; with a RunStopped. */
  readonly signal: AbortSignal;
  /** Maximum length of a value that is recorded, in characters of JSON. */
  readonly storedValueMax: number;

  /**
   * Asks a question. Settles when it is answered, its deadline passes, the client cannot be asked or `signal` is aborted; until then the run
   * parks.
   */
  ask(name: string, request: AskRequest, options?: AskOptions): Promise<Settled>;

  /**
   * Waits for an event from outside. Settles like an ask; `accept` has `{ body }`. The event is open before the next
   * side effect begins, so a system that receives the token there can use it at once. Throws EVENTS_UNAVAILABLE.
   */
  event(name: string, request: EventRequest, options?: EventOptions): EventHandle;

  /**
   * Calls a tool as a separate task and waits for its end. Settles with that end, or with `timeout` or `withdrawn`; the child is then cancelled, as it
   * is when this task ends. Throws INVALID_ARGUMENTS, CALL_TIMEOUT if the tool's own check of them takes too long, TOO_LARGE, TOOL_NOT_FOUND,
   * QUOTA_EXCEEDED, CHILD_REFUSED and JOURNAL_FULL, the same in every run.
   */
  callTool(name: string, request: ToolCall, options?: CallOptions): Promise<ChildEnd>;

  /**
   * Runs `work` once and records its result, which replays return.
   * Throws StepFailed when every attempt failed, also in replays.
   */
  step(name: string, work: (attempt: StepAttempt) => unknown, options?: StepOptions): Promise<Json | undefined>;

  /** Waits; for longer than about a second, without holding a worker. Rejects with the signal's reason if `signal` is aborted first. */
  sleep(name: string, ms: number, options?: Withdrawable): Promise<void>;

  /** Milliseconds since the epoch, recorded. */
  now(name?: string): number;
  /** In [0, 1), the same in every run of the task. */
  random(name?: string): number;
  /** A UUID (RFC 9562), the same in every run of the task. Callers cannot guess it. */
  uuid(name?: string): string;

  /**
   * Whether the task takes the new code path of a change: true if it reaches this point for the first time, false if its journal holds later work.
   * Decided once for each name and recorded.
   */
  patched(name: string): boolean;
  /** Whether the task took the new code path earlier. Records nothing, so that older code can run a task that did not. */
  tookPatch(name: string): boolean;
  /** Declares that the old code path of that change is gone: a task that took it diverges. Records nothing. */
  deprecatePatch(name: string): void;

  /**
   * Whether an earlier run recorded that step or patch, or asked that question, by the key of its entry: `step:open`, `ask:authorize#2`. For a course
   * that a setting decides, and that a task keeps if the setting changes.
   */
  wasRecorded(key: string): boolean;

  /**
   * Runs `work` with the names of its effects scoped to `key`: `step:alice/charge`. For code that runs concurrently and awaits something outside
   * ctx, which replay could not tell apart otherwise (AMBIGUOUS_EFFECT).
   */
  branch<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Makes one call whose name is scoped to `key`, as in a branch of its own. Throws INVALID_NAME. */
  keyed<T>(key: string, call: () => T): T;

  /**
   * Declares a promise of the implementation of ctx, such as one that reads an answer: awaiting it is no await of something outside. It must be
   * declared in the code that creates it. Returns the promise.
   */
  ofCtx<T extends Promise<unknown>>(promise: T): T;

  /**
   * Declares that the handler must await the promise of a call before it ends. If no code listens to it by then, the run fails with NOT_AWAITED,
   * which shows the call; unless `signal`, by which a question is withdrawn, is aborted, or a question of that name was asked by an earlier run:
   * the handler has waited for something since, and may return early. Returns the promise.
   */
  mustBeAwaited<T extends Promise<unknown>>(promise: T, call: ShownCall, signal?: AbortSignal): T;

  /**
   * Who gave the last settled answer to the ask of that name; undefined if no person did, because a deadline or a
   * default settled it.
   */
  answeredBy(name: string): Answerers | undefined;

  /** What the tool's schema made of the answer that settled last for that name. To be called in the microtasks that follow its settlement. */
  readingOf(name: string): Reading;

  /** What the person left on the page of an ask of this task, by the ask's key. For steps: it is read, never recorded. Throws DEPOSIT_UNREADABLE. */
  deposit(key: string): Promise<string>;

  /**
   * An access token from the grant on the page of an ask of this task, by the ask's key. It is renewed if it is about
   * to expire, or equals `refused`, a token that the provider no longer accepts. For steps. Throws GRANT_EXPIRED,
   * DEPOSIT_UNREADABLE, PROVIDER_UNAVAILABLE, PROVIDER_INVALID. Undefined if the deployment has no OAuth providers.
   */
  readonly accessToken: ((key: string, refused?: string) => Promise<string>) | undefined;

  /**
   * Grants of the task's owner that outlive their task. Undefined for an anonymous owner, and if the deployment keeps
   * no grants.
   */
  readonly kept: KeptAccess | undefined;

  /**
   * A file that was uploaded on a page of this task. Rejects with FILE_GONE. Undefined if the deployment stores no
   * files.
   */
  readonly openFile: ((id: string) => Promise<ReadableStream<Uint8Array>>) | undefined;

  /** Starts the same task again with an empty journal and these arguments. Never settles. */
  restart(args: JsonObject): Promise<never>;

  /** Adds an item to the task's feed. Not recorded: ignored on replay until the run does something new. */
  report(item: FeedItem): void;
  /** Sets the task's status message. */
  status(message: string): void;
  /** Text for the model while the task waits. */
  immediateResponse(text: string): void;
  announce(announcement: Announcement): void;
}

/** For steps. `grant` is the id of GrantRef; `ttlMs` is how long the grant is kept after this use. */
export interface KeptAccess {
  /** The id of the current consent. Undefined if there is none, or if it is `not`. */
  find(grant: string, use: { readonly ttlMs: number; readonly not?: string | undefined }): Promise<string | undefined>;
  /** Like accessToken. Throws GRANT_EXPIRED also if the grant is no longer kept. */
  token(grant: string, use: { readonly ttlMs: number; readonly refused?: string | undefined }): Promise<string>;
  /** Removes the consent, because the upstream refuses its tokens. */
  refuse(grant: string, consent: string): Promise<void>;
}

/** The outcome of an ask. With a quorum, including everyone who had accepted by then. */
export type Settled = Answer & { readonly accepted?: Acceptance[] };

/** Who answered: without a principal, no person settled it. With a quorum, `accepted` lists everyone who had accepted. */
export interface Answerers extends Partial<Given> {
  readonly principal?: string;
  /** Why they declined. */
  readonly reason?: string;
  readonly accepted?: readonly ({ readonly principal: string } & Pick<Given, "name" | "assurance" | "login" | "delegatedBy">)[];
}

/** An answer as the tool's schema reads it, which may draw an id or read the clock. */
export interface Reading {
  /** What an earlier run kept, to be read in place of the answer. */
  readonly kept: Json | undefined;
  /**
   * Keeps it with the next write, for the runs that follow. `isDrawn`: reading the answer again gives something else, so it is written before the
   * next side effect. Throws TOO_LARGE.
   */
  keep(content: Json, isDrawn: boolean): void;
}

export interface Withdrawable {
  /** Aborting it withdraws the ask, event or call: clients no longer show it, and a later answer is late. */
  readonly signal?: AbortSignal;
}

export interface AskOptions extends Withdrawable {
  readonly timeoutMs?: number;
  readonly onTimeout?: TimeoutPolicy;
  /** By default the owner of the task. */
  readonly audience?: Audience;
  /**
   * The request that the digest is taken from, by default the request itself: a question that is only worded differently stays the same question.
   * `any`: what an earlier run asked under this name is this question, whatever it was. Only where that answer is as good.
   */
  readonly identity?: AskRequest | "any";
}

export type EventOptions = Omit<AskOptions, "audience" | "identity">;

export interface EventHandle {
  /** The secret part of the address. It is the credential for reporting the event. */
  readonly token: string;
  /** Where to report the event: `POST` with a JSON body. */
  readonly url: string;
  readonly answer: Promise<Answer>;
  /** What the tool's schema made of the body, once it is here. */
  reading(): Reading;
}

export interface ToolCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** `timeoutMs`: by default the longest wait that is allowed. */
export type CallOptions = Pick<AskOptions, "timeoutMs" | "signal">;

/** How a child ended. */
export type ChildEnd = Outcome | { readonly type: "cancelled" | "timeout" | "withdrawn" };

export interface StepOptions {
  /** Number of attempts; 1 by default. */
  readonly attempts?: number;
  /** Wait before the second attempt, doubled for each further one; 1,000 by default. */
  readonly backoffMs?: number;
  /** Time limit of one attempt. */
  readonly timeoutMs?: number;
  /**
   * Whether this result is recorded with the run's next write, which saves a write of its own. The handler sees it before it is recorded. If
   * the worker dies in between, the next run does the step again and may get another result, so the handler must respond with effects only.
   */
  readonly isRecordedLater?: (result: Json | undefined) => boolean;
  /** What this result says of an approval: the name of its ask, which has settled. Others hear of it once it is recorded (ports/outbox.ts). */
  readonly tells?: { readonly ask: string; readonly what: (result: Json | undefined) => ApprovalNews };
}

export interface ShownCall {
  /** As the author wrote it: `ctx.confirm("delete")`. */
  readonly shown: string;
  readonly name: string | undefined;
}

/** What the work of a step receives for each attempt. */
export interface StepAttempt {
  /** Counts from 1. */
  readonly attempt: number;
  /** The same for every attempt and every run of this step: pass it to the service that is called. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}
