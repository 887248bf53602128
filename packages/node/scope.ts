import { AsyncLocalStorage } from "node:async_hooks";
import { promiseHooks } from "node:v8";
import type { Scope } from "@parley/core";

/** Core's scope on AsyncLocalStorage. Each scope has its own value. */
export function createScope(): Scope {
  const storage = new AsyncLocalStorage<object>();
  return {
    run: (value, work) => storage.run(value, work),
    get: () => storage.getStore(),
    promises: { createHook: (hooks) => promiseHooks.createHook(hooks) as () => void },
    awaitOnlyCtx: new Set(),
    thrownAway: new Map(),
  };
}
