/** `yield* ask.number({ … })` is `yield { ask: "number", … }` with a typed answer, which a bare `yield` cannot have. */
import type { Duration, FileRef, JsonObject, Tool } from "@parley/core";
import type {
  ConfirmOptions,
  DateOptions,
  FormOptions,
  Inferred,
  Maybe,
  NumberOptions,
  SelectOption,
  SelectOptions,
  SelectValue,
  TextOptions,
  UrlOptions,
} from "../asks/options.ts";
import type { ArgumentsOf, CallOptions, ResultOf } from "../context/call.ts";
import type { ContentOf } from "../asks/ask.ts";
import type { SleepOptions, WaitOptions } from "../context/context.ts";
import type { Root, SamplingReply, SamplingRequest } from "../results/content.ts";
import type { BodyOf, EventOptions, TaskEvent } from "../asks/event.ts";
import type { OauthAsk, PageAsk } from "../asks/pages.ts";
import type { WizardOptions, WizardPages, WizardResult } from "../asks/wizard.ts";
import type { Grant } from "../values/grant.ts";
import type { Secret } from "../values/secret.ts";
import type { Recorded } from "../schemas/recorded-type.ts";
import type { Schema } from "../schemas/schema.ts";
import { noteMade } from "./unyielded.ts";
import type {
  AskYield,
  CallYield,
  EventYield,
  FileYield,
  PatchedYield,
  RootsYield,
  SampleYield,
  SleepYield,
  StepYield,
  Yielded,
} from "./yields.ts";

interface Id {
  readonly id?: string;
}

/** A generator that yields once. */
type Asked<T> = Generator<Yielded, T, unknown>;

type One = SampleYield | RootsYield | AskYield | StepYield | PatchedYield | EventYield | CallYield | SleepYield | TaskEvent<unknown>;

/** `helper` names it in NOT_AWAITED. */
function one(helper: string, yielded: One): Asked<unknown> {
  return yieldOnce(yielded, noteMade(helper));
}

function* yieldOnce(yielded: One, isYielded: () => void): Asked<unknown> {
  isYielded();
  return yield yielded;
}

function asked(yielded: AskYield): Asked<never> {
  const { ask: kind, id } = yielded;
  return one(`ask.${kind}${id === undefined ? "" : `(${JSON.stringify(id)})`}`, yielded) as Asked<never>;
}

interface Ask {
  text<const R extends boolean = true, const D = undefined>(options: TextOptions & Inferred<R, D> & Id): Asked<Maybe<string, R, D>>;
  number<const R extends boolean = true, const D = undefined>(options: NumberOptions & Inferred<R, D> & Id): Asked<Maybe<number, R, D>>;
  confirm<const R extends boolean = true, const D = undefined>(options: ConfirmOptions & Inferred<R, D> & Id): Asked<Maybe<boolean, R, D>>;
  select<const S extends readonly SelectOption[], const M extends boolean = false, const R extends boolean = true, const D = undefined>(
    options: SelectOptions<S> & Inferred<R, D> & { readonly multi?: M } & Id,
  ): Asked<Maybe<SelectValue<S, M>, R, D>>;
  date<const R extends boolean = true, const D = undefined>(options: DateOptions & Inferred<R, D> & Id): Asked<Maybe<string, R, D>>;
  form<const S extends Schema | JsonObject>(options: FormOptions<S> & Id): Asked<ContentOf<S>>;
  url(options: UrlOptions & Id): Asked<{ readonly action: "accept" }>;
  /** Steps read it with `use`. */
  secret(options: PageAsk & Id): Asked<Secret>;
  /** Steps read its tokens. */
  oauth(options: OauthAsk & Id): Asked<Grant>;
  /** Several pages of one form, with a way back. */
  wizard<const P extends WizardPages>(options: WizardOptions<P> & Id): Asked<WizardResult<P>>;
  file<const M extends boolean = false, const C extends number | undefined = undefined>(
    options: Omit<FileYield, "ask" | "multiple" | "count"> & PageAsk & Id & { readonly multiple?: M; readonly count?: C },
  ): Asked<M extends true ? readonly FileRef[] : C extends number ? readonly FileRef[] : FileRef>;
}

