/** Runs `work` when it is its turn: at most so many are at work at once, the others wait in the order in which they came. */
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
      // The place passes on without becoming free, so that nobody who comes now overtakes.
      const next = waiting.shift();
      if (next) next();
      else atWork -= 1;
    }
  };
}
