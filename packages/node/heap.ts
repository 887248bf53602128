import { setFlagsFromString } from "node:v8";

/**
 * For processes that run handlers, before the first run. Everything of a run is over within milliseconds, and a collection of the young generation
 * frees it almost without cost.
 *
 * V8 notes where objects are made that outlive such a collection, and makes those of the same place among the old ones from then on. At a time when many
 * runs begin at once, they outlive one, and from then on each run that is over stays with all that it has made until a full collection, because one
 * of its objects is old. A quarter of a worker's time was spent on that (bench/RESULTS.md), so V8 is told not to.
 */
export function expectShortLives(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}
