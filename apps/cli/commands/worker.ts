import { readEnvironment } from "@parley/node";
import { startWorker, WORKER_SETTINGS, workerConfig } from "@parley/worker";
import type { Command } from "commander";
import { untilStopped } from "../until-stopped.ts";

export function addWorker(program: Command): void {
  program
    .command("worker")
    .description("a worker: runs tools; needs REDIS_URL")
    .action(async () => {
      const worker = await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, process.env)));
      untilStopped(() => worker.close());
    });
}
