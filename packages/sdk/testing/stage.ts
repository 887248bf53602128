/** Where a test's task runs: services in memory that note what is recorded and asked, and kill the worker where the test wants that. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Ask,
  type Log,
  type Prompt,
  type RunRef,
  type Services,
  type TaskStore,
  type Tool,
  DEFAULT_SETTINGS,
  ParleyError,
  entryKey,
  isReadingKey,
} from "@parley/core";
import { createMemoryClaims, createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { markDefinition } from "../define/definition.ts";
import { present } from "../values/without-undefined.ts";
import { createLatency } from "./latency.ts";
import { createWatch, type Watch } from "./purity.ts";
import { listenForStrays } from "./strays.ts";
import type { TestOptions } from "./testing.ts";
import { createTestClock, createTestFiles, createTestIds, createTestScope, createTestTokens, textDigest } from "../replay/ports.ts";
import { validateJson } from "../schemas/validate-json.ts";

export interface Stage {
  readonly services: Services;
  readonly clock: ReturnType<typeof createTestClock>;
  readonly runs: RunRef[];
  readonly asks: Ask[];
  readonly journal: string[];
  readonly watch: Watch;
  /** When tasks must run at the latest, including children. */
  readonly dueAtMs: Map<string, number>;
  readonly seed: number;
  /** Why compensations were given up. */
  readonly givenUp: string[];
  tool: Tool | Prompt;
  readonly others: readonly Tool[];
  /** The task under test; all others are its children. */
  taskId: string;
}

/** When the next task is due. */
export function nextOf({ dueAtMs }: Stage): number {
  return Math.min(Infinity, ...dueAtMs.values());
}

export function createStage(tool: Tool | Prompt, options: TestOptions): Stage {
  const { crashAt } = options;
  // A test whose worker never dies would pass.
  if (crashAt !== undefined && crashAt !== "every" && !(Number.isInteger(crashAt) && crashAt >= 1)) {
    throw new TypeError(`crashAt must be "every" or the number of a record, counted from 1, and is ${JSON.stringify(crashAt)}`);
  }
  const seed = options.seed ?? 1;
  if (!Number.isSafeInteger(seed)) throw new TypeError(`seed must be a whole number, and is ${String(seed)}`);
  const latency = (options.strict ?? true) ? createLatency(seed) : undefined;
  listenForStrays(() => flows.getStore());
  const clock = createTestClock(options.now ?? new Date("2026-01-01T00:00:00Z"));
  const wakeUps = createMemoryWakeUps();
  const runs: RunRef[] = [];
  const memory = createMemoryStore({ clock, wakeUps, keepsRecords: true });
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
      scope: createTestScope(flows),
      ids: createTestIds(),
      digest: textDigest,
      validate: validateJson,
      log: { ...SILENT, error: (fields, message) => void (message === GIVEN_UP && stage.givenUp.push(reasonIn(fields))) },
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
    watch: createWatch(latency),
    dueAtMs: new Map(),
    seed,
    givenUp: [],
    tool,
    // A test may pass all tools of a module.
    others: (options.tools ?? []).filter((each) => each !== tool),
    taskId: "",
  };
  return stage;
}

/** The run that code belongs to, of all tasks under test. */
const flows = new AsyncLocalStorage<object>();

/** The log line with which core gives a compensation up. */
const GIVEN_UP = "compensation given up";

function reasonIn(fields: object): string {
  const { code, detail, error, problem } = fields as { readonly [name: string]: string | undefined };
  return problem ?? [code ?? error, detail].filter((part) => part !== undefined).join(": ");
}

const SILENT: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Watches the handler, and retries its steps at once: a test does not wait, and the clock would stand still. */
export function onStage(tool: Tool | Prompt, watch: Watch): Tool | Prompt {
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
