/** What has changed and was not told yet. Marking twice is marking once, so it never grows beyond what is followed. */
export interface Marks {
  readonly tasks: MarkSet<string>;
  readonly lists: MarkSet<"tools" | "prompts" | "resources">;
  readonly resources: MarkSet<string>;
  /** Resolves when something is marked, or after `wake`. */
  next(): Promise<void>;
  wake(): void;
}

export interface MarkSet<T> {
  mark(item: T): void;
  /** Takes up to `most` items out, in the order in which they were marked. */
  take(most?: number): T[];
}

export function marks(): Marks {
  let resolveNext: () => void = () => undefined;
  let woken = false;
  const sets: Set<unknown>[] = [];
  const wake = () => {
    woken = true;
    resolveNext();
  };
  const markSet = <T>(): MarkSet<T> => {
    const items = new Set<T>();
    sets.push(items);
    return {
      mark(item) {
        items.add(item);
        resolveNext();
      },
      take(most = Infinity) {
        const taken: T[] = [];
        for (const item of items) {
          if (taken.length >= most) break;
          taken.push(item);
          items.delete(item);
        }
        return taken;
      },
    };
  };
  return {
    tasks: markSet(),
    lists: markSet(),
    resources: markSet(),
    async next() {
      if (!woken && sets.every((items) => items.size === 0)) await new Promise<void>((resolve) => (resolveNext = resolve));
      woken = false;
    },
    wake,
  };
}
