/** Where the front end of a data directory is reached: a second command on the same directory uses it instead of starting its own. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const PROBE_MS = 1_000;

/** `<dataDir>/serving.json`, readable by its owner alone as all of the directory. */
function fileOf(dataDir: string): string {
  return join(dataDir, "serving.json");
}

export async function noteServing(dataDir: string, url: string): Promise<void> {
  await writeFile(fileOf(dataDir), JSON.stringify({ url }), { mode: 0o600 });
}

export async function forgetServing(dataDir: string): Promise<void> {
  await rm(fileOf(dataDir), { force: true });
}

/** The MCP endpoint that serves the directory; undefined when none answers. */
export async function findServing(dataDir: string): Promise<string | undefined> {
  try {
    const { url } = JSON.parse(await readFile(fileOf(dataDir), "utf8")) as { url?: unknown };
    return typeof url === "string" && (await answers(url)) ? url : undefined;
  } catch {
    return undefined; // Nobody has served it, or it was cut off while it was written.
  }
}

/** Whether a front end, ready or not, is there. */
export async function answers(url: string): Promise<boolean> {
  return await fetch(new URL("/healthz", url), { signal: AbortSignal.timeout(PROBE_MS), redirect: "error" }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
}
