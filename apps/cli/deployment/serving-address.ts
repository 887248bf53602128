/**
 * Records the URL of the front end that serves a data directory, so that a second command on the directory uses it instead of starting its own. A process that
 * was killed leaves its record behind, and the server of another directory may have its port since: the record counts as long as its process lives.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printToStderr } from "../terminal/terminal.ts";

const PROBE_MS = 1_000;

/** `<dataDir>/serving.json`. Only its owner can read it, as everything in the directory. */
function fileOf(dataDir: string): string {
  return join(dataDir, "serving.json");
}

export async function noteServing(dataDir: string, url: string): Promise<void> {
  await writeFile(fileOf(dataDir), JSON.stringify({ url, pid: process.pid }), { mode: 0o600 });
}

export async function forgetServing(dataDir: string): Promise<void> {
  await rm(fileOf(dataDir), { force: true });
}

/** A start that takes minutes would look as if it hung. */
export function tellLoading(dataDir: string): void {
  printToStderr(`parley: Redis still loads its data from ${dataDir}`);
}

/** The MCP endpoint that serves the directory; undefined if none responds. */
export async function findServing(dataDir: string): Promise<string | undefined> {
  try {
    const { url, pid } = JSON.parse(await readFile(fileOf(dataDir), "utf8")) as { url?: unknown; pid?: unknown };
    if (typeof url !== "string" || typeof pid !== "number" || !isAlive(pid)) return undefined;
    return (await answers(url)) ? url : undefined;
  } catch {
    return undefined; // The directory was never served, or the file was only partly written.
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Whether a front end responds, ready or not. */
export async function answers(url: string): Promise<boolean> {
  return await fetch(new URL("/healthz", url), { signal: AbortSignal.timeout(PROBE_MS), redirect: "error" }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
}
