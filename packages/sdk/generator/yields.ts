/**
 * What a generator tool may yield, and what it gets back.
 *
 *   const size = yield { ask: "number", id: "party-size", message: "How many?", min: 1 };     the answer
 *   yield { emit: "status", message: "Holding a table" };                                     undefined
 *   const table = yield { step: "hold", run: () => bookings.hold(date) };                     the step's result
 *   const [a, b] = yield [{ ask: "text", … }, { step: "load", run: … }];                      all of them, asked at once
 *   const paid = yield { event: "paid" };                                                     the event, for a step to hand over
 *   const body = yield paid;                                                                  what was told of it
 *   const { hotel } = yield { call: bookHotel, args: { city } };                              what the other tool gives
 *   yield "a chunk";                                                                          undefined: it is streamed
 */
import type { Duration, Json, JsonObject, LogLevel, StepAttempt, Tool } from "@parley/core";
import type { ConfirmOptions, DateOptions, FormOptions, NumberOptions, SelectOptions, TextOptions, UrlOptions } from "../asks/options.ts";
import type { CallOptions } from "../call.ts";
import type { SamplingRequest } from "../content.ts";
import type { SleepOptions, StepOptions, WaitOptions } from "../context.ts";
import type { EventOptions, TaskEvent } from "../event.ts";
import type { OauthAsk, PageAsk } from "../pages.ts";
import type { Schema } from "../schema.ts";

/** By its name an answer finds its question, and a client shows it. Without one asks are `ask_0`, `ask_1` … in their order. */
interface Identified {
  readonly id?: string;
}

/** A question: `ctx.text` and its siblings in another spelling, with the same options. */
export type AskYield =
  | (Identified & { readonly ask: "text" } & TextOptions)
  | (Identified & { readonly ask: "number" } & NumberOptions)
  | (Identified & { readonly ask: "confirm" } & ConfirmOptions)
  | (Identified & { readonly ask: "select" } & SelectOptions)
  | (Identified & { readonly ask: "date" } & DateOptions)
  | (Identified & { readonly ask: "form" } & FormOptions<Schema | JsonObject>)
  /**
   * Gets `{ action: "accept" }`, with `query` where it has a `returnTo`; with `completedBy` what was told of that event. `elicitationId` names it
   * where there is no `id`.
   */
  | (Identified & {
      readonly ask: "url";
      readonly elicitationId?: string;
      readonly completedBy?: TaskEvent<unknown>;
      readonly returnTo?: string;
    } & UrlOptions)
  /** Taken on a page that Parley serves, never by a form. Gets a Secret, which steps read. */
  | (Identified & { readonly ask: "secret" | "password"; readonly expires?: Duration } & PageAsk)
  /** Granted at an OAuth provider. Gets a Grant, whose tokens steps read. */
  | (Identified & { readonly ask: "oauth"; readonly expires?: Duration } & OauthAsk)
  /** Uploaded on such a page. Gets a FileRef, or a list of them with `multiple` or `count`. */
  | (Identified & FileYield & PageAsk);

/** `{ ask: "file" }`: files that the person uploads on a page. */
export interface FileYield {
  readonly ask: "file";
  /** MIME types and endings, in a list or separated by commas: `"image/*,.pdf"`. Anything unless said otherwise. */
  readonly accept?: string | readonly string[];
  readonly maxBytes?: number;
  /** As many as one question takes. */
  readonly multiple?: boolean;
  readonly count?: number;
  readonly expires?: Duration;
}

export type Severity = "info" | "success" | "warning" | "error";

/** Something to tell: nothing waits for it. */
export type EmitYield =
  /** What the tool is doing: the task's status message. */
  | { readonly emit: "status"; readonly message: string; readonly type?: Severity }
  /** How far it is, from 0 to 1: a progress notification, and the status message. */
  | { readonly emit: "progress"; readonly value: number; readonly message?: string; readonly meta?: object }
  /** A chunk of the result: texts are joined, other data is JSON on a line of its own. The content of a tool that returns nothing. */
  | { readonly emit: "stream"; readonly data?: unknown; readonly final?: boolean; readonly contentType?: string }
  /** A log message at its level. */
  | { readonly emit: "log"; readonly message: string; readonly level?: LogLevel | "warn"; readonly data?: unknown }
  | { readonly emit: "toast"; readonly message: string; readonly type?: Severity; readonly duration?: number }
  /** Shown as the status message, which comes back afterwards. */
  | { readonly emit: "thinking"; readonly active: boolean }
  | ArtifactYield
  /** Kept in the task's feed for pages and terminals that know how to show it; so is every other kind. */
  | ({ readonly emit: "ui" | "qr" | "render" | "canvas" } & { readonly [field: string]: unknown });

