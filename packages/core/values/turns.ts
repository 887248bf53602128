/** Runs `work` in its turn: a bounded number at once, the others wait in order of arrival. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>;

export function turns(atOnce: number): Turn {
  let atWork = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (atWork >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else atWork += 1;
    try {
      return await work();
    } finally {
      // The place passes directly to the next waiter, so a newcomer cannot overtake.
      const next = waiting.shift();
      if (next) next();
      else atWork -= 1;
    }
  };
}
