/** Runs everything in one process, for one machine: Redis (unless REDIS_URL names one), a front end and a worker. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readEnvironment, SettingsError, withFiles, withLogFields } from "@parley/node";
import { type EmbeddedRedis, startEmbeddedRedis } from "@parley/redis/embedded";
import { SERVER_SETTINGS, serverConfig, startServer } from "@parley/server";
import { createTelemetry } from "@parley/telemetry";
import { startWorker, WORKER_SETTINGS, workerConfig } from "@parley/worker";
import { forgetServing, noteServing, tellLoading } from "../deployment/serving-address.ts";

export interface ServeAll {
  readonly port?: string | undefined;
  readonly tools?: string | undefined;
  /** Data directory of the embedded Redis. */
  readonly dataDir: string;
  /** An embedded Redis that is already starting; it is closed with the rest. */
  readonly embedded?: EmbeddedRedis | undefined;
  /** The settings, those of this process by default. */
  readonly environment?: NodeJS.ProcessEnv;
}

export interface Running {
  /** URL of the MCP endpoint. */
  readonly url: string;
  /** URL of the playground, if it is served. */
  readonly playground: string | undefined;
  /** URL of the inbox. */
  readonly inbox: string;
  readonly embedded: EmbeddedRedis | undefined;
  readonly showsErrors: boolean;
  /** Resolves when the worker cannot continue. */
  readonly broken: Promise<void>;
  /** Resolves to whether all work finished. */
  close(): Promise<boolean>;
}

export async function serveEverything({
  port,
  tools,
  dataDir,
  embedded: started,
  environment: own = process.env,
}: ServeAll): Promise<Running> {
  const { REDIS_URL: url } = withFiles(["REDIS_URL"], own);
  const given = {
    ...own,
    ...(port !== undefined && { PARLEY_PORT: port }),
    ...(tools !== undefined && { PARLEY_TOOLS: tools }),
  };
  // Before Redis is started, and those of the worker with those of the front end.
  checkSettings({ ...given, ...(!url && { REDIS_URL: "redis://127.0.0.1" }) });
  const embedded = url ? undefined : (started ?? (await startEmbeddedRedis({ dataDir, onLoading: () => tellLoading(dataDir) })));
  const environment = {
    PARLEY_LOG_LEVEL: "warn",
    // An embedded Redis holds only this user's data, and the author of a tool needs to see its errors.
    ...(embedded && { PARLEY_SHOW_ERRORS: "true", PARLEY_FILES: `dir:${resolve(dataDir, "../files")}` }),
    ...given,
    ...(embedded && { REDIS_URL: embedded.url }),
  };
  try {
    const frontEnd = serverConfig(readEnvironment(SERVER_SETTINGS, environment));
    const { allowedHosts } = frontEnd;
    const telemetry = await createTelemetry(frontEnd.telemetry, { process: "all", version: VERSION, allowedHosts, withLogFields });
    const server = await startServer(frontEnd, telemetry);
    // Other processes on this machine reach the front end at its own address.
    const ofWorker = { PARLEY_PUBLIC_URL: new URL(server.url).origin, ...environment };
    const worker = await startWorker(workerConfig(readEnvironment(WORKER_SETTINGS, ofWorker)), telemetry);
    await telemetry.open();
    if (embedded) await noteServing(dataDir, server.url);
    return {
      url: server.url,
      playground: server.playground,
      inbox: server.inbox,
      embedded,
      showsErrors: frontEnd.core.showErrors,
      broken: worker.broken,
      async close() {
        if (embedded) await forgetServing(dataDir);
        await server.close();
        const drained = await worker.close();
        await telemetry.close();
        await embedded?.close();
        return drained;
      },
    };
  } catch (error) {
    await embedded?.close();
    throw error;
  }
}

/** Throws a SettingsError with the problems of both processes. */
function checkSettings(environment: NodeJS.ProcessEnv): void {
  const problems = [SERVER_SETTINGS, WORKER_SETTINGS].flatMap((schema) => {
    try {
      readEnvironment<typeof SERVER_SETTINGS | typeof WORKER_SETTINGS>(schema, environment);
      return [];
    } catch (error) {
      if (error instanceof SettingsError) return error.problems;
      throw error;
    }
  });
  if (problems.length > 0) throw new SettingsError([...new Set(problems)]);
}

const { version: VERSION } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
