/** Python's side of MCP: the official SDK and FastMCP with its tasks, in a virtual environment outside of the tree, made once for each set of versions. */
import { execFile } from "node:child_process";
import { mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const PACKAGES = ["mcp==2.3.0", "fastmcp==4.1.4", "fastmcp-tasks==4.1.4"];
/** Where their Python is, once it is installed. */
export const ENVIRONMENT = join(tmpdir(), `parley-python-${PACKAGES.join("-").replaceAll(/[^\w.-]/g, "_")}`);
const INSTALL_MS = 300_000;

const run = promisify(execFile);

/** Installs them. Why that cannot be, where it cannot. */
export async function missingPython(): Promise<string | undefined> {
  return await install().then(
    () => undefined,
    (error: unknown) => `Python packages cannot be installed: ${error instanceof Error ? error.message.split("\n", 1)[0] : String(error)}`,
  );
}

/** Made elsewhere and moved into place whole, so that a run that was broken off leaves no half of it. */
async function install(): Promise<void> {
  if (await stat(ENVIRONMENT).catch(() => undefined)) return;
  const draft = await mkdtemp(join(tmpdir(), "parley-python-"));
  try {
    await run("python3", ["-m", "venv", draft], { timeout: INSTALL_MS });
    await run(
      join(draft, "bin/python"),
      ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--retries=1", "--timeout=10", ...PACKAGES],
      {
        timeout: INSTALL_MS,
      },
    );
    await rename(draft, ENVIRONMENT);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another run was quicker.
    if (!(await stat(ENVIRONMENT).catch(() => undefined))) throw error;
  }
}
