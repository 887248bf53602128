/**
 * Follows changes of the file of upstreams. The file, and the files with credentials that it refers to, are read
 * periodically: a file watcher would miss changes of a ConfigMap, which replaces links. A module is loaded again when
 * its file has changed. Invalid content changes nothing, and the log reports what is wrong with it.
 */
import { statSync } from "node:fs";
import { describeError, type Log } from "@parley/core";
import { isConfigModule, loadConfig, loadConfigNow } from "./config-module.ts";
import { loadedUpstreams, type ReadUpstreams, readUpstreams, type Upstream, UpstreamsError } from "./upstreams.ts";

export interface UpstreamsFile {
  /** The content when the process started. */
  readonly upstreams: readonly Upstream[];
  /** Calls `onChange` after every valid change. Returns a function that stops this. */
  watch(watching: {
    readonly log: Log;
    readonly onChange: (upstreams: readonly Upstream[]) => void;
    readonly everyMs?: number;
  }): () => void;
}

export interface OpenUpstreamsFile extends ReadUpstreams {
  /** How long a module may take to load. */
  readonly loadMs?: number;
}

const READ_EVERY_MS = 2_000;
/** How long a module that failed to load is left alone if its file does not change. What it imports may have been fixed. */
const LOAD_AGAIN_MS = 30_000;

interface Source {
  readonly first: readonly Upstream[];
  /** What the file contains now. Throws UpstreamsError. */
  again(stopped: AbortSignal): readonly Upstream[] | Promise<readonly Upstream[]>;
}

/** Throws UpstreamsError with all problems. */
export function openUpstreamsFile(file: string, options: OpenUpstreamsFile = {}): UpstreamsFile {
  const source = isConfigModule(file) ? openModule(file, options) : openText(file, options);
  return {
    upstreams: source.first,
    watch({ log, onChange, everyMs = READ_EVERY_MS }) {
      const stopped = new AbortController();
      let last = stateOf(source.first);
      let seen = last;
      let lastProblem: string | undefined;
      let isReading = false;

      async function readAgain(): Promise<void> {
        if (isReading) return;
        isReading = true;
        try {
          const read = await source.again(stopped.signal);
          if (stopped.signal.aborted) return;
          lastProblem = undefined;
          const state = stateOf(read);
          // Half of a YAML file may be valid, and the half of a url may be another host: a change counts once two readings agree.
          const isWhole = state === seen;
          seen = state;
          if (state === last || !isWhole) return;
          last = state;
          log.info({ upstreams: read.map(({ name }) => name) }, "file of upstreams has changed");
          onChange(read);
        } catch (error) {
          if (stopped.signal.aborted) return;
          // The stack would say nothing about a mistake in the file.
          const fields = error instanceof UpstreamsError ? { file, problems: error.problems } : describeError(error);
          const problem = JSON.stringify(fields);
          if (problem !== lastProblem) log.error(fields, "file of upstreams is invalid, its last valid content stays in effect");
          lastProblem = problem;
        } finally {
          isReading = false;
        }
      }

      const timer = setInterval(() => void readAgain(), everyMs);
      timer.unref();
      return () => {
        clearInterval(timer);
        stopped.abort();
      };
    },
  };
}

function openText(file: string, options: ReadUpstreams): Source {
  return { first: readUpstreams(file, options), again: () => readUpstreams(file, options) };
}

function openModule(file: string, { loadMs, ...options }: OpenUpstreamsFile): Source {
  // Looked at before the file is loaded, so that a change in the meantime is not missed.
  let version = versionOf(file);
  let loaded = loadConfigNow(file, loadMs);
  let againAtMs = Infinity;
  return {
    first: loadedUpstreams(file, loaded, options),
    async again(signal) {
      const present = versionOf(file);
      if (present !== version || performance.now() >= againAtMs) {
        version = present;
        loaded = await loadConfig(file, { signal, ...(loadMs !== undefined && { loadMs }) });
        againAtMs = "problem" in loaded ? performance.now() + LOAD_AGAIN_MS : Infinity;
      }
      return loadedUpstreams(file, loaded, options);
    },
  };
}

function versionOf(file: string): string {
  try {
    const { mtimeNs, ctimeNs, size, ino } = statSync(file, { bigint: true });
    return [mtimeNs, ctimeNs, size, ino].join();
  } catch {
    return "gone";
  }
}

function stateOf(upstreams: readonly Upstream[]): string {
  return upstreams.map(({ fingerprint }) => fingerprint).join();
}
