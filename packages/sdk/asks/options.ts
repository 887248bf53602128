/**
 * Options for asking one thing: `ctx.text`, `ctx.number` and similar methods, and the `ask` of generator tools.
 *
 * Every option reaches the person. Options that MCP's forms can express go into the field; the others are put into its description or the
 * message. All of them are also sent as `hints` for clients that can display them.
 */
import type { Audience, Duration } from "@parley/core";
import type { AboutOptions } from "./about.ts";
import type { TaskEvent } from "./event.ts";
import type { Schema } from "../schemas/schema.ts";

/** The outcome of a refused or unanswered question: its error is thrown, or the ask's default is taken as the answer. */
export type Otherwise = "throw" | "default";

export interface CommonOptions extends AboutOptions {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  /** What the person reads. */
  readonly message: string;
  /** The label of the field. By default derived from the name of the ask: `party-size` becomes "Party size". */
  readonly label?: string;
  /** Shown below the field. */
  readonly description?: string;
  /** Shown below the field: help for filling it in. */
  readonly hint?: string;
  /** Shown below the message, such as a preview of what will be sent. */
  readonly preview?: string;
  /** An emoji is placed before the message. */
  readonly icon?: string;
  /** The action cannot be undone. The message begins with a warning sign. */
  readonly destructive?: boolean;
  /** Labels of the buttons. MCP's forms have none, so the description mentions them as well. */
  readonly submitLabel?: string;
  readonly cancelLabel?: string;
  /** A hint whether a page keeps the question on the screen. */
  readonly persistent?: boolean;
  /** An alias of `timeout`. */
  readonly expires?: Duration;

  /** Whether the field must be filled in; true by default. If false, the answer may be `undefined`. A field with a default may always be left empty. */
  readonly required?: boolean;
  /** How long the question stays open, such as `"2 days"`. The default of the deployment is a week unless it sets another. */
  readonly timeout?: Duration;
  /** If the person declines, Declined is thrown. With `"default"` the default is taken instead, or `undefined` if the field is optional. */
  readonly onDecline?: Otherwise;
  /** The same if the person closes the question without a decision (Cancelled). */
  readonly onCancel?: Otherwise;
  /** The same after ten answers that match the form but not the options that it cannot express, such as `step` (ParleyError INVALID_ANSWER). */
  readonly onInvalid?: Otherwise;
  /** The same if the question times out (TimedOut); `"decline"` and `"fail"` as for `ctx.elicit`. */
  readonly onTimeout?: Otherwise | "cancel" | "decline" | "fail";
  /** As for `ctx.elicit`. */
  readonly signal?: AbortSignal;
  readonly to?: "caller" | Audience["to"];
  readonly not?: Audience["not"];
}

/** Options of `ctx.text`. */
export interface TextOptions extends CommonOptions {
  /** Filled in initially, and taken if the answer is empty. */
  readonly default?: string;
  /** An example of what to write. */
  readonly placeholder?: string;
  /** A regular expression, evaluated with the flag `u`. A pattern that is slow on long texts needs a `maxLength`. */
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: "email" | "uri";
}

/** Options of `ctx.number`. */
export interface NumberOptions extends CommonOptions {
  readonly min?: number;
  readonly max?: number;
  /** The answer must be a multiple of this, counted from `min` if given. An integer step asks for an integer. */
  readonly step?: number;
  readonly default?: number;
}

/** Options of `ctx.confirm`. */
export interface ConfirmOptions extends CommonOptions {
  /** An alias of `destructive`. */
  readonly dangerous?: boolean;
  readonly default?: boolean;
}

/** Options of `ctx.date`. */
export interface DateOptions extends CommonOptions {
  /** Asks for a date with a time, `2026-12-24T19:30:00Z`, instead of a date. */
  readonly includeTime?: boolean;
  /** The earliest and latest valid answer: days such as `2026-12-24`, which are included as a whole, or with `includeTime` also times. */
  readonly min?: string;
  readonly max?: string;
  readonly default?: string;
}

/** One of the options: a string, or a value with the title that the person reads. */
export type SelectOption =
  | string
  | {
      readonly value: string;
      /** What the person reads; `label` is an alias. */
      readonly title?: string;
      readonly label?: string;
      readonly description?: string;
      /** Shown beside the title. */
      readonly price?: string | number;
      readonly quantity?: string | number;
      readonly badge?: string;
      readonly category?: string;
      /** The option is not offered; the description says so and why. */
      readonly disabled?: boolean;
      readonly disabledReason?: string;
      /** The URL of a picture; a hint. */
      readonly image?: string;
    };

/** Options of `ctx.select`. */
export interface SelectOptions<O extends readonly SelectOption[] = readonly SelectOption[]> extends CommonOptions {
  readonly options: O;
  /** Several may be chosen. */
  readonly multi?: boolean;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** The value of an option, or a list of values with `multi`. */
  readonly default?: OptionValue<O> | readonly OptionValue<O>[];
  /** Hints for pages. */
  readonly searchable?: boolean;
  readonly layout?: string;
  readonly columns?: number;
}

/** The values that may be chosen. */
export type OptionValue<O extends readonly SelectOption[]> = ValueOf<O[number]>;
type ValueOf<Option> = Option extends string
  ? Option
  : Option extends { readonly disabled: true }
    ? never
    : Option extends { readonly value: infer Value extends string }
      ? Value
      : never;

/** Several fields at once; `schema` as for `ctx.elicit`. */
export interface FormOptions<S extends Schema | object> extends Omit<CommonOptions, "label" | "required"> {
  readonly schema: S;
  /** The whole answer, for `onDecline` and similar options. */
  readonly default?: object;
}

/** A page that the person visits. A visit has no default, so `onDecline` and similar options have none either. */
export interface UrlOptions extends Omit<CommonOptions, "required" | "onDecline" | "onCancel" | "onInvalid" | "onTimeout"> {
  readonly url: string | URL;
  readonly onTimeout?: "throw" | "cancel" | "decline" | "fail";
}

/** A page from which the person returns. */
export interface ReturnOptions extends UrlOptions {
  /**
   * The parameter of `url` in which the page's service expects the address to send people back to, such as `"return_url"`. Parley fills it in for each
   * person, and the question is settled when that person returns.
   */
  readonly returnTo: string;
}

/** A page whose completion another system reports. */
export interface VisitOptions<T> extends UrlOptions {
  readonly completedBy: TaskEvent<T>;
}

/**
 * The two options that decide the type of the answer. Only these are inferred: a type parameter for all options would
 * also take those that do not exist, and a misspelt `to` would compile.
 */
export interface Inferred<R extends boolean, D> {
  readonly required?: R;
  readonly default?: D;
}

/** The answer may be `undefined` if the field is optional and has no default. */
export type Maybe<T, R extends boolean, D> = [D] extends [{}] ? T : [R] extends [false] ? T | undefined : T;

/** The value of one option, or a list of values with `multi`. */
export type SelectValue<O extends readonly SelectOption[], M extends boolean> = [M] extends [true] ? OptionValue<O>[] : OptionValue<O>;
