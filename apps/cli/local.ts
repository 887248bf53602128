/**
 * A server on this machine for one command: the one that serves the data directory already, else one in this process. Several commands may share a
 * directory; when the one that serves ends, another takes over, and the waiting tasks are there again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "./serve-all.ts";
import { findServing } from "./serving.ts";

export interface Local {
  /** Of the MCP endpoint. Starts a server when there is none. Throws an Error that says why there can be none. */
  url(): Promise<string>;
  /** The one that was found does not answer any more: the next `url` looks again. */
  lost(): void;
  /** Settles when the server in this process cannot continue, with why. */
  readonly broken: Promise<string>;
  /** Stops what this process started. */
  close(): Promise<void>;
}

/** How long a directory may be in use by a process that does not answer yet. */
const TAKEOVER_MS = 20_000;

export function localServer({ dataDir, tools }: { readonly dataDir: string; readonly tools?: string | undefined }): Local {
  const broken = Promise.withResolvers<string>();
  let own: Promise<Running> | undefined;
  let found: string | undefined;
  let looking: Promise<string> | undefined;

  /** Redis starts while the rest is loaded; neither is, before it is needed: a command that finds a server starts in a third of the time. */
  async function startOwn(): Promise<Running> {
    const serving = import("./serve-all.ts");
    // Told below, if it does not load: not while nobody waits for it.
    serving.catch(() => undefined);
    const { startEmbeddedRedis } = await import("@parley/redis/embedded");
    const embedded = process.env["REDIS_URL"] || process.env["REDIS_URL_FILE"] ? undefined : await startEmbeddedRedis({ dataDir });
    const { serveEverything } = await serving;
    return await serveEverything({ port: "0", tools, dataDir, embedded });
  }

  async function look(): Promise<string> {
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
        // Another command is just starting there, or just ending.
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
      looking ??= look().finally(() => (looking = undefined));
      return await looking;
    },
    lost: () => void (found = undefined),
    async close() {
      await looking?.catch(() => undefined);
      await (await own)?.close();
    },
  };
}
