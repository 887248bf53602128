/** Core's scope, as createScope() of packages/node makes it. */
import type { PromiseHooks } from "@parley/core";
import { AsyncLocalStorage } from "node:async_hooks";
import { promiseHooks } from "node:v8";

type HookCallbacks = Parameters<PromiseHooks["createHook"]>[0];

export const storage = new AsyncLocalStorage<object>();

export const scope = {
  run: <T>(value: object, work: () => T): T => storage.run(value, work),
  get: () => storage.getStore(),
  promises: { createHook: (hooks: HookCallbacks) => promiseHooks.createHook(hooks) as () => void },
  awaitOnlyCtx: new Set<string>(),
  thrownAway: new Map<string, number>(),
};
