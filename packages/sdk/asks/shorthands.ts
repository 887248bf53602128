/**
 * `ctx.text`, `ctx.number`, `ctx.confirm`, `ctx.select`, `ctx.date`, `ctx.form`, `ctx.url`: shorthands of `ctx.ask`.
 * Each asks a form with the one field `value`, or a given form or page. They return the answer, and throw if there is
 * none.
 *
 *   options ─▶ field (what a form can express) + judge (what it cannot) ─▶ ctx.ask ─▶ the value, the default, or an error
 */
import { type Duration, type JsonObject, ParleyError, describeViolations } from "@parley/core";
import type { AskResult, ContentOf, FormAsk, UrlAsk } from "./ask.ts";
import { type TaskEvent, visitUntil } from "./event.ts";
import { throwUnanswered } from "../failures.ts";
import { present } from "../values/without-undefined.ts";
import { type Schema, jsonSchema } from "../schemas/schema.ts";
import { validateJson } from "../schemas/validate-json.ts";
import { type Field, WrongOption, confirmField, dateField, numberField, textField } from "./field.ts";
import type {
  CommonOptions,
  ConfirmOptions,
  DateOptions,
  FormOptions,
  Inferred,
  Maybe,
  NumberOptions,
  Otherwise,
  ReturnOptions,
  SelectOption,
  SelectOptions,
  SelectValue,
  TextOptions,
  UrlOptions,
  VisitOptions,
} from "./options.ts";
import { selectField } from "./select.ts";
import { hintsOf, messageOf } from "./wording.ts";
import { MESSAGE_WANTED, wrongAsk } from "./wrong-ask.ts";

/**
 * Each method asks for one thing. All throw Declined, Cancelled, TimedOut or Withdrawn, and ParleyErrors as `elicit`
 * does; INVALID_ASK has the path of an invalid option. With `onDecline` and similar options the default becomes the
 * answer instead.
 */
export interface Shorthands {
  /** Asks for a line of text. */
  text<const R extends boolean = true, const D = undefined>(
    name: string,
    options: TextOptions & Inferred<R, D>,
  ): Promise<Maybe<string, R, D>>;
  /** Asks for a number, or for an integer with an integer `step`. */
  number<const R extends boolean = true, const D = undefined>(
    name: string,
    options: NumberOptions & Inferred<R, D>,
  ): Promise<Maybe<number, R, D>>;
  /** Asks for yes or no. No is `false`. Declining or closing the question throws, as with the other methods. */
  confirm<const R extends boolean = true, const D = undefined>(
    name: string,
    options: ConfirmOptions & Inferred<R, D>,
  ): Promise<Maybe<boolean, R, D>>;
  /** Asks to choose one option, or several with `multi`. */
  select<const S extends readonly SelectOption[], const M extends boolean = false, const R extends boolean = true, const D = undefined>(
    name: string,
    options: SelectOptions<S> & Inferred<R, D> & { readonly multi?: M },
  ): Promise<Maybe<SelectValue<S, M>, R, D>>;
  /** Asks for a day such as `2026-12-24`, or for a time with `includeTime`. */
  date<const R extends boolean = true, const D = undefined>(
    name: string,
    options: DateOptions & Inferred<R, D>,
  ): Promise<Maybe<string, R, D>>;
  /** Asks for several fields at once. */
  form<const S extends Schema | JsonObject>(name: string, options: FormOptions<S>): Promise<ContentOf<S>>;
  /** Sends the person to a page, as `elicit` with a URL does. */
  url(name: string, options: UrlOptions & { readonly completedBy?: undefined; readonly returnTo?: undefined }): Promise<void>;
  /**
   * Sends the person to a page and waits until they return to a one-time address that Parley creates for this
   * question and this person. Returns the parameters with which they return. The person's browser transmits these:
   * verify anything important, such as a payment, with the service in a step.
   */
  url(name: string, options: ReturnOptions & { readonly completedBy?: undefined }): Promise<Readonly<Record<string, string>>>;
  /**
   * Sends the person to a page and waits until `completedBy` (a `ctx.event`) reports that they are done; returns the
   * event's body. The client only reports that they agreed to go. Also throws if the event times out. When one of the
   * two ends, the other is withdrawn.
   */
  url<T>(name: string, options: VisitOptions<T>): Promise<T>;
}

