/**
 * Drives a generator tool: each yield becomes a call of ctx, whose result goes back through `next`, or through
 * `throw` if it failed.
 *
 *   generator ──yields──▶ ask · step · sleep · event · all · race ──▶ ctx.text, ctx.step … ──▶ next(value) │ throw(error)
 *                         emit · bare value ──▶ ctx.emit, ctx.status …
 *
 *   G1  There is no journal besides the engine's: a yield that waits is one effect, named by its id or by its position among asks without one.
 *   G2  The driver awaits only ctx and the generator, so the order of effects is the generator's own, in every run.
 *   G3  A run that parks abandons the generator without `throw` or `return`, so no `finally` runs, as in an async handler. The next run drives
 *       a new generator from its start.
 *   G4  An invalid yield is thrown into the generator, at the yield. Only a generator that never ends is abandoned.
 */
import { FILES_MAX, type Duration, type JsonObject, ParleyError, type Tool } from "@parley/core";
import type { Context, StepOptions } from "../context/context.ts";
import type { MapItem, MapKey } from "../context/map.ts";
import { isTaskEvent, receivedUnless } from "../asks/event.ts";
import type { VisitOptions } from "../asks/options.ts";
import type { Grant } from "../values/grant.ts";
import type { OauthAsk, PageAsk } from "../asks/pages.ts";
import type { WizardPages } from "../asks/wizard.ts";
import { present } from "../values/without-undefined.ts";
import type { Schema } from "../schemas/schema.ts";
import type { Secret } from "../values/secret.ts";
import { type Teller, createTeller } from "./emit.ts";
import type { Output } from "./output.ts";
import { assertAllYielded, during, type Unyielded } from "./unyielded.ts";
import {
  type AllYield,
  type AskYield,
  type CallYield,
  type EmitYield,
  type EventYield,
  type MapYield,
  type FileYield,
  type PatchedYield,
  type RaceYield,
  type RestartYield,
  type RootsYield,
  type SampleYield,
  type SleepYield,
  type StepYield,
  type AnyToolGenerator,
  isGenerator,
} from "./yields.ts";

/**
 * Limit on the yields of one run, including replayed ones: a generator that yields endlessly would block its worker.
 */
export const YIELDS_MAX = 20_000;

interface Stage {
  readonly tool: string;
  readonly ctx: Context;
  readonly teller: Teller;
  readonly count: { yields: number };
  readonly unnamed: Unnamed;
  readonly unyielded: Unyielded;
  /** Aborted when a sibling has failed or won the race. */
  readonly signal?: AbortSignal;
}

/**
 * Names of asks without an id: `ask_0`, `ask_1` … A generator in a list gets names below its own position, such as
 * `ask_1_0`: if generators await something outside ctx, which of them asks first may differ between runs, and an
 * answer must not reach the wrong one.
 */
interface Unnamed {
  readonly prefix: string;
  count: number;
}

function newUnnamed(prefix = "ask_"): Unnamed {
  return { prefix, count: 0 };
}

function nextName(unnamed: Unnamed): string {
  const name = `${unnamed.prefix}${unnamed.count}`;
  unnamed.count += 1;
  return name;
}

/** Drives `generator` to its end and returns what it returned. Throws what it throws. */
export async function runGenerator(
  tool: string,
  generator: AnyToolGenerator,
  { ctx, output }: { readonly ctx: Context; readonly output: Output },
): Promise<unknown> {
  const unyielded: Unyielded = new Set();
  const stage = { tool, ctx, teller: createTeller(ctx, output), count: { yields: 0 }, unnamed: newUnnamed(), unyielded };
  const returned = await drive(generator, stage);
  assertAllYielded(unyielded);
  return returned;
}

