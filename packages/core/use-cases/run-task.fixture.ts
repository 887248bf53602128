/** An in-memory deployment with one tool, whose runs a test performs one by one. */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Catalogue, Prompt, Tool } from "../catalogue.ts";
import type { Effects } from "../effects.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { Clock, ParkRequest, RunRef, TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import type { AskRequest, JsonObject } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { answerTask } from "./answer-task.ts";
import { createTask } from "./create-task.ts";
import { getTask } from "./get-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";
import { sweep } from "./sweep.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const size: Extract<AskRequest, { readonly type: "form" }> = {
  type: "form",
  message: "How many?",
  schema: { type: "object", properties: { n: { type: "integer" } } },
};

export const text = (value: unknown): JsonObject => ({ content: [{ type: "text", text: String(value) }] });

export interface Given {
  readonly tool?: Partial<Tool["settings"]>;
  readonly settings?: Partial<Settings>;
  readonly store?: (memory: TaskStore) => Partial<TaskStore>;
  readonly services?: Partial<Services>;
  /** The next random number, in [0, 1). */
  readonly random?: number;
}

export function deployment(run: (effects: Effects, args: JsonObject) => Promise<JsonObject>, given: Given = {}) {
  let skippedMs = 0;
  let stoppedAtMs: number | undefined;
  let ids = 0;
  const clock: Clock = { ...systemClock, now: () => (stoppedAtMs ?? Date.now()) + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const memory = createMemoryStore({ clock, wakeUps });
  const runs = new Map<string, RunRef>();
  const logged: { level: string; message: string; fields: object }[] = [];
  const write = (level: string) => (fields: object, message: string) => void logged.push({ level, message, fields });
  const store = { ...memory, ...given.store?.(memory) };
  const parked: ParkRequest[] = [];
  const services: Services = {
    store: { ...store, park: (request) => (parked.push(request), store.park(request)) },
    queue: { add: async (ref) => void runs.set(`${ref.taskId}.${ref.run}`, ref) },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => `0-${(ids += 1)}`, token: () => `token-${(ids += 1)}`, uuid: () => "uuid", random: () => given.random ?? 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 20, ...given.settings },
    ...given.services,
  };
  const tool = toolNamed("subject", run, {
    settings: { backoffMs: HOUR, ...given.tool },
    readArguments(args) {
      if ("wrong" in args) return { ok: false, violations: [{ path: "/wrong", message: "is not a known field" }] };
      const { dropped: _, ...kept } = args;
      return { ok: true, args: kept };
    },
  });
  const tools = new Map([[tool.name, tool]]);
  const prompt: Prompt = { ...tool, kind: "prompt", name: "greeting", arguments: [] };
  const prompts = new Map([[prompt.name, prompt]]);
  const catalogue: Catalogue = { tools, prompts, resources: new Map(), templates: [] };
  return {
    services,
    runs,
    tools,
    tool,
    prompts,
    prompt,
    logged,
    /** The log lines with this message. */
    saying: (message: string) => logged.filter((line) => line.message === message),
    /** Park requests that the store received. */
    parked,
    /** How long after now the next run of the task that parked last is due. */
    dueInMs: () => (parked.at(-1)?.dueAtMs ?? Number.NaN) - clock.now(),
    skip: (ms: number) => (skippedMs += ms),
    /** Stops the clock: time passes only with `skip`. */
    stopClock: () => (stoppedAtMs = Date.now()),
    create: async (args: JsonObject = {}, retentionMs?: number, runnable: Tool | Prompt = tool) =>
      (
        await createTask(services, runnable, {
          caller: callerNamed("alice"),
          arguments: args,
          capabilities: {},
          hidden: false,
          ...(retentionMs !== undefined && { retentionMs }),
        })
      ).id,
    run: (taskId: string, number: number, isSecondHand = false) =>
      runTask(services, catalogue, { taskId, run: number, ...(isSecondHand && { isSecondHand }) }),
    async work() {
      const reports: string[] = [];
      for (const [key, ref] of runs) {
        runs.delete(key);
        reports.push((await runTask(services, catalogue, ref)).type);
      }
      return reports;
    },
    sweep: () => sweep(services, { partition: 0 }),
    task: (taskId: string) => getTask(services, { taskId, caller: callerNamed("alice") }),
    answer: async (taskId: string, key: string) => {
      const { receipts } = await answerTask(services, { taskId, caller: callerNamed("alice"), replies: { [key]: { action: "decline" } } });
      return receipts.get(key);
    },
  };
}
