/**
 * `parley replay --fork-at`: replays an exported task up to one of its effects and continues it from there for real, in this process: it asks questions
 * at the terminal and runs steps. It writes nothing to any deployment, and its steps have idempotency keys of their own.
 */
import { readFile } from "node:fs/promises";
import {
  answerTask,
  type Ask,
  canonicalJson,
  type Catalogue,
  type Caller,
  declareUnavailable,
  DEFAULT_SETTINGS,
  DEFAULT_TENANT,
  describeViolations,
  type Effects,
  isFinished,
  type JsonObject,
  type KeyedEntry,
  type Log,
  type Module,
  type Prompt,
  runnableOf,
  type RunRef,
  runTask,
  type Services,
  type Task,
  type TaskStore,
  type Tool,
  versionFor,
} from "@parley/core";
import { createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { loadCatalogue } from "@parley/sdk";
import { type RecordedTask, replayRecorded, type UnreadableTask } from "@parley/sdk/replay";
import type { ReplayTasks } from "./command.ts";
import { type Elicitation, objectOf } from "../questions/form.ts";
import { ABANDONED } from "../questions/abandoned.ts";
import { clean, cleanLine, isInteractive, print, printJson, printToStderr } from "../terminal/terminal.ts";
import { type Cut, cutAt } from "./cut-journal.ts";
import { tasksOf } from "./replay.ts";
import { counted } from "../terminal/counted.ts";

/** Sets the exit code to 1 unless the task ends with its result. */
export async function forkTask(
  file: string,
  { tools, task: taskId, forkAt = "", answers, json }: Omit<ReplayTasks, "limit"> & { readonly tools: readonly string[] },
): Promise<void> {
  const recorded = await taskIn(file, taskId);
  const given = answers === undefined ? {} : objectOf(await readFile(answers, "utf8"), "--answers");
  const catalogue = await loadCatalogue(tools);
  const { name, kind } = recorded.call;
  const newest = runnableOf(catalogue, recorded.call);
  if (!newest) throw new Error(`the modules have no ${kind} ${name}`);
  const tool = newest.kind === "tool" ? (versionFor(newest, recorded.call) ?? newest) : newest;
  const cut = await withDigests(cutAt(recorded, forkAt), { recorded, tool });
  printToStderr(`forked at ${cut.at}: ${counted(cut.entries.length, "entry is", "entries are")} replayed, then steps run for real`);
  const end = await withModules(catalogue, () => continued({ recorded, cut, catalogue, answer: answering(given), tool }));
  if (json) printJson({ taskId: recorded.taskId, at: cut.at, status: end.status, ...(end.outcome && { outcome: end.outcome }) });
  else print(shown(end));
  if (end.status !== "completed" || isNo(end)) process.exitCode = 1;
}

/** Starts the modules of the tools as a worker does. */
async function withModules<T>({ modules = [] }: Catalogue, work: () => Promise<T>): Promise<T> {
  const started: Module[] = [];
  try {
    for (const module of modules) {
      await module.start();
      started.push(module);
    }
    return await work();
  } finally {
    for (const module of started.toReversed()) await module.stop();
  }
}

async function taskIn(file: string, taskId: string | undefined): Promise<RecordedTask> {
  const found: (RecordedTask | UnreadableTask)[] = [];
  for await (const task of tasksOf(file)) {
    if (taskId === undefined || task.taskId === taskId) found.push(task);
    if (found.length > 1) throw new Error(`${file} contains several tasks: select the one to fork with --task <id>`);
  }
  const [task] = found;
  if (!task) throw new Error(taskId === undefined ? `${file} contains no task` : `${file} contains no task ${taskId}`);
  if ("unreadable" in task) throw new Error(`the task could not be read when it was exported: ${task.unreadable}`);
  if (task.call.seed === undefined) throw new Error("the task is redacted, but a fork needs its content: export it with --with-content");
  if (task.isRedacted) printToStderr("some members are redacted: the handler is given their placeholders");
  return task;
}

/** A sealed export contains no digests of questions. The recorded question is assumed to be the one that the code asks. */
async function withDigests(cut: Cut, { recorded, tool }: { readonly recorded: RecordedTask; readonly tool: Tool | Prompt }): Promise<Cut> {
  if (!recorded.isSealed) return cut;
  const journal = Object.fromEntries(cut.entries.map(({ key, entry }) => [key, entry]));
  const { questions } = await replayRecorded(tool, { ...recorded, journal, asks: [], events: [], calls: [] });
  const entries = cut.entries.map(({ key, entry }) => {
    const request = questions.get(key.slice("ask:".length));
    return { key, entry: request && entry.digest === "" ? { ...entry, digest: sha256Digest(canonicalJson(request)) } : entry };
  });
  return { ...cut, entries };
}

type Answering = (ask: Ask, refused: Refused | undefined) => Promise<unknown>;

interface Refused {
  readonly content: JsonObject;
  readonly violations: readonly { readonly path: string; readonly message: string }[];
}

/** Answers from `given`, once for each question, or else at the terminal. Undefined if the question cannot be answered here. */
function answering(given: JsonObject): Answering {
  return async ({ key, request }, refused) => {
    if (Object.hasOwn(given, key) && !refused) return { action: "accept", content: given[key] };
    if (request.type !== "form" && !(request.type === "url" && !request.page)) return undefined;
    if (!isInteractive()) {
      const why = refused ? `: ${describeViolations(refused.violations)}` : "";
      throw new Error(`the task asks ${key}${why}, and there is no terminal to ask on: pass its content with --answers`);
    }
    const { promptFor } = await import("../questions/prompts.ts");
    const { message } = request;
    const asked: Elicitation =
      request.type === "url" ? { mode: "url", message, url: request.url } : { message, requestedSchema: request.schema };
    printToStderr(`? ${cleanLine(key)}`);
    const reply = await promptFor(asked, { signal: new AbortController().signal, ...(refused && { refused }) });
    if (reply === ABANDONED) throw new Error("interrupted: the fork ends here and is discarded");
    return reply;
  };
}

interface Continue {
  readonly recorded: RecordedTask;
  readonly cut: Cut;
  readonly catalogue: Catalogue;
  readonly tool: Tool | Prompt;
  readonly answer: Answering;
}

async function continued({ recorded, cut, catalogue, tool, answer }: Continue): Promise<Task> {
  const { taskId, call } = recorded;
  let skippedMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const memory = createMemoryStore({ clock, wakeUps });
  /** The latest times at which tasks must run, including children. */
  const due = new Map<string, number>();
  const store: TaskStore = {
    ...memory,
    park(request) {
      due.set(request.taskId, request.dueAtMs);
      return memory.park(request);
    },
    finish(request) {
      due.delete(request.taskId);
      return memory.finish(request);
    },
  };
  const runs: RunRef[] = [];
  let drawn = 0;
  const next = () => `fork-${(drawn += 1)}`;
  const services: Services = {
    store,
    wakeUps,
    clock,
    queue: { add: async (run) => void runs.push(run) },
    scope: createScope(),
    ids: { taskId: () => taskId, token: next, uuid: () => crypto.randomUUID(), random: Math.random },
    digest: (text) => sha256Digest(text),
    validate: createValidator(),
    log: LOG,
    settings: { ...DEFAULT_SETTINGS, inlineSleepMaxMs: 0, showErrors: true, askUrlSchemes: ["https", "http"] },
  };
  const caller: Caller = {
    principal: call.principal,
    tenant: call.tenant ?? DEFAULT_TENANT,
    scopes: [],
    authenticatedBy: "nobody",
    names: [],
    groups: [],
    roles: [],
  };
  await seed(services, { recorded, tool, caller, entries: cut.entries });
  const forked = forkOf(catalogue, `fork-${crypto.randomUUID()}`);

  for (;;) {
    runs.push(...(await store.overdue({ partition: 0, nowMs: clock.now(), limit: 100 })));
    for (let run = runs.shift(); run; run = runs.shift()) await runTask(services, forked, run);
    const task = await store.load(taskId);
    if (!task) throw new Error("the task has expired");
    if (isFinished(task.status)) return task;
    const [ask] = task.asks;
    if (ask) {
      await put(services, { taskId, caller, ask, answer });
      continue;
    }
    if (runs.length > 0) continue;
    const dueAtMs = Math.min(...due.values());
    const [event] = task.events ?? [];
    if (event) throw new Error(`the task waits for ${event.key}, and a fork receives no events: it ends here and is discarded`);
    printToStderr(`sleep until ${new Date(dueAtMs).toISOString()}, skipped`);
    skippedMs += Math.max(0, dueAtMs - clock.now());
    for (const [id, atMs] of due) if (atMs <= clock.now()) due.delete(id);
  }
}

interface Seed {
  readonly recorded: RecordedTask;
  readonly tool: Tool | Prompt;
  readonly caller: Caller;
  readonly entries: readonly KeyedEntry[];
}

/** Stores the task as its next run must find it. */
async function seed(services: Services, { recorded, tool, caller, entries }: Seed): Promise<void> {
  const { taskId, call, generation } = recorded;
  const { store, clock, settings } = services;
  const { seed: secret = "", arguments: args, replies, createdAtMs, version, capabilities } = call;
  const isNew = await store.create({
    taskId,
    graceMs: 0,
    call: {
      kind: tool.kind,
      name: tool.name,
      arguments: args,
      principal: caller.principal,
      ...(call.tenant !== undefined && { tenant: call.tenant }),
      capabilities,
      createdAtMs,
      retentionMs: settings.retentionMaxMs,
      seed: secret,
      hidden: false,
      ...(replies && { replies }),
      ...(version !== undefined && { version }),
    },
  });
  if (isNew !== "created") throw new Error("a store of its own has no task yet");
  let run = 0;
  const begin = async () => {
    const token = `seed-${(run += 1)}`;
    await store.begin({ taskId, run, token, nowMs: clock.now(), leaseMs: settings.leaseMs });
    return { taskId, token, nowMs: clock.now() };
  };
  const parking = { entries: [], asks: [], dueAtMs: clock.now(), attempt: 0, graceMs: 0 };
  for (let round = 0; round < generation; round += 1) {
    const restart = { arguments: args, ...(version !== undefined && { version }) };
    await store.park({ ...(await begin()), ...parking, restart });
  }
  const fence = await begin();
  await store.record({ ...fence, entries, leaseMs: settings.leaseMs });
  await store.park({ ...fence, ...parking });
}

interface Put {
  readonly taskId: string;
  readonly caller: Caller;
  readonly ask: Ask;
  readonly answer: Answering;
}

/** Asks a question until an answer is accepted. */
async function put(services: Services, { taskId, caller, ask, answer }: Put): Promise<void> {
  const { key } = ask;
  for (let refused: Refused | undefined; ;) {
    const reply = await answer(ask, refused);
    if (reply === undefined) {
      printToStderr(
        `${cleanLine(key)} cannot be asked here: pages, sampling and roots need a deployment and its client. The tool gets an error`,
      );
      await declareUnavailable(services, { taskId, caller, key });
      return;
    }
    const { receipts } = await answerTask(services, { taskId, caller, replies: { [key]: reply } });
    const receipt = receipts.get(key);
    if (receipt?.type !== "invalid") return;
    const { content = {} } = reply as { readonly content?: JsonObject };
    refused = { content, violations: receipt.violations.map(({ path, message }) => ({ path: within(path), message })) };
  }
}

/** Makes a path such as `/content/partySize` relative to the form. */
function within(path: string): string {
  return path.replace(/^\/content/, "");
}

/** The tools as the fork runs them: each step is reported, and services cannot confuse it with a step of the task itself. */
function forkOf(catalogue: Catalogue, mark: string): Catalogue {
  const stepping = (effects: Effects): Effects => ({
    ...effects,
    step: (name, work, options) =>
      effects.step(
        name,
        (attempt) => {
          printToStderr(`→ ${cleanLine(name)}`);
          return work({ ...attempt, idempotencyKey: `${mark}.${attempt.idempotencyKey}` });
        },
        options,
      ),
  });
  const forked = <R extends Tool | Prompt>(runnable: R): R => ({
    ...runnable,
    run: (args: JsonObject, effects: Effects) => runnable.run(args, stepping(effects)),
    ...(runnable.kind === "tool" && runnable.older && { older: runnable.older.map(forked) }),
  });
  return {
    ...catalogue,
    tools: new Map([...catalogue.tools].map(([name, tool]) => [name, forked(tool)])),
    prompts: new Map([...catalogue.prompts].map(([name, prompt]) => [name, forked(prompt)])),
  };
}

const LOG: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (_fields, message) => printToStderr(`parley: ${message}`),
  error: (_fields, message) => printToStderr(`parley: ${message}`),
};

function isNo({ outcome }: Task): boolean {
  return outcome?.type === "result" && outcome.result["isError"] === true;
}

function shown({ status, outcome }: Task): string {
  if (outcome?.type === "error") return `${status}: ${clean(outcome.error.message)}`;
  const content = outcome?.result["content"];
  const texts = Array.isArray(content) ? (content as readonly { readonly text?: string }[]).flatMap(({ text }) => text ?? []) : [];
  return [
    `${status}${outcome && "result" in outcome && outcome.result["isError"] === true ? ", with an error" : ""}`,
    ...texts.map(clean),
  ].join("\n");
}
