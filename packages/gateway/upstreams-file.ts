/**
 * The file of upstreams over time: it is read again and again, since it may be a ConfigMap, whose links tell no watcher of a change. So are the
 * files with credentials that it refers to. A content that does not fit changes nothing, and the log says what is wrong with it.
 */
import { describeError, type Log } from "@parley/core";
import { type ReadUpstreams, readUpstreams, type Upstream, UpstreamsError } from "./upstreams.ts";

export interface UpstreamsFile {
  /** As it was when the process began. */
  readonly upstreams: readonly Upstream[];
  /** Calls back with every later state of it. Returns what ends that. */
  watch(watching: {
    readonly log: Log;
    readonly onChange: (upstreams: readonly Upstream[]) => void;
    readonly everyMs?: number;
  }): () => void;
}

const READ_EVERY_MS = 2_000;

/** Throws UpstreamsError with all problems. */
export function openUpstreamsFile(file: string, options: ReadUpstreams = {}): UpstreamsFile {
  const upstreams = readUpstreams(file, options);
  return {
    upstreams,
    watch({ log, onChange, everyMs = READ_EVERY_MS }) {
      let last = stateOf(upstreams);
      let lastProblem: string | undefined;
      const timer = setInterval(() => {
        try {
          const read = readUpstreams(file, options);
          lastProblem = undefined;
          if (stateOf(read) === last) return;
          last = stateOf(read);
          log.info({ upstreams: read.map(({ name }) => name) }, "file of upstreams has changed");
          onChange(read);
        } catch (error) {
          const problems = error instanceof UpstreamsError ? error.problems : [];
          const problem = problems.join("\n");
          if (problem !== lastProblem)
            log.error({ ...describeError(error), problems }, "file of upstreams does not fit, what was before stays");
          lastProblem = problem;
        }
      }, everyMs);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

function stateOf(upstreams: readonly Upstream[]): string {
  return upstreams.map(({ fingerprint }) => fingerprint).join();
}
