/**
 * `ctx`: what a tool can do besides computing. Typed, over core's untyped `Effects`.
 *
 * A tool runs from its start after every wait; what was done before returns at once from the journal. So between effects a tool must come to
 * the same decisions again: take time, chance and everything from outside through `ctx`.
 */
import type {
  Announcement,
  AskOptions,
  AskRequest,
  Audience,
  ClientCapabilities,
  Effects,
  Settled,
  FileRef,
  EmitKind,
  JsonObject,
  LogLevel,
  StepAttempt,
  StepOptions as CoreStepOptions,
  TimeoutPolicy,
  Tool,
  Violation,
} from "@parley/core";
import { type Duration, ParleyError, describeViolations, fieldAt, parseDuration } from "@parley/core";
import { formSchema } from "./ask-schema.ts";
import { type ArgumentsOf, type CallOptions, createCall, type ResultOf } from "./call.ts";
import { type BodyOf, createEvent, type EventOptions, type TaskEvent } from "./event.ts";
import { type Shorthands, createShorthands } from "./asks/shorthands.ts";
import type { Root, SamplingReply, SamplingRequest } from "./content.ts";
import { cannotAsk, DefinitionError, throwUnanswered } from "./failures.ts";
import { assertPlain, plainJson } from "./plain-data.ts";
import type { Grant } from "./grant.ts";
import { createPages, type FilesAsk, type OauthAsk, type PageAsk, type Pages } from "./pages.ts";
import { present } from "./present.ts";
import type { Recorded } from "./recorded.ts";
import { type InputOf, type OutputOf, type Checked, type Schema, check, jsonOf, jsonSchema } from "./schema.ts";
import type { Secret } from "./secret.ts";

/** What a form's answer holds when its schema is plain JSON Schema. */
export type FormContent = { [field: string]: string | number | boolean | string[] };

/** A form: a flat object of texts, numbers, booleans, choices and lists of choices, as a Standard Schema or JSON Schema. */
export interface FormAsk<S extends Schema | JsonObject> {
  /** What the person reads. */
  readonly message: string;
  readonly schema: S;
  /** How long the question stays open: `"2 days"`. The deployment's default is a week. */
  readonly timeout?: Duration;
  /**
   * What the question becomes when nobody answers: `"cancel"` (the default: `elicit` throws TimedOut), `"decline"`, `"fail"` (the task fails), or
   * an answer in the person's place.
   */
  readonly onTimeout?: "cancel" | "decline" | "fail" | { readonly default: S extends Schema ? InputOf<S> : FormContent };
  /** Aborting it withdraws the question: nobody is shown it any more, an answer that still comes is late, and `elicit` throws Withdrawn. */
  readonly signal?: AbortSignal;
  /**
   * Who may answer, all of the caller's tenant: `"caller"` (the default), `"tenant"` for everybody, or people, groups and roles as the identity
   * provider names them. What is put to others waits for one of them, and the caller's client shows that it waits.
   */
  readonly to?: "caller" | Audience["to"];
  /** `"caller"`: the caller may not answer, even if `to` names them. For a second pair of eyes. */
  readonly not?: Audience["not"];
  /** One answer settles it: see QuorumAsk. */
  readonly quorum?: undefined;
  /** How a page may show the question: for clients that look into `_meta` for it, and none need to. */
  readonly hints?: JsonObject;
}

/** A form that several people must accept. Nobody's default is taken for theirs. */
export interface QuorumAsk<S extends Schema | JsonObject> extends Omit<FormAsk<S>, "quorum" | "onTimeout"> {
  /**
   * How many different people of `to` must accept, at most 20: `elicit` then returns what each of them said, in the order in which they accepted, and `ask` has it as
   * `content`. The first who declines or dismisses the question ends it for all. Until then a person may answer again: their last word counts.
   * A person counts once, by whichever client they answer. INVALID_ASK where callers are not identified.
   */
  readonly quorum: number;
  readonly onTimeout?: "cancel" | "decline" | "fail";
}

