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
import type { Line } from "./line.ts";
import type { Call, CalledKind, Recollection } from "./recollection.ts";
import type { Settling } from "./settling.ts";

/** When and where the handler did something of which it is not known yet whether it is new. */
export interface Moment {
  readonly order: number;
  readonly site: CallSite | undefined;
}

export interface Divergence {
  moment(): Moment;
  /** Notes something that no record explains, for the message of the error. Only the first is kept. By default it is done now. */
  noteNew(what: string, at?: Moment): void;
  /** Notes a call, unless it is recorded, open, or of a kind that has no record. */
  noteCall(kind: CalledKind, call: Call, at?: Moment): void;
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
  readonly line: Pick<Line, "isAtGate">;
}

export function createDivergence({ task, recollection, settling, line }: DivergenceOptions): Divergence {
  let moments = 0;
  let first: (Moment & { readonly what: string }) | undefined;
  let thrown: { readonly error: unknown } | undefined;

  function moment(): Moment {
    moments += 1;
    // A live run can diverge no more.
    return { order: moments, site: first || settling.isLive() ? undefined : callSite() };
  }

  function noteNew(what: string, at?: Moment): void {
    if (first && (!at || first.order < at.order)) return;
    first = { what, ...(at ?? moment()) };
  }

  function firstFound(): string {
    const place = first?.site?.place();
    return (first?.what ?? "nothing new") + (place === undefined ? "" : ` at ${place}`);
  }

  function patchesAhead(): string[] {
    const prefix = entryKey("patch", "");
    return [...recollection.ahead].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
  }

  return {
    moment,
    noteNew,
    noteCall(kind, call, at) {
      const isOpen = (kind === "ask" || kind === "event" || kind === "call") && openOf(task).some(({ key }) => key === call.key);
      const isRecorded = call.entry !== undefined || isOpen;
      if (!isRecorded && kind !== "random" && kind !== "uuid") noteNew(`new ${call.id}`, at);
    },
    isLikely: () => first !== undefined || patchesAhead().length > 0,
    patchesAhead,
    noteThrown(error) {
      noteNew("the end of the handler");
      thrown = { error };
    },
    thrown: () => thrown,
    error(recorded = settling.missing(), found = firstFound()) {
      const lock = line.isAtGate() ? ". If items take a lock, run them with ctx.map and its concurrency in place of that" : "";
      const hint = recollection.hasOutside() ? `. What it awaits outside ctx may decide who comes first: put that into a step${lock}` : "";
      const message = `replay diverged in ${task.call.kind} ${task.call.name}: recorded ${recorded}, found ${found}${hint}`;
      return new ParleyError("REPLAY_DIVERGED", message, { data: { recorded, found }, ...(thrown && { cause: thrown.error }) });
    },
  };
}