async function drive(generator: AnyToolGenerator, stage: Stage): Promise<unknown> {
  const next = (work: () => ReturnType<typeof generator.next>) => during(stage.unyielded, work);
  let turn: IteratorResult<unknown, unknown>;
  const first = next(() => generator.next());
  // What is there is not awaited: an await of something that is not of ctx costs the calls after it their certain order.
  turn = isPromise(first) ? await first : first;
  while (turn.done !== true) {
    stage.count.yields += 1;
    if (stage.count.yields > YIELDS_MAX)
      throw new ParleyError(
        "TOO_LARGE",
        `tool ${stage.tool} has yielded more than ${YIELDS_MAX} times: let it stream larger chunks, or restart`,
      );
    let value: unknown;
    let failure: { readonly error: unknown } | undefined;
    try {
      const performed = perform(turn.value, stage);
      value = isPromise(performed) ? await performed : performed;
    } catch (error) {
      failure = { error };
    }
    const after = next(() => (failure ? generator.throw(failure.error) : generator.next(value)));
    turn = isPromise(after) ? await after : after;
  }
  return turn.value;
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Checked in this order, because keys overlap: a number has a `step`, and an emit may have any key. */
const KINDS = [
  "ask",
  "emit",
  "step",
  "all",
  "checkpoint",
  "patched",
  "race",
  "map",
  "event",
  "call",
  "sleep",
  "sample",
  "roots",
  "restart",
] as const;

function kindOf(yielded: object): (typeof KINDS)[number] | undefined {
  return KINDS.find((kind) => kind in yielded);
}

/** Calls the effect before any await, so that questions asked at once keep their order. */
function perform(yielded: unknown, stage: Stage): unknown {
  if (yielded === undefined || yielded === null) return undefined;
  if (typeof yielded !== "object") return stage.teller.stream(yielded);
  if (isGenerator(yielded)) throw wrong(stage, "a generator: use yield*, or all to run several at once");
  if ("then" in yielded) throw wrong(stage, "a promise: write async *run and await it, or put the work into a step");
  if (isTaskEvent(yielded)) return receivedUnless(yielded, stage.signal);
  if (Array.isArray(yielded)) return performList(yielded, stage);
  switch (kindOf(yielded)) {
    case "ask":
      return ask(yielded as AskYield, stage);
    case "step":
      return step(yielded as StepYield, stage);
    case "all":
      return all((yielded as AllYield).all, stage);
    case "race":
      return race((yielded as RaceYield).race, stage);
    case "map":
      return map(yielded as MapYield, stage);
    case "event":
      return event(yielded as EventYield, stage);
    case "call":
      return call(yielded as CallYield, stage);
    case "sleep":
      return sleep(yielded as SleepYield, stage);
    case "sample":
      return sample(yielded as SampleYield, stage);
    case "roots":
      return roots(yielded as RootsYield, stage);
    case "restart":
      return restart(yielded as RestartYield, stage);
    case "emit":
      return stage.teller.emit(yielded as EmitYield);
    case "checkpoint":
      return undefined;
    case "patched":
      return patched(yielded as PatchedYield, stage);
    case undefined:
      return stage.teller.stream(yielded);
  }
}

function performList(items: readonly unknown[], stage: Stage): unknown {
  const effects = items.filter(isEffect);
  if (effects.length === 0) return stage.teller.stream(items);
  if (effects.length < items.length) throw wrong(stage, "a list in which only some are asks, steps, emits or generators");
  return all(items, stage);
}

function isEffect(item: unknown): boolean {
  return typeof item === "object" && item !== null && (isGenerator(item) || isTaskEvent(item) || kindOf(item) !== undefined);
}

// ── asks ───────────────────────────────────────────────────────────────────────────────────────────────────────

type Kind = AskYield["ask"];
type Asker = (ctx: Context, name: string, options: never) => Promise<unknown>;

const ASKERS: { readonly [K in Kind]: Asker } = {
  text: (ctx, name, options) => ctx.text(name, options),
  number: (ctx, name, options) => ctx.number(name, options),
  confirm: (ctx, name, options) => ctx.confirm(name, options),
  select: (ctx, name, options) => ctx.select(name, options),
  date: (ctx, name, options) => ctx.date(name, options),
  form: (ctx, name, options) => ctx.form<Schema | JsonObject>(name, options),
  async url(ctx, name, options: VisitOptions<unknown>) {
    const returned: unknown = await ctx.url(name, options);
    return (options.completedBy as unknown) ? returned : { action: "accept", ...present({ query: returned }) };
  },
  secret: askSecret,
  // A form would pass it through the client.
  password: askSecret,
  oauth: askOauth,
  wizard: (ctx, name, options) => ctx.wizard<WizardPages>(name, options),
  file: askFile,
};

/** The page takes no other options. */
function askSecret(ctx: Context, name: string, options: PageAsk & { readonly expires?: Duration }): Promise<Secret> {
  const { message, timeout = options.expires, onTimeout, signal, to, not, key } = options;
  return ctx.secret(name, { message, ...present({ timeout, onTimeout, signal, to, not, key }) });
}

function askOauth(ctx: Context, name: string, options: OauthAsk & { readonly expires?: Duration }): Promise<Grant> {
  const { message, provider, scopes, timeout = options.expires, onTimeout, signal, to, not, key } = options;
  return ctx.oauth(name, { message, provider, scopes, ...present({ timeout, onTimeout, signal, to, not, key }) });
}

function askFile(ctx: Context, name: string, options: FileYield & PageAsk): Promise<unknown> {
  const {
    message,
    accept: given,
    maxBytes,
    multiple = false,
    count,
    expires,
    timeout = expires,
    onTimeout,
    signal,
    to,
    not,
    key,
  } = options;
  const accept = typeof given === "string" ? given.split(",").map((type) => type.trim()) : given;
  const asked = { message, ...present({ accept, maxBytes, timeout, onTimeout, signal, to, not, key }) };
  const countMax = count ?? (multiple ? FILES_MAX : undefined);
  return countMax === undefined ? ctx.file(name, asked) : ctx.file(name, { ...asked, count: countMax });
}

function ask(yielded: AskYield, stage: Stage): Promise<unknown> {
  const { ask: kind, ...options } = yielded;
  const name = nameOf(yielded, stage);
  const asker = Object.hasOwn(ASKERS, kind) ? ASKERS[kind] : undefined;
  if (!asker) throw unknownAsk(name, kind);
  return asker(stage.ctx, name, unlessGivenUp(options, stage) as never);
}

/** The options with a signal that is also aborted when a sibling has ended the wait. */
function unlessGivenUp<O extends { readonly signal?: AbortSignal }>(options: O, stage: Stage): O {
  if (!stage.signal) return options;
  return { ...options, signal: options.signal ? AbortSignal.any([options.signal, stage.signal]) : stage.signal };
}

function nameOf(yielded: AskYield, { unnamed }: Stage): string {
  const { id } = yielded;
  const named = id ?? ("elicitationId" in yielded ? yielded.elicitationId : undefined);
  return named ?? nextName(unnamed);
}

function unknownAsk(name: string, kind: unknown): ParleyError {
  const message = `${JSON.stringify(kind) ?? String(kind)} is not one of ${Object.keys(ASKERS).join(", ")}`;
  const violations = [{ path: "/ask", message }];
  return new ParleyError("INVALID_ASK", `the ask "${name}" is invalid: ${message}`, { violations });
}

// ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────────

function step({ step: name, run, ...options }: StepYield, stage: Stage): Promise<unknown> {
  if (typeof run !== "function") throw wrong(stage, `the step ${JSON.stringify(name)} without a function to run`);
  return stage.ctx.step<unknown>(
    name,
    async (attempt) => {
      const value = await run(attempt);
      if (!isGenerator(value)) return value;
      throw new ParleyError(
        "MISPLACED_EFFECT",
        `the work of step ${name} is a generator, and a step cannot ask: use yield* in the tool itself`,
      );
    },
    options satisfies StepOptions,
  );
}

function patched({ patched: name }: PatchedYield, stage: Stage): boolean {
  if (typeof name !== "string") throw wrong(stage, "patched without the name of a change");
  return stage.ctx.patched(name);
}

// ── other waits ────────────────────────────────────────────────────────────────────────────────────────────────

function event({ event: name, ...options }: EventYield, stage: Stage): unknown {
  if (typeof name !== "string") throw wrong(stage, "an event without a name");
  return stage.ctx.event(name, unlessGivenUp(options, stage));
}

function call({ call: tool, args = {}, ...options }: CallYield, stage: Stage): Promise<unknown> {
  if (typeof tool !== "string" && (tool as Partial<Tool> | undefined)?.kind !== "tool")
    throw wrong(stage, "a call of something that is neither a tool nor the name of one: { call: bookHotel, args: { … } }");
  return stage.ctx.call<Tool | string>(tool, args as JsonObject, unlessGivenUp(options, stage));
}

function sleep({ sleep: name, for: duration, until, ...options }: SleepYield, stage: Stage): Promise<void> {
  if (typeof name !== "string" || (duration === undefined) === (until === undefined))
    throw wrong(stage, 'a sleep that is not { sleep: name, for: "2 days" } or { sleep: name, until: date }');
  const given = unlessGivenUp(options, stage);
  return duration === undefined ? stage.ctx.sleepUntil(name, until, given) : stage.ctx.sleep(name, duration, given);
}

function sample({ sample: name, request, ...options }: SampleYield, stage: Stage): Promise<unknown> {
  if (typeof name !== "string" || typeof request !== "object")
    throw wrong(stage, "a sample that is not { sample: name, request: { messages, maxTokens } }");
  return stage.ctx.sample(name, request, unlessGivenUp(options, stage));
}

function roots({ roots: name, ...options }: RootsYield, stage: Stage): Promise<unknown> {
  if (typeof name !== "string") throw wrong(stage, 'roots without a name, such as { roots: "roots" }');
  return stage.ctx.roots(name, unlessGivenUp(options, stage));
}

function restart({ restart: args }: RestartYield, stage: Stage): Promise<never> {
  if (typeof args !== "object" || args === null) throw wrong(stage, "a restart without its arguments: { restart: { … } }");
  return stage.ctx.restart(args);
}

// ── several at once ────────────────────────────────────────────────────────────────────────────────────────────

/** Drives one of several. */
type Start = (stage: Stage) => Promise<unknown>;

async function all(items: unknown, stage: Stage): Promise<unknown> {
  const { names, starts } = startsOf("all", items, stage);
  const values = await together(starts, stage);
  return names ? Object.fromEntries(names.map((name, index) => [name, values[index]])) : values;
}

async function race(items: unknown, stage: Stage): Promise<unknown> {
  const { names, starts } = startsOf("race", items, stage);
  if (starts.length === 0) throw wrong(stage, "an empty race");
  const { index, value } = await firstOf(starts, stage);
  return names ? { name: names[index], value } : value;
}

function map({ map: items, key, each, ...options }: MapYield, stage: Stage): Promise<unknown> {
  if (typeof each !== "function") throw wrong(stage, "a map without a function: { map: items, key: (item) => item.id, each: (item) => … }");
  const work = (item: unknown, about: MapItem) => {
    const signal = stage.signal ? AbortSignal.any([stage.signal, about.signal]) : about.signal;
    return one(each(item as never, about), { ...stage, unnamed: newUnnamed(), signal });
  };
  return stage.ctx.map<never, unknown>(items as Iterable<never>, key as MapKey<never>, work, options);
}

function startsOf(
  kind: "all" | "race",
  items: unknown,
  stage: Stage,
): { readonly names?: readonly string[]; readonly starts: readonly Start[] } {
  if (Array.isArray(items))
    return { starts: items.map((item: unknown) => (beside) => one(item, isGenerator(item) ? within(beside) : beside)) };
  if (typeof items !== "object" || items === null)
    throw wrong(stage, `${kind} with neither a list nor an object of asks, steps and generators`);
  const entries = Object.entries(items as { readonly [name: string]: unknown });
  return {
    names: entries.map(([name]) => name),
    starts: entries.map(
      ([name, item]) =>
        (beside) =>
          stage.ctx.branch(name, () => one(item, { ...beside, unnamed: newUnnamed() })),
    ),
  };
}

function within(stage: Stage): Stage {
  return { ...stage, unnamed: newUnnamed(`${nextName(stage.unnamed)}_`) };
}

async function together(starts: readonly Start[], stage: Stage): Promise<readonly unknown[]> {
  const { running, giveUp } = startAll(starts, stage);
  try {
    return await Promise.all(running);
  } catch (error) {
    await giveUp(error);
    throw error;
  }
}

async function firstOf(starts: readonly Start[], stage: Stage): Promise<{ readonly index: number; readonly value: unknown }> {
  const { running, giveUp } = startAll(starts, stage);
  try {
    return await Promise.race(running.map(async (each, index) => ({ index, value: await each })));
  } finally {
    await giveUp(new DOMException("another one has won the race", "AbortError"));
  }
}

function startAll(starts: readonly Start[], stage: Stage) {
  const ended = new AbortController();
  const signal = stage.signal ? AbortSignal.any([stage.signal, ended.signal]) : ended.signal;
  const running = starts.map((start) => start({ ...stage, signal }));
  /**
   * Withdraws what is still open, so that no one is asked in vain and nothing runs beside the generator's next yield.
   */
  async function giveUp(reason: unknown): Promise<void> {
    ended.abort(reason);
    await Promise.allSettled(running);
  }
  return { running, giveUp };
}

async function one(item: unknown, stage: Stage): Promise<unknown> {
  if (isGenerator(item)) return drive(item, stage);
  if (!isEffect(item)) throw wrong(stage, "all or race with something that is not an ask, step, emit or generator");
  return perform(item, stage);
}

function wrong({ tool }: Stage, what: string): ParleyError {
  return new ParleyError("INVALID_OUTPUT", `tool ${tool} has yielded ${what}`);
}
