/** MCP Inspector's command line, installed outside of the tree once for each version. */
import { execFile } from "node:child_process";
import { mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const PACKAGE = "@modelcontextprotocol/inspector@2.12.0";
const DIRECTORY = join(tmpdir(), `parley-inspector-${PACKAGE.replaceAll(/[^\w.-]/g, "_")}`);
const LAUNCHER = join(DIRECTORY, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const INSTALL_MS = 300_000;
const RUN_MS = 60_000;

const run = promisify(execFile);

/** Installs it. Why that cannot be, where it cannot. */
export async function missingInspector(): Promise<string | undefined> {
  return await install().then(
    () => undefined,
    (error: unknown) => `MCP Inspector cannot be installed: ${error instanceof Error ? error.message.split("\n", 1)[0] : String(error)}`,
  );
}

/** Made elsewhere and moved into place whole, so that a run that was broken off leaves no half of it. */
async function install(): Promise<void> {
  if (await stat(LAUNCHER).catch(() => undefined)) return;
  const draft = await mkdtemp(join(tmpdir(), "parley-inspector-"));
  try {
    await writeFile(join(draft, "package.json"), "{}");
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", PACKAGE], {
      cwd: draft,
      timeout: INSTALL_MS,
    });
    await rename(draft, DIRECTORY);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another run was quicker.
    if (!(await stat(LAUNCHER).catch(() => undefined))) throw error;
  }
}

export interface Inspected {
  readonly code: number;
  /** Of standard output where it succeeded, else of standard error. */
  readonly said: { readonly result?: Readonly<Record<string, unknown>>; readonly error?: { readonly message: string } };
}

/** One call of it. `home` keeps its own files, and is where it runs. */
export async function inspect(args: readonly string[], home: string): Promise<Inspected> {
  const { REDIS_URL: _shared, ...env } = process.env;
  const options = {
    cwd: home,
    env: { ...env, HOME: home, MCP_INSPECTOR_SECRET_STORE: "memory" },
    timeout: RUN_MS,
    maxBuffer: 16 * 1_048_576,
  };
  return await new Promise((resolve, reject) => {
    execFile(process.execPath, [LAUNCHER, "--cli", "--quiet", "--format", "json", ...args], options, (error, stdout, stderr) => {
      try {
        resolve({ code: error ? Number(error.code ?? -1) : 0, said: JSON.parse(error ? stderr : stdout) as Inspected["said"] });
      } catch {
        reject(new Error(`the Inspector said no JSON: ${stdout}${stderr}`, { cause: error }));
      }
    });
  });
}
