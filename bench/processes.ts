/** The processes that a benchmark measures: pinned to a core, counted in CPU time by the system, ended by pid. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { once } from "node:events";

export interface Measured {
  readonly pid: number;
  isRunning(): boolean;
  /** CPU time that the process has used, user and system, in milliseconds. */
  cpuMs(): number;
  /** Resident memory in bytes. */
  memoryBytes(): number;
  stop(): Promise<void>;
}

/** Ticks per second in /proc/<pid>/stat: 100 on every Linux that Node runs on. */
const TICK_MS = 10;

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The core that the process may use, where the machine has several and taskset. */
  readonly core?: number;
}

export function launch({ command, args, env = {}, core }: Launch): Measured {
  const pinned = core === undefined ? [command, ...args] : ["taskset", "-c", String(core), command, ...args];
  const [program = command, ...rest] = pinned;
  const child: ChildProcess = spawn(program, rest, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  passOnErrors(child);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${command} did not start`);
  const exited = once(child, "exit");
  return {
    pid,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    cpuMs() {
      // The fields behind the command's name, which may itself hold spaces and brackets.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
    },
    memoryBytes() {
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      return Number(kilobytes) * 1_024;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** All but what a process says of its inspector. */
function passOnErrors({ stderr }: ChildProcess): void {
  if (!stderr) return;
  createInterface({ input: stderr }).on("line", (line) => {
    if (!/^(Debugger |For help, see: |Starting inspector )/.test(line)) process.stderr.write(`${line}\n`);
  });
}

/** Waits until `url` answers 200. Throws after `withinMs`. */
export async function untilServed(url: string, withinMs = 20_000): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  for (;;) {
    const served = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (served) return;
    if (Date.now() > giveUpAt) throw new Error(`${url} is not served after ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
