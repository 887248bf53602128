/** Limits how many callers proceed at once. The others wait, in the order in which they came. */
export interface Slots {
  /** Resolves to a function that releases the slot. Throws if `signal` is aborted while the caller waits. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function sendSlots(most: number): Slots {
  const waiting = new Set<() => void>();
  let taken = 0;

  function free(): void {
    const [next] = waiting;
    if (next) {
      waiting.delete(next);
      next();
    } else taken -= 1;
  }

  return {
    async take(signal) {
      if (taken < most) taken += 1;
      else {
        await new Promise<void>((resolve, reject) => {
          const giveUp = (): void => {
            waiting.delete(turn);
            reject(signal.reason as Error);
          };
          const turn = (): void => {
            signal.removeEventListener("abort", giveUp);
            resolve();
          };
          waiting.add(turn);
          signal.addEventListener("abort", giveUp);
        });
      }
      return free;
    },
  };
}
