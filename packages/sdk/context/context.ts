/**
 * `ctx`: everything that a tool can do besides computing. A typed layer over core's untyped `Effects`; create-context.ts implements it.
 *
 * After every wait the handler runs again from its start, and everything it did before returns at once from the journal. Between effects the
 * handler must therefore make the same decisions again: read the time, random values and everything from outside through `ctx`.
 */
import type { Announcement, ClientCapabilities, Duration, EmitKind, FileRef, JsonObject, LogLevel, StepAttempt, Tool } from "@parley/core";
import type { MapItem, MapKey, MapOptions } from "./map.ts";
import type { AnsweredBy, AskOf, AskResult, Elicited } from "../asks/ask.ts";
import type { Shorthands } from "../asks/shorthands.ts";
import type { Wizard } from "../asks/wizard.ts";
import type { ArgumentsOf, CallOptions, ResultOf } from "./call.ts";
import type { Root, SamplingReply, SamplingRequest } from "../results/content.ts";
import type { BodyOf, EventOptions, TaskEvent } from "../asks/event.ts";
import type { Grant } from "../values/grant.ts";
import type { FilesAsk, OauthAsk, PageAsk } from "../asks/pages.ts";
import type { Recorded } from "../schemas/recorded-type.ts";
import type { Schema } from "../schemas/schema.ts";
import type { Secret } from "../values/secret.ts";

/** Options of `ctx.step`. */
export interface StepOptions {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  /** Number of attempts; 1 by default. */
  readonly attempts?: number;
  /** Wait before the second attempt, doubled for each further one up to a day; `"1s"` by default. */
  readonly backoff?: Duration;
  /** Time limit of one attempt; none by default. */
  readonly timeout?: Duration;
}

/** Options of `ctx.sample` and `ctx.roots`. */
export interface WaitOptions {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  readonly timeout?: Duration;
  /** Aborting it withdraws the request. */
  readonly signal?: AbortSignal;
}

/** Options of `ctx.sleep` and `ctx.sleepUntil`. */
export interface SleepOptions {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  /** Aborting it ends the sleep: `sleep` throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Who called, as the identity provider described them then. The same in every run. */
export interface Caller {
  /** As in `ctx.principal`, in `answeredBy`, and in the audit. Compare people by it. */
  readonly principal: string;
  /**
   * For people to read: their name or, if the provider tells none, their address, username or `sub:` and subject; `api-key:` and the name of the key
   * of a machine. Several people may have the same. Absent where callers are not identified, and in calls to earlier versions of Parley.
   */
  readonly name?: string;
  /** The address that the provider has verified; absent if it has not. */
  readonly email?: string;
  /** The subject at the provider (`sub`); absent for a machine with an API key. */
  readonly subject?: string;
}

/** Everything that a handler can do besides computing: the second argument of `run`. */
export interface Context extends Shorthands, Wizard {
  readonly taskId: string;
  /** The caller's principal. */
  readonly principal: string;
  /** Who called: `ctx.caller.name` for people to read, `ctx.caller.email` to write to them. */
  readonly caller: Caller;
  /** What the client declared that it can be asked for. */
  readonly capabilities: ClientCapabilities;
  /**
   * Aborted when the run ends, like the signals of steps. Its `reason` is a RunStopped whose `why` is `cancelled` (by the client), `timeout`
   * (`runTimeout`), `failed` (another branch failed), `ended` (the handler returned), `draining` (the worker shuts down) or `lost` (another
   * worker has the task).
   */
  readonly signal: AbortSignal;
  /** The same in every run of this task, for services that take an idempotency key. Each step has one of its own, see `step`. */
  readonly idempotencyKey: string;

  /**
   * Asks the person and waits for the answer, without holding a worker. Returns the answer as the schema's output.
   *
   *   const { partySize } = await ctx.elicit("party-size", {
   *     message: "How many people will be dining?",
   *     schema: z.object({ partySize: z.number().int().min(1).max(20) }),
   *     timeout: "2 days",
   *   });
   *
   * Throws Declined, Cancelled, TimedOut or Withdrawn. Throws ParleyError INVALID_ASK if MCP does not allow the question, INVALID_ANSWER if ten
   * answers in a row match the form but not the schema, and CAPABILITY_REQUIRED if the client cannot be asked; deployments can choose to take
   * the `onTimeout` default in that case.
   *
   * With `quorum`, asks several people, of whom that many must accept, and returns what each of them answered. Its TimedOut says how many had
   * accepted. With `url` in place of `schema`, sends the person to a page, and resolves when they agree to go there; only the page's own service knows
   * whether they finished.
   */
  elicit<const S extends Schema | JsonObject = never, const Q extends number | undefined = undefined>(
    name: string,
    ask: AskOf<S, Q>,
  ): Promise<Elicited<S, Q>>;