/** Typed questions for generator tools: `const size = yield* ask.number({ id: "size", message: "How many?" })`. */
export const ask: Ask = {
  text: (options) => asked({ ask: "text", ...options }),
  number: (options) => asked({ ask: "number", ...options }),
  confirm: (options) => asked({ ask: "confirm", ...options }),
  select: (options) => asked({ ask: "select", ...options } as AskYield),
  date: (options) => asked({ ask: "date", ...options }),
  form: (options) => asked({ ask: "form", ...options } as AskYield),
  url: (options) => asked({ ask: "url", ...options }),
  secret: (options) => asked({ ask: "secret", ...options }),
  oauth: (options) => asked({ ask: "oauth", ...options }),
  wizard: (options) => asked({ ask: "wizard", ...options } as AskYield),
  file: (options) => asked({ ask: "file", ...options } as AskYield),
};

/** `yield* step("hold", () => bookings.hold(date))` is `yield { step: "hold", run: … }` with a typed result. */
export function step<T>(
  name: string,
  run: (attempt: Parameters<StepYield["run"]>[0]) => T | PromiseLike<T>,
  options: Omit<StepYield, "step" | "run"> = {},
): Asked<Recorded<T>> {
  return one(`step(${JSON.stringify(name)})`, { step: name, run, ...options }) as Asked<Recorded<T>>;
}

/** `const paid = yield* event("paid", { schema })` is `yield { event: "paid", … }` with a typed body. */
export function event<const S extends Schema | JsonObject = JsonObject>(
  name: string,
  options: EventOptions<S> = {},
): Asked<TaskEvent<BodyOf<S>>> {
  return one(`event(${JSON.stringify(name)})`, { event: name, ...options } as EventYield) as Asked<never>;
}

/**
 * `const { hotel } = yield* call(bookHotel, { city })` is `yield { call: bookHotel, args: { city } }` with a typed
 * result.
 */
export function call<const T extends Tool | string>(tool: T, args: ArgumentsOf<T>, options: CallOptions = {}): Asked<ResultOf<T>> {
  return one(`call(${JSON.stringify(typeof tool === "string" ? tool : tool.name)})`, { call: tool, args, ...options }) as Asked<
    ResultOf<T>
  >;
}

/** `const { reference } = yield* received(paid)` is `yield paid` with a typed body. */
export function received<T>(event: TaskEvent<T>): Asked<T> {
  return one(`received of event ${JSON.stringify(event.name)}`, event) as Asked<T>;
}

/** `yield* sleep("cool-down", "2 days")` is `yield { sleep: "cool-down", for: "2 days" }`. */
export function sleep(name: string, duration: Duration, options: SleepOptions = {}): Asked<void> {
  return one(`sleep(${JSON.stringify(name)})`, { sleep: name, for: duration, ...options }) as Asked<void>;
}

/** `const { content } = yield* sample("summary", request)` is `yield { sample: "summary", request }`. */
export function sample(name: string, request: SamplingRequest, options: WaitOptions = {}): Asked<SamplingReply> {
  return one(`sample(${JSON.stringify(name)})`, { sample: name, request, ...options }) as Asked<SamplingReply>;
}

/** `const folders = yield* roots()` is `yield { roots: "roots" }`. */
export function roots(name = "roots", options: WaitOptions = {}): Asked<readonly Root[]> {
  return one(`roots(${JSON.stringify(name)})`, { roots: name, ...options }) as Asked<readonly Root[]>;
}

/** `if (yield* patched("fraud-check")) …` is `ctx.patched`. */
export function patched(name: string): Asked<boolean> {
  return one(`patched(${JSON.stringify(name)})`, { patched: name }) as Asked<boolean>;
}
