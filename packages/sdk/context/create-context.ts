/** Implements `ctx` over core's `Effects`: a question becomes an ask, and the author's schema reads its answer. */
import {
  assertNotFarTooLong,
  isFarTooLong,
  ParleyError,
  describeViolations,
  isAnnouncement,
  LOG_LEVELS,
  parseDuration,
  type Announcement,
  type AskOptions,
  type AskRequest,
  type Audience,
  type Duration,
  type Effects,
  type EmitKind,
  type Json,
  type JsonObject,
  type LogLevel,
  type Reading,
  type Settled,
  type StepAttempt,
  type StepOptions as CoreStepOptions,
  type TimeoutPolicy,
  type Assurance,
  type LoginFacts,
  type Participant,
} from "@parley/core";
import { aboutFrom } from "../asks/about.ts";
import { askedAgain, filledInWith, type FormRequest, identityAgain } from "../asks/asked-again.ts";
import { createShorthands } from "../asks/shorthands.ts";
import { createWizard, type FilledIn } from "../asks/wizard.ts";
import { MESSAGE_WANTED, wrongAsk } from "../asks/wrong-ask.ts";
import { type AskForm, formSchema } from "../schemas/ask-schema.ts";
import { createCall } from "./call.ts";
import type { Root, SamplingReply, SamplingRequest } from "../results/content.ts";
import { createMap } from "./map.ts";
import { createEvent } from "../asks/event.ts";
import { cannotAsk, DefinitionError, throwUnanswered } from "../failures.ts";
import { createPages, type FilesAsk } from "../asks/pages.ts";
import { samplingParams } from "./sampling-params.ts";
import { assertPlain, nounFor, plainJson } from "../values/plain-data.ts";
import { present } from "../values/without-undefined.ts";
import { readAnswer, readAnswers } from "../schemas/read-answer.ts";
import type { Recorded } from "../schemas/recorded-type.ts";
import { signalOf } from "./signal.ts";
import { check, type Checked, isSchema, jsonOf, jsonSchema, type Schema } from "../schemas/schema.ts";
import type { AnsweredBy, AskResult, FormAsk, Person, QuorumAsk, UrlAsk } from "../asks/ask.ts";
import type { Context, SleepOptions, StepOptions, WaitOptions } from "./context.ts";

/** The outcome of a question that the client can be asked. */
type Answered = Exclude<Settled, { action: "unavailable" }>;

type AnyFormAsk = FormAsk<Schema | JsonObject> | QuorumAsk<Schema | JsonObject>;

/** How often a form is asked before INVALID_ANSWER: a client that answers automatically would repeat an invalid answer forever. */
const ROUNDS_MAX = 10;

