import { untilStopped } from "@parley/node/until-stopped";
import type { Command } from "commander";

export function addWorker(program: Command): void {
  program
    .command("worker")
    .description("Run a worker, which runs tools; needs REDIS_URL")
    .action(() => untilStopped(async () => (await import("./run.ts")).serveWorker()));
}
