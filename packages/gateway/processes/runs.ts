/** The runs in progress in this process. A run that leads a call gives its slot back, because it spends its time waiting for an upstream. */
import type { Call, RunCause, RunReport } from "@parley/core";
import type { Background } from "../unawaited-work.ts";
import type { Quiet } from "../idle-work.ts";

export interface GatewayRun {
  readonly taskId: string;
  readonly run: number;
  readonly cause: RunCause;
  readonly queuedAtMs: number;
  readonly isSecondHand: boolean;
  /** What a new task calls, if that is known before the run has begun. */
  readonly calls?: Pick<Call, "kind" | "name">;
}

type Work = (run: GatewayRun) => Promise<RunReport>;

export interface Runs {
  isAtWork(taskId: string): boolean;
  /** Executes a run, and resolves when it has ended. */
  execute(run: GatewayRun, work: Work): Promise<void>;
  /** Executes a run that has a slot, and resolves when its slot is free. */
  executeInSlot(run: GatewayRun, work: Work): Promise<void>;
  giveSlotBack(taskId: string): void;
}

export interface RunsDeps {
  readonly quiet: Pick<Quiet, "enter">;
  readonly background: Background;
  /** The last run of the task has ended here, or stopped without a report. */
  readonly after: (taskId: string, report: RunReport | undefined) => Promise<void>;
}

export function createRuns({ quiet, background, after }: RunsDeps): Runs {
  /** The number of runs in progress, by task, and the functions that give their slots back. */
  const atWork = new Map<string, number>();
  const slots = new Map<string, () => void>();

  async function execute(run: GatewayRun, work: Work): Promise<void> {
    const { taskId } = run;
    atWork.set(taskId, (atWork.get(taskId) ?? 0) + 1);
    const leave = quiet.enter();
    let report: RunReport | undefined;
    try {
      report = await work(run);
    } finally {
      const left = (atWork.get(taskId) ?? 1) - 1;
      if (left > 0) atWork.set(taskId, left);
      else atWork.delete(taskId);
      slots.delete(taskId);
      leave();
      if (left === 0) await after(taskId, report);
    }
  }

  return {
    isAtWork: (taskId) => atWork.has(taskId),
    execute,
    async executeInSlot(run, work) {
      const slot = Promise.withResolvers<void>();
      let isFree = false;
      slots.set(run.taskId, () => {
        isFree = true;
        slot.resolve();
      });
      const done = execute(run, work);
      await Promise.race([done, slot.promise]);
      // The slot was given back, so nothing awaits this run: log its error here. Its lease brings the task back.
      if (isFree) background.start(done);
    },
    giveSlotBack: (taskId) => slots.get(taskId)?.(),
  };
}
