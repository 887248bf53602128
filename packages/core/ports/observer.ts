/** The port for metrics and traces. */
import type { Ask, Call, Receipt, Task } from "../task.ts";
import type { RunReport } from "./runs.ts";
import type { Begun } from "./store.ts";

/**
 * Receives what the use cases do, for metrics and traces. Without an observer there is no cost. No method throws.
 * Each `work` is called exactly once, immediately, and its result is passed through unchanged.
 */
export interface Observer {
  /** Stored with a new task; undefined while no traces are collected. */
  traceparent(): string | undefined;
  created(call: Call): void;
  /** Validating and recording one answer. `ask` is absent if no ask of that key is open. */
  answering(about: { readonly task: Task; readonly key: string; readonly ask?: Ask }, work: () => Promise<Receipt>): Promise<Receipt>;
  /** One run, from the moment at which it holds its task. */
  running(
    begun: Pick<Extract<Begun, { type: "begun" }>, "task" | "journal" | "journalSize" | "attempt" | "takeovers">,
    work: () => Promise<RunReport>,
  ): Promise<RunReport>;
}
