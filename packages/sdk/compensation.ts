/** What a tool's `compensate` is given, over core's `Effects`. */
import type { Effects, EndedWithout } from "@parley/core";
import { type Context, createContext } from "./context.ts";

/**
 * The last run of a task that ended without its result. Steps are done once and recorded, as in `run`, under names of their own: a compensation may call
 * its step `hold` as the tool did. Nobody can be asked any more, and nothing is told to the client, which has seen the end.
 */
export interface CompensationContext extends Pick<
  Context,
  "taskId" | "principal" | "signal" | "step" | "now" | "random" | "uuid" | "branch"
> {
  /** `cancelled` by the client, `failed`, or out of time (`timeout`: the tool's runTimeout). */
  readonly why: EndedWithout["why"];
  /**
   * Steps of the tool that were recorded as done, in the order in which they came to their results: undo them from the last to the first
   * (`ctx.done.toReversed()`). `key` is the name, with `#2` for the second of it, and `alice/` before it in a branch. After `ctx.restart` those of the
   * last round.
   */
  readonly done: readonly Done[];
  /** The result of one of them; undefined for one that was not done. */
  result<T = unknown>(key: string): T | undefined;
}

/** A step that was recorded as done, with its result. */
export interface Done {
  readonly key: string;
  readonly value: unknown;
}

export function compensationContext(effects: Effects, { why, done }: EndedWithout): CompensationContext {
  const { taskId, principal, signal, step, now, random, uuid, branch } = createContext(effects);
  const steps = done.map(({ key, value }) => ({ key, value }));
  return {
    taskId,
    principal,
    signal,
    step,
    now,
    random,
    uuid,
    branch,
    why,
    done: steps,
    result: <T>(key: string) => steps.find((each) => each.key === key)?.value as T | undefined,
  };
}