/** What one of the people said who accepted. */
export interface Accepted<T> extends Person {
  readonly content: T;
  readonly at: Date;
}

/** A page that the person visits, for what must not pass through the client: secrets, payments, consent. */
export interface UrlAsk {
  readonly message: string;
  readonly url: string | URL;
  readonly timeout?: Duration;
  readonly onTimeout?: "cancel" | "decline" | "fail";
  /** As for a form; so are `to` and `not`. */
  readonly signal?: AbortSignal;
  readonly to?: "caller" | Audience["to"];
  readonly not?: Audience["not"];
  readonly hints?: JsonObject;
  /** An event says when the person is done there: what a client says is only that they agreed to go. `ctx.url` waits for both. */
  readonly completedBy?: "event";
  /** As for `ctx.url`, which returns what the person came back with. */
  readonly returnTo?: string;
}

/** The answer's type for a schema: what a Standard Schema gives out, or plain content for JSON Schema. */
export type ContentOf<S extends Schema | JsonObject> = S extends Schema ? OutputOf<S> : FormContent;

/** What became of a question, as `ctx.ask` returns it. */
export type AskResult<T> =
  | { readonly action: "accept"; readonly content: T }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }
  /** `accepted`: how many had by then, of the `quorum` that must; absent where one answer settles the question. */
  | { readonly action: "timeout"; readonly accepted?: number; readonly quorum?: number }
  /** Its `signal` was aborted. */
  | { readonly action: "withdrawn" };

/** Options of `ctx.step`. */
export interface StepOptions {
  /** Tries in all; 1 by default. */
  readonly attempts?: number;
  /** Wait before the second try, doubled each time; a second by default. */
  readonly backoff?: Duration;
  /** How long one try may take. */
  readonly timeout?: Duration;
}

/** Options of `ctx.sample` and `ctx.roots`. */
export interface WaitOptions {
  readonly timeout?: Duration;
  /** Aborting it withdraws the request. */
  readonly signal?: AbortSignal;
}

/** Options of `ctx.sleep` and `ctx.sleepUntil`. */
export interface SleepOptions {
  /** Aborting it ends the sleep: `sleep` throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Somebody who answered. No name of a person: what that principal is called, the identity provider and the audit know. */
export interface Person {
  /** As in `ctx.principal`, and in the audit. */
  readonly principal: string;
  /** It is the caller, who owns the task. */
  readonly isCaller: boolean;
}

/** Who answered a question: of one that has a quorum, the one who settled it. */
export interface AnsweredBy extends Person {
  /** Of a question that has a quorum: everybody who had accepted, in that order, also where somebody then declined. */
  readonly accepted?: readonly Person[];
}

/** What a handler can do besides computing: the second argument of `run`. */
export interface Context extends Shorthands {
  readonly taskId: string;
  /** The caller. */
  readonly principal: string;
  /** What the client can be asked for. */
  readonly capabilities: ClientCapabilities;
  /**
   * Aborted when the run ends, as are the signals of steps. Its `reason` is a RunStopped that says `why`: `cancelled` by the client, `timeout`, `failed`
   * (another branch), `ended`, `draining` (the worker), `lost` (another worker has the task).
   */
  readonly signal: AbortSignal;
  /** The same on every run of this task: hand it to services that take one. Steps get one each, see `step`. */
  readonly idempotencyKey: string;

  /**
   * Asks the person and waits, for as long as it takes, without holding a worker. Returns the answer as the schema says.
   * Throws Declined, Cancelled, TimedOut or Withdrawn; ParleyError INVALID_ASK when MCP does not allow the question, INVALID_ANSWER when ten answers
   * in a row fit the form but not the schema, CAPABILITY_REQUIRED when the client cannot be asked it. Where the deployment says so, such a
   * question takes the default that it has for its timeout.
   */
  elicit<const S extends Schema | JsonObject>(name: string, ask: FormAsk<S>): Promise<ContentOf<S>>;
  /** The same of several people: as many as `quorum` says must accept. Throws TimedOut with how many had. */
  elicit<const S extends Schema | JsonObject>(name: string, ask: QuorumAsk<S>): Promise<readonly Accepted<ContentOf<S>>[]>;
  /** Sends the person to a page. Resolves when they agreed to go there: whether they finished there, the page's own service knows. */
  elicit(name: string, ask: UrlAsk): Promise<void>;

