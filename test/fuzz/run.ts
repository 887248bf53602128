/** One run: a deployment, all its doors at once, and what must hold during and after it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Door } from "./door.ts";
import { drive, type Finding } from "./drive.ts";
import { lifecycle } from "./lifecycle.ts";
import type { RunFinding } from "./rules.ts";
import { type Member, startSystem, type State, type System } from "./system.ts";
import { holdIdle } from "./watch/idle.ts";
import { watchLogs } from "./watch/logs.ts";
import { startPace } from "./watch/pace.ts";
import { findSlowAlone, startPulse } from "./watch/pulse.ts";
import { everlastingKeys, grownSince, looksOf, mb, stillHeld } from "./watch/remains.ts";
import { createTrail, type Trail } from "./watch/trail.ts";

export interface RunOptions {
  readonly doors: readonly Door<unknown>[];
  /** Of each door; fewer of those that cost more. */
  readonly requests: number;
  readonly seed: number;
  /** Of a finding, for one door. */
  readonly path?: string | undefined;
  /** How many work at each door at once, each with a seed of its own. */
  readonly lanes: number;
  readonly progress: (line: string) => void;
  readonly found: (finding: Finding) => void;
  /** Ends the run early: what was sent until then is judged and reported. */
  readonly end: AbortSignal;
}

export interface RunReport {
  readonly findings: readonly Finding[];
  readonly runFindings: readonly RunFinding[];
  readonly facts: Readonly<Record<string, string | number>>;
}

const LIFECYCLE_EVERY_MS = 1_000;

export async function runFuzz({ doors, requests, seed, path, lanes, progress, found, end }: RunOptions): Promise<RunReport> {
  const startedAtMs = performance.now();
  const system = await startSystem();
  try {
    // Twice: what a process keeps from its first requests is no growth.
    await lifecycle(system.url);
    await lifecycle(system.url);
    const opened = await Promise.all(
      doors.flatMap((door) => Array.from({ length: lanes }, async (_, lane) => ({ door, lane, opened: await door.open(system) }))),
    );
    const before = await looksOf(system);
    for (const frontEnd of system.frontEnds) await system.told(frontEnd);
    progress(`deployment ready after ${secondsSince(startedAtMs)} s`);

    const trail = createTrail();
    const pace = startPace();
    const pulse = startPulse(system, trail, pace);
    const idle = holdIdle(system);
    const logs = watchLogs(system);
    const runFindings: RunFinding[] = [];
    const sound = keepAsking(system, runFindings);
    const drivenAtMs = performance.now();
    const driven = await Promise.all(
      opened.map(async ({ door, lane, opened: open }) => {
        const share = Math.max(1, Math.round(requests / (door.cost ?? 1) / lanes));
        const followed = {
          ...open,
          send: (drawn: unknown) => follow(trail, `${door.name} --seed ${seed + lane}`, () => open.send(drawn), drawn),
        };
        const result = await drive(followed, {
          name: door.name,
          requests: share,
          seed: seed + lane,
          path,
          isAlive: () => !end.aborted && ended(system).length === 0,
          found,
        });
        progress(
          `${door.name}${lanes > 1 ? ` ${lane}` : ""}: ${result.requests} requests, ${result.findings.length} findings, ${secondsSince(drivenAtMs)} s`,
        );
        return result;
      }),
    );
    const lifecycles = await sound.stop();
    const beats = await pulse.stop();
    runFindings.push(...beats.findings, ...(await findSlowAlone(system, beats.suspects, pace)));
    pace.stop();
    for (const { opened: open } of opened) await open.close();
    runFindings.push(...idle.stop(), ...(await stillHeld(system)), ...(await everlastingKeys(system)));
    const after = await looksOf(system);
    runFindings.push(...grownSince(before, after), ...logs.read(), ...ended(system));
    const [first] = system.frontEnds;
    return {
      findings: driven.flatMap(({ findings }) => findings),
      runFindings,
      facts: {
        requests: driven.reduce((sum, each) => sum + each.requests, 0),
        seconds: secondsSince(startedAtMs),
        lifecycles,
        "healthz asked": beats.beats,
        "healthz slowest": `${beats.slowestMs} ms`,
        "healthz slow": `${beats.ownSlow} by their own work, ${beats.machineSlow} by the machine's`,
        "front end's heap": `${mb(before.get(first!)!.heapBytes)} MB before, ${mb(after.get(first!)!.heapBytes)} MB after, ${mb(after.get(first!)!.rssBytes)} MB resident`,
        "lines in the logs": logs.lines,
        "processor seconds": cpuOf(before, after),
      },
    };
  } finally {
    await system.close();
  }
}

function cpuOf(before: ReadonlyMap<Member, State>, after: ReadonlyMap<Member, State>): string {
  const { user, system } = process.cpuUsage();
  const own = Math.round((user + system) / 1_000_000);
  const of = (kind: Member["kind"]) =>
    Math.round(
      [...after]
        .filter(([member]) => member.kind === kind)
        .reduce((sum, [member, { cpuMs }]) => sum + cpuMs - (before.get(member)?.cpuMs ?? 0), 0) / 1_000,
    );
  return `${own} here, ${of("front end")} in front ends, ${of("worker")} in workers`;
}

function secondsSince(ms: number): number {
  return Math.round((performance.now() - ms) / 1_000);
}

async function follow(trail: Trail, name: string, send: () => Promise<void>, drawn: unknown): Promise<void> {
  const end = trail.begin({ name: `${name}: ${JSON.stringify(drawn).slice(0, 400)}`, again: send });
  try {
    await send();
  } finally {
    end();
  }
}

/** Lives a sound life once a second. */
function keepAsking(system: System, findings: RunFinding[]): { stop(): Promise<number> } {
  let running = true;
  let lived = 0;
  const living = (async () => {
    for (;;) {
      const isLast = !running;
      try {
        await lifecycle(system.url);
        lived += 1;
      } catch (error) {
        findings.push({ rule: "lifecycle", what: error instanceof Error ? error.message : String(error) });
      }
      // One more after all others have left.
      if (isLast) return;
      await sleep(LIFECYCLE_EVERY_MS);
    }
  })();
  return {
    async stop() {
      running = false;
      await living;
      return lived;
    },
  };
}

function ended({ members }: System): RunFinding[] {
  return members.filter(({ process: { pid } }) => !isRunning(pid)).map(({ kind }) => ({ rule: "alive", what: `a ${kind} has ended` }));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
