/**
 * A pod as a kubelet runs it, but as a process with its own loopback address instead of a container. Arguments, environment, probes,
 * signals, grace period and memory limit are those of the manifest.
 *
 *   started ─▶ startup probe ─▶ readiness and liveness probes
 *   terminate ─▶ no endpoint any more, preStop ─▶ SIGTERM ─▶ SIGKILL once the grace period is over
 *
 * A process that ends by itself, does not start, fails its liveness probe, or exceeds its memory limit is restarted, and counted.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, PodSpec, Probe } from "../promises.ts";
import { ROOT } from "../render.ts";

export interface Pod {
  readonly name: string;
  readonly address: string;
  readonly node: string;
  /** Names the template that it was made from. */
  readonly hash: string;
  isReady(): boolean;
  isTerminating(): boolean;
  /** Resolves when it is gone. A second call changes nothing. */
  terminate(): Promise<Termination>;
}

export interface Termination {
  readonly pod: string;
  readonly ms: number;
  readonly exitCode: number | null;
  /** It was still there when its grace period was over. */
  readonly isKilled: boolean;
}

export interface PodOptions {
  readonly name: string;
  readonly address: string;
  readonly node: string;
  readonly hash: string;
  readonly spec: PodSpec;
  /** Of the image, of ConfigMaps and of Secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** File for what it logs. */
  readonly log: string;
  /** Its readiness changed, or it is terminating. */
  readonly onChange: () => void;
  readonly onRestart: (why: string) => void;
}

/** A run that is broken off takes its processes along. */
const running = new Set<ChildProcess>();
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

const LOOK_EVERY_MS = 500;
const BACKOFF_MS = 1_000;
const UNITS = { Ki: 1_024, Mi: 1_048_576, Gi: 1_073_741_824 } as const;

export function startPod({ name, address, node, hash, spec, env, log, onChange, onRestart }: PodOptions): Pod {
  const [container] = spec.containers;
  if (!container) throw new Error(`${name} has no container`);
  const limit = String(container.resources?.limits?.["memory"]);
  const [, amount, unit] = /^(\d+)(Ki|Mi|Gi)$/.exec(limit) ?? [];
  const memoryMax = Number(amount) * UNITS[unit as keyof typeof UNITS];
  if (!(memoryMax > 0)) throw new Error(`${name}: the memory limit ${limit} cannot be read`);
  const isOver = new AbortController();
  let child = start();
  let isReady = false;
  let termination: Promise<Termination> | undefined;

  function start(): ChildProcess {
    const args = [...(container?.args ?? [])];
    const started = spawn(process.execPath, ["apps/cli/main.ts", ...args], {
      cwd: ROOT,
      env: { PATH: process.env["PATH"], ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(started);
    started.once("close", () => running.delete(started));
    for (const stream of [started.stdout, started.stderr]) stream.on("data", (chunk: Buffer) => appendFileSync(log, chunk));
    return started;
  }

  function setReady(now: boolean): void {
    if (now === isReady) return;
    isReady = now;
    onChange();
  }

  const runs = (process: ChildProcess) => process.exitCode === null && process.signalCode === null;
  /** Whether it is still to be asked. */
  const isAlive = (process: ChildProcess) => runs(process) && !isOver.signal.aborted;

  async function probe({ httpGet, timeoutSeconds = 1 }: Probe): Promise<boolean> {
    const port = container?.ports?.find((each) => each.name === httpGet?.port)?.containerPort ?? httpGet?.port;
    try {
      // A kubelet names the pod's address as the host.
      const response = await fetch(`http://${address}:${port}${httpGet?.path}`, { signal: AbortSignal.timeout(timeoutSeconds * 1_000) });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false;
    }
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: isOver.signal }).catch(() => undefined);
  }

  /** Asks for as long as it is alive, or until `onAnswer` has heard enough: it is told how often in a row it was refused. */
  async function ask(process: ChildProcess, of: Probe, onAnswer: (refusals: number) => boolean): Promise<void> {
    let refusals = 0;
    while (isAlive(process)) {
      refusals = (await probe(of)) ? 0 : refusals + 1;
      if (!isAlive(process) || onAnswer(refusals)) return;
      await pause((of.periodSeconds ?? 10) * 1_000);
    }
  }

  async function memory(process: ChildProcess): Promise<void> {
    while (isAlive(process) && residentBytes(process.pid ?? 0) <= memoryMax) await pause(LOOK_EVERY_MS);
  }

  /** One life of its process. Returns why it has to begin anew. */
  async function live(process: ChildProcess, { startupProbe, readinessProbe, livenessProbe }: Container): Promise<string> {
    if (!startupProbe || !readinessProbe || !livenessProbe) throw new Error(`${name}: a probe is missing`);
    const ended = once(process, "exit").then(() => `ended with ${process.exitCode ?? process.signalCode}`);
    const most = ({ failureThreshold = 3 }: Probe) => failureThreshold;
    let isLate = false;
    const started = ask(process, startupProbe, (refusals) => refusals === 0 || (isLate = refusals >= most(startupProbe)));
    const early = await Promise.race([ended, started]);
    if (early !== undefined) return early;
    if (isLate) return "did not start in time";
    void ask(process, readinessProbe, (refusals) => {
      if (refusals === 0) setReady(true);
      else if (refusals >= most(readinessProbe)) setReady(false);
      return false;
    });
    return await Promise.race([
      ended,
      ask(process, livenessProbe, (refusals) => refusals >= most(livenessProbe)).then(() => "did not live"),
      memory(process).then(() => `took more than ${limit}`),
    ]);
  }

  async function run(): Promise<void> {
    for (;;) {
      const why = await live(child, container!);
      if (isOver.signal.aborted) return;
      child.kill("SIGKILL");
      setReady(false);
      onRestart(`${name} ${why}`);
      await pause(BACKOFF_MS);
      if (isOver.signal.aborted) return;
      child = start();
    }
  }

  async function end(): Promise<Termination> {
    const beganMs = performance.now();
    isOver.abort();
    onChange();
    const graceMs = (spec.terminationGracePeriodSeconds ?? 30) * 1_000;
    await sleep((container?.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1_000);
    let isKilled = false;
    if (runs(child)) {
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      const late = new AbortController();
      const left = graceMs - (performance.now() - beganMs);
      const over = sleep(left, "over" as const, { signal: late.signal }).catch(() => undefined);
      if ((await Promise.race([exit, over])) === "over") {
        isKilled = true;
        child.kill("SIGKILL");
        await exit;
      }
      late.abort();
    }
    return { pod: name, ms: Math.round(performance.now() - beganMs), exitCode: child.exitCode, isKilled };
  }

  void run();
  return {
    name,
    address,
    node,
    hash,
    isReady: () => isReady && !isOver.signal.aborted,
    isTerminating: () => isOver.signal.aborted,
    terminate: () => (termination ??= end()),
  };
}

function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4_096;
  } catch {
    return 0;
  }
}
