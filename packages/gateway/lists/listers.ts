/** The listers of this process, one for each upstream of the file. */
import { keepListed, type ListerDeps } from "./lister.ts";
import type { Upstream } from "../config/upstreams.ts";
import { describeFailure } from "../wire/describe-failure.ts";

export interface Listers {
  upstreams(): readonly Upstream[];
  /** Starts a lister for each new or changed upstream, and stops those of upstreams that are gone. */
  replace(upstreams: readonly Upstream[]): void;
  /** Resolves when all have stopped. */
  close(): Promise<void>;
}

export function createListers(deps: Omit<ListerDeps, "upstream" | "signal">): Listers {
  const { connector, log, onStatus } = deps;
  const over = new AbortController();
  const listers = new Map<string, { readonly upstream: Upstream; readonly stops: AbortController }>();
  const running = new Set<Promise<void>>();

  function start(upstream: Upstream): void {
    const stops = new AbortController();
    listers.set(upstream.name, { upstream, stops });
    const signal = AbortSignal.any([stops.signal, over.signal]);
    // One that is stopped while it reads would otherwise report an upstream that is gone, or is another one now, and nobody takes that back.
    const report: ListerDeps["onStatus"] = (name, isUp) => (signal.aborted ? undefined : onStatus?.(name, isUp));
    const stopped = keepListed({ ...deps, upstream, signal, onStatus: report })
      .catch((error: unknown) =>
        log.warn({ upstream: upstream.name, problem: describeFailure(error) }, "list of an upstream could not be kept"),
      )
      .finally(() => running.delete(stopped));
    running.add(stopped);
  }

  return {
    upstreams: () => [...listers.values()].map(({ upstream }) => upstream),
    replace(given) {
      const wanted = new Map(given.map((upstream) => [upstream.name, upstream]));
      for (const [name, { upstream, stops }] of listers) {
        if (wanted.get(name)?.fingerprint === upstream.fingerprint) continue;
        stops.abort();
        listers.delete(name);
        connector.forget(upstream);
        onStatus?.(name, undefined);
      }
      for (const [name, upstream] of wanted) if (!listers.has(name)) start(upstream);
    },
    async close() {
      over.abort();
      await Promise.all(running);
    },
  };
}
