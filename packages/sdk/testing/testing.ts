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
import { inspect } from "node:util";
import {
  type Ask,
  type ClientCapabilities,
  type Duration,
  type FeedItem,
  type Json,
  type JsonObject,
  type Prompt,
  type RpcError,
  type Task,
  type Tool,
  cancelTask,
  createTask,
  eventKey,
  isFinished,
  newTaskId,
  parseDuration,
  receiveEvent,
  runTask,
} from "@parley/core";
import { catalogue } from "../define/catalogue.ts";
import { ImpureHandler, type Impurity } from "./purity.ts";
import { type RecordedTask, toRecordedTask } from "../replay/recorded-task.ts";
import { type Answerer, caller, ownerOf, type TestCaller } from "./people.ts";
import { accept, giveReplies, type Reply, timeout } from "./replies.ts";
import { createStage, nextOf, onStage, type Stage } from "./stage.ts";
import { whileRunning } from "./strays.ts";

export { provide } from "../define/module.ts";
export { ImpureHandler, type Impurity, outside } from "./purity.ts";
export type { Answerer, TestCaller } from "./people.ts";
export { replayShuffled, type ShuffleOptions } from "./replay-shuffled.ts";
export { accept, back, cancel, decline, type Reply, type TestFile, timeout, unavailable } from "./replies.ts";

/** Replies by ask key: the name, then `name#2`, `name#3` … A function receives the ask and returns the reply. */
export type Script = { readonly [askKey: string]: Reply | ((ask: Ask) => Reply) };

/** Bodies of events by event name, then `name#2`, `name#3` …; the symbol lets the event time out. */
export type Told = { readonly [eventKey: string]: Json | typeof timeout };

/** The client, time and deployment of a test. */
export interface TestOptions {
  /** What the client can be asked; everything by default. */
  readonly capabilities?: ClientCapabilities;
  /** The caller's principal, `"tester"` by default: short for `caller: { principal }`. */
  readonly principal?: string;
  /** Who calls; without a name by default, as where callers are not identified. */
  readonly caller?: TestCaller;
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
   * and reads something else. It also fails with CompensationGivenUp if a compensation fails for good. True by default.
   * With false, they are listed in `impurities` and `givenUp`.
   */
  readonly strict?: boolean;
  /**
   * For how long the handler waits for what is outside `ctx`, in each of its runs: for `fetch`, timers, reads of files, and functions that the test
   * wraps in `outside`. A whole number, 1 by default; another one draws other lengths. Nothing is drawn with `strict: false`.
   */
  readonly seed?: number;
  /** Tools that the tool calls with `ctx.call`. In production, workers serve them. */
  readonly tools?: readonly Tool[];
}

/**
 * A compensation failed for good, so what the tool had done is undone only in part. Callers see nothing of it: in production it is a line in the
 * worker's log.
 */
export class CompensationGivenUp extends Error {
  override readonly name = "CompensationGivenUp";
  constructor(tool: string, reason: string, seed: number) {
    super(`the compensation of ${tool} was given up: ${reason}
If the test is about that, test it with { strict: false }. Seed: ${seed}.`);
  }
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
  /** The texts of the result, joined by newlines, or the message of the error; `""` until the task has ended. */
  readonly text: string;
  /** The tool's result in MCP's shape, once the task is completed. */
  readonly result: JsonObject | undefined;
  /** The error, once the task is failed. */
  readonly error: RpcError | undefined;
  readonly now: Date;
  /** What the handler read outside of `ctx` and of steps before it waited. */
  readonly impurities: readonly Impurity[];
  /** Why compensations were given up: the code or name of the error, and its message. */
  readonly givenUp: readonly string[];
  /** The seed of this test: pass it as an option to repeat what it found. */
  readonly seed: number;

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
  const calledBy = caller({ ...(options.principal !== undefined && { principal: options.principal }), ...options.caller });
  stage.taskId = await newTaskId(stage.services, { caller: calledBy });
  const { id } = await createTask(stage.services, tool, {
    taskId: stage.taskId,
    caller: calledBy,
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
      reply: scripted(own(answers, ask.key), ask),
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
    const reported = (running.task.events ?? [])
      .map(({ key }) => nameOf(key))
      .find((name) => Object.hasOwn(events, name) && events[name] !== timeout);
    if (reported !== undefined) {
      await running.tell(reported, events[reported] as Json);
      continue;
    }
    const unreported = running.task.events?.find(({ key }) => own(events, nameOf(key)) === undefined);
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

/** A question may be called `constructor`, which every object has. */
function own<T>(given: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(given, name) ? given[name] : undefined;
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

const stages = new WeakMap<TestTask, Stage>();

function nextDueAtMs(running: TestTask): number {
  const stage = stages.get(running);
  return stage ? nextOf(stage) : Infinity;
}

async function createTestTask(stage: Stage, taskId: string, isStrict: boolean): Promise<TestTask> {
  const { services, clock, watch } = stage;
  const { store } = services;
  let task: Task;
  let feed: readonly FeedItem[] = [];

  async function settle(): Promise<void> {
    for (let run = stage.runs.shift(); run; run = stage.runs.shift()) {
      const served = [stage.tool, ...stage.others].map((each) => onStage(each, watch));
      const thrownAway = services.scope.thrownAway.get(run.taskId);
      const report = await whileRunning(() => watch.during(() => runTask(services, catalogue(served), run)));
      const [givenUp] = stage.givenUp;
      if (isStrict && givenUp !== undefined) throw new CompensationGivenUp(`${stage.tool.kind} ${stage.tool.name}`, givenUp, stage.seed);
      if (isStrict && watch.impurities.length > 0) throw new ImpureHandler(`${stage.tool.kind} ${stage.tool.name}`, watch.impurities);
      // It was thrown away (core's replay/at-rest.ts), and no sweep finds that its task is due.
      const times = services.scope.thrownAway.get(run.taskId);
      if (times === THROWN_AWAY_MAX) throw new Error(waitsForItself(`${stage.tool.kind} ${stage.tool.name}`, stage.seed));
      if (times !== thrownAway) stage.runs.unshift({ taskId: run.taskId, run: run.run + 1 });
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
    get givenUp() {
      return stage.givenUp;
    },
    get seed() {
      return stage.seed;
    },
    async answer(replies, as) {
      await giveReplies(services, task, replies, as);
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
      await cancelTask(services, { taskId, caller: ownerOf(task) });
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
  return Object.defineProperty(running, inspect.custom, { value: () => shownOf(running) });
}

/** With the kit's patience, the runs take 4 seconds until then, and the next one would take 13. Nothing that a test awaits should take as long. */
const THROWN_AWAY_MAX = 4;

function waitsForItself(tool: string, seed: number): string {
  return `in each of ${THROWN_AWAY_MAX} runs, code of ${tool} waited for an earlier effect, and that for what this code holds, such as a lock.
In production it would wait for its runTimeout and end with REPLAY_DIVERGED. Use ctx.map and its concurrency in place of a lock. Seed: ${seed}.`;
}

/** What `console.log(run)` shows. */
function shownOf({ task, text, journal }: TestTask): object {
  return { status: task.status, open: task.asks.map(({ key }) => key), text, journal };
}

function textOf({ outcome }: Task): string {
  // A test that expects a text then shows what went wrong instead.
  if (outcome?.type === "error") return outcome.error.message;
  if (outcome?.type !== "result") return "";
  const { content } = outcome.result as { content?: readonly { type: string; text?: string }[] };
  return (content ?? []).flatMap(({ text }) => text ?? []).join("\n");
}