export function createContext(effects: Effects): Context {
  async function askQuestion(name: string, ask: AnyFormAsk | UrlAsk): Promise<AskResult<unknown>> {
    // Not every author has types.
    if (typeof ask !== "object" || ask === null) throw wrongAsk(name, "", "has no options: call it with a name and { message, schema }");
    if (typeof ask.message !== "string") throw wrongAsk(name, "/message", MESSAGE_WANTED);
    const { url, schema } = ask as { readonly url?: unknown; readonly schema?: unknown };
    if (url !== undefined && schema !== undefined)
      throw wrongAsk(name, "/schema", "and url are two questions: a form takes content, and a page takes none. Give one of them");
    return "url" in ask ? askUrl(name, ask) : askForm(name, ask);
  }

  async function askForm(name: string, ask: AnyFormAsk): Promise<AskResult<unknown>> {
    return (await askFilledIn(name, ask, undefined)).result;
  }

  /** `before`: an earlier answer, with which the form is filled in. */
  async function askFilledIn(name: string, ask: AnyFormAsk, before: JsonObject | undefined): Promise<FilledIn> {
    const { schema, form, identity: former = form, nulls } = formOf(name, ask.schema);
    // Nothing is awaited before the ask unless necessary, so that questions are shown in the order in which they were asked.
    const policy =
      ask.onTimeout instanceof Object ? await effects.ofCtx(checkedDefault(name, ask.onTimeout.default, schema)) : ask.onTimeout;
    const options = askOptions({ ...ask, onTimeout: policy });
    const unfilled: FormRequest = {
      type: "form",
      message: ask.message,
      schema: form,
      ...present({ hints: ask.hints }),
      ...aboutFrom(name, ask),
    };
    const asked = before ? filledInWith(unfilled, before) : unfilled;
    const formerly = { ...unfilled, schema: former };
    const askedBefore = former === form ? asked : before ? filledInWith(formerly, before) : formerly;
    for (let request = asked, identity = askedBefore, round = 1; ; round += 1) {
      const answer = await answerTo(name, request, { ...options, ...(request !== identity && { identity }) });
      if (answer.action !== "accept") return { result: refusal(answer, ask.quorum), given: {} };
      const content = await effects.ofCtx(checked(schema, withNulls(answer, nulls), effects.readingOf(name)));
      if (content.ok) return { result: { action: "accept", content: content.value }, given: answer.content ?? {} };
      if (round === ROUNDS_MAX) {
        throw new ParleyError("INVALID_ANSWER", `the ask "${name}" was answered ${round} times, but never as its schema requires`, {
          violations: content.violations,
        });
      }
      // The form could not say all that the author's schema wants: ask again, as the next occurrence of the name.
      request = askedAgain(asked, { content: answer.accepted ? {} : answer.content, violations: content.violations });
      identity = identityAgain(askedBefore, content.violations);
    }
  }

  /** The one person's content, or that of each person who had to accept. */
  async function checked(schema: Schema, { content = {}, accepted }: Accepted, reading: Reading): Promise<Checked<unknown>> {
    if (!accepted) return await readAnswer(schema, content, reading);
    const each = await readAnswers(schema, accepted, reading);
    const violations = each.flatMap((one) => (one.ok ? [] : one.violations));
    if (violations.length > 0) return { ok: false, violations };
    return {
      ok: true,
      value: accepted.map(({ by, name, assurance, login, delegatedBy, atMs }, index) => ({
        ...person({ principal: by, name, assurance, login, delegatedBy }),
        content: valueOf(each[index]),
        at: new Date(atMs),
      })),
    };
  }

  interface Identified {
    readonly principal?: string | undefined;
    readonly name?: string | undefined;
    readonly assurance?: Assurance | undefined;
    readonly login?: LoginFacts | undefined;
    readonly delegatedBy?: Participant | undefined;
  }

  function person({ principal = effects.call.principal, name, assurance, login, delegatedBy }: Identified): Person {
    const { atMs, ...stated } = login ?? {};
    const whose = delegatedBy && { principal: delegatedBy.by, ...present({ name: delegatedBy.name }) };
    return {
      principal,
      ...present({ name }),
      isCaller: principal === effects.call.principal,
      ...present({
        assurance,
        login: login && { ...(atMs !== undefined && { at: new Date(atMs) }), ...stated },
        delegatedBy: whose,
      }),
    };
  }

  async function askUrl(name: string, ask: UrlAsk): Promise<AskResult<unknown>> {
    // Normalised, because the ask's digest is taken from it.
    const url = URL.parse(String(ask.url))?.href ?? String(ask.url);
    const { returnTo } = ask;
    const about = aboutFrom(name, ask);
    if (returnTo !== undefined) {
      const page = { kind: "visit" as const, url, returnTo };
      const request = { type: "url" as const, message: ask.message, url: "", page, ...present({ hints: ask.hints }), ...about };
      const answer = await answerTo(name, request, askOptions(ask));
      return answer.action === "accept" ? { action: "accept", content: answer.content?.["query"] ?? {} } : refusal(answer);
    }
    const request = {
      type: "url" as const,
      message: ask.message,
      url,
      ...present({ hints: ask.hints, completedBy: ask.completedBy }),
      ...about,
    };
    const answer = await answerTo(name, request, askOptions(ask));
    return answer.action === "accept" ? { action: "accept", content: undefined } : refusal(answer);
  }

  const pages = createPages(effects, async (name, ask, page) => {
    const answer = await answerTo(name, { type: "url", message: ask.message, url: "", page, ...aboutFrom(name, ask) }, askOptions(ask));
    if (answer.action === "accept") return answer.content ?? {};
    return throwUnanswered(name, refusal(answer));
  });

  async function elicit(name: string, ask: AnyFormAsk | UrlAsk): Promise<unknown> {
    const result = await askQuestion(name, ask);
    return result.action === "accept" ? result.content : throwUnanswered(name, result);
  }

  async function answerTo(name: string, request: AskRequest, options: AskOptions): Promise<Answered> {
    const answer = await effects.ask(name, request, options);
    if (answer.action === "unavailable") throw cannotAsk(name, request);
    return answer;
  }

  async function replyTo(name: string, request: AskRequest, options: WaitOptions): Promise<JsonObject> {
    const answer = await answerTo(name, request, askOptions(options));
    if (answer.action === "reply") return answer.result;
    return throwUnanswered(name, refusal(answer));
  }

  const context = {
    taskId: effects.taskId,
    principal: effects.call.principal,
    caller: { principal: effects.call.principal, ...effects.call.caller },
    capabilities: effects.call.capabilities,
    signal: effects.signal,
    idempotencyKey: effects.taskId,
    elicit,
    ask: askQuestion,
    ...createShorthands(askQuestion),
    wizard: createWizard({
      branch: (key, work) => effects.branch(key, work),
      askForm: askFilledIn,
      files: pages.files,
    }) as Context["wizard"],
    secret: pages.secret,
    oauth: pages.oauth,
    openFile: pages.openFile,
    async file(name: string, options: FilesAsk & { readonly count?: number | undefined }) {
      // Not every author has types: without options, the message is missing.
      const { count, ...ask } = options ?? {};
      const files = await pages.files(name, ask, count ?? 1);
      return count === undefined ? files[0] : files;
    },
    // The engine's own promise, because it knows whether anyone handles its rejection; a derived promise would hide
    // that.
    step<T>(name: string, work: (attempt: StepAttempt) => T | PromiseLike<T>, options: StepOptions = {}) {
      if (typeof work !== "function") throw new TypeError(`the step "${name}" has no work: give a function after the name`);
      return effects.step(name, plainWork(effects, name, work, options), stepOptions(options)) as Promise<Recorded<T>>;
    },
    answeredBy(name: string, { key }: Keyed = {}): AnsweredBy | undefined {
      const {
        principal,
        name: called,
        assurance,
        login,
        delegatedBy,
        atMs,
        reason,
        accepted,
      } = inFlow(effects, key, () => effects.answeredBy(name)) ?? {};
      if (principal === undefined) return undefined;
      return {
        ...person({ principal, name: called, assurance, login, delegatedBy }),
        ...(atMs !== undefined && { at: new Date(atMs) }),
        ...present({ comment: reason, accepted: accepted?.map((each) => person(each)) }),
      };
    },
    call: createCall(effects) as Context["call"],
    event: createEvent(effects),
    map: createMap(effects),
    sleep(name: string, duration: Duration | undefined, options: SleepOptions = {}) {
      if (duration === undefined) throw new TypeError(`the sleep "${name}" has no duration: give one after the name, such as "2 days"`);
      return effects.sleep(name, parseDuration(duration), sleepOptions(options));
    },
    async sleepUntil(name: string, time: Date | string | number, options: SleepOptions = {}) {
      const atMs = new Date(time).getTime();
      if (Number.isNaN(atMs))
        throw new RangeError(
          `the sleep "${name}" ends at ${JSON.stringify(time)}, which is not a time: give a Date, or a string such as "2026-12-24T18:00:00Z"`,
        );
      return effects.sleep(name, Math.max(0, atMs - effects.now(name)), sleepOptions(options));
    },
    patched: (name: string) => effects.patched(name),
    deprecatePatch: (name: string) => effects.deprecatePatch(name),
    branch<T>(key: string, work: () => Promise<T>) {
      if (typeof work !== "function") throw new TypeError(`the branch "${key}" has no work: give an async function after the key`);
      return effects.branch(key, work);
    },
    restart(args: JsonObject) {
      assertNotFarTooLong("the restart", args, effects.storedValueMax);
      const given = plainJson("the arguments of the restart", args);
      if (typeof given !== "object" || given === null || Array.isArray(given))
        throw new TypeError(`the arguments of ctx.restart must be an object, and are ${nounFor(args)}: write ctx.restart({ … })`);
      return effects.restart(given);
    },
    now: (name?: string) => new Date(effects.now(name)),
    random: (name?: string) => effects.random(name),
    uuid: (name?: string) => effects.uuid(name),
    progress(progress: number, total?: number, message?: string) {
      effects.report({
        type: "progress",
        progress: numberOf("the progress of ctx.progress", progress),
        ...present({
          total: total && numberOf("the total of ctx.progress", total),
          message: message && textOf("the message of ctx.progress", message),
        }),
      });
    },
    status: (message: string) => effects.status(textOf("the message of ctx.status", message)),
    log(...line: [message: string] | [level: LogLevel, data: unknown, logger?: string]) {
      const [level, data, logger] = line.length === 1 ? (["info", line[0]] as const) : line;
      // No client would be sent such a line.
      if (!LOG_LEVELS.includes(level)) throw new TypeError(`the level of ctx.log must be one of ${LOG_LEVELS.join(", ")}`);
      const named = present({ logger: logger && textOf("the logger of ctx.log", logger) });
      effects.report({ type: "log", level, data: reported("log data", data, effects.storedValueMax), ...named });
    },
    emit: (kind: EmitKind, data: object) =>
      effects.report({
        type: "emit",
        kind,
        data: isFarTooLong(data, effects.storedValueMax)
          ? { cut: notShown(effects.storedValueMax) }
          : (plainJson(`the emitted ${kind}`, data) as JsonObject),
      }),
    releaseCall: () => effects.report({ type: "release" }),
    immediateResponse: (text: string) => effects.immediateResponse(textOf("the text of ctx.immediateResponse", text)),
    announce(announcement: Announcement) {
      if (!isAnnouncement(announcement))
        throw new TypeError(
          'ctx.announce takes { type: "tools" }, { type: "prompts" }, { type: "resources" } or { type: "resource", uri }',
        );
      effects.announce(announcement);
    },
    async sample(name: string, request: SamplingRequest, options: WaitOptions = {}) {
      const params = samplingParams(name, request);
      return (await replyTo(name, { type: "sampling", params }, options)) as unknown as SamplingReply;
    },
    async roots(name = "roots", options: WaitOptions = {}) {
      const reply = await replyTo(name, { type: "roots" }, options);
      return (reply as { roots?: readonly Root[] }).roots ?? [];
    },
  };
  awaited(effects, context as unknown as Methods);
  // The types of elicit and ask say which schema gives which answer; the compiler cannot follow that into the shared implementation.
  return context as Context;
}