  /**
   * Asks for a secret (a password, a key) on a page that Parley serves: it never passes through the client, the model, logs or the journal. Throws as
   * `elicit`, for forms.
   */
  secret(name: string, ask: PageAsk): Promise<Secret>;
  /**
   * Asks to act in the person's name at an OAuth provider, on a page that Parley serves: they log in there and consent. Resolves when they have come
   * back with it. Tokens never pass through the client, the model, logs or the journal. Throws as `elicit`, for forms; INVALID_ASK for a provider or scopes that
   * the deployment is not set up for, OAUTH_UNAVAILABLE where it is set up for none (PARLEY_OAUTH).
   */
  oauth(name: string, ask: OauthAsk): Promise<Grant>;
  /**
   * Asks for a file on a page that Parley serves, or for up to `count` of them. Throws as `elicit`, for forms; FILES_UNAVAILABLE where the deployment
   * keeps none (PARLEY_FILES). What comes back is a reference; `openFile` has the content.
   */
  file(name: string, ask: FilesAsk & { readonly count?: undefined }): Promise<FileRef>;
  file(name: string, ask: FilesAsk & { readonly count: number }): Promise<readonly FileRef[]>;
  /** The content of a file that was uploaded for this task: for steps. Throws ParleyError FILE_GONE. */
  openFile(file: Pick<FileRef, "id">): Promise<ReadableStream<Uint8Array>>;

  /** As `elicit`, for those who want to branch: returns what became of the question. Throws ParleyErrors as `elicit` does. */
  ask<const S extends Schema | JsonObject>(name: string, ask: FormAsk<S>): Promise<AskResult<ContentOf<S>>>;
  ask<const S extends Schema | JsonObject>(name: string, ask: QuorumAsk<S>): Promise<AskResult<readonly Accepted<ContentOf<S>>[]>>;
  ask(name: string, ask: UrlAsk): Promise<AskResult<undefined>>;

  /**
   * Who answered the question of that name (within its `branch`) last: of the people, groups or roles that it was put to, the one who did. Undefined when
   * nobody has, also where a default or a deadline answered in their place. The same in every run. Where callers are not identified, it is always the caller.
   *
   *   await ctx.confirm("approve", { message: `Pay ${amount} €?`, to: { groups: ["finance"] }, not: "caller" });
   *   const approver = ctx.answeredBy("approve")?.principal;
   */
  answeredBy(name: string): AnsweredBy | undefined;

  /**
   * Does `work` once for the life of the task and records its result. A worker that dies before the record does it again: hand
   * `idempotencyKey` to the service that is called. Throws StepFailed when every try failed.
   */
  step<T>(name: string, work: (attempt: StepAttempt) => T | Promise<T>, options?: StepOptions): Promise<Recorded<T>>;

  /**
   * Waits for what another system tells of (a payment, a build, a callback), by an address that the tool hands it in a step:
   *
   *   const paid = ctx.event("paid", { schema: z.object({ amount: z.number() }), timeout: "1 day" });
   *   await ctx.step("checkout", () => payments.create({ order, callback: paid.url }));
   *   const { amount } = await paid.received();
   *
   * The event is open before the step begins. It is taken once: the same body again is a repetition, another one comes late. The address is the
   * credential; it is never recorded nor shown to the client, and a tool that tries is stopped with EVENT_TOKEN_MISPLACED. Throws EVENTS_UNAVAILABLE
   * where the deployment has no address (PARLEY_PUBLIC_URL), and INVALID_ASK for a schema that cannot be checked.
   */
  event<const S extends Schema | JsonObject = JsonObject>(name: string, options?: EventOptions<S>): TaskEvent<BodyOf<S>>;

