/**
 * A server on this machine for one command: the one that already serves the data directory, or else one in this process. Several commands may share a
 * directory. When the one that serves it ends, another takes over and finds the waiting tasks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "./serve-all.ts";
import { findServing, tellLoading } from "../deployment/serving-address.ts";

export interface Local {
  /** URL of the MCP endpoint. Starts a server if there is none. Throws an Error that says why it cannot. */
  url(): Promise<string>;
  /** Reports that the server does not respond any more: the next `url` looks for another. */
  lost(): void;
  /** Resolves to the reason when the server in this process cannot continue. */
  readonly broken: Promise<string>;
  /** Stops what this process started. */
  close(): Promise<void>;
}

/** How long a directory may be in use by a process that does not respond yet. */
const TAKEOVER_MS = 20_000;

export function localServer({ dataDir, tools }: { readonly dataDir: string; readonly tools?: string | undefined }): Local {
  const broken = Promise.withResolvers<string>();
  let own: Promise<Running> | undefined;
  let found: string | undefined;
  let searching: Promise<string> | undefined;

  /** Starts Redis while the other modules load. Both happen only when needed: a command that finds a server starts three times as fast. */
  async function startOwn(): Promise<Running> {
    const serving = import("./serve-all.ts");
    // Avoids an unhandled rejection. If the import fails, the await below throws.
    serving.catch(() => undefined);
    const { startEmbeddedRedis } = await import("@parley/redis/embedded");
    const embedded =
      process.env["REDIS_URL"] || process.env["REDIS_URL_FILE"]
        ? undefined
        : await startEmbeddedRedis({ dataDir, onLoading: () => tellLoading(dataDir) });
    const { serveEverything } = await serving;
    return await serveEverything({ port: "0", tools, dataDir, embedded });
  }

  async function findOrStart(): Promise<string> {
    for (const deadlineMs = Date.now() + TAKEOVER_MS; ;) {
      found = await findServing(dataDir);
      if (found !== undefined) return found;
      try {
        own = startOwn();
        const running = await own;
        void running.broken.then(() => broken.resolve("the worker cannot continue"));
        void running.embedded?.ended.then(() => {
          if (!running.embedded?.closing()) broken.resolve(`the embedded Redis ended; ${dataDir}/redis.log says why`);
        });
        return running.url;
      } catch (error) {
        own = undefined;
        // Another command is starting or ending in this directory.
        if (!(error as { inUse?: boolean }).inUse || Date.now() > deadlineMs) throw error;
        await sleep(100);
      }
    }
  }

  return {
    broken: broken.promise,
    async url() {
      if (own) return (await own).url;
      if (found !== undefined) return found;
      searching ??= findOrStart().finally(() => (searching = undefined));
      return await searching;
    },
    lost: () => void (found = undefined),
    async close() {
      await searching?.catch(() => undefined);
      await (await own)?.close();
    },
  };
}
