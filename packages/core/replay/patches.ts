/**
 * Changes of a handler that say so: whether a task takes the new way or the old one.
 *
 *   PA1  A task decides once for each name and `ctx.branch`: at the first call, and every run after it decides the same.
 *   PA2  It takes the old way where the journal holds work that was called at this point or behind it and has not been called again: then the
 *        old code came by here. Where nothing of that is left, nothing recorded depends on the way, and the task takes the new one.
 *   PA3  The decision is an entry, written before the next side effect.
 *   PA4  An entry that is not called again is a divergence, like every other: code that does not know the change has not the way that the
 *        task took. `deprecate` calls the entry again, and makes none.
 */
import type { CalledKind, Call } from "./recollection.ts";
import type { Records } from "./records.ts";

export interface Patches {
  /** Throws ParleyErrors INVALID_NAME and MISPLACED_EFFECT. */
  decide(name: string): boolean;
  /** The old way is gone. Throws as `decide`. */
  deprecate(name: string): void;
}

export interface PatchesOptions {
  readonly call: (kind: CalledKind, name: string) => Call;
  /** The name with the branches around it. */
  readonly scoped: (kind: CalledKind, name: string) => string;
  readonly records: Pick<Records, "note" | "mustBeSaved">;
  /** Whether everything recorded was called again and has settled. */
  readonly isLive: () => boolean;
  readonly diverged: (recorded: string, found: string) => void;
  /** A call was made: what waits for it may continue. */
  readonly called: () => void;
}

export function createPatches({ call, scoped, records, isLive, diverged, called }: PatchesOptions): Patches {
  const decided = new Map<string, boolean>();
  return {
    decide(name) {
      const known = decided.get(scoped("patch", name));
      if (known !== undefined) return known;
      // Before the call: calling again what is recorded may be all that was left.
      const isFirst = isLive();
      const { id, calledAt, entry } = call("patch", name);
      const isNew = entry?.outcome.type === "value" ? entry.outcome.value === true : isFirst;
      decided.set(scoped("patch", name), isNew);
      if (!entry) {
        records.note({ key: id, entry: { digest: "", calledAt, outcome: { type: "value", value: isNew } } });
        records.mustBeSaved();
      }
      called();
      return isNew;
    },
    deprecate(name) {
      if (decided.has(scoped("patch", name))) return;
      const { id, entry } = call("patch", name);
      decided.set(scoped("patch", name), true);
      if (entry?.outcome.type === "value" && entry.outcome.value === false) {
        diverged(`${id} not taken, so the task needs the old code`, `deprecatePatch, which says that the old code is gone`);
      }
      called();
    },
  };
}
