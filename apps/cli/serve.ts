/** The commands that run Parley itself. Loaded by them alone: the client commands start in a third of the time without. */
import { readFileSync } from "node:fs";
import { readEnvironment, withFiles, withLogFields } from "@parley/node";
import { type EmbeddedRedis, startEmbeddedRedis } from "@parley/redis/embedded";
import { SERVER_SETTINGS, serverConfig, startServer } from "@parley/server";
import { createTelemetry } from "@parley/telemetry";
import { startWorker, WORKER_SETTINGS, workerConfig } from "@parley/worker";
import type { StartOptions } from "./commands/start.ts";
import { untilStopped } from "./until-stopped.ts";

/** Everything in one process, for a laptop: a Redis of its own unless REDIS_URL names one, a front end, a worker. */
export async function serveAll({ port, tools, dataDir }: StartOptions): Promise<void> {
  const { REDIS_URL: url } = withFiles(["REDIS_URL"], process.env);
  const embedded = url ? undefined : await startEmbeddedRedis({ dataDir });
  const environment = {
    PARLEY_LOG_LEVEL: "warn",
    // A laptop's own Redis holds nobody else's data, and the author of a tool wants to see what it throws.
    ...(embedded && { PARLEY_SHOW_ERRORS: "true" }),
    ...process.env,
    ...(embedded && { REDIS_URL: embedded.url }),
    ...(port !== undefined && { PARLEY_PORT: port }),
    ...(tools !== undefined && { PARLEY_TOOLS: tools }),
  };
  try {
    const frontEnd = serverConfig(readEnvironment(SERVER_SETTINGS, environment));
    const { allowedHosts } = frontEnd;
    const telemetry = await createTelemetry(frontEnd.telemetry, { process: "all", version: VERSION, allowedHosts, withLogFields });
    const server = await startServer(frontEnd, telemetry);
    const worker = await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, environment)), telemetry);
    await telemetry.open();
    const errors = frontEnd.core.showErrors ? "  Errors of tools are shown to clients (PARLEY_SHOW_ERRORS)\n" : "";
    const playground = server.playground ? `  Playground: ${server.playground}\n` : "";
    const redis = embedded ? `${embedded.source} ${embedded.version}, data in ${dataDir}` : "REDIS_URL";
    process.stdout.write(
      `Parley serves ${server.url}\n${playground}  Redis: ${redis}\n${errors}  Stop with Ctrl-C; waiting tasks are there again at the next start.\n`,
    );
    if (embedded) endWith(embedded, dataDir);
    untilStopped(async () => {
      await server.close();
      const drained = await worker.close();
      await telemetry.close();
      await embedded?.close();
      return drained;
    }, worker.broken);
  } catch (error) {
    await embedded?.close();
    throw error;
  }
}

export async function serveFrontEnd(): Promise<void> {
  const server = await startServer(serverConfig(readEnvironment(SERVER_SETTINGS, process.env)));
  process.stdout.write(`${server.url}\n`);
  untilStopped(() => server.close());
}

export async function serveWorker(): Promise<void> {
  const worker = await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, process.env)));
  untilStopped(() => worker.close(), worker.broken);
}

/** Without its Redis the process is of no use, and would wait for ever for one that nobody starts again. */
function endWith({ ended, closing }: EmbeddedRedis, dataDir: string): void {
  void ended.then(() => {
    if (closing()) return;
    process.stderr.write(`parley: the embedded Redis ended; ${dataDir}/redis.log says why. What it stored is there at the next start.\n`);
    process.exit(1);
  });
}

const { version: VERSION } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
