/**
 * The task state machine.
 *
 *   working ──asked──▶ input_required ──last one answered or withdrawn──▶ working
 *      └──────────────────────┴──restarted──▶ working
 *      └──────────────────────┴──▶ completed · failed · cancelled
 *
 * `apply` is pure and short enough to serve as the specification. The in-memory store persists what it returns. The
 * scripts in packages/redis restate these rules so that they hold under races, and test/contract runs one suite
 * against both.
 *
 *   I1  A finished task never changes again.
 *   I2  An ask is answered at most once; the first answer wins.
 *   I3  The status is input_required exactly while an ask is open. An open event or child leaves it working.
 */
import { type FinishedStatus, isFinished, isQuestion, type Open, type TaskStatus } from "../task.ts";

export interface TaskState {
  readonly status: TaskStatus;
  /** Includes events, calls, and the asks of children. */
  readonly asks: readonly Open[];
}

export type TaskEvent =
  | { readonly type: "asked"; readonly ask: Open }
  | { readonly type: "answered" | "withdrawn"; readonly key: string }
  /** The handler starts again with an empty journal; its earlier asks are closed. */
  | { readonly type: "restarted" }
  | { readonly type: "ended"; readonly status: FinishedStatus };

export type Applied = { readonly ok: true; readonly state: TaskState } | { readonly ok: false; readonly reason: "finished" | "not_open" };

export function apply(state: TaskState, event: TaskEvent): Applied {
  if (isFinished(state.status)) return { ok: false, reason: "finished" }; // I1
  switch (event.type) {
    case "asked": {
      // A worker that died while parking asks again on replay. Asking twice must equal asking once.
      const known = state.asks.some((ask) => ask.key === event.ask.key);
      return withAsks(known ? state.asks : [...state.asks, event.ask]);
    }
    case "answered":
    case "withdrawn": {
      const rest = state.asks.filter((ask) => ask.key !== event.key);
      if (rest.length === state.asks.length) return { ok: false, reason: "not_open" }; // I2
      return withAsks(rest);
    }
    case "restarted":
      return withAsks([]);
    case "ended":
      return { ok: true, state: { status: event.status, asks: [] } };
  }
}

function withAsks(asks: readonly Open[]): Applied {
  return { ok: true, state: { status: asks.some(isQuestion) ? "input_required" : "working", asks } }; // I3
}
