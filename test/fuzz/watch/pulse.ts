/**
 * Asks each front end twenty times a second whether it lives, and holds it to 100 ms.
 *
 * A slow answer counts when the front end itself was at work: when its own thread had the processor for 100 ms of that time, as it says from
 * inside, at the pace of a quiet machine. When it had not, the machine was busy with something else, and the answer is only counted.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { RunFinding } from "../rules.ts";
import type { Blocked, FrontEnd, System } from "../system.ts";
import { Http } from "../wire/http.ts";
import { type Pace, startPace } from "./pace.ts";
import type { Trail } from "./trail.ts";

const EVERY_MS = 50;
const SLOW_MS = 100;
const TOLD = 3;

export interface Pulse {
  stop(): Promise<PulseReport>;
}

export interface PulseReport {
  readonly findings: readonly RunFinding[];
  readonly beats: number;
  readonly slowestMs: number;
  /** Slow by the front end's own work; the slowest are told. */
  readonly ownSlow: number;
  /** Slow for reasons that lie outside of the front end. */
  readonly machineSlow: number;
}

interface Beat {
  readonly frontEnd: FrontEnd;
  readonly fromMs: number;
  readonly ms: number;
  readonly status: number;
}

export function startPulse(system: System, trail: Trail): Pulse {
  let running = true;
  const slow: Beat[] = [];
  const counts = { beats: 0, slowestMs: 0 };

  async function watch(frontEnd: FrontEnd): Promise<void> {
    const http = new Http(frontEnd.url);
    while (running) {
      const fromMs = Date.now();
      const { ms, status } = await http.send({ method: "GET", path: "/healthz", headers: {} }, { timeoutMs: 10_000, bytesMax: 1_024 });
      counts.beats += 1;
      counts.slowestMs = Math.max(counts.slowestMs, ms);
      if (ms > SLOW_MS || status !== 200) slow.push({ frontEnd, fromMs, ms, status });
      await sleep(EVERY_MS);
    }
    http.close();
  }

  const pace = startPace();
  const watching = Promise.all(system.frontEnds.map(watch));
  return {
    async stop() {
      running = false;
      await watching;
      pace.stop();
      const blocked = new Map<FrontEnd, readonly Blocked[]>();
      for (const frontEnd of system.frontEnds) {
        blocked.set(
          frontEnd,
          (await system.told(frontEnd)).filter((line): line is Blocked => line.type === "blocked"),
        );
      }
      const own = slow.filter((beat) => beat.status !== 200 || isOwn(beat, blocked.get(beat.frontEnd) ?? [], pace));
      return {
        ...counts,
        slowestMs: Math.round(counts.slowestMs),
        machineSlow: slow.length - own.length,
        findings: own
          .toSorted((a, b) => b.ms - a.ms)
          .slice(0, TOLD)
          .map((beat) => ({ rule: "pulse", what: told(beat, trail) })),
        ownSlow: own.length,
      };
    },
  };
}

function isOwn({ fromMs, ms }: Beat, blocked: readonly Blocked[], pace: Pace): boolean {
  const toMs = fromMs + ms;
  // Of each spell as much as lies within the time that was waited.
  const cpuMs = blocked.reduce((sum, { atMs, blockedMs, cpuMs: spent }) => {
    const withinMs = Math.min(atMs, toMs) - Math.max(atMs - blockedMs, fromMs);
    return sum + (spent * Math.max(0, withinMs)) / blockedMs;
  }, 0);
  return cpuMs / pace.slowdown(fromMs, toMs) >= SLOW_MS;
}

function told({ fromMs, ms, status }: Beat, trail: Trail): string {
  const suspects = trail.during(fromMs, fromMs + ms);
  const what = status === 200 ? `/healthz took ${Math.round(ms)} ms` : `/healthz was answered by ${status || "nothing"}`;
  return [`${what}; under way were`, ...suspects.map((each) => `      ${each}`)].join("\n");
}
