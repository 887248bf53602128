/** Which runs are at work in this process, and to which of them the code belongs that asks. */
import type { Observer } from "@parley/core";
import { createScope, type EventLoopWatch } from "@parley/node";

export interface RunAtWork {
  readonly taskId: string;
  readonly run: number;
  readonly tool: string;
  /** What it left behind, a timer or a promise, can still come up with an error. */
  readonly isOver: boolean;
}

export type BegunRun = Parameters<Observer["running"]>[0];

export interface RunsAtWork {
  /** The same observer, with each run followed. */
  follow(observer: Observer | undefined, begun: (run: BegunRun) => void): Observer;
  /** The run that led to where this is called. */
  current(): RunAtWork | undefined;
  /** From now on the runs that begin are told to it. */
  tell(watch: Pick<EventLoopWatch, "atWork">): void;
}

const SILENT: Observer = {
  traceparent: () => undefined,
  created: () => undefined,
  answering: (_told, work) => work(),
  running: (_begun, work) => work(),
};

export function createRunsAtWork(): RunsAtWork {
  const scope = createScope();
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
          try {
            return await observer.running(begun, work);
          } finally {
            ended();
            followed.isOver = true;
          }
        });
      },
    }),
    current: () => scope.get() as RunAtWork | undefined,
    tell(watch) {
      atWork = watch.atWork;
    },
  };
}
