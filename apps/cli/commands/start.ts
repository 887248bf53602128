import { readEnvironment } from "@parley/node";
import { startEmbeddedRedis } from "@parley/redis/embedded";
import { SERVER_SETTINGS, serverConfig, startServer } from "@parley/server";
import { startWorker, WORKER_SETTINGS, workerConfig } from "@parley/worker";
import type { Command } from "commander";
import { untilStopped } from "../until-stopped.ts";

interface StartOptions {
  readonly port?: string;
  readonly tools?: string;
  readonly dataDir: string;
}

/** Everything in one process, for a laptop: a Redis of its own unless REDIS_URL names one, a front end, a worker. */
export function addStart(program: Command): void {
  program
    .command("start")
    .description("everything in one process: Redis (unless REDIS_URL is set), a front end and a worker")
    .option("-p, --port <port>", "port to listen on (PARLEY_PORT, 3000)")
    .option("-t, --tools <modules>", "tool modules, separated by commas (PARLEY_TOOLS, the gallery)")
    .option("-d, --data-dir <directory>", "where the embedded Redis keeps its data", ".parley/redis")
    .action(async ({ port, tools, dataDir }: StartOptions) => {
      const embedded = process.env["REDIS_URL"] ? undefined : await startEmbeddedRedis({ dataDir });
      const environment = {
        PARLEY_LOG_LEVEL: "warn",
        ...process.env,
        ...(embedded && { REDIS_URL: embedded.url }),
        ...(port !== undefined && { PARLEY_PORT: port }),
        ...(tools !== undefined && { PARLEY_TOOLS: tools }),
      };
      try {
        const server = await startServer(serverConfig(readEnvironment(SERVER_SETTINGS, environment)));
        const worker = await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, environment)));
        const redis = embedded ? `${embedded.source} ${embedded.version}, data in ${dataDir}` : "REDIS_URL";
        process.stdout.write(
          `Parley serves ${server.url}\n  Redis: ${redis}\n  Stop with Ctrl-C; waiting tasks are there again at the next start.\n`,
        );
        untilStopped(async () => {
          await server.close();
          const drained = await worker.close();
          await embedded?.close();
          return drained;
        });
      } catch (error) {
        await embedded?.close();
        throw error;
      }
    });
}
