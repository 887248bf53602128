/**
 * `parley dev`: runs the server in a process of its own and replaces it when a tool file changes. Redis keeps running, and with it every waiting task.
 *
 *   files ─ a change, then a quiet moment ─▶ do the tools load? ─▶ replay the waiting tasks, report ─▶ start another process
 *                                                 └▶ no: report why; the running process keeps the previous tools
 */
import { resolve } from "node:path";
import { toolModules, withFiles } from "@parley/node";
import { type EmbeddedRedis, startEmbeddedRedis } from "@parley/redis/embedded";
import type { DevOptions } from "./command.ts";
import { serveWithoutOutput } from "../terminal/lost-output.ts";
import { forgetServing, noteServing, tellLoading } from "../deployment/serving-address.ts";
import { cleanLine, print } from "../terminal/terminal.ts";
import { filesOf } from "./tool-files.ts";
import { type Served, serve } from "./serve.ts";
import { reportWaiting } from "./report-waiting.ts";
import { watchFiles } from "./watch-files.ts";

export async function dev({ port, tools = process.env["PARLEY_TOOLS"], dataDir }: DevOptions): Promise<void> {
  serveWithoutOutput();
  const modules = toolModules(tools, process.env);
  const { REDIS_URL: url } = withFiles(["REDIS_URL"], process.env);
  const embedded = url ? undefined : await startEmbeddedRedis({ dataDir, onLoading: () => tellLoading(dataDir) });
  const env: NodeJS.ProcessEnv = {
    // Runs in progress are returned to the queue for the next process at once, so that a restart does not wait for them.
    PARLEY_DRAIN_TIMEOUT: "2s",
    ...(embedded && { PARLEY_SHOW_ERRORS: "true", PARLEY_FILES: `dir:${resolve(dataDir, "../files")}` }),
    ...process.env,
    PARLEY_TOOLS: modules.join(","),
    ...(embedded && { REDIS_URL: embedded.url, REDIS_URL_FILE: undefined }),
    ...(port !== undefined && { PARLEY_PORT: port }),
  };
  const watched = watchFiles();
  const stopping = stopRequested();
  let served: Served | undefined;

  async function restart(): Promise<void> {
    const before = served;
    served = undefined;
    await before?.stop();
    const started = await serve(env);
    served = started;
    // On the same port, so that clients can reconnect.
    env["PARLEY_PORT"] = new URL(started.url).port;
    if (embedded) await noteServing(dataDir, started.url);
    void started.ended.then((why) => {
      if (served !== started) return;
      served = undefined;
      print(`The server ended (${why}). It restarts when a tool file changes.`);
    });
  }

  async function turn(isFirst: boolean): Promise<void> {
    const sinceMs = Date.now();
    const { files, problem } = await filesOf(modules);
    await watched.set(files, sinceMs);
    if (problem !== undefined) {
      const meanwhile = served ? "the previous version keeps serving" : "no version is being served yet";
      return print(`The tools do not load; ${meanwhile}: ${cleanLine(problem)}`);
    }
    if (!isFirst) await reportWaiting(modules, env).catch((error: unknown) => print(`Waiting tasks were not replayed: ${wordOf(error)}`));
    try {
      const before = served?.url;
      await restart();
      if (before === served?.url) print(`Restarted, ${served?.url ?? ""}`);
      else print(banner(served, embedded, dataDir));
    } catch (error) {
      // A port in use, or a wrong setting: no change of a tool file helps.
      if (isFirst) throw error;
      print(`The server does not start: ${wordOf(error)}`);
    }
  }

  if (embedded) endWith(embedded, dataDir);
  try {
    for (let isFirst = true; !stopping.aborted; isFirst = false) {
      await turn(isFirst);
      await watched.changed(stopping);
    }
  } finally {
    watched.close();
    const last = served;
    served = undefined;
    await last?.stop();
    if (embedded) await forgetServing(dataDir);
    await embedded?.close();
  }
  process.exit(0);
}

function wordOf(error: unknown): string {
  return cleanLine(error instanceof Error ? error.message : String(error));
}

function banner(served: Served | undefined, embedded: EmbeddedRedis | undefined, dataDir: string): string {
  const page = served?.playground === undefined ? [] : [`  Playground: ${served.playground}`];
  const redis = embedded ? `${embedded.source} ${embedded.version}, data in ${dataDir}` : "REDIS_URL";
  return [
    `Parley serves ${served?.url ?? ""}`,
    ...page,
    `  Inbox: ${served?.inbox ?? ""}`,
    `  Redis: ${redis}`,
    "  Restarts when a file of the tools changes; waiting tasks are kept. Stop with Ctrl-C.",
  ].join("\n");
}

/** A second signal ends the process at once. */
function stopRequested(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort();
    });
  }
  return stop.signal;
}

function endWith({ ended, closing }: EmbeddedRedis, dataDir: string): void {
  void ended.then(() => {
    if (closing()) return;
    process.stderr.write(`parley: the embedded Redis ended; ${dataDir}/redis.log says why. Its data is kept for the next start.\n`);
    process.exit(1);
  });
}