  /**
   * Asks for a secret (a password, a key) on a page that Parley serves. The secret never passes through the client, the model, logs or the journal.
   * Throws like `elicit` for forms.
   */
  secret(name: string, ask: PageAsk): Promise<Secret>;
  /**
   * Asks for permission to act on the person's behalf at an OAuth provider: on a page that Parley serves, they log in there and consent. Resolves when
   * they return with their consent. Tokens never pass through the client, the model, logs or the journal. Throws like `elicit` for forms;
   * INVALID_ASK for a provider or scopes that the deployment does not allow, OAUTH_UNAVAILABLE if it has no providers (PARLEY_OAUTH).
   */
  oauth(name: string, ask: OauthAsk): Promise<Grant>;
  /**
   * Asks for a file, or for up to `count` files, on a page that Parley serves. Returns references; `openFile` returns the content. Throws like
   * `elicit` for forms; FILES_UNAVAILABLE if the deployment keeps no files (PARLEY_FILES).
   */
  file<const N extends number | undefined = undefined>(
    name: string,
    ask: FilesAsk & { readonly count?: N },
  ): Promise<N extends number ? readonly FileRef[] : FileRef>;
  /** The content of a file that was uploaded for this task. To be called in steps. Rejects with ParleyError FILE_GONE. */
  openFile(file: Pick<FileRef, "id">): Promise<ReadableStream<Uint8Array>>;

  /** Like `elicit`, but returns the outcome of the question instead of throwing on a refusal. Throws the same ParleyErrors. */
  ask<const S extends Schema | JsonObject = never, const Q extends number | undefined = undefined>(
    name: string,
    ask: AskOf<S, Q>,
  ): Promise<AskResult<Elicited<S, Q, undefined>>>;

  /**
   * The person who gave the last answer to the question of that name (within its `branch`). Undefined if no person answered, for example because a
   * default or the deadline did. The same in every run. If callers are not identified, it is always the caller.
   *
   *   await ctx.confirm("approve", { message: `Pay ${amount} €?`, to: { groups: ["finance"] }, not: "caller" });
   *   const approver = ctx.answeredBy("approve")?.principal;
   */
  answeredBy(name: string, question?: { readonly key?: string | number }): AnsweredBy | undefined;

  /**
   * Runs `work` once in the life of the task and records its result, which must be plain data.
   *
   *   const table = await ctx.step("hold-table", ({ idempotencyKey }) => bookings.hold(date, time, idempotencyKey));
   *
   * If the worker dies before the result is recorded, the step runs again with the same `idempotencyKey`: pass it to the service that you call.
   * Throws StepFailed when every attempt failed, and the ToolError that `work` threw.
   */
  step<T>(name: string, work: (attempt: StepAttempt) => T | PromiseLike<T>, options?: StepOptions): Promise<Recorded<T>>;

  /**
   * Waits for an event that another system reports (a payment, a build, a callback) at an address that the tool passes on in a step:
   *
   *   const paid = ctx.event("paid", { schema: z.object({ amount: z.number() }), timeout: "1 day" });
   *   await ctx.step("checkout", () => payments.create({ order, callback: paid.url }));
   *   const { amount } = await paid.received();
   *
   * The event is open before the step begins, and is accepted once: the same body again is a duplicate, a different one is late. The address is
   * the credential. It is never recorded or shown to the client, and a tool that tries to is stopped with EVENT_TOKEN_MISPLACED. Throws
   * EVENTS_UNAVAILABLE if the deployment has no public address (PARLEY_PUBLIC_URL), and INVALID_ASK for a schema that cannot be checked.
   */
  event<const S extends Schema | JsonObject = JsonObject>(name: string, options?: EventOptions<S>): TaskEvent<BodyOf<S>>;

  /**
   * Calls another tool as a task of its own, and waits for its result without holding a worker. The child has its own journal and the same caller,
   * and is cancelled if this task ends first. Its questions are shown with those of this task, as `<key>:<name>`.
   *
   *   const { hotel } = await ctx.call(bookHotel, { city }, { key: "hotel", timeout: "2 days" });
   *
   * Returns the value that the tool's `output` describes, or its text. Calls by name (`ctx.call("book_hotel", …)`) are not typed. Throws ChildFailed,
   * TimedOut or Withdrawn; ParleyError INVALID_ARGUMENTS, CALL_TIMEOUT if the tool's own check of them takes longer than 5 s, TOO_LARGE,
   * TOOL_NOT_FOUND if this worker does not serve the tool, QUOTA_EXCEEDED, CHILD_REFUSED, and JOURNAL_FULL if the results of all children exceed what
   * the task may record.
   */
  call<const T extends Tool | string>(tool: T, args: ArgumentsOf<T>, options?: CallOptions): Promise<ResultOf<T>>;

