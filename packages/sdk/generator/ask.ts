/**
 * `yield* ask.number({ … })`: the same as `yield { ask: "number", … }`, with the type of its answer, which a bare `yield` cannot have.
 */
import type { JsonObject } from "@parley/core";
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
import type { ContentOf } from "../context.ts";
import type { Recorded } from "../recorded.ts";
import type { Schema } from "../schema.ts";
import type { AskYield, PatchedYield, StepYield, Yielded } from "./yields.ts";

interface Id {
  readonly id?: string;
}

/** A generator of one yield. */
type Asked<T> = Generator<Yielded, T, unknown>;

function* one(yielded: AskYield | StepYield | PatchedYield): Asked<unknown> {
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

export const ask: Ask = {
  text: (options) => one({ ask: "text", ...options }) as Asked<never>,
  number: (options) => one({ ask: "number", ...options }) as Asked<never>,
  confirm: (options) => one({ ask: "confirm", ...options }) as Asked<never>,
  select: (options) => one({ ask: "select", ...options } as AskYield) as Asked<never>,
  date: (options) => one({ ask: "date", ...options }) as Asked<never>,
  form: (options) => one({ ask: "form", ...options } as AskYield) as Asked<never>,
  url: (options) => one({ ask: "url", ...options }) as Asked<never>,
};

/** `yield* step("hold", () => bookings.hold(date))`: as `yield { step: "hold", run: … }`, with the type of its result. */
export function step<T>(
  name: string,
  run: (attempt: Parameters<StepYield["run"]>[0]) => T | Promise<T>,
  options: Omit<StepYield, "step" | "run"> = {},
): Asked<Recorded<T>> {
  return one({ step: name, run, ...options }) as Asked<Recorded<T>>;
}

/** `if (yield* patched("fraud-check")) …`: as `ctx.patched`. */
export function patched(name: string): Asked<boolean> {
  return one({ patched: name }) as Asked<boolean>;
}