/** A content block of the result. It needs `content` or a `url`. */
export interface ArtifactYield {
  readonly emit: "artifact";
  readonly type: "image" | "code" | "document" | "embed" | "json";
  readonly title?: string;
  /** A link, or a `data:` url with the content in it. */
  readonly url?: string;
  /** Text; base64 for an image; any data for json. */
  readonly content?: unknown;
  /** Of code. */
  readonly language?: string;
  readonly mimeType?: string;
}

/** Done once, its result recorded: `ctx.step`. */
export interface StepYield extends StepOptions {
  readonly step: string;
  readonly run: (attempt: StepAttempt) => unknown;
}

/** Accepted and ignored: each ask and each step is a point from which the tool continues. */
export interface CheckpointYield {
  readonly checkpoint: true;
  readonly state?: unknown;
  readonly id?: string;
}

/** Whether the task takes the new way of a change: `ctx.patched`. Gets a boolean. */
export interface PatchedYield {
  readonly patched: string;
}

/**
 * Something outside that the tool waits for: `ctx.event`. Gets the event at once, whose `url` a step hands over; what was told of it gets who yields
 * the event itself.
 */
export interface EventYield extends EventOptions<Schema | JsonObject> {
  readonly event: string;
}

/** Calls another tool as a task of its own: `ctx.call`. Gets its result. */
export interface CallYield extends CallOptions {
  readonly call: Tool | string;
  readonly args?: object;
}

/** Waits for so long, or until then: `ctx.sleep`, `ctx.sleepUntil`. */
export type SleepYield = SleepOptions & { readonly sleep: string } & (
    | { readonly for: Duration; readonly until?: never }
    | { readonly until: Date | string | number; readonly for?: never }
  );

/** Has the client's model complete something: `ctx.sample`. Gets its reply. */
export interface SampleYield extends WaitOptions {
  readonly sample: string;
  readonly request: SamplingRequest;
}

/** The folders that the client works in: `ctx.roots`. */
export interface RootsYield extends WaitOptions {
  readonly roots: string;
}

/** Begins again from the start with these arguments: `ctx.restart`. Gets nothing, ever. */
export interface RestartYield {
  readonly restart: JsonObject;
}

/** One of several that run at once: a generator is driven beside the others. */
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
  | TaskEvent<unknown>
  | AnyToolGenerator;

/**
 * Several at once: gets their values, in a list or by name. The first that fails is thrown; the others' questions are withdrawn. By name, the
 * asks and steps of each are scoped to it: `ada/approve`.
 */
export interface AllYield {
  readonly all: readonly Parallel[] | { readonly [name: string]: Parallel };
}

/**
 * Several at once: gets the value of the first that comes to something, or is thrown its error; by name `{ name, value }`. The others are given up: their
 * questions are withdrawn, their sleeps end, and a step that is under way is waited for.
 */
export interface RaceYield {
  readonly race: readonly Parallel[] | { readonly [name: string]: Parallel };
}

/** A bare value is streamed; nothing (`yield;`) is nothing. */
export type BareYield =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | {
      readonly [field: string]: Json;
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

/** All that a generator tool may yield. */
export type Yielded = Parallel | EventYield | CheckpointYield | PatchedYield | RestartYield | readonly Parallel[] | BareYield;

// What `yield` gives depends on what was yielded, which TypeScript cannot say: write its type, or use `yield* ask.number(…)`. And a generator
// may return anything, or nothing.
/* oxlint-disable typescript/no-explicit-any -- see above */
/** A part of a generator tool: what another one takes over by `yield*`, or drives beside others by `all`. */
export type ToolGenerator<R = any> = Generator<Yielded, R, any>;
/** The same of an async one. */
export type AsyncToolGenerator<R = any> = AsyncGenerator<Yielded, R, any>;
export type AnyToolGenerator<R = any> = ToolGenerator<R> | AsyncToolGenerator<R>;
/* oxlint-enable typescript/no-explicit-any */

export function isGenerator(value: unknown): value is AnyToolGenerator {
  if (typeof value !== "object" || value === null) return false;
  const { next, throw: thrown } = value as { next?: unknown; throw?: unknown };
  const isIterable = Symbol.iterator in value || Symbol.asyncIterator in value;
  return typeof next === "function" && typeof thrown === "function" && isIterable;
}
