/** Foreign MCP servers as processes of their own, which tests can kill, and the files that name them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const UPSTREAMS = join(import.meta.dirname, "../e2e/upstreams");

export interface RunningUpstream {
  readonly url: string;
  readonly port: number;
  kill(): Promise<void>;
}

export async function startUpstream(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningUpstream> {
  const child: ChildProcess = spawn(process.execPath, [join(UPSTREAMS, script), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  const lines = createInterface({ input: child.stdout! });
  const [url] = (await once(lines, "line")) as [string];
  return {
    url,
    port: Number(new URL(url).port),
    async kill() {
      process.off("exit", onExit);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

/** Each may take a minute to connect, as it may on a busy machine, if it does not say otherwise. */
export async function writeUpstreams(directory: string, upstreams: readonly object[]): Promise<string> {
  const file = join(directory, "parley.upstreams.json");
  await writeFile(file, JSON.stringify({ upstreams: upstreams.map((each) => ({ connectTimeout: "60s", ...each })) }));
  return file;
}

/** What an upstream has marked, one line for each effect. */
export async function marksIn(file: string): Promise<readonly string[]> {
  return (await readFile(file, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
}