  /**
   * Calls another tool as a task of its own, and waits for its result without a worker. The child has its own journal, belongs to the same caller, and
   * ends with this task if it has not ended before. What it asks is shown with this task's questions, as `<key>:<name>`.
   *
   *   const { hotel } = await ctx.call(bookHotel, { city }, { key: "hotel", timeout: "2 days" });
   *
   * Gives what the tool's `output` says, or its text. By name (`ctx.call("book_hotel", …)`) the types are not known. Throws ChildFailed, TimedOut,
   * Withdrawn; ParleyError INVALID_ARGUMENTS, TOO_LARGE, TOOL_NOT_FOUND where this worker does not serve it, QUOTA_EXCEEDED, CHILD_REFUSED, and JOURNAL_FULL
   * where what all children came to is more than the task may record.
   */
  call<const T extends Tool | string>(tool: T, args: ArgumentsOf<T>, options?: CallOptions): Promise<ResultOf<T>>;

  /** Waits; beyond about a second without a worker. */
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>;
  /** Waits until then, which is read as a Date is: `"2026-12-24T18:00:00Z"`. A time that is over ends the sleep at once. Records the time. */
  sleepUntil(name: string, time: Date | string | number, options?: SleepOptions): Promise<void>;
  /** The time, recorded. */
  now(name?: string): Date;
  /** A number in [0, 1), the same in every run of the task. */
  random(name?: string): number;
  /** A random UUID, the same in every run of the task, that no caller can guess. */
  uuid(name?: string): string;

  /**
   * Whether the task takes the new way of a change to this handler: true for a task that comes to this point for the first time, false for one
   * that passed it before the change. Recorded: each later run of the task decides the same, and so does each call of that name (within its
   * `branch`). Once no task needs the old way, `deprecatePatch` takes its place.
   *
   *   if (ctx.patched("fraud-check")) await ctx.step("check", () => fraud.check(order));
   */
  patched(name: string): boolean;
  /**
   * Stands where `patched` stood, once its old way was removed: tasks that decided for the new way find their decision, one that decided for
   * the old one fails with REPLAY_DIVERGED. Remove it when every task has ended that came by `patched`.
   */
  deprecatePatch(name: string): void;

  /**
   * Runs `work` with the names of its steps, questions and sleeps scoped to `key`: `alice/approve`. For concurrent branches that await something
   * outside `ctx` before they use a name that another branch uses too; without it such a name ends the task with AMBIGUOUS_EFFECT.
   */
  branch<T>(key: string, work: () => Promise<T>): Promise<T>;
  /**
   * Begins again from the start as the same task, with these arguments and nothing recorded: how a loop runs forever. Never returns;
   * `return await ctx.restart({ … })` reads best. What the next round has to know goes into the arguments.
   */
  restart(args: JsonObject): Promise<never>;

  /** Tells a client that wants to know how far the tool is. */
  progress(progress: number, total?: number, message?: string): void;
  /** What the tool is doing, as a sentence: the task's status message. */
  status(message: string): void;
  log(message: string): void;
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Adds to the task's feed what MCP has no notification for, such as a toast: for pages and terminals that show the feed. `data` is a plain
   * object; what is too long of it is cut. What belongs to the result goes into the result.
   */
  emit(kind: EmitKind, data: object): void;
  /**
   * Lets the client's connection go while the tool works on: a client that can come back for the rest is told to, and others wait as before.
   * For tools that are busy for minutes: a question lets the worker go by itself, not the connection.
   */
  releaseCall(): void;
  /** Text that the model may read while the task waits. */
  immediateResponse(text: string): void;
  /** Tells every client that a list or a resource has changed. */
  announce(announcement: Announcement): void;

