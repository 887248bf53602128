/**
 * How fast this machine is from moment to moment. A virtual machine whose host is busy counts the time that it was not given as time that its
 * threads worked, so the same work seems to take more of the processor.
 */
import { hash } from "node:crypto";

export interface Pace {
  /** How many times as long the same work took in that span than when the machine was quickest. At least 1. */
  slowdown(fromMs: number, toMs: number): number;
  stop(): void;
}

const EVERY_MS = 100;
/** A millisecond of work. */
const WORK = Buffer.alloc(512 * 1_024);
/** Of the quickest samples: a single one can be measured too short. */
const QUIET_SHARE = 0.1;

export function startPace(): Pace {
  const samples: { readonly atMs: number; readonly cpuUs: number }[] = [];
  const timer = setInterval(() => {
    const before = process.threadCpuUsage();
    hash("sha256", WORK);
    const { user, system } = process.threadCpuUsage(before);
    samples.push({ atMs: Date.now(), cpuUs: user + system });
  }, EVERY_MS);
  return {
    slowdown(fromMs, toMs) {
      const quiet = samples.map(({ cpuUs }) => cpuUs).toSorted((a, b) => a - b)[Math.floor(samples.length * QUIET_SHARE)];
      const during = samples.filter(({ atMs }) => atMs >= fromMs - EVERY_MS && atMs <= toMs + EVERY_MS).map(({ cpuUs }) => cpuUs);
      return quiet === undefined || quiet === 0 ? 1 : Math.max(1, ...during.map((cpuUs) => cpuUs / quiet));
    },
    stop: () => clearInterval(timer),
  };
}
