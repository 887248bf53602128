/** Tells when files change. Their directories are watched, since editors put another file in the place of the one that they save. */
import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Saving is several events, and a branch that is switched to many: all of them are one change. */
const QUIET_MS = 200;

export interface WatchedFiles {
  /** Watches these instead, and counts as changed those that changed after `sinceMs`, before anybody watched. */
  set(files: readonly string[], sinceMs: number): Promise<void>;
  /** Resolves after a change and a moment of quiet, or when `signal` is aborted. What changed since the last time counts. */
  changed(signal: AbortSignal): Promise<void>;
  close(): void;
}

export function watchFiles(): WatchedFiles {
  const watchers = new Map<string, FSWatcher>();
  let known = new Set<string>();
  let hasChanged = false;
  let timer: NodeJS.Timeout | undefined;
  let wake = (): void => undefined;

  function note(): void {
    hasChanged = true;
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      wake();
    }, QUIET_MS);
  }

  return {
    async set(files, sinceMs) {
      known = new Set(files);
      const directories = new Set(files.map((file) => dirname(file)));
      for (const [directory, watcher] of watchers) {
        if (directories.has(directory)) continue;
        watcher.close();
        watchers.delete(directory);
      }
      for (const directory of directories) {
        if (watchers.has(directory)) continue;
        try {
          const watcher = watch(directory, (_event, name) => {
            if (name === null || known.has(`${directory}/${name}`)) note();
          });
          watcher.on("error", () => watcher.close());
          watchers.set(directory, watcher);
        } catch {
          // A directory of a file that is imported and not there.
        }
      }
      const times = await Promise.all(
        files.map((file) =>
          stat(file).then(
            ({ mtimeMs }) => mtimeMs,
            () => 0,
          ),
        ),
      );
      if (times.some((mtimeMs) => mtimeMs > sinceMs)) note();
    },
    async changed(signal) {
      await new Promise<void>((done) => {
        if (signal.aborted || (hasChanged && timer === undefined)) return done();
        wake = done;
        signal.addEventListener("abort", () => done(), { once: true });
      });
      hasChanged = false;
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}
