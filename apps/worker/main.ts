/** The worker process. Exits with 0 if all runs ended before the drain timeout, else with 1. */
import { readEnvironment } from "@parley/node";
import { untilStopped } from "@parley/node/until-stopped";
import { WORKER_SETTINGS, workerConfig } from "./config.ts";
import { startWorker } from "./worker.ts";

try {
  await untilStopped(() => startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, process.env))));
} catch (error) {
  process.stderr.write(`parley worker: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
