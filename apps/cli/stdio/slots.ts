/** So many at once; the others wait for their turn, first come first served. */
export interface Slots {
  /** Resolves with what gives the slot back. Throws when the wait is given up. */
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