/** `restart` is left out: it ends the run, awaited or not. */
const AWAITED =
  "elicit ask text number confirm select date form wizard url secret oauth file sample roots step call sleep sleepUntil branch map".split(
    " ",
  );

type Methods = Record<string, (...given: readonly unknown[]) => Promise<unknown>>;

/** Which argument of a method has its options, and so its key. The first questions have them behind their name. */
const OPTIONS_AT: { readonly [method: string]: number | undefined } = {
  step: 2,
  sleep: 2,
  sleepUntil: 2,
  sample: 2,
  call: -1,
  branch: -1,
  map: -1,
};

interface Keyed {
  readonly key?: string | number;
}

/** Makes a call in a flow of its own, if it has a key. */
function inFlow<T>({ keyed }: Pick<Effects, "keyed">, key: string | number | undefined, call: () => T): T {
  return key === undefined ? call() : keyed(String(key), call);
}

/** The arguments without the key, which is not of the question, and the key. */
function withoutKey(method: string, given: readonly unknown[]): { readonly key?: string | number; readonly rest: readonly unknown[] } {
  const at = OPTIONS_AT[method] ?? 1;
  const options = given[at] as Keyed | null | undefined;
  if (typeof options !== "object" || options === null || options.key === undefined) return { rest: given };
  const { key, ...own } = options;
  if (typeof key !== "string" && typeof key !== "number")
    throw new TypeError(`the key of ctx.${method} must be a text or a number, and is ${nounFor(key)}`);
  return { key, rest: given.with(at, own) };
}

