/** Errors of handlers that nobody caught, taken to the run whose they are, as a worker does it. */
import * as core from "@parley/core";
import { storage } from "./scope.ts";

interface Strays {
  rejected(promise: object, error: unknown): void;
  handled(promise: object): void;
}

/** Of the engine to come. */
const { straysOf } = core as { straysOf?: (scoped: object | undefined) => Strays | undefined };

/** Listens while `work` is done. `unclaimed` is told of what no run takes, which would end a worker. */
export async function withStrays<T>(work: () => Promise<T>, unclaimed: (error: unknown) => void): Promise<T> {
  const takers = new WeakMap<object, Strays>();
  const rejected = (error: unknown, promise: object) => {
    const strays = straysOf?.(storage.getStore());
    if (!strays) return unclaimed(error);
    takers.set(promise, strays);
    strays.rejected(promise, error);
  };
  const handled = (promise: object) => takers.get(promise)?.handled(promise);
  process.on("unhandledRejection", rejected);
  process.on("rejectionHandled", handled);
  try {
    return await work();
  } finally {
    process.off("unhandledRejection", rejected);
    process.off("rejectionHandled", handled);
  }
}
