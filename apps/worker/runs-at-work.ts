/** Tracks the active runs of this process, and finds the run that the calling code belongs to. */
import type { Observer, RunReport } from "@parley/core";
import { createScope, type EventLoopWatch } from "@parley/node";

export interface RunAtWork {
  readonly taskId: string;
  readonly run: number;
  readonly tool: string;
  /** By the monotonic clock. */
  readonly startedAtMs: number;
  /** Whether the run has ended. A timer or a promise that it left behind can still throw. */
  readonly isOver: boolean;
}

export type BegunRun = Parameters<Observer["running"]>[0];

export interface RunsAtWork {
  /** Returns the observer with each run tracked. `begun` is called when a run begins, and `ended` awaited when it has ended with a report. */
  follow(
    observer: Observer | undefined,
    begun: (run: BegunRun) => void,
    ended: (run: BegunRun, report: RunReport) => Promise<void>,
  ): Observer;
  /** The run that the calling code belongs to; undefined outside of runs. */
  current(): RunAtWork | undefined;
  readonly active: Iterable<RunAtWork>;
  /** Number of active runs. */
  readonly count: number;
  /** Lists runs that begin from now on in the watch's reports. */
  listIn(watch: Pick<EventLoopWatch, "atWork">): void;
}

const SILENT: Observer = {
  traceparent: () => undefined,
  created: () => undefined,
  answering: (_answer, work) => work(),
  running: (_begun, work) => work(),
};

export function createRunsAtWork(): RunsAtWork {
  const scope = createScope();
  const active = new Set<RunAtWork>();
  let atWork: EventLoopWatch["atWork"] = () => () => undefined;

  return {
    follow: (observer = SILENT, onBegun, onEnded) => ({
      ...observer,
      running(begun, work) {
        onBegun(begun);
        const { id: taskId, run, call } = begun.task;
        const followed = { taskId, run, tool: call.name, startedAtMs: performance.now(), isOver: false };
        return scope.run(followed, async () => {
          const ended = atWork(`${taskId} ${call.name}`);
          active.add(followed);
          try {
            const report = await observer.running(begun, work);
            await onEnded(begun, report);
            return report;
          } finally {
            ended();
            active.delete(followed);
            followed.isOver = true;
          }
        });
      },
    }),
    current: () => scope.get() as RunAtWork | undefined,
    active,
    get count() {
      return active.size;
    },
    listIn(watch) {
      atWork = watch.atWork;
    },
  };
}
