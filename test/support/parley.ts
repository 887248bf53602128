/** The `parley` command, and a `parley start` that can be killed. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { MAIN } from "./pipe.ts";
import { until } from "./until.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Where {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Kills the process when it is aborted, as if the machine had gone. */
  readonly signal?: AbortSignal;
}

/** Without the tests' own Redis, and without colours, as in a pipe. */
function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { REDIS_URL: _shared, ...rest } = process.env;
  return { ...rest, ...env };
}

export function parley(args: readonly string[], { env, cwd, signal }: Where = {}): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { cwd, env: environment(env), signal, killSignal: "SIGKILL" }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}

export interface Watching {
  /** What it has printed. */
  stdout(): string;
  /** Ctrl-C. Resolves to its exit code. */
  interrupt(): Promise<number | null>;
}

/** A command that runs until it is interrupted. */
export function watchParley(args: readonly string[], { env, cwd }: Where = {}): Watching {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env: environment(env), stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  return {
    stdout: () => printed,
    async interrupt() {
      child.kill("SIGINT");
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}

export interface Started {
  /** Of the MCP endpoint. */
  readonly url: string;
  /** SIGKILL, as if the machine had gone. */
  kill(): Promise<void>;
}

/** `parley start` on a free port. */
export async function startParley(args: readonly string[], { env, cwd }: Where = {}): Promise<Started> {
  const child = spawn(process.execPath, [MAIN, "start", "--port", "0", ...args], {
    cwd,
    env: environment(env),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const ended = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  try {
    const url = await until(() => {
      if (child.exitCode !== null) throw new Error(`parley start ended with ${child.exitCode}`);
      return /^Parley serves (http\S+)\n/.exec(printed)?.[1];
    });
    return { url, kill };
  } catch (error) {
    await kill();
    throw error;
  }
}
