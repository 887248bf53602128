/**
 * What workers and the driver write down while programs run on Redis: a file for each task, a line for each thing that happened.
 *
 * Lines are written at once and in one piece each (O_APPEND), so a process that is killed leaves all that it did. Lines of one process are in
 * their order; between processes only what Redis puts in order is (read-evidence.ts).
 */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "@parley/core";
import type { Effect } from "../program.ts";

/** `id`: of a call of the store or of a try, unique in its task. `token`: of a run, as `begin` drew it. */
export type Happening =
  /** A change was sent to the store. */
  | { readonly type: "sent"; readonly id: string; readonly name: string; readonly request: Json }
  | { readonly type: "replied"; readonly id: string; readonly result: Json }
  | { readonly type: "unanswered"; readonly id: string }
  /** The handler starts, calls, sees. */
  | { readonly type: "started"; readonly token: string; readonly generation: number }
  | { readonly type: "called"; readonly token: string; readonly path: string; readonly what: string }
  | { readonly type: "saw"; readonly token: string; readonly path: string; readonly op: Effect["op"]; readonly value?: Json }
  | { readonly type: "saw error"; readonly token: string; readonly path: string; readonly message: string }
  | { readonly type: "threw"; readonly token: string; readonly path: string; readonly first: number }
  | Tried
  | { readonly type: "tried"; readonly token: string; readonly id: string; readonly how: "done" | "failed" | "aborted" }
  /** The use case of the run has returned, or thrown. */
  | { readonly type: "over"; readonly token: string };

export interface Tried {
  readonly type: "tries";
  readonly token: string;
  readonly id: string;
  readonly path: string;
  readonly data: number;
  /** null: always. */
  readonly fails: number | null;
  readonly deaf: boolean;
  readonly attempt: number;
  readonly idempotencyKey: string;
}

export type Line = Happening & { readonly pid: number; readonly atMs: number };

export interface Death {
  readonly pid: number;
  readonly atMs: number;
}

const DEATHS = "deaths.jsonl";

export function write(directory: string, taskId: string, happening: Happening): void {
  append(fileOf(directory, taskId), { ...happening, pid: process.pid, atMs: nowMs() });
}

/** Written by the killer, just before. */
export function writeDeath(directory: string, pid: number): void {
  append(join(directory, DEATHS), { pid, atMs: nowMs() });
}

export function readLines(directory: string, taskId: string): Line[] {
  return read<Line>(fileOf(directory, taskId));
}

export function readDeaths(directory: string): Death[] {
  return read<Death>(join(directory, DEATHS));
}

function fileOf(directory: string, taskId: string): string {
  return join(directory, `${taskId}.jsonl`);
}

function append(file: string, line: object): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

function read<T>(file: string): T[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return []; // nothing has happened yet
  }
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

/** The same for all processes of a machine, finer than a millisecond. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