  /** Has the client's model complete something. Throws Declined, Cancelled or TimedOut; ParleyError CAPABILITY_REQUIRED. */
  sample(name: string, request: SamplingRequest, options?: WaitOptions): Promise<SamplingReply>;
  /** The folders that the client works in. Throws Declined, Cancelled or TimedOut; ParleyError CAPABILITY_REQUIRED. */
  roots(name?: string, options?: WaitOptions): Promise<readonly Root[]>;
}

/** What becomes of a question that the client can be asked. */
type PutAnswer = Exclude<Settled, { action: "unavailable" }>;

type AnyFormAsk = FormAsk<Schema | JsonObject> | QuorumAsk<Schema | JsonObject>;

/** How often a form is put before the tool is told that no answer fits: a client that answers by machine answers forever. */
const ROUNDS_MAX = 10;

export function createContext(effects: Effects): Context {
  async function put(name: string, ask: AnyFormAsk | UrlAsk): Promise<AskResult<unknown>> {
    return "url" in ask ? putUrl(name, ask) : putForm(name, ask);
  }

  async function putForm(name: string, ask: AnyFormAsk): Promise<AskResult<unknown>> {
    const { schema, form } = formOf(name, ask.schema);
    // Nothing is awaited before the ask unless it must be: questions stand in the order in which they are put.
    const policy = typeof ask.onTimeout === "object" ? await checkedDefault(name, ask.onTimeout.default, schema) : ask.onTimeout;
    const options = askOptions({ ...ask, onTimeout: policy });
    for (let message = ask.message, round = 1; ; round += 1) {
      const answer = await putRequest(name, { type: "form", message, schema: form, ...present({ hints: ask.hints }) }, options);
      if (answer.action !== "accept") return refusal(answer, ask.quorum);
      const content = await checked(schema, answer);
      if (content.ok) return { action: "accept", content: content.value };
      if (round === ROUNDS_MAX) {
        throw new ParleyError("INVALID_ANSWER", `the ask "${name}" was answered ${round} times, and never as its schema wants`, {
          violations: content.violations,
        });
      }
      // The form could not say all that the author's schema wants: ask again, as the next occurrence of the name.
      message = `${ask.message}\n\nThe last answer does not fit: ${describeViolations(labelled(form, content.violations))}`;
    }
  }

  /** What the one person said, or each of those who had to accept. */
  async function checked(schema: Schema, { content, accepted }: Extract<Settled, { action: "accept" }>): Promise<Checked<unknown>> {
    if (!accepted) return await check(schema, content ?? {});
    const each = await Promise.all(accepted.map((acceptance) => check(schema, acceptance.content)));
    const violations = each.flatMap((one) => (one.ok ? [] : one.violations));
    if (violations.length > 0) return { ok: false, violations };
    return {
      ok: true,
      value: accepted.map(({ by, atMs }, index) => ({ ...person(by), content: valueOf(each[index]), at: new Date(atMs) })),
    };
  }

  function person(by: string | undefined): Person {
    const principal = by ?? effects.call.principal;
    return { principal, isCaller: principal === effects.call.principal };
  }

  async function putUrl(name: string, ask: UrlAsk): Promise<AskResult<unknown>> {
    // Written in one way, regardless of its source: the ask's digest is taken from it.
    const url = URL.parse(String(ask.url))?.href ?? String(ask.url);
    const { returnTo } = ask;
    if (returnTo !== undefined) {
      const page = { kind: "visit" as const, url, returnTo };
      const request = { type: "url" as const, message: ask.message, url: "", page, ...present({ hints: ask.hints }) };
      const answer = await putRequest(name, request, askOptions(ask));
      return answer.action === "accept" ? { action: "accept", content: answer.content?.["query"] ?? {} } : refusal(answer);
    }
    const request = { type: "url" as const, message: ask.message, url, ...present({ hints: ask.hints, completedBy: ask.completedBy }) };
    const answer = await putRequest(name, request, askOptions(ask));
    return answer.action === "accept" ? { action: "accept", content: undefined } : refusal(answer);
  }

  const pages = createPages(effects, async (name, ask, page) => {
    const answer = await putRequest(name, { type: "url", message: ask.message, url: "", page }, askOptions(ask));
    if (answer.action === "accept") return answer.content ?? {};
    return throwUnanswered(name, refusal(answer).action);
  });

  async function elicit(name: string, ask: AnyFormAsk | UrlAsk): Promise<unknown> {
    const result = await put(name, ask);
    return result.action === "accept" ? result.content : throwUnanswered(name, result.action, result.action === "timeout" ? result : {});
  }

  async function putRequest(name: string, request: AskRequest, options: AskOptions): Promise<PutAnswer> {
    const answer = await effects.ask(name, request, options);
    if (answer.action === "unavailable") throw cannotAsk(name, request);
    return answer;
  }

  async function replyTo(name: string, request: AskRequest, options: WaitOptions): Promise<JsonObject> {
    const answer = await putRequest(name, request, askOptions(options));
    if (answer.action === "reply") return answer.result;
    return throwUnanswered(name, refusal(answer).action);
  }

  const context = {
    taskId: effects.taskId,
    principal: effects.call.principal,
    capabilities: effects.call.capabilities,
    signal: effects.signal,
    idempotencyKey: effects.taskId,
    elicit,
    ask: put,
    ...createShorthands(put),
    secret: pages.secret,
    oauth: pages.oauth,
    openFile: pages.openFile,
    async file(name: string, { count, ...ask }: FilesAsk & { readonly count?: number | undefined }) {
      const files = await pages.files(name, ask, count ?? 1);
      return count === undefined ? files[0] : files;
    },
    // The engine's own promise: it knows whether anybody listens, which one that is made of it would not.
    step: <T>(name: string, work: (attempt: StepAttempt) => T | Promise<T>, options: StepOptions = {}) =>
      effects.step(name, plainWork(name, work, pages.assertNoSecret), stepOptions(options)) as Promise<Recorded<T>>,
    answeredBy(name: string): AnsweredBy | undefined {
      const { principal, accepted } = effects.answeredBy(name) ?? {};
      return principal === undefined ? undefined : { ...person(principal), ...present({ accepted: accepted?.map(person) }) };
    },
    call: createCall(effects) as Context["call"],
    event: createEvent(effects),
    sleep: (name: string, duration: Duration, options: SleepOptions = {}) => effects.sleep(name, parseDuration(duration), options),
    async sleepUntil(name: string, time: Date | string | number, options: SleepOptions = {}) {
      const atMs = new Date(time).getTime();
      if (Number.isNaN(atMs))
        throw new RangeError(
          `the sleep "${name}" ends at ${JSON.stringify(time)}, which is no time: give a Date, or a text such as "2026-12-24T18:00:00Z"`,
        );
      return effects.sleep(name, Math.max(0, atMs - effects.now(name)), options);
    },
    patched: (name: string) => effects.patched(name),
    deprecatePatch: (name: string) => effects.deprecatePatch(name),
    branch: <T>(key: string, work: () => Promise<T>) => effects.branch(key, work),
    restart: (args: JsonObject) => effects.restart(plainJson("the arguments of the restart", args) as JsonObject),
    now: (name?: string) => new Date(effects.now(name)),
    random: (name?: string) => effects.random(name),
    uuid: (name?: string) => effects.uuid(name),
    progress(progress: number, total?: number, message?: string) {
      effects.report({ type: "progress", progress, ...present({ total, message }) });
    },
    status: (message: string) => effects.status(message),
    log(...line: [message: string] | [level: LogLevel, data: unknown, logger?: string]) {
      const [level, data, logger] = line.length === 1 ? (["info", line[0]] as const) : line;
      effects.report({ type: "log", level, data: plainJson("log data", data), ...present({ logger }) });
    },
    emit: (kind: EmitKind, data: object) =>
      effects.report({ type: "emit", kind, data: plainJson(`the emitted ${kind}`, data) as JsonObject }),
    releaseCall: () => effects.report({ type: "release" }),
    immediateResponse: (text: string) => effects.immediateResponse(text),
    announce: (announcement: Announcement) => effects.announce(announcement),
    async sample(name: string, request: SamplingRequest, options: WaitOptions = {}) {
      const params = plainJson(`the sampling request "${name}"`, request) as JsonObject;
      return (await replyTo(name, { type: "sampling", params }, options)) as unknown as SamplingReply;
    },
    async roots(name = "roots", options: WaitOptions = {}) {
      const reply = await replyTo(name, { type: "roots" }, options);
      return (reply as { roots?: readonly Root[] }).roots ?? [];
    },
  };
  // The overloads of elicit and ask say which schema gives which answer; the compiler cannot follow that into the shared implementation.
  return context as Context;
}

function valueOf(checked: Checked<unknown> | undefined): unknown {
  return checked?.ok ? checked.value : undefined;
}

/** By the titles that the form shows, where it has any. */
function labelled(form: JsonObject, violations: readonly Violation[]): readonly Violation[] {
  return violations.map(({ path, message }) => {
    const title = fieldAt(form, `/content${path}`)?.schema["title"];
    return { path: typeof title === "string" ? title : path, message };
  });
}

interface Form {
  readonly schema: Schema;
  readonly form: JsonObject;
}

/** A tool whose schemas are constants has each converted once and not in every run. Plain JSON Schema is left out: its author may change it. */
const forms = new WeakMap<object, Form>();

function formOf(name: string, given: Schema | JsonObject): Form {
  const known = forms.get(given);
  if (known) return known;
  try {
    const schema = isSchema(given) ? given : jsonSchema(given);
    const made = { schema, form: formSchema(name, jsonOf(`the ask "${name}"`, schema, "input")) };
    forms.set(schema, made);
    return made;
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    const violations = error.violations ?? [{ path: "", message: error.message }];
    throw new ParleyError("INVALID_ASK", error.message, { violations, cause: error });
  }
}

function isSchema(given: Schema | JsonObject): given is Schema {
  return "~standard" in given;
}

/** A default that does not fit would be accepted in a person's name, or asked again forever. */
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
    signal,
    audience: audienceOf({ to, not, quorum }),
  });
}