  /** Waits for a duration such as `"10 minutes"`. Waits of more than about a second hold no worker. */
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>;
  /** Waits until a time, given as for `new Date()`: `"2026-12-24T18:00:00Z"`. Resolves at once if it has passed. The time is recorded. */
  sleepUntil(name: string, time: Date | string | number, options?: SleepOptions): Promise<void>;
  /** The current time, recorded: the same in every run of the task. */
  now(name?: string): Date;
  /** A number in [0, 1), the same in every run of the task. */
  random(name?: string): number;
  /** A random UUID, the same in every run of the task. Callers cannot guess it. */
  uuid(name?: string): string;

  /**
   * Whether the task takes the new code path of a change to this handler: true for a task that reaches this point for the first time, false for one
   * that passed it before the change. The decision is recorded, so every later run and every further call of that name (within its `branch`)
   * decides the same. Once no task needs the old path, replace the call by `deprecatePatch`.
   *
   *   if (ctx.patched("fraud-check")) await ctx.step("check", () => fraud.check(order));
   */
  patched(name: string): boolean;
  /**
   * Replaces `patched` after its old code path was removed. Tasks that took the new path find their decision; a task that took the old one fails
   * with REPLAY_DIVERGED. Remove the call when all tasks that called `patched` have ended.
   */
  deprecatePatch(name: string): void;

  /**
   * Runs `work` with the names of its steps, questions and sleeps prefixed by `key`: `alice/approve`. For code that runs concurrently and awaits
   * something outside `ctx`, which ends the task with AMBIGUOUS_EFFECT if replay could not tell its calls apart. For the items of a list, see `map`.
   */
  branch<T>(key: string, work: () => Promise<T>): Promise<T>;

  /**
   * Does `work` for each item, several at once, and returns the results in the order of the items. Each item has a branch of its own by its key, so
   * `work` may await anything. `key` names a property, or is a function; two items with the same key are refused with AMBIGUOUS_EFFECT. At most
   * 10,000 items (TOO_LARGE).
   *
   *   const receipts = await ctx.map(orders, "id", async (order) => {
   *     const rate = await rates.today(order.currency);
   *     return await ctx.step("charge", ({ idempotencyKey }) => payments.charge(order, rate, idempotencyKey));
   *   }, { concurrency: 5 });
   */
  map<I, R>(
    items: Iterable<I>,
    key: MapKey<I>,
    work: (item: I, about: MapItem) => R | Promise<R>,
    options: MapOptions & { readonly settle: "allSettled" },
  ): Promise<PromiseSettledResult<R>[]>;
  map<I, R>(items: Iterable<I>, key: MapKey<I>, work: (item: I, about: MapItem) => R | Promise<R>, options?: MapOptions): Promise<R[]>;
  /**
   * Starts the same task again with these arguments and an empty journal, so that a loop can run forever. Pass everything that the next round needs in
   * the arguments. Never returns: write `return await ctx.restart({ … })`.
   */
  restart(args: JsonObject): Promise<never>;

  /** Reports progress to clients that asked for it. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sets the task's status message: a sentence that says what the tool is doing. */
  status(message: string): void;
  /** Sends a log message to the client, at level `info` unless given. */
  log(message: string): void;
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Adds an item to the task's feed that MCP has no notification for, such as a toast. Pages and terminals that show the feed display it. `data` is a
   * plain object; long texts in it are cut. Data that belongs to the result should be returned as the result.
   */
  emit(kind: EmitKind, data: object): void;
  /**
   * Releases the client's connection while the tool continues to work: a client that can return for the rest is asked to, other clients keep
   * waiting. For tools that work for minutes; a question releases the worker, but not the connection.
   */
  releaseCall(): void;
  /** Sets a text that the model may read while the task waits. */
  immediateResponse(text: string): void;
  /** Notifies every client that a list or a resource has changed. */
  announce(announcement: Announcement): void;

  /** Asks the client's model for a completion. Throws Declined, Cancelled or TimedOut; ParleyError CAPABILITY_REQUIRED. */
  sample(name: string, request: SamplingRequest, options?: WaitOptions): Promise<SamplingReply>;
  /** The folders that the client works in. Throws Declined, Cancelled or TimedOut; ParleyError CAPABILITY_REQUIRED. */
  roots(name?: string, options?: WaitOptions): Promise<readonly Root[]>;
}
