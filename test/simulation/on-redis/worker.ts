/**
 * A worker as in apps/worker, which leaves evidence of its runs, and on SIGUSR2 kills itself (SIGKILL) right before or after one of its next
 * changes of the store: moments that a signal from outside seldom meets.
 */
import { randomInt } from "node:crypto";
import { readEnvironment } from "@parley/node";
import type { Telemetry } from "@parley/telemetry";
import { startWorker, WORKER_SETTINGS, workerConfig } from "@parley/worker";
import { write, writeDeath } from "./evidence.ts";
import { runs } from "./tool.ts";
import { type WatchedStore, watchStore } from "./watch-store.ts";

const directory = process.env["SIMULATION_EVIDENCE"] ?? "";
const MOMENTS_MAX = 40;
let momentsLeft = Infinity;
let watched: WatchedStore | undefined;

const telemetry: Telemetry = {
  metrics: undefined,
  tracing: undefined,
  observer: {
    traceparent: () => undefined,
    created: () => undefined,
    answering: (_answer, work) => work(),
    async running(begun, work) {
      const token = watched?.tokenOf(begun) ?? "";
      try {
        return await runs.run(token, work);
      } finally {
        write(directory, begun.task.id, { type: "over", token });
      }
    },
  },
  watchStore(store) {
    watched = watchStore(store, directory, mayDie);
    return watched.store;
  },
  watchCatalogue: (catalogue) => catalogue,
  showRules: () => undefined,
  beforeReading: () => undefined,
  readyWhen: () => undefined,
  open: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

function mayDie(): void {
  momentsLeft -= 1;
  if (momentsLeft > 0) return;
  writeDeath(directory, process.pid);
  process.kill(process.pid, "SIGKILL");
}

process.on("SIGUSR2", () => {
  momentsLeft = randomInt(1, MOMENTS_MAX);
});
const worker = await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, process.env)), telemetry);
void worker.broken.then(() => process.exit(1));
