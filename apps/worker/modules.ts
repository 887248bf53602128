/** Starts the modules that tools share in this worker (`defineModule`) one after another before its first run, and stops them in reverse order after its last. */
import { type Clock, describeError, type Log, type Module } from "@parley/core";

export interface StartedModules {
  /** Never throws: a module that fails to stop, or not in time, is logged. */
  stop(): Promise<void>;
}

export interface StartModules {
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, "sleep">;
  readonly log: Log;
}

/** If a module does not start, stops those before it and throws an Error that names it. */
export async function startModules(modules: readonly Module[], options: StartModules): Promise<StartedModules> {
  const { clock, log, timeoutMs } = options;
  const started: Module[] = [];

  async function inTime(work: Promise<void>): Promise<void> {
    const done = new AbortController();
    const late = clock.sleep(timeoutMs, done.signal).then(() => {
      if (!done.signal.aborted) throw new Error(`it took longer than ${timeoutMs} ms (PARLEY_MODULE_TIMEOUT)`);
    });
    try {
      await Promise.race([work, late]);
    } finally {
      done.abort();
    }
  }

  async function stop(): Promise<void> {
    for (const module of started.toReversed()) {
      try {
        await inTime(module.stop());
      } catch (error) {
        log.warn({ module: module.name, ...describeError(error) }, "module did not stop");
      }
    }
    started.length = 0;
  }

  for (const module of modules) {
    try {
      await inTime(module.start());
      started.push(module);
    } catch (cause) {
      await stop();
      const problem = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`the module "${module.name}" did not start: ${problem}`, { cause });
    }
  }
  if (started.length > 0) log.info({ modules: started.map(({ name }) => name) }, "modules started");
  return { stop };
}