/** Has the engine note whether the handler awaits what these methods return: a question that it does not await would count as answered. */
function awaited(effects: Effects, methods: Methods): void {
  const { mustBeAwaited } = effects;
  for (const method of AWAITED) {
    const call = methods[method];
    if (!call) continue;
    methods[method] = (...given) => {
      const [of, options] = given as readonly [unknown, { readonly signal?: AbortSignal } | undefined];
      const name = typeof of === "string" ? of : (of as { readonly name?: string } | undefined)?.name;
      const shown = `ctx.${method}(${name === undefined ? "" : JSON.stringify(name)})`;
      const { key, rest } = withoutKey(method, given);
      return mustBeAwaited(
        inFlow(effects, key, () => call(...rest)),
        { shown, name },
        options?.signal,
      );
    };
  }
  // It gives out its address at once, so nothing of it is awaited yet.
  const { event } = methods;
  if (event) {
    methods["event"] = (...given) => {
      const { key, rest } = withoutKey("event", given);
      return inFlow(effects, key, () => event(...rest));
    };
  }
}

/** Not every author has types, and a store would take a list for several of its arguments. */
function textOf(what: string, given: unknown): string {
  if (typeof given === "string") return given;
  throw new TypeError(`${what} must be a string, and is ${nounFor(given)}`);
}