function audienceOf({ to = "caller", not, quorum }: Pick<GivenOptions, "to" | "not" | "quorum">): Audience | undefined {
  // One person's answer settles a question anyway.
  const several = quorum === 1 ? undefined : quorum;
  if (to !== "caller") return { to, ...present({ not, quorum: several }) };
  if (several !== undefined) {
    const message = "needs several people, and the question is put to the caller alone: say in `to` who may accept";
    throw new ParleyError("INVALID_ASK", `the ask is invalid: /quorum ${message}`, { violations: [{ path: "/quorum", message }] });
  }
  if (not === undefined) return undefined;
  throw new ParleyError("INVALID_ASK", "nobody could answer: `not` leaves out the caller, and `to` names nobody else");
}

function stepOptions({ attempts, backoff, timeout }: StepOptions): CoreStepOptions {
  return present({
    attempts,
    backoffMs: backoff === undefined ? undefined : parseDuration(backoff),
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout),
  });
}

function plainWork<T>(
  name: string,
  work: (attempt: StepAttempt) => T | Promise<T>,
  assertNoSecret: Pages["assertNoSecret"],
): (attempt: StepAttempt) => Promise<T> {
  return async (attempt) => {
    const value = await work(attempt);
    assertPlain(`the result of step "${name}"`, value);
    assertNoSecret(`the result of step "${name}"`, value);
    return value;
  };
}

function refusal(answer: PutAnswer, quorum?: number): Exclude<AskResult<never>, { action: "accept" }> {
  if (answer.action === "accept" || answer.action === "reply") throw new Error(`an ask was answered by ${answer.action}`);
  if (answer.action !== "timeout" || !answer.accepted || quorum === undefined) return { action: answer.action };
  return { action: answer.action, accepted: answer.accepted.length, quorum };
}
