/** Reports when files change. It watches their directories, since editors replace a file when they save it. */
import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Saving a file causes several events, and switching branches many. They count as one change. */
const QUIET_MS = 200;

export interface WatchedFiles {
  /** Watches these files instead. Files that changed after `sinceMs`, before the watch began, count as changed. */
  set(files: readonly string[], sinceMs: number): Promise<void>;
  /** Resolves after a change and a quiet moment, or when `signal` is aborted. Changes since the last call count. */
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
          // The directory of an imported file that does not exist.
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