function numberOf(what: string, given: unknown): number {
  if (typeof given === "number" && Number.isFinite(given)) return given;
  throw new TypeError(`${what} must be a number, and is ${nounFor(given)}`);
}

function valueOf(checked: Checked<unknown> | undefined): unknown {
  return checked?.ok ? checked.value : undefined;
}

type Accepted = Extract<Settled, { action: "accept" }>;

/** Forms have no null: a field that may be null is left out of the answer, and its author expects null. */
function withNulls(answer: Accepted, nulls: readonly string[]): Accepted {
  if (nulls.length === 0) return answer;
  const empty = Object.fromEntries(nulls.map((name) => [name, null]));
  return {
    ...answer,
    content: { ...empty, ...answer.content },
    ...(answer.accepted && { accepted: answer.accepted.map((each) => ({ ...each, content: { ...empty, ...each.content } })) }),
  };
}

interface Form extends AskForm {
  readonly schema: Schema;
}

/**
 * Schemas that are constants are converted once instead of in every run. Plain JSON Schema is left out: its author
 * may change it.
 */
const forms = new WeakMap<object, Form>();

function formOf(name: string, given: Schema | JsonObject): Form {
  if (!isSchema(given) && (typeof given !== "object" || given === null))
    throw wrongAsk(name, "/schema", "must be a schema, such as z.object({ … })");
  const known = forms.get(given);
  if (known) return known;
  try {
    const schema = isSchema(given) ? given : jsonSchema(given);
    const made = { schema, ...formSchema(name, jsonOf(`the ask "${name}"`, schema, "input")) };
    forms.set(schema, made);
    return made;
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    const violations = error.violations ?? [{ path: "", message: error.message }];
    throw new ParleyError("INVALID_ASK", error.message, { violations, cause: error });
  }
}

