/**
 * Services of AWS on loopback: moto's server, which keeps everything in memory. It takes the Python that has it, or makes a virtual environment outside of the
 * tree.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePorts } from "./free-ports.ts";
import { until } from "./until.ts";

const PACKAGE = "moto[s3,kms,server]==5.2.1";
const ENVIRONMENT = join(tmpdir(), "parley-moto-5.2.1");
const INSTALL_MS = 300_000;
const run = promisify(execFile);

/** For the processes that use it. */
export const CREDENTIALS = { AWS_ACCESS_KEY_ID: "parley", AWS_SECRET_ACCESS_KEY: "parley parley" };

export interface Moto {
  readonly url: string;
  close(): Promise<void>;
}

/** A Python with it, or why there is none. */
async function python(): Promise<{ readonly path: string } | { readonly missing: string }> {
  const own = join(ENVIRONMENT, "bin/python");
  for (const path of ["python3", own]) {
    const found = await run(path, ["-c", "import moto.server"]).then(
      () => true,
      () => false,
    );
    if (found) return { path };
  }
  try {
    if (!(await stat(own).catch(() => undefined))) await run("python3", ["-m", "venv", ENVIRONMENT]);
    await run(own, ["-m", "pip", "install", "--quiet", PACKAGE], { timeout: INSTALL_MS });
    return { path: own };
  } catch (error) {
    await rm(ENVIRONMENT, { recursive: true, force: true });
    return { missing: `no server of moto: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** The server, or why there is none. */
export async function startMoto(): Promise<Moto | { readonly missing: string }> {
  const found = await python();
  if ("missing" in found) {
    console.log(found.missing);
    return found;
  }
  const [port = 0] = await freePorts(1);
  const server = spawn(found.path, ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  const onExit = () => server.kill("SIGKILL");
  process.once("exit", onExit);
  const url = `http://127.0.0.1:${port}`;
  await until(() => fetch(`${url}/moto-api/`), { everyMs: 200 });
  return {
    url,
    async close() {
      process.off("exit", onExit);
      if (server.exitCode !== null) return;
      const exit = once(server, "exit");
      server.kill("SIGKILL");
      await exit;
    },
  };
}
