/** The worker process. Exits with 0 if all runs ended before the drain timeout, else with 1. */
import { readEnvironment } from "@parley/node";
import { WORKER_SETTINGS, workerConfig } from "./config.ts";
import { startWorker, type Worker } from "./worker.ts";

let worker: Worker | undefined;
// Listened for before the worker says that it is ready: from then on, a signal drains it.
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    if (!worker) process.exit(1);
    void worker.close().then((drained) => process.exit(drained ? 0 : 1));
  });
}

try {
  worker = await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, process.env)));
} catch (error) {
  process.stderr.write(`parley worker: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

const { broken, close } = worker;
void broken.then(async () => {
  await close();
  process.exit(1);
});
