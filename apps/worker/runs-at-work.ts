/** Tracks the active runs of this process, and finds the run that the calling code belongs to. */
import type { Observer } from "@parley/core";
import { createScope, type EventLoopWatch } from "@parley/node";

export interface RunAtWork {
  readonly taskId: string;
  readonly run: number;
  readonly tool: string;
  /** Whether the run has ended. A timer or a promise that it left behind can still throw. */
  readonly isOver: boolean;
}

export type BegunRun = Parameters<Observer["running"]>[0];

export interface RunsAtWork {
  /** Returns the observer with each run tracked. `begun` is called when a run begins. */
  follow(observer: Observer | undefined, begun: (run: BegunRun) => void): Observer;
  /** The run that the calling code belongs to; undefined outside of runs. */
  current(): RunAtWork | undefined;
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
  let count = 0;
  let atWork: EventLoopWatch["atWork"] = () => () => undefined;

  return {
    follow: (observer = SILENT, onBegun) => ({
      ...observer,
      running(begun, work) {
        onBegun(begun);
        const { id: taskId, run, call } = begun.task;
        const followed = { taskId, run, tool: call.name, isOver: false };
        return scope.run(followed, async () => {
          const ended = atWork(`${taskId} ${call.name}`);
          count += 1;
          try {
            return await observer.running(begun, work);
          } finally {
            ended();
            count -= 1;
            followed.isOver = true;
          }
        });
      },
    }),
    current: () => scope.get() as RunAtWork | undefined,
    get count() {
      return count;
    },
    listIn(watch) {
      atWork = watch.atWork;
    },
  };
}
