/**
 * What a generator tool may yield, and what it receives.
 *
 *   const size = yield { ask: "number", id: "party-size", message: "How many?", min: 1 };     the answer
 *   yield { emit: "status", message: "Holding a table" };                                     undefined
 *   const table = yield { step: "hold", run: () => bookings.hold(date) };                     the step's result
 *   const [a, b] = yield [{ ask: "text", … }, { step: "load", run: … }];                      all results; asked at once
 *   const paid = yield { event: "paid" };                                                     the event, to pass on in a step
 *   const body = yield paid;                                                                  the reported body
 *   const { hotel } = yield { call: bookHotel, args: { city } };                              the other tool's result
 *   yield "a chunk";                                                                          undefined; it is streamed
 */
import type { MapItem, MapOptions } from "../context/map.ts";
import type { Duration, Json, JsonObject, LogLevel, StepAttempt, Tool } from "@parley/core";
import type { ConfirmOptions, DateOptions, FormOptions, NumberOptions, SelectOptions, TextOptions, UrlOptions } from "../asks/options.ts";
import type { CallOptions } from "../context/call.ts";
import type { SamplingRequest } from "../results/content.ts";
import type { SleepOptions, StepOptions, WaitOptions } from "../context/context.ts";
import type { EventOptions, TaskEvent } from "../asks/event.ts";
import type { OauthAsk, PageAsk } from "../asks/pages.ts";
import type { WizardOptions, WizardPages } from "../asks/wizard.ts";
import type { Schema } from "../schemas/schema.ts";

/**
 * The name under which clients show the question and answers find it. Asks without one are `ask_0`, `ask_1` … in
 * order.
 */
interface Identified {
  readonly id?: string;
}

/** A question: another spelling of `ctx.text` and its siblings, with the same options. */
export type AskYield =
  | (Identified & { readonly ask: "text" } & TextOptions)
  | (Identified & { readonly ask: "number" } & NumberOptions)
  | (Identified & { readonly ask: "confirm" } & ConfirmOptions)
  | (Identified & { readonly ask: "select" } & SelectOptions)
  | (Identified & { readonly ask: "date" } & DateOptions)
  | (Identified & { readonly ask: "form" } & FormOptions<Schema | JsonObject>)
  /**
   * Receives `{ action: "accept" }`, with `query` if it has a `returnTo`; with `completedBy`, the body of that event.
   * Without an `id`, `elicitationId` is the name.
   */
  | (Identified & {
      readonly ask: "url";
      readonly elicitationId?: string;
      readonly completedBy?: TaskEvent<unknown>;
      readonly returnTo?: string;
    } & UrlOptions)
  /** Collected on a page that Parley serves, never by a form. Receives a Secret, which steps read. */
  | (Identified & { readonly ask: "secret" | "password"; readonly expires?: Duration } & PageAsk)
  /** Granted at an OAuth provider. Receives a Grant, whose tokens steps read. */
  | (Identified & { readonly ask: "oauth"; readonly expires?: Duration } & OauthAsk)
  /** Several pages of one form, with a way back: `ctx.wizard`. Receives the answers by page. */
  | (Identified & { readonly ask: "wizard" } & WizardOptions<WizardPages>)
  /** Uploaded on a page that Parley serves. Receives a FileRef, or a list of them with `multiple` or `count`. */
  | (Identified & FileYield & PageAsk);

/** `{ ask: "file" }`: files that the person uploads on a page. */
export interface FileYield {
  readonly ask: "file";
  /** MIME types and extensions, as a list or separated by commas: `"image/*,.pdf"`. Any type by default. */
  readonly accept?: string | readonly string[];
  readonly maxBytes?: number;
  /** As many files as one question takes. */
  readonly multiple?: boolean;
  readonly count?: number;
  readonly expires?: Duration;
}

export type Severity = "info" | "success" | "warning" | "error";

/** Output that the tool does not wait for. */
export type EmitYield =
  /** What the tool is doing: the task's status message. */
  | { readonly emit: "status"; readonly message: string; readonly type?: Severity }
  /** Progress from 0 to 1: a progress notification, and the status message. */
  | { readonly emit: "progress"; readonly value: number; readonly message?: string; readonly meta?: object }
  /**
   * A chunk of the result. Strings are joined, other data becomes one line of JSON each. It is the content of a tool
   * that returns nothing.
   */
  | { readonly emit: "stream"; readonly data?: unknown; readonly final?: boolean; readonly contentType?: string }
  /** A log message at its level. */
  | { readonly emit: "log"; readonly message: string; readonly level?: LogLevel | "warn"; readonly data?: unknown }
  | { readonly emit: "toast"; readonly message: string; readonly type?: Severity; readonly duration?: number }
  /** Shown as the status message; the previous one is restored afterwards. */
  | { readonly emit: "thinking"; readonly active: boolean }
  | ArtifactYield
  /** Kept in the task's feed for pages and terminals that can show it, like every other kind. */
  | ({ readonly emit: "ui" | "qr" | "render" | "canvas" } & { readonly [field: string]: unknown });

