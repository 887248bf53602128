/** What the person has answered on this page. A page may be open for months, so it remembers only what the list can still show, or a task may still ask. */

/** For how long a task is looked at as one that may ask on after an answer. */
const ONWARD_MS = 60_000;
/** Several times what a list shows, and a batch answers. */
const DONE_MAX = 500;

/** Times are by `performance.now()`: the clock may be set meanwhile. */
export function ownAnswers(nowMs: () => number = () => performance.now()) {
  const givenAtMs = new Map<string, number>();
  const done = new Set<string>();
  const isLately = (atMs: number | undefined) => atMs !== undefined && nowMs() - atMs < ONWARD_MS;
  return {
    /** An answer to something that this task asks. */
    gave(task: string): void {
      for (const [each, atMs] of givenAtMs) if (!isLately(atMs)) givenAtMs.delete(each);
      givenAtMs.set(task, nowMs());
    },
    /** When something of this task was last answered. 0 if that is long ago. */
    gaveAtMs: (task: string): number => givenAtMs.get(task) ?? 0,
    isLately: (task: string): boolean => isLately(givenAtMs.get(task)),
    isAnyLately: (): boolean => [...givenAtMs.values()].some(isLately),
    /** Nobody needs to tell this person that the question is gone. */
    close(ask: string): void {
      done.delete(ask);
      done.add(ask);
      const [oldest] = done;
      if (done.size > DONE_MAX && oldest !== undefined) done.delete(oldest);
    },
    /** It is this person's again. */
    reopen: (ask: string): void => void done.delete(ask),
    isClosed: (ask: string): boolean => done.has(ask),
    /** How much it remembers. */
    size: (): number => givenAtMs.size + done.size,
  };
}
