/**
 * `ctx.text`, `ctx.number`, `ctx.confirm`, `ctx.select`, `ctx.date`, `ctx.form`, `ctx.url`: shorthands of `ctx.ask`, each a form of one field,
 * `value`, or a form or a page as it is. They return what was answered, and throw when it was not.
 *
 *   options ─▶ field (what a form can say) + judge (what it cannot) ─▶ ctx.ask ─▶ the value, the default, or an error
 */
import { type Duration, type JsonObject, ParleyError, describeViolations } from "@parley/core";
import type { AskResult, ContentOf, FormAsk, UrlAsk } from "../context.ts";
import { type TaskEvent, visitUntil } from "../event.ts";
import { throwUnanswered } from "../failures.ts";
import { present } from "../present.ts";
import { type Schema, jsonSchema } from "../schema.ts";
import { validateJson } from "../validate-json.ts";
import { type Field, WrongOption, confirmField, dateField, numberField, textField } from "./field.ts";
import type {
  CommonOptions,
  ConfirmOptions,
  DateOptions,
  FormOptions,
  Maybe,
  NumberOptions,
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

/**
 * Each asks for one thing. All throw Declined, Cancelled, TimedOut or Withdrawn, and ParleyErrors as `elicit` does, INVALID_ASK with the path of
 * an option that is wrong; `onDecline` and its like make the default the answer instead.
 */
export interface Shorthands {
  /** Asks for a line of text. */
  text<const O extends TextOptions>(name: string, options: O): Promise<Maybe<string, O>>;
  /** Asks for a number; for a whole one with a whole `step`. */
  number<const O extends NumberOptions>(name: string, options: O): Promise<Maybe<number, O>>;
  /** Asks for yes or no. No is `false`; to decline or to close the question is an error, as everywhere. */
  confirm<const O extends ConfirmOptions>(name: string, options: O): Promise<Maybe<boolean, O>>;
  /** Asks to choose one option, or several with `multi`. */
  select<const S extends readonly SelectOption[], const O extends SelectOptions<S>>(
    name: string,
    options: O & { readonly options: S },
  ): Promise<SelectValue<S, O>>;
  /** Asks for a day as `2026-12-24`, or for a moment with `includeTime`. */
  date<const O extends DateOptions>(name: string, options: O): Promise<Maybe<string, O>>;
  /** Asks for several fields at once. */
  form<const S extends Schema | JsonObject>(name: string, options: FormOptions<S>): Promise<ContentOf<S>>;
  /** Sends the person to a page, as `elicit` with a url does. */
  url(name: string, options: UrlOptions & { readonly completedBy?: undefined; readonly returnTo?: undefined }): Promise<void>;
  /**
   * Sends the person to a page, and waits until they come back from there: to an address of Parley's own that is made for this question and this person, and
   * good once. Returns the parameters that they come back with. The person's browser brings these: what they say of a payment, say, ask the service in a step.
   */
  url(name: string, options: ReturnOptions & { readonly completedBy?: undefined }): Promise<Readonly<Record<string, string>>>;
  /**
   * Sends the person to a page, and waits until `completedBy` (a `ctx.event`) tells that they are done there; returns what it told. What their client
   * says is only that they agreed to go. Throws as well when the event times out. Whichever ends first, the other one is given up.
   */
  url<T>(name: string, options: VisitOptions<T>): Promise<T>;
}

/** Puts a question: `ctx.ask`. */
export type Put = (name: string, ask: FormAsk<Schema | JsonObject> | UrlAsk) => Promise<AskResult<unknown>>;

export function createShorthands(put: Put): Shorthands {
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
      result = await put(name, ask);
    } catch (error) {
      if (onInvalid === "default" && error instanceof ParleyError && error.code === "INVALID_ANSWER") return read(preset.content);
      throw error;
    }
    if (result.action === "accept") return read(result.content);
    const isDefault = (result.action === "decline" && onDecline === "default") || (result.action === "cancel" && onCancel === "default");
    return isDefault ? read(preset.content) : throwUnanswered(name, result.action);
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
      // Tools are written without types as well.
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
    const result = await put(name, {
      message,
      url: options.url,
      ...waiting(options),
      ...present({ hints: hintsOf(options), completedBy, returnTo: options.returnTo }),
      ...(onTimeout !== undefined && onTimeout !== "throw" && { onTimeout }),
    });
    return result.action === "accept" ? result.content : throwUnanswered(name, result.action);
  }

  // Which options give which value the compiler cannot follow into what they have in common.
  return shorthands as Shorthands;
}

/** Tools are written without types as well: left out silently it would let one person approve what two must. */
function refuseQuorum(name: string, options: object): void {
  if ("quorum" in options && options.quorum !== undefined)
    throw wrongAsk(name, "/quorum", "is for ctx.elicit and ctx.ask, which return what each person said");
}

/** What is answered in place of a person. */
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
        // Forms send an empty text for a field that was left.
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

function wrongAsk(name: string, path: string, message: string): ParleyError {
  const violations = [{ path, message }];
  return new ParleyError("INVALID_ASK", `the ask "${name}" is invalid: ${describeViolations(violations)}`, { violations });
}

/** Tools are written without types as well. */
function checkMessage(name: string, options: Partial<Pick<CommonOptions, "message">> | undefined): void {
  if (typeof options?.message !== "string" || options.message === "") throw wrongAsk(name, "/message", "must be what the person reads");
}

function formMessage(name: string, options: Omit<CommonOptions, "required">): string {
  checkMessage(name, options);
  return messageOf(options);
}

function waiting({
  timeout,
  expires,
  signal,
  to,
  not,
}: Pick<CommonOptions, "timeout" | "expires" | "signal" | "to" | "not">): Pick<FormAsk<Schema>, "timeout" | "signal" | "to" | "not"> {
  const patience: Duration | undefined = timeout ?? expires;
  return present({ timeout: patience, signal, to, not });
}
