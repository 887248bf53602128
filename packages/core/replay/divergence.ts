/**
 * How the handler departs from the journal (R2): recorded calls that it has not made again, and calls that no record explains.
 *
 * One without the other is no divergence. A handler that has recorded calls ahead of it may still reach them, and a new call is what every run is
 * for once it is live. Only both together, or a handler that ends or skips a patch with records ahead of it, show that the code has changed.
 */
import { ParleyError } from "../errors.ts";
import { type CallSite, callSite } from "./call-site.ts";
import { entryKey } from "../journal.ts";
import { openOf, type Task } from "../task.ts";
import type { Call, CalledKind, Recollection } from "./recollection.ts";
import type { Settling } from "./settling.ts";

export interface Divergence {
  /** Notes something that no record explains, for the message of the error. Only the first is kept. */
  noteNew(what: string): void;
  /** Notes a call, unless it is recorded, open, or of a kind that has no record. */
  noteCall(kind: CalledKind, call: Call): void;
  /** Whether the handler did something new, or skipped a recorded patch. */
  isLikely(): boolean;
  /** Names of recorded patches that the handler has not asked for. */
  patchesAhead(): string[];
  /** Notes that the handler threw. */
  noteThrown(error: unknown): void;
  /** The error that the handler threw. If it diverged by that, what it awaited outside ctx may succeed in the next run. */
  thrown(): { readonly error: unknown } | undefined;
  /** REPLAY_DIVERGED. By default `recorded` is what is missing now, and `found` the first new thing. */
  error(recorded?: string, found?: string): ParleyError;
}

export interface DivergenceOptions {
  readonly task: Task;
  readonly recollection: Pick<Recollection, "ahead" | "hasOutside">;
  readonly settling: Pick<Settling, "missing" | "isLive">;
}

export function createDivergence({ task, recollection, settling }: DivergenceOptions): Divergence {
  let firstNew: string | undefined;
  let site: CallSite | undefined;
  let thrown: { readonly error: unknown } | undefined;

  function noteNew(what: string): void {
    if (firstNew !== undefined) return;
    firstNew = what;
    // A live run can diverge no more.
    if (!settling.isLive()) site = callSite();
  }

  function firstFound(): string {
    const place = site?.place();
    return (firstNew ?? "nothing new") + (place === undefined ? "" : ` at ${place}`);
  }

  function patchesAhead(): string[] {
    const prefix = entryKey("patch", "");
    return [...recollection.ahead].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
  }

  return {
    noteNew,
    noteCall(kind, call) {
      const isOpen = (kind === "ask" || kind === "event" || kind === "call") && openOf(task).some(({ key }) => key === call.key);
      const isRecorded = call.entry !== undefined || isOpen;
      if (!isRecorded && kind !== "random" && kind !== "uuid") noteNew(`new ${call.id}`);
    },
    isLikely: () => firstNew !== undefined || patchesAhead().length > 0,
    patchesAhead,
    noteThrown(error) {
      noteNew("the end of the handler");
      thrown = { error };
    },
    thrown: () => thrown,
    error(recorded = settling.missing(), found = firstFound()) {
      const hint = recollection.hasOutside() ? ". What it awaits outside ctx may decide who comes first: put that into a step" : "";
      const message = `replay diverged in ${task.call.kind} ${task.call.name}: recorded ${recorded}, found ${found}${hint}`;
      return new ParleyError("REPLAY_DIVERGED", message, { data: { recorded, found }, ...(thrown && { cause: thrown.error }) });
    },
  };
}
