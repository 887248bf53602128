/** Core's scope, as createScope() of packages/node makes it. */
import { awaitedBy } from "@parley/core";
import { AsyncLocalStorage } from "node:async_hooks";

export const storage = new AsyncLocalStorage<object>();

export const scope = {
  run: <T>(value: object, work: () => T): T => storage.run(value, work),
  get: () => storage.getStore(),
  enter: (value: object) => storage.enterWith(value),
  awaitedBy,
};
