/**
 * Runs a tool with core's replay, use cases and store rules, as in production, but without a server, Redis or
 * waiting. Answers are scripted, and the clock stands still except where the tool waits.
 *
 *   const run = await runTool(bookDinner, { date: "2026-12-24", time: "19:00" }, { answers: { "party-size": { partySize: 4 } } });
 *   expect(run.text).toMatch(/Confirmed for 4/);
 *
 * As in production, the handler starts again after every wait. With `crashAt` the worker also dies after every
 * recorded step, which reveals side effects outside of `ctx`. A handler that uses `Date.now`, `Math.random`, `fetch`
 * … outside of a step and then waits fails the test, with the line: see `strict`.
 */
import { hash } from "node:crypto";
import {
  type Ask,
  type AskRequest,
  type ClientCapabilities,
  type Duration,
  type FeedItem,
  type FileRef,
  type Json,
  type JsonObject,
  type LeavePage,
  type Log,
  type Prompt,
  type RpcError,
  type RunRef,
  type Services,
  type Task,
  type TaskStore,
  type Tool,
  DEFAULT_SETTINGS,
  ParleyError,
  answerTask,
  cancelTask,
  createTask,
  declareUnavailable,
  describeViolations,
  entryKey,
  eventKey,
  fieldsOf,
  isFinished,
  isOnPage,
  leavePage,
  newTaskId,
  parseDuration,
  receiveEvent,
  runTask,
  isReadingKey,
} from "@parley/core";
import { createMemoryClaims, createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { catalogue } from "./catalogue.ts";
import { markDefinition } from "./definition.ts";
import { present } from "./present.ts";
import { createWatch, ImpureHandler, type Impurity, type Watch } from "./purity.ts";
import { type RecordedTask, toRecordedTask } from "./replay/recorded-task.ts";
import { type Answerer, answerer, answererOf, caller } from "./testing-people.ts";
import { createTestClock, createTestFiles, createTestIds, createTestScope, createTestTokens, textDigest } from "./testing-ports.ts";
import { validateJson } from "./validate-json.ts";

export { provide } from "./module.ts";
export { ImpureHandler, type Impurity } from "./purity.ts";
export type { Answerer } from "./testing-people.ts";

/** The person accepts a question that has no content: visiting a page (url mode). */
export const accept: unique symbol = Symbol("accept");
/** The person declines. */
export const decline: unique symbol = Symbol("decline");
/** The person closes the question. */
export const cancel: unique symbol = Symbol("cancel");
/** The question is not answered before its deadline. */
export const timeout: unique symbol = Symbol("timeout");
/** The client cannot be asked this. */
export const unavailable: unique symbol = Symbol("unavailable");

/**
 * The content of a form, the text of the model's completion, the URIs of roots, or one of the symbols. For a form
 * with one field, such as those of `ctx.text` and its siblings, the bare value is enough. For a page, what the person
 * leaves there: `{ secret: "…" }`, `{ grant: "an access token" }`, `{ returned: { … } }`.
 */
export type Reply =
  | JsonObject
  | string
  | number
  | boolean
  | readonly string[]
  | typeof accept
  | typeof decline
  | typeof cancel
  | typeof timeout
  | typeof unavailable;

/** Replies by ask key: the name, then `name#2`, `name#3` … A function receives the ask and returns the reply. */
export type Script = { readonly [askKey: string]: Reply | ((ask: Ask) => Reply) };

/** Bodies of events by event name, then `name#2`, `name#3` …; the symbol lets the event time out. */
export type Told = { readonly [eventKey: string]: Json | typeof timeout };

/** The client, time and deployment of a test. */
export interface TestOptions {
  /** What the client can be asked; everything by default. */
  readonly capabilities?: ClientCapabilities;
  readonly principal?: string;
  /** The time at the start; 2026-01-01T00:00:00Z by default. */
  readonly now?: Date;
  /** `"every"` kills the run after every recorded write. A number kills it once, after that write, counted from 1. */
  readonly crashAt?: "every" | number | undefined;
  /** Early replies, by ask key: the contents of forms. They count for tools with `earlyReplies`. */
  readonly early?: { readonly [askKey: string]: JsonObject };
  /** PARLEY_WITHOUT_CAPABILITY: what becomes of a question that is answered with `unavailable`; `"fail"` by default. */
  readonly withoutCapability?: "fail" | "default";
  /** PARLEY_ASK_URL_SCHEMES; `["https"]` by default. */
  readonly askUrlSchemes?: readonly string[];
  /** PARLEY_SECRET_NAMES; none by default. */
  readonly secretNames?: readonly string[];
  /**
   * PARLEY_SHOW_ERRORS: whether `text` and `error` hold the tool's own error or what a caller would see instead. True
   * by default.
   */
  readonly showErrors?: boolean;
  /**
   * Whether a handler fails the test with ImpureHandler if it waits after calling `Date.now`, `new Date()`,
   * `Math.random`, `crypto.randomUUID`, `fetch` or `setTimeout` outside of a step: the next run starts from the top
   * and reads something else. True by default. With false, such calls are listed in `impurities`.
   */
  readonly strict?: boolean;
  /** Tools that the tool calls with `ctx.call`. In production, workers serve them. */
  readonly tools?: readonly Tool[];
}

/** A task under test: what clients see of it, what was recorded, and what a test can do to it. */
export interface TestTask {
  /** The task as clients see it. */
  readonly task: Task;
  /** Every question that was asked, in order. */
  readonly asks: readonly Ask[];
  /** What the tool reported: progress, logs, and `release` when it released the caller's connection. */
  readonly feed: readonly FeedItem[];
  /**
   * What was recorded, in order: `step:hold-table`, `ask:party-size` … Each entry is listed once, however often the
   * handler started.
   */
  readonly journal: readonly string[];
  /** The texts of the result, joined by newlines; `""` while there is no result. */
  readonly text: string;
  /** The tool's result in MCP's shape, once the task is completed. */
  readonly result: JsonObject | undefined;
  /** The error, once the task is failed. */
  readonly error: RpcError | undefined;
  readonly now: Date;
  /** What the handler read outside of `ctx` and of steps before it waited. */
  readonly impurities: readonly Impurity[];

  /**
   * Answers open questions and lets the tool continue. Throws an Error with the reason if an answer is refused.
   * Without `as`, each question is answered by someone who may answer it.
   */
  answer(replies: { readonly [askKey: string]: Reply }, as?: Answerer): Promise<void>;
  /**
   * Reports an event as another system does and lets the tool continue. Throws the error that the other system would
   * receive.
   */
  tell(event: string, body?: Json): Promise<"accepted" | "duplicate">;
  /** Lets time pass: sleeps end, questions time out. */
  advance(duration: Duration): Promise<void>;
  cancel(): Promise<void>;
  /** The task as `parley export --with-content` would write it: for `replayRecorded` of @parley/sdk/replay. */
  exported(): Promise<RecordedTask>;
  /** Replaces the tool, or its versions, as a deployment does under waiting tasks. */
  redeploy(changed: Tool | Prompt, ...older: readonly Tool[]): void;
}

/**
 * Starts a tool and lets it run until it waits or ends. Throws INVALID_ARGUMENTS, and ImpureHandler like every method
 * that lets the tool run.
 */
export async function startTool(tool: Tool | Prompt, args: JsonObject = {}, options: TestOptions = {}): Promise<TestTask> {
  const stage = createStage(tool, options);
  stage.taskId = await newTaskId(stage.services, { caller: caller(options.principal) });
  const { id } = await createTask(stage.services, tool, {
    taskId: stage.taskId,
    caller: caller(options.principal),
    arguments: args,
    capabilities: options.capabilities ?? { elicitation: { form: true, url: true }, sampling: { tools: false }, roots: true },
    hidden: false,
    ...(options.early && { replies: accepted(options.early) }),
  });
  return createTestTask(stage, id, options.strict ?? true);
}

/**
 * Runs a tool to its end with scripted answers; sleeps pass at once. Throws if the script has no answer for a
 * question, or if an answer is refused.
 */
export async function runTool(
  tool: Tool | Prompt,
  args: JsonObject = {},
  { answers = {}, events = {}, ...options }: TestOptions & { readonly answers?: Script; readonly events?: Told } = {},
): Promise<TestTask> {
  const running = await startTool(tool, args, options);
  while (!isFinished(running.task.status)) {
    const open: { ask: Ask; reply: Reply | undefined }[] = running.task.asks.map((ask) => ({
      ask,
      reply: scripted(answers[ask.key], ask),
    }));
    const given = new Map<string, Reply>();
    for (const { ask, reply } of open) {
      // A person who agreed to visit the page of an event has answered: the event is next.
      const isAnswered = ask.agreed === true && reply === accept;
      if (reply !== undefined && reply !== timeout && !isAnswered) given.set(ask.key, reply);
    }
    if (given.size > 0) {
      await running.answer(Object.fromEntries(given));
      continue;
    }
    const reported = (running.task.events ?? []).map(({ key }) => nameOf(key)).find((name) => name in events && events[name] !== timeout);
    if (reported !== undefined) {
      await running.tell(reported, events[reported] as Json);
      continue;
    }
    const unreported = running.task.events?.find(({ key }) => events[nameOf(key)] === undefined);
    const unanswered = open.find(({ reply }) => reply === undefined);
    const dueAtMs = nextDueAtMs(running);
    if (unreported && dueAtMs >= unreported.deadlineMs)
      throw new Error(`the tool waits for the event "${nameOf(unreported.key)}", and the test does not report it`);
    // The tool also sleeps beside its question, or the question is scripted to time out.
    if (unanswered && dueAtMs >= unanswered.ask.deadlineMs) {
      throw new Error(`the tool asks "${unanswered.ask.key}" and the script has no answer: ${shown(unanswered.ask)}`);
    }
    await running.advance(Math.max(0, dueAtMs - running.now.getTime()));
  }
  return running;
}

/** An event's name, without the prefix that distinguishes events from questions. */
function nameOf(key: string): string {
  return key.slice(eventKey("").length);
}

function accepted(contents: NonNullable<TestOptions["early"]>): JsonObject {
  return Object.fromEntries(Object.entries(contents).map(([key, content]) => [key, { action: "accept", content }]));
}

function scripted(entry: Script[string] | undefined, ask: Ask): Reply | undefined {
  return typeof entry === "function" ? entry(ask) : entry;
}

function shown({ request }: Ask): string {
  return "message" in request ? request.message : request.type;
}

// ── the stage: services in memory, watched ─────────────────────────────────────────────────────────────────────

interface Stage {
  readonly services: Services;
  readonly clock: ReturnType<typeof createTestClock>;
  readonly runs: RunRef[];
  readonly asks: Ask[];
  readonly journal: string[];
  readonly watch: Watch;
  /** When tasks must run at the latest, including children. */
  readonly dueAtMs: Map<string, number>;
  tool: Tool | Prompt;
  readonly others: readonly Tool[];
  /** The task under test; all others are its children. */
  taskId: string;
}

const stages = new WeakMap<TestTask, Stage>();

function nextDueAtMs(running: TestTask): number {
  const stage = stages.get(running);
  return stage ? nextOf(stage) : Infinity;
}

function nextOf({ dueAtMs }: Stage): number {
  return Math.min(Infinity, ...dueAtMs.values());
}

function createStage(tool: Tool | Prompt, options: TestOptions): Stage {
  const { crashAt } = options;
  // A test whose worker never dies would pass.
  if (crashAt !== undefined && crashAt !== "every" && !(Number.isInteger(crashAt) && crashAt >= 1)) {
    throw new TypeError(`crashAt must be "every" or the number of a record, counted from 1, and is ${JSON.stringify(crashAt)}`);
  }
  const clock = createTestClock(options.now ?? new Date("2026-01-01T00:00:00Z"));
  const wakeUps = createMemoryWakeUps();
  const runs: RunRef[] = [];
  const memory = createMemoryStore({ clock, wakeUps });
  const noted = (taskId: string, entries: readonly { key: string }[]) => {
    if (taskId !== stage.taskId) return;
    for (const { key } of entries) if (!isReadingKey(key) && !stage.journal.includes(key)) stage.journal.push(key);
  };
  /** The worker has died; its lease counts as expired. */
  let isDead = false;
  let records = 0;
  const store: TaskStore = {
    ...memory,
    begin(request) {
      const nowMs = isDead ? request.nowMs + request.leaseMs : request.nowMs;
      isDead = false;
      return memory.begin({ ...request, nowMs });
    },
    async record(request) {
      const recorded = await memory.record(request);
      noted(request.taskId, request.entries);
      // To the run it looks like a takeover by another worker. What it recorded stays.
      records += 1;
      isDead = crashAt === "every" || crashAt === records;
      if (isDead) stage.watch.repeats();
      return isDead ? "refused" : recorded;
    },
    async park(request) {
      // A restart and a retry start again on purpose.
      if (!request.restart && request.attempt === 0) stage.watch.repeats();
      const parked = await memory.park(request);
      noted(request.taskId, request.entries);
      const shown = await memory.load(stage.taskId);
      for (const ask of shown?.asks ?? []) if (!stage.asks.some(({ key }) => key === ask.key)) stage.asks.push(ask);
      stage.dueAtMs.set(request.taskId, request.dueAtMs);
      return parked;
    },
    async answer(request) {
      const recorded = await memory.answer(request);
      if (recorded.receipt === "accepted") noted(request.taskId, [{ key: entryKey("ask", request.key) }]);
      return recorded;
    },
    async finish(request) {
      noted(request.taskId, request.entries);
      stage.dueAtMs.delete(request.taskId);
      return memory.finish(request);
    },
    async settle(request) {
      noted(request.taskId, request.entries);
      return memory.settle(request);
    },
  };
  const stage: Stage = {
    services: {
      store,
      queue: { add: async (run) => void runs.push(run) },
      wakeUps,
      clock,
      scope: createTestScope(),
      ids: createTestIds(),
      digest: textDigest,
      validate: validateJson,
      log: SILENT,
      files: createTestFiles(),
      eventTokens: createTestTokens(),
      deposits: {
        async open(taskId, key) {
          const text = await store.deposit(taskId, key);
          if (text === undefined) throw new ParleyError("DEPOSIT_UNREADABLE", `this task has no deposit of the page "${key}"`);
          return text;
        },
        replace: (taskId, key, before, text) => store.redeposit({ taskId, key, before, deposit: text }),
      },
      // A provider that always renews.
      oauth: {
        refresh: async (tokens) => ({ ...tokens, accessToken: `${tokens.accessToken}, renewed` }),
        revoke: async () => "unsupported",
      },
      claims: createMemoryClaims({ clock }),
      // Every sleep parks, so that the clock decides how long it takes.
      settings: {
        ...DEFAULT_SETTINGS,
        inlineSleepMaxMs: 0,
        divergenceWaitMs: 50,
        oauthScopes: "any",
        showErrors: options.showErrors ?? true,
        ...present({
          withoutCapability: options.withoutCapability,
          askUrlSchemes: options.askUrlSchemes,
          secretNames: options.secretNames,
        }),
      },
    },
    clock,
    runs,
    asks: [],
    journal: [],
    watch: createWatch(),
    dueAtMs: new Map(),
    tool,
    others: options.tools ?? [],
    taskId: "",
  };
  return stage;
}

const SILENT: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

async function createTestTask(stage: Stage, taskId: string, isStrict: boolean): Promise<TestTask> {
  const { services, clock, watch } = stage;
  const { store } = services;
  let task: Task;
  let feed: readonly FeedItem[] = [];

  async function settle(): Promise<void> {
    for (let run = stage.runs.shift(); run; run = stage.runs.shift()) {
      const served = [stage.tool, ...stage.others].map((each) => onStage(each, watch));
      const report = await watch.during(() => runTask(services, catalogue(served), run));
      if (isStrict && watch.impurities.length > 0) throw new ImpureHandler(`${stage.tool.kind} ${stage.tool.name}`, watch.impurities);
      if (report.type === "fenced" && !isFinished((await store.load(run.taskId))?.status ?? "cancelled")) stage.runs.unshift(run);
    }
    const loaded = await store.load(taskId);
    if (!loaded) throw new Error("the task has expired");
    if (isFinished(loaded.status)) {
      // By now only compensations are due, including those of children. Retries happen at once, because a test does
      // not wait.
      stage.runs.push(...(await store.overdue({ partition: 0, nowMs: Number.MAX_SAFE_INTEGER, limit: 100 })));
      if (stage.runs.length > 0) return settle();
    }
    task = loaded;
    feed = (await store.feed(taskId, undefined)).items;
  }

  await settle();
  const running: TestTask = {
    get task() {
      return task;
    },
    get asks() {
      return stage.asks;
    },
    get feed() {
      return feed;
    },
    get journal() {
      return stage.journal;
    },
    get text() {
      return textOf(task);
    },
    get result() {
      return task.outcome?.type === "result" ? task.outcome.result : undefined;
    },
    get error() {
      return task.outcome?.type === "error" ? task.outcome.error : undefined;
    },
    get now() {
      return new Date(clock.now());
    },
    get impurities() {
      return watch.impurities;
    },
    async answer(replies, as) {
      const open = new Map(task.asks.map((ask) => [ask.key, ask]));
      const raw = new Map<string, JsonObject>();
      const onPages = new Map<string, Reply>();
      const impossible: string[] = [];
      for (const [key, reply] of Object.entries(replies)) {
        const ask = open.get(key);
        if (!ask) throw new Error(`"${key}" is not asked; open are: ${[...open.keys()].join(", ") || "none"}`);
        if (reply === unavailable) impossible.push(key);
        else if (isOnPage(ask) && typeof reply !== "symbol" && !isCompletedElsewhere(ask)) onPages.set(key, reply);
        else if (isOnPage(ask) && reply === accept && !isCompletedElsewhere(ask))
          throw new Error(
            `"${key}" is answered on its page: { secret: "…" }, { grant: "…" }, { returned: { … } } or { file: { name, text } }`,
          );
        else raw.set(key, rawReply(ask, reply));
      }
      for (const key of impossible) await declareUnavailable(services, { taskId, caller: caller(task.call.principal), key });
      const answererTo = (key: string) => (as ? answerer(as) : answererOf(task, open.get(key) ?? {}));
      const receipts = await Promise.all([
        ...[...raw].map(async ([key, reply]) => {
          const answered = await answerTask(services, { taskId, caller: answererTo(key), replies: { [key]: reply } });
          return [key, answered.receipts.get(key)] as const;
        }),
        ...[...onPages].map(async ([key, reply]) => {
          const ask = open.get(key);
          if (!ask) throw new Error(`"${key}" is not asked`);
          // A page belongs to the task that asks.
          const at = ask.route ?? { taskId, key };
          const answer = await pageAnswer(services, at.taskId, { ...ask, key: at.key }, reply);
          return [key, await leavePage(services, { ...at, caller: answererTo(key), digest: ask.digest, answer })] as const;
        }),
      ]);
      for (const [key, receipt] of receipts) {
        if (!receipt || receipt.type === "forbidden")
          throw new Error(`"${key}" is for other people: ${JSON.stringify(open.get(key)?.audience)}`);
        if (receipt.type === "invalid") throw new Error(`the answer to "${key}" is refused: ${describeViolations(receipt.violations)}`);
        if (receipt.type !== "accepted") throw new Error(`the answer to "${key}" is ${receipt.type}`);
      }
      await settle();
    },
    async tell(event, body = {}) {
      const tokens = services.eventTokens;
      if (!tokens) throw new Error("a test gives out tokens");
      const receipt = await receiveEvent(services, { token: tokens.tokenOf(taskId, eventKey(event)).token, body });
      await settle();
      return receipt;
    },
    async advance(duration) {
      const untilMs = clock.now() + parseDuration(duration);
      // Whatever becomes due on the way runs at its own time, as in production.
      for (let dueAtMs = nextOf(stage); !isFinished(task.status) && dueAtMs <= untilMs; dueAtMs = nextOf(stage)) {
        clock.moveTo(dueAtMs);
        for (const [id, atMs] of stage.dueAtMs) if (atMs <= clock.now()) stage.dueAtMs.delete(id);
        stage.runs.push(...(await store.overdue({ partition: 0, nowMs: clock.now(), limit: 100 })));
        await settle();
      }
      clock.moveTo(untilMs);
    },
    async cancel() {
      await cancelTask(services, { taskId, caller: caller(task.call.principal) });
      await settle();
    },
    async exported() {
      const record = await store.recorded(taskId);
      if (record?.type !== "recorded") throw new Error("the task has expired");
      return toRecordedTask(record, { atMs: clock.now(), redaction: { withContent: true, fields: [] }, isSealed: false });
    },
    redeploy(changed, ...older) {
      stage.tool = older.length === 0 ? changed : (catalogue([changed, ...older]).tools.get(changed.name) ?? changed);
    },
  };
  stages.set(running, stage);
  return running;
}

/** Watches the handler, and retries its steps at once: a test does not wait, and the clock would stand still. */
function onStage(tool: Tool | Prompt, watch: Watch): Tool | Prompt {
  const run: Tool["run"] = (args, effects) => {
    const step: typeof effects.step = (name, work, options) =>
      effects.step(name, (attempt) => watch.step(() => work(attempt)), { ...options, backoffMs: 0 });
    return watch.handler(() => tool.run(args, { ...effects, step }));
  };
  const older = tool.kind === "tool" ? tool.older?.map((each) => onStage(each, watch) as Tool) : undefined;
  const compensate: Tool["compensate"] =
    tool.compensate &&
    (async (args, effects, ended) => {
      const step: typeof effects.step = (name, work, options) => effects.step(name, work, { ...options, backoffMs: 0 });
      await tool.compensate?.(args, { ...effects, step }, ended);
    });
  return markDefinition({ ...tool, run, ...(compensate && { compensate }), ...(older && { older }) } as Tool | Prompt);
}

/** Completed by an event instead of a page of Parley's own. */
function isCompletedElsewhere({ request }: Ask): boolean {
  return request.type === "url" && request.completedBy !== undefined;
}

/** The answer that the page would have produced. */
async function pageAnswer(services: Services, taskId: string, { key, request }: Ask, reply: Reply): Promise<LeavePage["answer"]> {
  const given = typeof reply === "object" && !Array.isArray(reply) ? (reply as JsonObject) : {};
  const page = request.type === "url" ? request.page : undefined;
  if (page?.kind === "secret") {
    if (typeof given["secret"] !== "string") throw new Error(`"${key}" asks for a secret: answer { secret: "…" }`);
    return { action: "accept", content: { deposit: key }, deposit: given["secret"] };
  }
  if (page?.kind === "visit") {
    const { returned } = given;
    if (typeof returned !== "object" || returned === null || Array.isArray(returned))
      throw new Error(`"${key}" asks to visit a page and come back: answer { returned: { … } }, with the parameters`);
    return { action: "accept", content: { query: returned } };
  }
  if (page?.kind === "oauth") {
    const { grant: accessToken, scopes = [...page.scopes] } = given;
    if (typeof accessToken !== "string")
      throw new Error(`"${key}" asks for access at ${page.provider}: answer { grant: "an access token" }`);
    const tokens = { provider: page.provider, accessToken, refreshToken: "refresh", scopes };
    return { action: "accept", content: { deposit: key, provider: page.provider, scopes }, deposit: JSON.stringify(tokens) };
  }
  const files = (given["files"] ?? (given["file"] === undefined ? undefined : [given["file"]])) as readonly TestFile[] | undefined;
  if (!files || files.length === 0) throw new Error(`"${key}" asks for files: answer { file: { name, text } } or { files: […] }`);
  const kept = await Promise.all(files.map(async (file) => await keepFile(services, taskId, file)));
  return { action: "accept", content: { files: kept.map((file) => ({ ...file })) } };
}

/** A file that a test uploads. */
export interface TestFile {
  readonly name: string;
  readonly text: string;
  /** `text/plain` by default. */
  readonly type?: string;
}

async function keepFile({ files, ids }: Services, taskId: string, { name, text, type = "text/plain" }: TestFile): Promise<FileRef> {
  const id = ids.uuid();
  const bytes = new TextEncoder().encode(text);
  await files?.put(taskId, id, new Blob([bytes]).stream() as unknown as AsyncIterable<Uint8Array>);
  return { id, name, type, size: bytes.length, sha256: hash("sha256", bytes) };
}

function rawReply({ key, request }: Ask, reply: Exclude<Reply, typeof unavailable>): JsonObject {
  if (reply === timeout) throw new Error(`"${key}" cannot be answered with timeout: advance the clock`);
  if (reply === accept || reply === decline || reply === cancel) return { action: reply.description ?? "" };
  if (request.type === "sampling") {
    return typeof reply === "string" ? { role: "assistant", content: { type: "text", text: reply }, model: "test" } : (reply as JsonObject);
  }
  if (request.type === "roots") return { roots: (reply as readonly string[]).map((uri) => ({ uri })) };
  return { action: "accept", content: contentOf(request, reply) };
}

function contentOf(request: AskRequest, reply: JsonObject | string | number | boolean | readonly string[]): JsonObject {
  if (typeof reply === "object" && !Array.isArray(reply)) return reply as JsonObject;
  const fields = request.type === "form" ? fieldsOf(request.schema) : [];
  const [field] = fields;
  if (!field || fields.length > 1) throw new Error(`${JSON.stringify(reply)} is not an answer to a form with ${fields.length} fields`);
  return { [field.name]: reply as Json };
}

function textOf({ outcome }: Task): string {
  if (outcome?.type !== "result") return "";
  const { content } = outcome.result as { content?: readonly { type: string; text?: string }[] };
  return (content ?? []).flatMap(({ text }) => text ?? []).join("\n");
}
