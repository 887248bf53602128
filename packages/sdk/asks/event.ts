/** `ctx.event`: waits for an event that another system reports, over core's `event`. */
import {
  type Answer,
  type Duration,
  type EventOptions as CoreOptions,
  type Effects,
  type Json,
  type JsonObject,
  ParleyError,
  type Reading,
} from "@parley/core";
import { describeViolations, parseDuration } from "@parley/core";
import { wrongAsk } from "./wrong-ask.ts";
import { DefinitionError, throwUnheard } from "../failures.ts";
import { nounFor } from "../values/plain-data.ts";
import { present } from "../values/without-undefined.ts";
import { readAnswer } from "../schemas/read-answer.ts";
import { type InputOf, isSchema, jsonOf, jsonSchema, type OutputOf, type Schema } from "../schemas/schema.ts";

/** Options of `ctx.event`. */
export interface EventOptions<S extends Schema | JsonObject> {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  /**
   * The schema of what the other system sends, as a Standard Schema or JSON Schema; anything by default. The front end checks the body against the JSON
   * Schema, and the sender of an invalid body receives an error. What JSON Schema cannot express, such as a `refine`, is checked in the run and
   * throws INVALID_EVENT.
   */
  readonly schema?: S;
  /** How long to wait for the event, such as `"2 days"`. The default is that of questions, a week unless the deployment sets another. */
  readonly timeout?: Duration;
  /** `"throw"` (the default): `received` throws TimedOut. `"fail"`: the task fails. Or a default that is taken as the body. */
  readonly onTimeout?: "throw" | "fail" | { readonly default: S extends Schema ? InputOf<S> : Json };
  /** Aborting it withdraws the event: a later sender receives `late`, and `received` throws Withdrawn. */
  readonly signal?: AbortSignal;
}

/** The type of an event's body, for its schema. */
export type BodyOf<S extends Schema | JsonObject> = S extends Schema ? OutputOf<S> : Json;

/** An event that the tool waits for. Hand `url` (or `token`) to the other system inside a step, and nowhere else. */
export interface TaskEvent<T> {
  readonly name: string;
  /** Where the other system reports the event: a `POST` with a JSON body. Anyone who knows the address can do so. */
  readonly url: string;
  /** The last part of the address. */
  readonly token: string;
  /** Waits for it. Throws TimedOut, Withdrawn, and ParleyError INVALID_EVENT. */
  received(): Promise<T>;
}

/** Includes what `ctx.url` needs. */
interface Given<T> extends TaskEvent<T> {
  readonly giveUp: () => void;
}

const given = new WeakMap<TaskEvent<unknown>, Given<unknown>>();

export function createEvent(effects: Pick<Effects, "event" | "mustBeAwaited">) {
  return <S extends Schema | JsonObject>(name: string, options: EventOptions<S> = {}): TaskEvent<unknown> => {
    if (typeof options !== "object" || options === null)
      throw new TypeError(
        `the options of the event "${name}" are ${nounFor(options)}: give an object, such as { schema, timeout: "1 day" }`,
      );
    const { schema, json } = schemaOf(name, options.schema);
    const giveUp = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, giveUp.signal]) : giveUp.signal;
    const { token, url, answer, reading } = effects.event(name, { type: "event", schema: json }, coreOptions(options, signal));
    // Read once, also if the handler asks again later: the schema may draw something else each time.
    let body: Promise<unknown> | undefined;
    const read = async () => await bodyOf(name, schema, { answer: await answer, reading });
    const received = () => (body ??= effects.mustBeAwaited(read(), { shown: `received() of ctx.event(${JSON.stringify(name)})`, name }));
    const event = { name, url, token, received };
    given.set(event, { ...event, giveUp: () => giveUp.abort() });
    return event;
  };
}

/**
 * Waits for `event` while `visit` is open, until one of them settles; the other is given up. `visit` resolves with
 * the outcome of the question, which a client's agreement does not settle.
 */
export async function visitUntil<T>(event: TaskEvent<T>, visit: (signal: AbortSignal) => Promise<never>): Promise<T> {
  const known = given.get(event);
  if (!known) throw new TypeError("completedBy must be an event that ctx.event returned");
  const done = new AbortController();
  const visited = visit(done.signal);
  try {
    // The one that is given up rejects with Withdrawn, which only the race sees.
    return await Promise.race([event.received(), visited]);
  } finally {
    done.abort();
    known.giveUp();
  }
}

/** Whether the value was returned by `ctx.event`. */
export function isTaskEvent(value: object): value is TaskEvent<unknown> {
  return given.has(value as TaskEvent<unknown>);
}

/** Waits for `event`, and gives it up when `signal` is aborted. */
export async function receivedUnless<T>(event: TaskEvent<T>, signal: AbortSignal | undefined): Promise<T> {
  const giveUp = () => given.get(event)?.giveUp();
  if (signal?.aborted === true) giveUp();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    return await event.received();
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

function coreOptions({ timeout, onTimeout }: EventOptions<Schema | JsonObject>, signal: AbortSignal): CoreOptions {
  const isDefault = onTimeout instanceof Object && "default" in onTimeout;
  // Anything else is for the engine to refuse: tools may be written without types.
  const policy = isDefault ? { default: { body: onTimeout.default as Json } } : onTimeout === "throw" ? undefined : onTimeout;
  return present({ timeoutMs: timeout === undefined ? undefined : parseDuration(timeout), onTimeout: policy, signal });
}

async function bodyOf(name: string, schema: Schema, { answer, reading }: { answer: Answer; reading: () => Reading }): Promise<unknown> {
  if (answer.action !== "accept") return throwUnheard(name, answer.action === "withdrawn" ? "withdrawn" : "timeout");
  const read = await readAnswer(schema, answer.content?.["body"], reading());
  if (read.ok) return read.value;
  const { violations } = read;
  throw new ParleyError("INVALID_EVENT", `the body of the event "${name}" is invalid: ${describeViolations(violations)}`, {
    violations,
  });
}

interface EventSchema {
  readonly schema: Schema;
  readonly json: JsonObject;
}

let anything: EventSchema | undefined;

/** A constant schema is converted once. Plain JSON Schema is left out: its author may change it. */
const known = new WeakMap<object, EventSchema>();

function schemaOf(name: string, schema: Schema | JsonObject | undefined): EventSchema {
  // Compiling the first schema is slow, and few tools wait for events.
  if (schema === undefined) return (anything ??= { schema: jsonSchema<Json>({}), json: {} });
  if (!isSchema(schema) && (typeof schema !== "object" || schema === null))
    throw wrongAsk(`event:${name}`, "/schema", "must be a schema, such as z.object({ … })");
  const before = known.get(schema);
  if (before) return before;
  try {
    const standard = isSchema(schema) ? schema : jsonSchema(schema);
    const made = { schema: standard, json: jsonOf(`the event "${name}"`, standard, "input") };
    known.set(standard, made);
    return made;
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    const violations = error.violations ?? [{ path: "", message: error.message }];
    throw new ParleyError("INVALID_ASK", error.message, { violations, cause: error });
  }
}
