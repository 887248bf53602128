/**
 * A file of upstreams that is a module: its default export, or what that returns if it is a function. Each time, a
 * separate process imports it, for three reasons: a process never reads a module again that it has imported, nor the
 * modules that this one imports; code that never ends, even a loop without an await, can be stopped; and nothing else
 * that the code does affects this process.
 */
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** How long the file may take to load. */
export const LOAD_MS = 10_000;
/** Maximum size of its default export as JSON, in bytes. */
export const CONFIG_BYTES_MAX = 10_000_000;
const PROBLEM_CHARS_MAX = 500;

const LOADER = fileURLToPath(new URL("load-config.mjs", import.meta.url));
/** Prints of the file go to standard error, because standard output may carry a protocol. */
const STDIO = ["ignore", 2, 2, "pipe"] as const;

/** What was loaded, as plain data, or why not. */
export type LoadedConfig = { readonly value: unknown } | { readonly problem: string };

export function isConfigModule(file: string): boolean {
  return /\.m?[jt]s$/.test(file);
}

/** For the start of a process, which has nothing else to do. */
export function loadConfigNow(file: string, loadMs = LOAD_MS): LoadedConfig {
  const missing = unreadable(file);
  if (missing) return missing;
  const { output, status, error } = spawnSync(process.execPath, argumentsFor(file), {
    stdio: [...STDIO],
    timeout: loadMs,
    killSignal: "SIGKILL",
    maxBuffer: CONFIG_BYTES_MAX,
  });
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "ETIMEDOUT") return tooSlow(loadMs);
  if (code === "ENOBUFS") return TOO_LARGE;
  return readReport(output?.[3]?.toString() ?? "", status);
}

/** The same beside other work. If `signal` is aborted, the process is killed. */
export async function loadConfig(
  file: string,
  { loadMs = LOAD_MS, signal }: { loadMs?: number; signal?: AbortSignal } = {},
): Promise<LoadedConfig> {
  const missing = unreadable(file);
  if (missing) return missing;
  const child = spawn(process.execPath, argumentsFor(file), { stdio: [...STDIO] });
  child.unref();
  let problem: LoadedConfig | undefined;
  const stop = (why?: LoadedConfig) => {
    problem ??= why;
    child.kill("SIGKILL");
  };
  const timer = setTimeout(() => stop(tooSlow(loadMs)), loadMs);
  const abort = () => stop();
  signal?.addEventListener("abort", abort, { once: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdio[3]?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > CONFIG_BYTES_MAX) stop(TOO_LARGE);
    else chunks.push(chunk);
  });
  try {
    const status = await new Promise<number | null>((ended, failed) => child.once("error", failed).once("close", ended));
    return problem ?? readReport(Buffer.concat(chunks).toString(), status);
  } catch (error) {
    return { problem: `cannot be loaded: no process (${(error as NodeJS.ErrnoException).code ?? "unknown"})` };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** Node's own warnings, such as about a package.json without `type`, are of no use in a log. */
function argumentsFor(file: string): string[] {
  return ["--no-warnings", LOADER, resolve(file)];
}

function unreadable(file: string): LoadedConfig | undefined {
  try {
    accessSync(file, constants.R_OK);
    return undefined;
  } catch (error) {
    return { problem: `cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})` };
  }
}

const TOO_LARGE: LoadedConfig = { problem: `has a default export of more than ${CONFIG_BYTES_MAX} bytes as JSON` };

function tooSlow(loadMs: number): LoadedConfig {
  return { problem: `did not load within ${loadMs / 1_000} s` };
}

function readReport(text: string, status: number | null): LoadedConfig {
  try {
    const report = JSON.parse(text) as { readonly value?: unknown; readonly problem?: string };
    if (report.problem !== undefined) return { problem: report.problem.replaceAll(/\s+/g, " ").slice(0, PROBLEM_CHARS_MAX) };
    return { value: report.value };
  } catch {
    // 13: an await at the top of the module never settles.
    return { problem: status === 13 ? "never finishes loading" : `ended its process while loading (exit code ${status ?? "none"})` };
  }
}
