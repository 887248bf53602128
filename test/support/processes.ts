/** Front ends and workers as processes of their own, which tests can kill. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { COMPILE_CACHE } from "./compile-cache.ts";
import { until } from "./until.ts";

const ROOT = resolve(import.meta.dirname, "../..");

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

export interface Launched {
  readonly pid: number;
  readonly logs: readonly LogLine[];
  /** Resolves when it has ended and its last lines are in `logs`, with the exit code if no signal ended it. */
  readonly ended: Promise<number | null>;
  /** SIGKILL, as if the machine had gone. Resolves when the process has ended. */
  kill(): Promise<void>;
  /** SIGTERM. Resolves with the exit code, when its last lines are in `logs`. */
  stop(): Promise<number | null>;
}

export interface FrontEnd extends Launched {
  /** Without a path. */
  readonly url: string;
}

/** `root`: of another checkout, to run its version. */
export async function startFrontEnd(env: Readonly<Record<string, string>>, root = ROOT): Promise<FrontEnd> {
  const launched = launch("apps/server/main.ts", { PARLEY_PORT: "0", ...env }, root);
  const { url } = await readied(launched, "front end ready");
  return { ...launched, url: new URL(String(url)).origin };
}

export async function startWorkerProcess(
  env: Readonly<Record<string, string>>,
  script = "apps/worker/main.ts",
  root = ROOT,
): Promise<Launched> {
  const launched = launch(script, env, root);
  await readied(launched, "worker ready");
  return launched;
}

/** As `logged`; a process that does not say it is not left behind. */
async function readied(launched: Launched, message: string): Promise<LogLine> {
  try {
    return await logged(launched, message);
  } catch (error) {
    await launched.kill();
    throw error;
  }
}

/** Waits for a line of that message. Fails at once, with all that was logged, when the process ends before. */
export async function logged(launched: Launched, message: string): Promise<LogLine> {
  let ended = false;
  const line = await until(() => {
    const found = launched.logs.find(({ msg }) => msg === message);
    ended = !isRunning(launched.pid);
    return found ?? ended;
  });
  if (line === true)
    throw new Error(`the process ended before "${message}":\n${launched.logs.map((each) => JSON.stringify(each)).join("\n")}`);
  return line;
}

function launch(script: string, env: Readonly<Record<string, string>>, root: string): Launched {
  const child = spawn(process.execPath, [script], {
    cwd: root,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NODE_COMPILE_CACHE: COMPILE_CACHE, PARLEY_LOG_LEVEL: "info", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const logs: LogLine[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => logs.push(parse(line)));
  // A test run that is broken off takes its processes along.
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  child.once("close", () => process.off("exit", onExit));

  const exited = once(child, "exit");
  const ended = once(child, "close").then(([code]) => code as number | null);
  const end = (signal: "SIGKILL" | "SIGTERM") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  };
  return {
    pid: pidOf(child),
    logs,
    ended,
    async kill() {
      end("SIGKILL");
      await exited;
    },
    stop() {
      end("SIGTERM");
      return ended;
    },
  };
}

function parse(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { msg: line };
  }
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error("the process did not start");
  return child.pid;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