/** An invalid default would be accepted in a person's name, or asked again forever. */
async function checkedDefault(name: string, content: unknown, schema: Schema): Promise<TimeoutPolicy> {
  const fits = await check(schema, content);
  if (fits.ok) return { default: content as JsonObject };
  const violations = fits.violations.map(({ path, message }) => ({ path: `/onTimeout/default${path}`, message }));
  throw new ParleyError("INVALID_ASK", `the ask "${name}" has a default that its own schema refuses: ${describeViolations(violations)}`, {
    violations,
  });
}

interface GivenOptions {
  readonly timeout?: Duration | undefined;
  readonly onTimeout?: TimeoutPolicy | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly to?: "caller" | Audience["to"] | undefined;
  readonly not?: Audience["not"] | undefined;
  readonly quorum?: number | undefined;
}

function askOptions({ timeout, onTimeout, signal, to, not, quorum }: GivenOptions): AskOptions {
  return present({
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout),
    onTimeout,
    signal: signalOf(signal),
    audience: audienceOf({ to, not, quorum }),
  });
}

function audienceOf({ to = "caller", not, quorum }: Pick<GivenOptions, "to" | "not" | "quorum">): Audience | undefined {
  // A quorum of one is a question that one answer settles.
  const several = quorum === 1 ? undefined : quorum;
  if (to !== "caller") return { to, ...present({ not, quorum: several }) };
  if (several !== undefined) {
    const message = "needs several people, but only the caller is asked: say in `to` who may accept";
    throw new ParleyError("INVALID_ASK", `the ask is invalid: /quorum ${message}`, { violations: [{ path: "/quorum", message }] });
  }
  if (not === undefined) return undefined;
  throw new ParleyError("INVALID_ASK", "no one could answer: `not` excludes the caller, and `to` names no one else");
}

function sleepOptions({ signal }: SleepOptions): SleepOptions {
  return present({ signal: signalOf(signal) });
}

function stepOptions({ attempts, backoff, timeout }: StepOptions): CoreStepOptions {
  return present({
    attempts,
    backoffMs: backoff === undefined ? undefined : parseDuration(backoff),
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout),
  });
}

function plainWork<T>(
  { storedValueMax }: Pick<Effects, "storedValueMax">,
  name: string,
  work: (attempt: StepAttempt) => T | PromiseLike<T>,
  { attempts = 1 }: StepOptions,
): (attempt: StepAttempt) => Promise<T> {
  return async (attempt) => {
    // Not before the work: a step that is recorded needs no attempts, and its task must go on.
    if (typeof attempts !== "number" || !(attempts >= 1))
      throw new RangeError(`the step "${name}" has attempts ${JSON.stringify(attempts)}, and needs a number from 1: it was not tried`);
    const value = await work(attempt);
    assertNotFarTooLong(`the result of step "${name}"`, value, storedValueMax);
    assertPlain(`the result of step "${name}"`, value);
    return value;
  };
}

function refusal(answer: Answered, quorum?: number): Exclude<AskResult<never>, { action: "accept" }> {
  if (answer.action === "accept" || answer.action === "reply") throw new Error(`an ask was answered by ${answer.action}`);
  if (answer.action === "decline") return { action: answer.action, ...(answer.reason !== undefined && { reason: answer.reason }) };
  if (answer.action !== "timeout" || !answer.accepted || quorum === undefined) return { action: answer.action };
  return { action: answer.action, accepted: answer.accepted.length, quorum };
}

/** What is logged, as plain data. Callers see the first few thousand characters at most, so a value of 100 MB is not written as JSON for them. */
function reported(what: string, data: unknown, max: number): Json {
  if (!isFarTooLong(data, max)) return plainJson(what, data);
  return typeof data === "string" ? data.slice(0, max) : notShown(max);
}

function notShown(max: number): string {
  return `(far more than ${max} characters of JSON)`;
}
