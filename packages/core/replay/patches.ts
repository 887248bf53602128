/**
 * Patches: declared changes of a handler, and which code path a task takes.
 *
 *   PA1  A task decides once for each name and `ctx.branch`, at the first call. Every later run decides the same.
 *   PA2  The task takes the old path if the journal holds calls that have not been made again: the old code has already been here. If
 *        nothing is left, no record depends on the path, and the task takes the new one.
 *   PA3  The decision is an entry, written before the next side effect.
 *   PA4  A decision that is not asked for again is a divergence, like any other entry: code that does not know the patch lacks the path that
 *        the task took. `took` and `deprecate` ask for the entry and never create one.
 */
import type { CalledKind, Call } from "./recollection.ts";
import type { Records } from "./records.ts";

export interface Patches {
  /** Whether the task takes the new path. Throws INVALID_NAME and MISPLACED_EFFECT. */
  decide(name: string): boolean;
  /** Whether the task has taken the new path. Throws like `decide`. */
  took(name: string): boolean;
  /** Declares that the old path is gone: a task that took it diverges. Throws like `decide`. */
  deprecate(name: string): void;
}

export interface PatchesOptions {
  readonly call: (kind: CalledKind, name: string) => Call;
  /** The name, prefixed by its branches. */
  readonly scoped: (kind: CalledKind, name: string) => string;
  readonly records: Pick<Records, "note" | "mustBeSaved">;
  /** Whether every recorded call was made again and has settled. */
  readonly isLive: () => boolean;
  readonly diverged: (recorded: string, found: string) => void;
  /** A call was made: effects that waited for it may settle now. */
  readonly called: () => void;
}

export function createPatches({ call, scoped, records, isLive, diverged, called }: PatchesOptions): Patches {
  const decided = new Map<string, boolean>();
  return {
    decide(name) {
      const patch = scoped("patch", name);
      const known = decided.get(patch);
      if (known !== undefined) return known;
      // Asked before the call, which may itself be the last recorded one.
      const isFirst = isLive();
      const { id, calledAt, entry } = call("patch", name);
      const isNew = entry?.outcome.type === "value" ? entry.outcome.value === true : isFirst;
      decided.set(patch, isNew);
      if (!entry) {
        records.note({ key: id, entry: { digest: "", calledAt, outcome: { type: "value", value: isNew } } });
        records.mustBeSaved();
      }
      called();
      return isNew;
    },
    took(name) {
      const patch = scoped("patch", name);
      const known = decided.get(patch);
      if (known !== undefined) return known;
      const { entry } = call("patch", name);
      const isNew = entry?.outcome.type === "value" && entry.outcome.value === true;
      decided.set(patch, isNew);
      called();
      return isNew;
    },
    deprecate(name) {
      const patch = scoped("patch", name);
      if (decided.has(patch)) return;
      const { id, entry } = call("patch", name);
      decided.set(patch, true);
      if (entry?.outcome.type === "value" && entry.outcome.value === false) {
        diverged(`${id} not taken, so the task needs the old code`, `deprecatePatch, which says that the old code is gone`);
      }
      called();
    },
  };
}
