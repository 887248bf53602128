/** Commands for one deployment of docker-compose.yml, under a name of its own. */
import { spawn, spawnSync } from "node:child_process";
import { resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");
/** A Compose that is no plugin: COMPOSE=docker-compose */
export const COMPOSE = (process.env["COMPOSE"] ?? "docker compose").split(" ");
/** With COMPOSE_NO_BUILD the images that were built before are used, where Compose cannot build. */
export const BUILD = process.env["COMPOSE_NO_BUILD"] === undefined ? "--build" : "--no-build";

export interface DeploymentOptions {
  readonly project: string;
  readonly files: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function deployment({ project, files, env: own }: DeploymentOptions) {
  const env = { ...process.env, COMPOSE_PROJECT_NAME: project, COMPOSE_FILE: files.join(":"), ...own };

  function tryRun(command: readonly string[], more: object = {}): { ok: boolean; out: string } {
    const [program = "", ...args] = command;
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: ROOT,
      encoding: "utf8",
      timeout: 600_000,
      env: { ...env, ...more },
    });
    return { ok: status === 0, out: `${stdout ?? ""}${status === 0 ? "" : (stderr ?? "")}`.trim() };
  }

  /** Not while a load runs: it would stand still. */
  function run(...command: string[]): string {
    const { ok, out } = tryRun(command);
    if (!ok) throw new Error(`${command.join(" ")}:\n${out}`);
    return out;
  }

  const compose = (...args: string[]) => run(...COMPOSE, ...args);
  const containers = (service: string) => compose("ps", "-a", "-q", service).split("\n").filter(Boolean);

  /** As run, beside a load. Returns what the command said on standard error, with its exit code. */
  async function beside(command: readonly string[], more: object = {}): Promise<{ status: number | null; said: string }> {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { cwd: ROOT, env: { ...env, ...more }, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const status = await new Promise<number | null>((ended) => child.once("close", ended));
    return { status, said };
  }

  return {
    tryRun,
    run,
    compose,
    /** Ids of a service's containers, whether they run or not. */
    containers,
    container: (service: string) => containers(service)[0] ?? "",
    inspect: (id: string, format: string) => run("docker", "inspect", "-f", format, id),
    beside,
    async mustBeside(...command: string[]): Promise<void> {
      const { status, said } = await beside(command);
      if (status !== 0) throw new Error(`${command.join(" ")}:\n${said}`);
    },
  };
}