/** Asks a question: `ctx.ask`. */
export type AskQuestion = (name: string, ask: FormAsk<Schema | JsonObject> | UrlAsk) => Promise<AskResult<unknown>>;

export function createShorthands(askQuestion: AskQuestion): Shorthands {
  function asksFor<O extends CommonOptions & { readonly default?: unknown }>(fieldOf: (name: string, options: O) => Field) {
    return async (name: string, options: O): Promise<unknown> => {
      const { schema, preset } = valueForm(name, options, fieldOf);
      return askForm(
        name,
        { ...options, schema, message: messageOf(options) },
        preset,
        (content) => (content as { value?: unknown }).value,
      );
    };
  }

  async function askForm(
    name: string,
    { schema, ...options }: CommonOptions & { readonly schema: Schema | JsonObject },
    preset: Preset,
    read: (content: unknown) => unknown,
  ): Promise<unknown> {
    refuseQuorum(name, options);
    const { onDecline, onCancel, onInvalid, onTimeout } = options;
    for (const [option, chosen] of Object.entries({ onDecline, onCancel, onInvalid, onTimeout })) {
      const known = option === "onTimeout" ? [...OTHERWISE, "cancel", "decline", "fail"] : OTHERWISE;
      if (chosen !== undefined && !known.includes(chosen))
        throw wrongAsk(name, `/${option}`, `must be one of ${known.map((each) => JSON.stringify(each)).join(", ")}`);
      if (chosen === "default" && !preset.exists) throw wrongAsk(name, `/${option}`, 'is "default", and the ask has none');
    }
    const ask: FormAsk<Schema | JsonObject> = {
      message: options.message,
      schema,
      ...waiting(options),
      ...present({ hints: hintsOf(options) }),
      ...(onTimeout !== undefined &&
        onTimeout !== "throw" && { onTimeout: onTimeout === "default" ? { default: preset.content as never } : onTimeout }),
    };
    let result: AskResult<unknown>;
    try {
      result = await askQuestion(name, ask);
    } catch (error) {
      if (onInvalid === "default" && error instanceof ParleyError && error.code === "INVALID_ANSWER") return read(preset.content);
      throw error;
    }
    if (result.action === "accept") return read(result.content);
    const isDefault = (result.action === "decline" && onDecline === "default") || (result.action === "cancel" && onCancel === "default");
    return isDefault ? read(preset.content) : throwUnanswered(name, result);
  }

  const shorthands = {
    text: asksFor(textField),
    number: asksFor(numberField),
    confirm: asksFor(confirmField),
    select: asksFor(selectField),
    date: asksFor(dateField),
    form: async (name: string, options: FormOptions<Schema | JsonObject>) => {
      const message = formMessage(name, options);
      const preset = { exists: options.default !== undefined, content: options.default ?? {} };
      return askForm(name, { ...options, message }, preset, (content) => content);
    },
    url: async (name: string, options: UrlOptions & { readonly completedBy?: TaskEvent<unknown>; readonly returnTo?: string }) => {
      // Tools may be written without types.
      if ((options as Partial<typeof options> | undefined)?.completedBy === undefined) return visit(name, options);
      if (options.returnTo !== undefined)
        throw wrongAsk(name, "/returnTo", "and completedBy both say when the person is done: give one of them");
      const { completedBy, ...rest } = options as VisitOptions<unknown>;
      return visitUntil(completedBy, async (signal) => {
        const signals = rest.signal ? AbortSignal.any([rest.signal, signal]) : signal;
        await visit(name, { ...rest, signal: signals }, "event");
        throw new Error(`the visit "${name}" was accepted by its client`);
      });
    },
  };

  async function visit(name: string, options: UrlOptions & { readonly returnTo?: string }, completedBy?: "event"): Promise<unknown> {
    const message = formMessage(name, options);
    refuseQuorum(name, options);
    const { onTimeout } = options;
    const result = await askQuestion(name, {
      message,
      url: options.url,
      ...waiting(options),
      ...present({ hints: hintsOf(options), completedBy, returnTo: options.returnTo }),
      ...(onTimeout !== undefined && onTimeout !== "throw" && { onTimeout }),
    });
    return result.action === "accept" ? result.content : throwUnanswered(name, result);
  }

  // The compiler cannot follow how options determine the value through the shared implementation.
  return shorthands as Shorthands;
}

