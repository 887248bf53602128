import type { Clock } from "../ports.ts";

/**
 * How long the check of a call's arguments may take. A schema's own check may ask others and never end, and a caller, an approver or the end of a run waits
 * for it: five seconds are enough for another service, and less than a client waits for a response.
 */
export const ARGUMENTS_CHECK_MAX_MS = 5_000;

/** What an author's schema made of arguments; undefined if it took longer than it may. What it comes to later is ignored. */
export async function inCheckTime<T extends object>(clock: Pick<Clock, "after">, check: T | Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const stopTimer = clock.after(ARGUMENTS_CHECK_MAX_MS, () => late.resolve(undefined));
  return await Promise.race([check, late.promise]).finally(stopTimer);
}

/** `what`: what was checked. */
export function tooLongFor(what: string): string {
  return `checking ${what} took longer than ${ARGUMENTS_CHECK_MAX_MS} ms, so nothing was started. The check is code of its author: it must not wait for what may not come`;
}
