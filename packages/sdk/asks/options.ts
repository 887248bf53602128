/**
 * What authors write to ask for one thing: `ctx.text`, `ctx.number` and their siblings, and the `ask` of generator tools.
 *
 * Everything here reaches the person. What MCP's forms have a word for goes into the field; what they have none for is said in its
 * description or in the message; and all of it travels as `hints` for clients that know how to show it.
 */
import type { Audience, Duration } from "@parley/core";
import type { TaskEvent } from "../event.ts";
import type { Schema } from "../schema.ts";

/** What becomes of a question that nobody answered as hoped: the matching error is thrown, or the ask's default is its answer. */
export type Otherwise = "throw" | "default";

export interface CommonOptions {
  /** What the person reads. */
  readonly message: string;
  /** What the form calls the field. By default the name of the ask: `party-size` is "Party size". */
  readonly label?: string;
  /** Said below the field. */
  readonly description?: string;
  /** The same: what helps to fill it in. */
  readonly hint?: string;
  /** Shown below the message, such as what is about to be sent. */
  readonly preview?: string;
  /** An emoji stands before the message. */
  readonly icon?: string;
  /** What is done cannot be undone: the message begins with a warning sign. */
  readonly destructive?: boolean;
  /** What the buttons are to say. Forms of MCP name none, so the description says it as well. */
  readonly submitLabel?: string;
  readonly cancelLabel?: string;
  /** Whether a page keeps the question on the screen; a hint. */
  readonly persistent?: boolean;
  /** Another word for `timeout`. */
  readonly expires?: Duration;

  /** Whether the field must be filled in; true by default. With false the answer may be `undefined`. A field with a default may always be left. */
  readonly required?: boolean;
  /** How long the question stays open: `"2 days"`. The deployment's default is a week. */
  readonly timeout?: Duration;
  /** Declined throws Declined, unless this is `"default"`: then the default is the answer, or `undefined` if the field need not be filled in. */
  readonly onDecline?: Otherwise;
  /** The same for a question that was closed without yes or no (Cancelled). */
  readonly onCancel?: Otherwise;
  /** The same for ten answers that fit the form and not the options that it cannot say, such as `step` (ParleyError INVALID_ANSWER). */
  readonly onInvalid?: Otherwise;
  /** The same for a question that nobody answered in time (TimedOut); `"decline"` and `"fail"` as for `ctx.elicit`. */
  readonly onTimeout?: Otherwise | "cancel" | "decline" | "fail";
  /** As for `ctx.elicit`. */
  readonly signal?: AbortSignal;
  readonly to?: "caller" | Audience["to"];
  readonly not?: Audience["not"];
}

/** Options of `ctx.text`. */
export interface TextOptions extends CommonOptions {
  /** Filled in beforehand, and taken for an empty answer. */
  readonly default?: string;
  /** An example of what to write. */
  readonly placeholder?: string;
  /** A regular expression, judged with the flag u. One that takes long for long texts needs a `maxLength`. */
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: "email" | "uri";
}

/** Options of `ctx.number`. */
export interface NumberOptions extends CommonOptions {
  readonly min?: number;
  readonly max?: number;
  /** What the answer must be a multiple of, counted from `min` if there is one. A whole step asks for a whole number. */
  readonly step?: number;
  readonly default?: number;
}

/** Options of `ctx.confirm`. */
export interface ConfirmOptions extends CommonOptions {
  /** As `destructive`. */
  readonly dangerous?: boolean;
  readonly default?: boolean;
}

/** Options of `ctx.date`. */
export interface DateOptions extends CommonOptions {
  /** Asks for a moment and not for a day: `2026-12-24T19:30:00Z`. */
  readonly includeTime?: boolean;
  /** First and last that are taken: days, `2026-12-24`, or moments with `includeTime`. */
  readonly min?: string;
  readonly max?: string;
  readonly default?: string;
}

/** One of the options: a text, or a value with what a person reads in its place. */
export type SelectOption =
  | string
  | {
      readonly value: string;
      /** What the person reads; `label` is another word for it. */
      readonly title?: string;
      readonly label?: string;
      readonly description?: string;
      /** Said beside the title. */
      readonly price?: string | number;
      readonly quantity?: string | number;
      readonly badge?: string;
      readonly category?: string;
      /** Not offered; the description says so, and why. */
      readonly disabled?: boolean;
      readonly disabledReason?: string;
      /** The address of a picture; a hint. */
      readonly image?: string;
    };

/** Options of `ctx.select`. */
export interface SelectOptions<O extends readonly SelectOption[] = readonly SelectOption[]> extends CommonOptions {
  readonly options: O;
  /** Several may be chosen. */
  readonly multi?: boolean;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** The value of an option, or a list of them with `multi`. */
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
  /** The whole answer, for `onDecline` and its like. */
  readonly default?: object;
}

/** A page that the person visits. There is no default for a visit, so `onDecline` and its like have none either. */
export interface UrlOptions extends Omit<CommonOptions, "required" | "onDecline" | "onCancel" | "onInvalid" | "onTimeout"> {
  readonly url: string | URL;
  readonly onTimeout?: "throw" | "cancel" | "decline" | "fail";
}

/** A page from which the person comes back. */
export interface ReturnOptions extends UrlOptions {
  /**
   * The parameter of `url` by which that page's service takes an address to send people back to: `"return_url"`. Parley fills it in for each person, and the
   * question is settled when that person comes back to it.
   */
  readonly returnTo: string;
}

/** A page where something is done that another system tells of. */
export interface VisitOptions<T> extends UrlOptions {
  readonly completedBy: TaskEvent<T>;
}

/** `undefined` is an answer where the field need not be filled in and has no default. */
export type Maybe<T, O> = O extends { readonly default: {} } ? T : O extends { readonly required: false } ? T | undefined : T;

export type SelectValue<O extends readonly SelectOption[], Options> = Maybe<
  Options extends { readonly multi: true } ? OptionValue<O>[] : OptionValue<O>,
  Options
>;
