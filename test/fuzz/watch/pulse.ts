/**
 * Asks each front end twenty times a second whether it lives, and holds it to 100 ms.
 *
 * A slow answer counts when the front end itself was at work: when its own thread had the processor for 100 ms of that time, as it says from
 * inside, at the pace of a quiet machine. When it had not, the machine was busy with something else, and the answer is only counted.
 *
 * Where all doors are open at once, a hundred requests may share a tenth of a second that none of them filled. So what was under way is
 * sent again, one by one, and what is slow again is a finding; those that are not may be so many and no more.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { RunFinding } from "../rules.ts";
import type { Blocked, FrontEnd, System } from "../system.ts";
import { Http } from "../wire/http.ts";
import type { Pace } from "./pace.ts";
import type { Step, Trail } from "./trail.ts";

const EVERY_MS = 50;
const SLOW_MS = 100;
const TOLD = 3;
const SUSPECTS_TOLD = 4;
/** Cases that are sent again at most. */
const SUSPECTS_MAX = 300;
const TIMES_ALONE = 3;
/** Of all beats, those that may be slow by requests that are not slow alone. */
const CROWDED_SHARE = 0.01;

export interface Pulse {
  stop(): Promise<PulseReport>;
}

export interface PulseReport {
  readonly findings: readonly RunFinding[];
  readonly beats: number;
  readonly slowestMs: number;
  /** Slow by the front end's own work. */
  readonly ownSlow: number;
  /** What was under way then, of the slowest first. */
  readonly suspects: readonly Step[];
  /** Slow for reasons that lie outside of the front end. */
  readonly machineSlow: number;
}

interface Beat {
  readonly frontEnd: FrontEnd;
  readonly fromMs: number;
  readonly ms: number;
  readonly status: number;
}

export function startPulse(system: System, trail: Trail, pace: Pace): Pulse {
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

  const watching = Promise.all(system.frontEnds.map(watch));
  return {
    async stop() {
      running = false;
      await watching;
      const blocked = await blockedIn(system);
      const failed = slow.filter(({ status }) => status !== 200);
      const own = slow.filter((beat) => beat.status === 200 && isOwn(beat, blocked.get(beat.frontEnd) ?? [], pace));
      const slowest = own.toSorted((a, b) => b.ms - a.ms);
      const wrong = own.length > Math.max(1, counts.beats * CROWDED_SHARE) ? [...failed, ...slowest] : failed;
      const suspects = slowest.flatMap(({ fromMs, ms }) => trail.during(fromMs, fromMs + ms));
      return {
        ...counts,
        slowestMs: Math.round(counts.slowestMs),
        machineSlow: slow.length - failed.length - own.length,
        findings: wrong.slice(0, TOLD).map((beat) => ({ rule: "pulse", what: told(beat, trail) })),
        ownSlow: own.length,
        suspects: [...new Set(suspects)].slice(0, SUSPECTS_MAX),
      };
    },
  };
}

/**
 * Sends each of them again while nothing else is under way. A finding names the one that takes a front end's thread too long each time: once
 * may be a collection of garbage, or a host that was busy.
 */
export async function findSlowAlone(system: System, suspects: readonly Step[], pace: Pace): Promise<readonly RunFinding[]> {
  const findings: RunFinding[] = [];
  await blockedIn(system);
  for (const { name, again } of suspects) {
    if (findings.length === TOLD) break;
    let cpuMs = Infinity;
    for (let time = 1; time <= TIMES_ALONE && cpuMs >= SLOW_MS; time += 1) cpuMs = Math.min(cpuMs, await workOf(system, again, pace));
    if (cpuMs >= SLOW_MS)
      findings.push({ rule: "pulse", what: `a front end is at work for ${Math.round(cpuMs)} ms, by nothing but ${name}` });
  }
  return findings;
}

/** The longest that a front end's thread was at work without a pause meanwhile, in ms of a quiet machine. */
async function workOf(system: System, again: Step["again"], pace: Pace): Promise<number> {
  const fromMs = Date.now();
  await again().catch(() => undefined); // Judged when it was sent first.
  // The thread tells of it in the turn behind.
  await sleep(EVERY_MS);
  const blocked = [...(await blockedIn(system)).values()].flat();
  return Math.max(0, ...blocked.map((each) => each.cpuMs)) / pace.slowdown(fromMs, Date.now());
}

/** Since the last time, of each front end. */
async function blockedIn(system: System): Promise<ReadonlyMap<FrontEnd, readonly Blocked[]>> {
  const blocked = new Map<FrontEnd, readonly Blocked[]>();
  for (const frontEnd of system.frontEnds) {
    blocked.set(
      frontEnd,
      (await system.told(frontEnd)).filter((line): line is Blocked => line.type === "blocked"),
    );
  }
  return blocked;
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
  return [`${what}; under way were`, ...suspects.slice(0, SUSPECTS_TOLD).map(({ name }) => `      ${name}`)].join("\n");
}
