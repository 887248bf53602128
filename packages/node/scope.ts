import { AsyncLocalStorage } from "node:async_hooks";
import { awaitedBy, type Scope } from "@parley/core";

/** Core's scope on AsyncLocalStorage. Each scope has its own value. */
export function createScope(): Scope {
  const storage = new AsyncLocalStorage<object>();
  return {
    run: (value, work) => storage.run(value, work),
    get: () => storage.getStore(),
    enter: (value) => storage.enterWith(value),
    awaitedBy,
  };
}
