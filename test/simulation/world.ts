/** One task in its world: two workers, a front end, a store and a queue in memory, one fake time. `drive.ts` decides what happens next. */
import {
  answerTask,
  cancelTask,
  type Catalogue,
  createTask,
  DEFAULT_SETTINGS,
  type Effects,
  type EndedWithout,
  type EventTokens,
  type Ids,
  isChildId,
  type JsonObject,
  type Limit,
  type Slots,
  type Parked,
  receiveEvent,
  type RunRef,
  runTask,
  type Services,
  sweep,
  type TaskStore,
  type Tool,
  type Violation,
} from "@parley/core";
import { createMemorySlots, createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { callerNamed } from "../../packages/core/callers/caller.fixture.ts";
import { createMap, type MapKey } from "../../packages/sdk/context/map.ts";
import type { Choices } from "./choices.ts";
import { CHILD, hash, interpret, type Stage } from "./interpret.ts";
import { connect, createClock, createProcess, type Operation, type Process, type Time } from "./process.ts";
import { createLibrary, type Library, SOURCES } from "./library.ts";
import { type Program, some } from "./program.ts";
import { scope } from "./scope.ts";
import { childOf, createWitness, type Job, OF_CHILD, undoOf, UNDOING, type Waited, type Witness } from "./witness.ts";
import { createWorkQueue, type WorkQueue } from "./work-queue.ts";

export const TASK_ID = "0-task";
const START_MS = 1_000_000;
const HOUR = 3_600_000;
const RUN_TIMEOUT_MS = 600_000;
const HURRIED_MS = 3_000;
const OUTSIDE_MS = [1, 40, 400, 3_000];
const WORKERS = 2;

/**
 * Workers die here as often as a poisonous task would kill them, and every fourth step of a compensation fails at first. An end is compared by
 * what the handler threw, which a caller is not shown.
 */
const SETTINGS = { ...DEFAULT_SETTINGS, takeoversMax: 1_000, compensationAttempts: 1_000, showErrors: true };

export interface World {
  readonly program: Program;
  readonly choices: Choices;
  readonly tell: ((line: string) => void) | undefined;
  readonly time: Time;
  readonly store: TaskStore;
  readonly slots: Slots;
  readonly queue: WorkQueue;
  readonly witness: Witness;
  /** What the handlers of a process read. */
  readonly libraryOf: (process: Process) => Library;
  readonly workers: Process[];
  frontEnd: Process;
  /** Runs at work, and what died. */
  readonly jobs: Job[];
  /** Requests of clients that have no reply yet. */
  requests: number;
  isSweeping: boolean;
  sweptAtMs: number;
  /** Whether new code has been deployed. */
  isChanged: boolean;
  readonly services: Map<Process, Services>;
  drawn: number;
}

export function createWorld({
  program,
  choices,
  tell,
}: {
  readonly program: Program;
  readonly choices: Choices;
  readonly tell?: ((line: string) => void) | undefined;
}): World {
  const time: Time = { nowMs: START_MS, timers: [], idle: [] };
  const wakeUps = createMemoryWakeUps();
  const wait = (process: Process) => {
    const clock = createClock(time, process);
    return clock.sleep(OUTSIDE_MS[choices.upTo(OUTSIDE_MS.length - 1)] ?? 1);
  };
  const hasConfig = some(program.body, (node) => node.op === "then" && node.config === true);
  const libraries = new Map<Process, Library>();
  const libraryOf = (process: Process) => {
    const pause = () => wait(process);
    const library =
      libraries.get(process) ??
      createLibrary({ fetch: pause, config: hasConfig ? pause() : Promise.resolve(), pause, chance: choices.chance });
    libraries.set(process, library);
    return library;
  };
  const world: World = {
    program,
    choices,
    tell,
    time,
    store: createMemoryStore({ clock: { now: () => time.nowMs }, wakeUps }),
    slots: createMemorySlots(),
    queue: createWorkQueue(),
    witness: createWitness({ program, nowMs: () => time.nowMs, wait, libraryOf, draw: () => (world.drawn += 1), tell }),
    libraryOf,
    workers: [],
    frontEnd: createProcess("front end 1"),
    jobs: [],
    requests: 0,
    isSweeping: false,
    sweptAtMs: 0,
    isChanged: false,
    services: new Map(),
    drawn: 0,
  };
  for (let number = 1; number <= WORKERS; number += 1) world.workers.push(createProcess(`worker ${number}`));
  return world;
}

// ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────

function servicesOf(world: World, process: Process): Services {
  const known = world.services.get(process);
  if (known) return known;
  const { time, store, slots, queue, tell } = world;
  const log = (fields: object, message: string) => tell?.(`   ${process.name} logs: ${message} ${JSON.stringify(fields)}`);
  const services: Services & { scope: typeof scope } = {
    store: connect(store, process),
    queue: connect({ add: queue.add }, process),
    slots: connect(slots, process),
    wakeUps: createMemoryWakeUps(),
    clock: createClock(time, process),
    ids: idsOf(world, () => undefined),
    digest: (text) => `${hash(text)}`,
    validate: (_schema, value): Violation[] =>
      typeof value === "object" && value !== null && "wrong" in value ? [{ path: "/wrong", message: "is wrong" }] : [],
    log: { debug: log, info: log, warn: log, error: log },
    settings: SETTINGS,
    // A program runs to its end once, so every run of it is traced.
    scope: { ...scope, awaitOnlyCtx: new Set(), thrownAway: new Map() },
    eventTokens: EVENT_TOKENS,
    stopping: process.stop.signal,
  };
  world.services.set(process, services);
  return services;
}

/** Tokens are signed elsewhere (packages/node/event-tokens.ts). */
const EVENT_TOKENS: EventTokens = {
  tokenOf: (taskId, key) => ({ token: `${taskId} ${key}`, url: "https://parley.test/events" }),
  read(token) {
    const [taskId = "", ...key] = token.split(" ");
    return { taskId, key: key.join(" ") };
  },
};

function idsOf(world: World, onToken: (token: string) => void): Ids {
  const draw = () => (world.drawn += 1);
  return {
    taskId: () => TASK_ID,
    token() {
      const token = `token-${draw()}`;
      onToken(token);
      return token;
    },
    uuid: () => `uuid-${draw()}`,
    random: () => (draw() % 97) / 97,
  };
}

/** The process dies: nothing of it is ever heard of again. Another one takes its place at once. */
export function kill(world: World, process: Process): void {
  world.tell?.(`-- ${process.name} dies`);
  process.isAlive = false;
  process.operations.length = 0;
  const { works } = world.witness;
  for (let index = works.length - 1; index >= 0; index -= 1) if (works[index]?.process === process) works.splice(index, 1);
  world.time.timers = world.time.timers.filter((timer) => timer.process !== process);
  world.time.idle = world.time.idle.filter((each) => each.process !== process);
  const number = Number(process.name.split(" ").at(-1));
  if (process === world.frontEnd) {
    world.frontEnd = createProcess(`front end ${number + 1}`);
    world.requests = 0;
    return;
  }
  world.workers[world.workers.indexOf(process)] = createProcess(`worker ${number + WORKERS}`);
  world.isSweeping = false;
  for (const job of world.jobs) {
    if (job.process !== process || job.isOver) continue;
    job.isOver = true;
    world.queue.stalled({ taskId: job.taskId, run: job.run });
  }
}

// ── what processes do ────────────────────────────────────────────────────────────────────────────────────────────

/** The head of what a process sent to Redis is applied, answered, or both; or it fails, with or without having happened. */
export function deliver(world: World, process: Process, how: "done" | "applied" | "lost" | "lost after"): void {
  const operation = process.operations[0];
  if (!operation) return;
  if (how === "lost" && !operation.applied) {
    process.operations.shift();
    return reject(world, process, operation);
  }
  const applied = (operation.applied ??= apply(world, process, operation));
  if (how === "applied") return;
  process.operations.shift();
  if (how === "done") {
    void applied.then(operation.resolve, operation.reject);
  } else {
    reject(world, process, operation);
  }
}

function reject(world: World, process: Process, operation: Operation): void {
  process.disturbed += 1;
  world.tell?.(`-- ${process.name}: no reply to ${operation.name}`);
  operation.reject(AWAY);
}

const AWAY = new Error("Redis did not answer in time");

async function apply(world: World, process: Process, { name, request, apply: happen }: Operation): Promise<unknown> {
  const result = await happen();
  const isOwn = !isChildId((request as { taskId?: string } | undefined)?.taskId ?? "");
  const isParked = isOwn && name === "park" && (result as Parked).type !== "refused";
  if (isOwn) world.witness.observe({ name, request, result, asks: isParked ? await waitedNow(world) : [] });
  else world.witness.observeChild({ name, request, result });
  world.tell?.(`${world.time.nowMs - START_MS} ${process.name}: ${name} ${brief(request)} → ${brief(result)}`);
  return result;
}

async function waitedNow({ store }: World): Promise<readonly Waited[]> {
  const task = await store.load(TASK_ID);
  return task ? [...task.asks, ...(task.events ?? [])] : [];
}

function brief(value: unknown): string {
  const text = JSON.stringify(value, (_key, each: unknown) => (each instanceof Map ? Object.fromEntries(each) : each)) ?? "";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

export function startRun(world: World, process: Process, ref: RunRef): void {
  world.tell?.(`-- ${process.name} takes run ${ref.run}${ref.taskId === TASK_ID ? "" : ` of ${ref.taskId}`}`);
  const job: Job = {
    id: world.jobs.length,
    taskId: ref.taskId,
    process,
    run: ref.run,
    disturbedBefore: process.disturbed,
    token: "",
    isOver: false,
    trace: undefined,
  };
  world.jobs.push(job);
  const base = servicesOf(world, process);
  let isFirst = true;
  const ids = idsOf(world, (token) => {
    if (isFirst) world.witness.holds(job, token);
    isFirst = false;
  });
  // Modules are loaded before they run.
  world.libraryOf(process);
  const over = (report: unknown) => {
    if (!process.isAlive) return;
    job.isOver = true;
    world.queue.done(ref);
    world.tell?.(`-- ${process.name} is done with run ${ref.run}: ${report instanceof Error ? report.message : brief(report)}`);
  };
  runTask({ ...base, ids }, catalogueOf(world, job), ref).then(over, over);
}

function catalogueOf(world: World, job: Job): Catalogue {
  const tool: Tool = {
    ...toolOf(world.program),
    run: (args, effects) => {
      const stage = world.witness.stageOf(job, Number(args["round"] ?? 0), world.isChanged);
      return interpret(world.program, args, effects, stage);
    },
    ...(world.program.compensates && {
      compensate: (_args: JsonObject, effects: Effects, { done }: EndedWithout) =>
        (world.program.kind === "reading" ? undoReading : undo)(effects, done, world.witness.stageOf(job, UNDOING, false)),
    }),
  };
  const child: Tool = {
    ...toolOf({ kind: "pure", attempts: 1, body: [] }),
    name: CHILD,
    run: async (args, effects) => {
      const { path, data } = args as { path: string; data: number };
      const stage = world.witness.stageOf(job, OF_CHILD, false);
      const call = { path: childOf(path), data, fails: 0, deaf: false };
      const made = (await effects.step("work", (attempt) => stage.work(call, attempt))) ?? null;
      if (hash(path) % 4 === 0) throw new Error(`refused at ${path}`);
      return { for: path, made };
    },
  };
  const tools = new Map([tool, child].map((each) => [each.name, each]));
  return { tools, prompts: new Map(), resources: new Map(), templates: [] };
}

/** Each undoing is a step, some of which fail at first. */
async function undo(effects: Effects, done: EndedWithout["done"], stage: Stage): Promise<void> {
  for (const { value } of done) {
    const path = undoOf((value as { from: string }).from);
    const call = { path, data: 0, fails: hash(path) % 4 === 0 ? 1 : 0, deaf: false };
    await effects.step(path.replaceAll("/", "-"), (attempt) => stage.work(call, attempt));
  }
}

/** The same by a helper that reads first, in a loop or for several at once. */
async function undoReading(effects: Effects, done: EndedWithout["done"], stage: Stage): Promise<void> {
  const undoOne = async (value: unknown): Promise<void> => {
    const path = undoOf((value as { from: string }).from);
    const call = { path, data: 0, fails: hash(path) % 4 === 0 ? 1 : 0, deaf: false };
    await stage.library.read(SOURCES[hash(path) % SOURCES.length] ?? "cache", "booking");
    await effects.step("undo", (attempt) => stage.work(call, attempt));
  };
  const values = done.map(({ value }) => value);
  if (values.length % 2 === 0) for (const value of values) await undoOne(value);
  else await createMap(effects)(values, ((value: { from: string }) => hash(value.from)) as MapKey<never>, undoOne);
}

/** What a tool of the engine to come has besides. */
const NEW_TOOL = { earlyReplies: false };

const LIMIT: Limit = { concurrency: 1, keyOf: () => "" };
/** A task that is not looked at. */
const STRANGER = "0-stranger";

/** The only slot is taken by a worker that is never heard of again. */
async function takeSlot({ slots, time: { nowMs } }: World): Promise<void> {
  const limit = { id: JSON.stringify(["subject", ""]), concurrency: 1 };
  await slots.take({ limit, taskId: STRANGER, token: STRANGER, nextRun: 2, createdAtMs: 0, isNew: true, nowMs, leaseMs: SETTINGS.leaseMs });
}

function toolOf({ attempts, limited, compensates, hurried }: Program): Tool {
  return {
    kind: "tool",
    name: "subject",
    inputSchema: { type: "object" },
    task: "optional",
    askFirst: false,
    needs: {},
    ...NEW_TOOL,
    settings: { attempts, backoffMs: 5_000, runTimeoutMs: hurried ? HURRIED_MS : RUN_TIMEOUT_MS, retentionMs: HOUR },
    ...(limited && { limit: LIMIT }),
    ...(compensates && { compensate: () => Promise.resolve() }),
    readArguments: (args) => ({ ok: true, args }),
    run: () => Promise.resolve({}),
  };
}

// ── what clients and the clock do ────────────────────────────────────────────────────────────────────────────────

/** Who calls, answers and cancels. */
export const CALLER = callerNamed("alice");

function request(world: World, work: Promise<unknown>, what: string): void {
  const { frontEnd } = world;
  world.requests += 1;
  const over = (reply: unknown) => {
    if (frontEnd.isAlive) world.requests -= 1;
    world.tell?.(`-- the client is told of ${what}: ${reply instanceof Error ? reply.message : brief(reply)}`);
  };
  work.then(over, over);
}

export function create(world: World): void {
  if (world.program.limited) void takeSlot(world);
  const services = servicesOf(world, world.frontEnd);
  const asked = {
    caller: CALLER,
    arguments: {},
    capabilities: { elicitation: { form: true, url: true } },
    hidden: false,
    taskId: TASK_ID,
  };
  request(world, createTask(services, toolOf(world.program), asked), "its call");
}

/** Of a question that several must accept, who comes next. */
export const PEOPLE = ["alice", "bob", "carol"].map((principal) => callerNamed(principal));

export function answer(world: World, key: string, reply: JsonObject, byAnybody: boolean): void {
  const caller = (byAnybody ? PEOPLE[world.drawn % PEOPLE.length] : undefined) ?? CALLER;
  world.tell?.(`-- ${caller.principal} answers ${key} with ${JSON.stringify(reply)}`);
  const services = servicesOf(world, world.frontEnd);
  const answering = answerTask(services, { taskId: TASK_ID, caller, replies: { [key]: reply } });
  request(
    world,
    answering.then(({ receipts }) => [...receipts]),
    "its answer",
  );
}

export function tell(world: World, key: string, body: JsonObject): void {
  world.tell?.(`-- another system tells of ${key}: ${JSON.stringify(body)}`);
  const { token } = EVENT_TOKENS.tokenOf(TASK_ID, key);
  request(world, receiveEvent(servicesOf(world, world.frontEnd), { token, body }), "what it told");
}

export function cancel(world: World): void {
  request(world, cancelTask(servicesOf(world, world.frontEnd), { taskId: TASK_ID, caller: CALLER }), "its cancellation");
}

export function sweepOnce(world: World, process: Process): void {
  world.isSweeping = true;
  world.sweptAtMs = world.time.nowMs;
  const over = () => {
    if (process.isAlive) world.isSweeping = false;
  };
  sweep(servicesOf(world, process), { partition: 0 }).then(over, over);
}
