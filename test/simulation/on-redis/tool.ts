/** The tool of the simulation on Redis: a handler that its arguments describe. What it calls, sees and does leaves evidence. */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Effects, Json, JsonObject, StepAttempt, Tool } from "@parley/core";
import { interpret, type Stage, type StepCall } from "../interpret.ts";
import { createLibrary } from "../library.ts";
import type { Program } from "../program.ts";
import { messageOf, textOf } from "../witness.ts";
import { type Happening, readLines, write } from "./evidence.ts";

/** The token of the run that a handler belongs to, which tools are not told. */
export const runs = new AsyncLocalStorage<string>();

export interface ProgramArguments extends JsonObject {
  readonly program: JsonObject;
  /** Where evidence is left. */
  readonly directory: string;
}

/** A step is at work most of the time, so that a worker that dies mostly dies in one. */
const WORK_MS = [0, 5, 40, 150];
const OUTSIDE_MS = [1, 5, 25];

/** What this process has fetched before. */
const cache = new Set<string>();
const pause = () => sleep(pick(OUTSIDE_MS));
const library = createLibrary({ fetch: pause, config: pause(), pause, chance: (probability) => Math.random() < probability });

/** One for each number of tries that a program may have. */
export const once = define(1);
export const twice = define(2);
export const thrice = define(3);

export function toolOf({ attempts }: Program): Tool {
  const tool = [once, twice, thrice][attempts - 1];
  if (!tool) throw new RangeError(`no tool has ${attempts} attempts`);
  return tool;
}

/** As packages/sdk would, for a handler on core's own effects. */
function define(attempts: number): Tool {
  const tool: Tool = {
    kind: "tool",
    name: `program-${attempts}`,
    inputSchema: { type: "object" },
    task: "optional",
    askFirst: false,
    earlyReplies: false,
    needs: {},
    settings: { attempts, backoffMs: 200, runTimeoutMs: 60_000, retentionMs: 3_600_000 },
    readArguments: (args) => ({ ok: true, args }),
    run,
  };
  return Object.defineProperty(tool, Symbol.for("parley.definition"), { value: true });
}

async function run(args: JsonObject, effects: Effects): Promise<JsonObject> {
  const { program: described, directory } = args as ProgramArguments;
  const stage = createStage(directory, effects.taskId, Number(args["round"] ?? 0));
  const whole: Effects = { ...effects, restart: (changed) => effects.restart({ ...args, ...changed }) };
  const result = await interpret(described as unknown as Program, args, whole, stage);
  // All programs are one tool. A call behind an await that is not of ctx keeps the engine from following the next program less closely.
  await Promise.resolve();
  effects.random("traced");
  return result;
}

function createStage(directory: string, taskId: string, generation: number): Stage {
  const token = runs.getStore() ?? "";
  const tell = (happening: Happening) => write(directory, taskId, happening);
  const linesOf = (type: Happening["type"], path: string) =>
    readLines(directory, taskId).filter((line) => line.type === type && "path" in line && line.path === path);
  tell({ type: "started", token, generation });

  async function work({ path, data, fails, deaf }: StepCall, { attempt, idempotencyKey, signal }: StepAttempt): Promise<Json> {
    const id = randomUUID();
    const shownFails = fails === Infinity ? null : fails;
    // First of all: the engine has just seen that the run holds its task, and what is done before this line makes that older.
    tell({ type: "tries", token, id, path, data, fails: shownFails, deaf, attempt, idempotencyKey });
    const before = linesOf("tries", path).findIndex((line) => "id" in line && line.id === id);
    try {
      const workMs = pick(WORK_MS);
      if (workMs > 0) await sleep(workMs, undefined, deaf ? {} : { signal });
    } catch {
      tell({ type: "tried", token, id, how: "aborted" });
      throw new Error(`aborted at ${path}`);
    }
    tell({ type: "tried", token, id, how: before < fails ? "failed" : "done" });
    if (before < fails) throw new Error(`failed at ${path}`);
    return { from: path, result: randomInt(2 ** 40) };
  }

  return {
    isChanged: false,
    decided: () => undefined,
    draw: () => randomInt(2 ** 40),
    call: (path, what) => tell({ type: "called", token, path, what }),
    saw(path, effect, value) {
      tell({ type: "saw", token, path, op: effect.op, ...(value !== undefined && { value: value as Json }) });
      return textOf(effect, value);
    },
    sawError: (path, error) => tell({ type: "saw error", token, path, message: messageOf(error) }),
    work,
    async outside(path, cached) {
      const key = `${taskId} ${path}`;
      if (cached && cache.has(key)) return;
      await pause();
      cache.add(key);
    },
    library: { config: library.config, read: (source, row) => library.read(source, row.startsWith("/") ? `${taskId} ${row}` : row) },
    pause,
    throws(path, first) {
      if (linesOf("threw", path).length >= first) return false;
      tell({ type: "threw", token, path, first });
      return true;
    },
  };
}

function pick<T>(list: readonly T[]): T {
  return list[randomInt(list.length)] as T;
}