const OTHERWISE: readonly string[] = ["throw", "default"] satisfies Otherwise[];

/** Tools may be written without types, and silently ignoring a quorum would let one person approve what two must. */
function refuseQuorum(name: string, options: object): void {
  if ("quorum" in options && options.quorum !== undefined)
    throw wrongAsk(name, "/quorum", "is for ctx.elicit and ctx.ask, which return what each person said");
}

/** The answer in place of a person's. */
interface Preset {
  readonly exists: boolean;
  readonly content: object;
}

interface ValueForm {
  readonly schema: Schema;
  readonly preset: Preset;
}

function valueForm<O extends CommonOptions & { readonly default?: unknown }>(
  name: string,
  options: O,
  fieldOf: (name: string, options: O) => Field,
): ValueForm {
  checkMessage(name, options);
  const field = builtField(name, options, fieldOf);
  const { default: preset, required = true } = options;
  const hasDefault = preset !== undefined;
  const wrong = hasDefault ? problemOf(field, preset) : undefined;
  if (wrong !== undefined) throw wrongAsk(name, "/default", wrong);
  const property = { ...field.property, ...(hasDefault && { default: preset as JsonObject[string] }) };
  const form: JsonObject = {
    type: "object",
    properties: { value: property },
    ...(required && !hasDefault && { required: ["value"] }),
  };
  const schema = jsonSchema<{ value?: unknown }>(form, {
    "~standard": {
      version: 1,
      vendor: "parley",
      validate(content) {
        const { value } = content as { readonly value?: unknown };
        // Forms send an empty string for a field that was left empty.
        if (value === undefined || (value === "" && (hasDefault || !required))) return { value: hasDefault ? { value: preset } : {} };
        const message = field.judge(value);
        return message === undefined ? { value: { value } } : { issues: [{ message, path: ["value"] }] };
      },
    },
  });
  return { schema, preset: { exists: hasDefault || !required, content: hasDefault ? { value: preset } : {} } };
}

function builtField<O>(name: string, options: O, fieldOf: (name: string, options: O) => Field): Field {
  try {
    return fieldOf(name, options);
  } catch (error) {
    if (error instanceof WrongOption) throw wrongAsk(name, error.violation.path, error.violation.message);
    throw error;
  }
}

function problemOf({ property, judge }: Field, value: unknown): string | undefined {
  const [violation] = validateJson(property, value);
  return violation ? describeViolations([{ ...violation, path: "" }]).replace(/^the value /, "") : judge(value);
}

/** Tools may be written without types. */
function checkMessage(name: string, options: Partial<Pick<CommonOptions, "message">> | undefined): void {
  if (typeof options?.message !== "string" || options.message === "") throw wrongAsk(name, "/message", MESSAGE_WANTED);
}

function formMessage(name: string, options: Omit<CommonOptions, "required">): string {
  checkMessage(name, options);
  return messageOf(options);
}

type Waiting = "timeout" | "signal" | "to" | "not" | "priority" | "due" | "context" | "allow" | "assurance" | "remind" | "escalate";

function waiting({
  timeout,
  expires,
  signal,
  to,
  not,
  priority,
  due,
  context,
  allow,
  remind,
  assurance,
  escalate,
}: Pick<CommonOptions, Waiting | "expires">): Pick<FormAsk<Schema>, Waiting> {
  const patience: Duration | undefined = timeout ?? expires;
  return present({ timeout: patience, signal, to, not, priority, due, context, allow, assurance, remind, escalate });
}
