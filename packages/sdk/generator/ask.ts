/** `yield* ask.number({ … })` is `yield { ask: "number", … }` with a typed answer, which a bare `yield` cannot have. */
import type { Duration, JsonObject, Tool } from "@parley/core";
import type {
  ConfirmOptions,
  DateOptions,
  FormOptions,
  Maybe,
  NumberOptions,
  SelectOption,
  SelectOptions,
  SelectValue,
  TextOptions,
  UrlOptions,
} from "../asks/options.ts";
import type { ArgumentsOf, CallOptions, ResultOf } from "../call.ts";
import type { ContentOf, SleepOptions } from "../context.ts";
import type { BodyOf, EventOptions, TaskEvent } from "../event.ts";
import type { Recorded } from "../recorded.ts";
import type { Schema } from "../schema.ts";
import type { AskYield, CallYield, EventYield, PatchedYield, SleepYield, StepYield, Yielded } from "./yields.ts";

interface Id {
  readonly id?: string;
}

/** A generator that yields once. */
type Asked<T> = Generator<Yielded, T, unknown>;

function* one(yielded: AskYield | StepYield | PatchedYield | EventYield | CallYield | SleepYield | TaskEvent<unknown>): Asked<unknown> {
  return yield yielded;
}

interface Ask {
  text<const O extends TextOptions & Id>(options: O): Asked<Maybe<string, O>>;
  number<const O extends NumberOptions & Id>(options: O): Asked<Maybe<number, O>>;
  confirm<const O extends ConfirmOptions & Id>(options: O): Asked<Maybe<boolean, O>>;
  select<const S extends readonly SelectOption[], const O extends SelectOptions<S> & Id>(
    options: O & { readonly options: S },
  ): Asked<SelectValue<S, O>>;
  date<const O extends DateOptions & Id>(options: O): Asked<Maybe<string, O>>;
  form<const S extends Schema | JsonObject>(options: FormOptions<S> & Id): Asked<ContentOf<S>>;
  url(options: UrlOptions & Id): Asked<{ readonly action: "accept" }>;
}

/** Typed questions for generator tools: `const size = yield* ask.number({ id: "size", message: "How many?" })`. */
export const ask: Ask = {
  text: (options) => one({ ask: "text", ...options }) as Asked<never>,
  number: (options) => one({ ask: "number", ...options }) as Asked<never>,
  confirm: (options) => one({ ask: "confirm", ...options }) as Asked<never>,
  select: (options) => one({ ask: "select", ...options } as AskYield) as Asked<never>,
  date: (options) => one({ ask: "date", ...options }) as Asked<never>,
  form: (options) => one({ ask: "form", ...options } as AskYield) as Asked<never>,
  url: (options) => one({ ask: "url", ...options }) as Asked<never>,
};

/** `yield* step("hold", () => bookings.hold(date))` is `yield { step: "hold", run: … }` with a typed result. */
export function step<T>(
  name: string,
  run: (attempt: Parameters<StepYield["run"]>[0]) => T | PromiseLike<T>,
  options: Omit<StepYield, "step" | "run"> = {},
): Asked<Recorded<T>> {
  return one({ step: name, run, ...options }) as Asked<Recorded<T>>;
}

/** `const paid = yield* event("paid", { schema })` is `yield { event: "paid", … }` with a typed body. */
export function event<const S extends Schema | JsonObject = JsonObject>(
  name: string,
  options: EventOptions<S> = {},
): Asked<TaskEvent<BodyOf<S>>> {
  return one({ event: name, ...options } as EventYield) as Asked<never>;
}

/**
 * `const { hotel } = yield* call(bookHotel, { city })` is `yield { call: bookHotel, args: { city } }` with a typed
 * result.
 */
export function call<const T extends Tool | string>(tool: T, args: ArgumentsOf<T>, options: CallOptions = {}): Asked<ResultOf<T>> {
  return one({ call: tool, args, ...options }) as Asked<ResultOf<T>>;
}

/** `const { reference } = yield* received(paid)` is `yield paid` with a typed body. */
export function received<T>(event: TaskEvent<T>): Asked<T> {
  return one(event) as Asked<T>;
}

/** `yield* sleep("cool-down", "2 days")` is `yield { sleep: "cool-down", for: "2 days" }`. */
export function sleep(name: string, duration: Duration, options: SleepOptions = {}): Asked<void> {
  return one({ sleep: name, for: duration, ...options }) as Asked<void>;
}

/** `if (yield* patched("fraud-check")) …` is `ctx.patched`. */
export function patched(name: string): Asked<boolean> {
  return one({ patched: name }) as Asked<boolean>;
}