/** A content block of the result. It needs `content` or a `url`. */
export interface ArtifactYield {
  readonly emit: "artifact";
  readonly type: "image" | "code" | "document" | "embed" | "json";
  readonly title?: string;
  /** A link, or a `data:` URL that holds the content. */
  readonly url?: string;
  /** A string; base64 for an image; any data for json. */
  readonly content?: unknown;
  /** For code. */
  readonly language?: string;
  readonly mimeType?: string;
}

/** Runs once, and its result is recorded: `ctx.step`. */
export interface StepYield extends StepOptions {
  readonly step: string;
  readonly run: (attempt: StepAttempt) => unknown;
}

/** Accepted and ignored: the tool can continue from every ask and every step anyway. */
export interface CheckpointYield {
  readonly checkpoint: true;
  readonly state?: unknown;
  readonly id?: string;
}

/** Whether the task takes the new code path of a change: `ctx.patched`. Receives a boolean. */
export interface PatchedYield {
  readonly patched: string;
}

/**
 * Waits for something outside: `ctx.event`. Receives the event at once; a step passes its `url` on. Yield the event
 * itself to receive its body.
 */
export interface EventYield extends EventOptions<Schema | JsonObject> {
  readonly event: string;
}

/** Calls another tool as a task of its own: `ctx.call`. Receives its result. */
export interface CallYield extends CallOptions {
  readonly call: Tool | string;
  readonly args?: object;
}

/** Waits for a duration, or until a time: `ctx.sleep`, `ctx.sleepUntil`. */
export type SleepYield = SleepOptions & { readonly sleep: string } & (
    | { readonly for: Duration; readonly until?: never }
    | { readonly until: Date | string | number; readonly for?: never }
  );

/** Asks the client's model for a completion: `ctx.sample`. Receives its reply. */
export interface SampleYield extends WaitOptions {
  readonly sample: string;
  readonly request: SamplingRequest;
}

/** The folders that the client works in: `ctx.roots`. */
export interface RootsYield extends WaitOptions {
  readonly roots: string;
}

/** Restarts the task with these arguments: `ctx.restart`. Never receives anything. */
export interface RestartYield {
  readonly restart: JsonObject;
}

/** One of several that run at once; a generator is driven beside the others. */
export type Parallel =
  | AskYield
  | EmitYield
  | StepYield
  | CallYield
  | SleepYield
  | SampleYield
  | RootsYield
  | AllYield
  | RaceYield
  | MapYield
  | TaskEvent<unknown>
  | AnyToolGenerator;

/**
 * Runs several at once. Receives their values, as a list or by name. The first failure is thrown, and the others'
 * questions are withdrawn. With names, the asks and steps of each are prefixed: `ada/approve`.
 */
export interface AllYield {
  readonly all: readonly Parallel[] | { readonly [name: string]: Parallel };
}

/**
 * Runs several at once. Receives the value of the first to settle, or its error is thrown; with names, `{ name, value
 * }`. The others are given up: their questions are withdrawn, their sleeps end, and steps in progress are awaited.
 */
export interface RaceYield {
  readonly race: readonly Parallel[] | { readonly [name: string]: Parallel };
}

/**
 * Runs what `each` returns for every item, several at once, as `ctx.map` does. Receives the results in the order of the items. The asks and steps of an
 * item are prefixed by its key.
 */
export interface MapYield extends MapOptions {
  readonly map: Iterable<unknown>;
  readonly key: string | ((item: never, index: number) => string | number);
  readonly each: (item: never, about: MapItem) => Parallel;
}

/** A bare value is streamed; `yield;` does nothing. */
export type BareYield =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | {
      // Without exactOptionalPropertyTypes, the members below may be undefined, as may those that the compiler adds to objects that are yielded
      // beside others.
      readonly [field: string]: Json | undefined;
      readonly ask?: never;
      readonly emit?: never;
      readonly step?: never;
      readonly all?: never;
      readonly checkpoint?: never;
      readonly patched?: never;
      readonly race?: never;
      readonly event?: never;
      readonly call?: never;
      readonly sleep?: never;
      readonly sample?: never;
      readonly roots?: never;
      readonly restart?: never;
    };

/** Everything that a generator tool may yield. */
export type Yielded = Parallel | EventYield | CheckpointYield | PatchedYield | RestartYield | readonly Parallel[] | BareYield;

// The type of a `yield` expression depends on what was yielded, which TypeScript cannot express: annotate it, or use
// `yield* ask.number(…)`. And a generator may return anything, or nothing.
/* oxlint-disable typescript/no-explicit-any -- see above */
/** Part of a generator tool, for another one to delegate to with `yield*` or to run beside others with `all`. */
export type ToolGenerator<R = any> = Generator<Yielded, R, any>;
/** The async form of ToolGenerator. */
export type AsyncToolGenerator<R = any> = AsyncGenerator<Yielded, R, any>;
export type AnyToolGenerator<R = any> = ToolGenerator<R> | AsyncToolGenerator<R>;
/* oxlint-enable typescript/no-explicit-any */

export function isGenerator(value: unknown): value is AnyToolGenerator {
  if (typeof value !== "object" || value === null) return false;
  const { next, throw: thrown } = value as { next?: unknown; throw?: unknown };
  const isIterable = Symbol.iterator in value || Symbol.asyncIterator in value;
  return typeof next === "function" && typeof thrown === "function" && isIterable;
}
