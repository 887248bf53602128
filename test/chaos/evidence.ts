/** What the tools of a chaos run left behind, in the order in which it happened. */
import { readFile } from "node:fs/promises";

export interface Mark {
  readonly task: string;
  /** Of one run, by chance: tells what a process did that had been replaced. */
  readonly run: string;
  readonly mark:
    /** A step's effect happened; `value` names it, `key` is the idempotency key it was given. */
    | "effect"
    /** The step returned, so its record was acknowledged, now or in an earlier run; `value` is the recorded effect. */
    | "recorded"
    /** An ask returned `value`. */
    | "answer";
  /** Of the step or the ask. */
  readonly name: string;
  readonly value: string;
  readonly key?: string;
}

/** Marks by task. */
export type Evidence = ReadonlyMap<string, readonly Mark[]>;

export async function readEvidence(file: string): Promise<Evidence> {
  const text = await readFile(file, "utf8").catch(() => "");
  const marks = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Mark]));
  return Map.groupBy(marks, ({ task }) => task);
}
