/** The commands that run Parley itself. Client commands do not load this file, and start three times as fast without it. */
import { readEnvironment } from "@parley/node";
import type { Running } from "@parley/node/until-stopped";
import type { EmbeddedRedis } from "@parley/redis/embedded";
import { SERVER_SETTINGS, serverConfig, startServer } from "@parley/server";
import { startWorker, WORKER_SETTINGS, workerConfig } from "@parley/worker";
import type { StartOptions } from "./start.ts";
import { serveWithoutOutput } from "../terminal/lost-output.ts";
import { misspelt } from "../deployment/misspelt-settings.ts";
import { serveEverything } from "./serve-all.ts";

export async function serveAll({ dataDir, ...rest }: StartOptions): Promise<Running> {
  serveWithoutOutput();
  warnOfMisspelt();
  const { url, playground, inbox, embedded, showsErrors, broken, close } = await serveEverything({ dataDir, ...rest });
  const errors = showsErrors ? "  Errors of tools are shown to clients (PARLEY_SHOW_ERRORS)\n" : "";
  const page = playground ? `  Playground: ${playground}\n` : "";
  const redis = embedded ? `${embedded.source} ${embedded.version}, data in ${dataDir}` : "REDIS_URL";
  process.stdout.write(
    `Parley serves ${url}\n${page}  Inbox: ${inbox}\n  Redis: ${redis}\n${errors}  Stop with Ctrl-C; waiting tasks are kept for the next start.\n`,
  );
  if (embedded) endWith(embedded, dataDir);
  return { close, broken };
}

export async function serveFrontEnd(): Promise<Running> {
  serveWithoutOutput();
  warnOfMisspelt();
  const server = await startServer(serverConfig(readEnvironment(SERVER_SETTINGS, process.env)));
  process.stdout.write(`${server.url}\n`);
  return server;
}

export async function serveWorker(): Promise<Running> {
  serveWithoutOutput();
  warnOfMisspelt();
  return await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, process.env)));
}

/** A name that is nearly that of a setting would be ignored without a word. */
function warnOfMisspelt(): void {
  const settings = Object.keys({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape });
  for (const { name, meant } of misspelt(Object.keys(process.env), settings))
    process.stderr.write(`parley: ${name} is not a setting, and is ignored: if you mean ${meant}, rename it\n`);
}

/** Without its embedded Redis the process cannot work, and would wait forever: nothing restarts that Redis. */
function endWith({ ended, closing }: EmbeddedRedis, dataDir: string): void {
  void ended.then(() => {
    if (closing()) return;
    process.stderr.write(`parley: the embedded Redis ended; ${dataDir}/redis.log says why. Its data is kept for the next start.\n`);
    process.exit(1);
  });
}
