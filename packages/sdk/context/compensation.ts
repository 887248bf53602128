/** The context of a tool's `compensate`, over core's `Effects`. */
import type { Effects, EndedWithout } from "@parley/core";
import type { Context } from "./context.ts";
import { createContext } from "./create-context.ts";

/**
 * The last run of a task that ended without a result. Steps run once and are recorded, as in `run`, under separate names: a compensation may have a step
 * `hold` even if the tool has one. It can ask no questions and report nothing to the client, which has already seen the end.
 */
export interface CompensationContext extends Pick<
  Context,
  "taskId" | "principal" | "caller" | "signal" | "step" | "now" | "random" | "uuid" | "branch" | "map"
> {
  /** Why the task ended: `cancelled` by the client, `failed`, or `timeout` (the tool's runTimeout). */
  readonly why: EndedWithout["why"];
  /**
   * The tool's steps that succeeded, in the order of their results: undo them from last to first (`ctx.done.toReversed()`). `key` is the name, with `#2` for
   * the second step of that name, and prefixed by `alice/` in a branch. After `ctx.restart`, only the steps of the last round.
   */
  readonly done: readonly Done[];
  /** The result of one of these steps; undefined for a step that did not succeed. */
  result<T = unknown>(key: string): T | undefined;
}

/** A step that succeeded, with its result. */
export interface Done {
  readonly key: string;
  readonly value: unknown;
}

export function compensationContext(effects: Effects, { why, done }: EndedWithout): CompensationContext {
  const { taskId, principal, caller, signal, step, now, random, uuid, branch, map } = createContext(effects);
  const steps = done.map(({ key, value }) => ({ key, value }));
  return {
    taskId,
    principal,
    caller,
    signal,
    step,
    now,
    random,
    uuid,
    branch,
    map,
    why,
    done: steps,
    result: <T>(key: string) => steps.find((each) => each.key === key)?.value as T | undefined,
  };
}
