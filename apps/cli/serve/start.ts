import { untilStopped } from "@parley/node/until-stopped";
import type { Command } from "commander";

export interface StartOptions {
  readonly port?: string;
  readonly tools?: string;
  readonly dataDir: string;
}

export function addStart(program: Command): void {
  program
    .command("start")
    .description("Run everything in one process: Redis (unless REDIS_URL is set), a front end and a worker")
    .option("-p, --port <port>", "Port to listen on (default: PARLEY_PORT, PORT, or 3000)")
    .option(
      "-t, --tools <modules>",
      "Tool modules, separated by commas (default: PARLEY_TOOLS, package.json, or the gallery if there are no upstreams)",
    )
    .option("-d, --data-dir <directory>", "Directory where the embedded Redis keeps its data", ".parley/redis")
    .action((options: StartOptions) => untilStopped(async () => (await import("./run.ts")).serveAll(options)));
}
