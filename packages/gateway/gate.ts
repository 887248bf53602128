/** Limits how many of a kind may be in progress at once. */
export interface Gate {
  /** Returns the function to call on leaving; undefined if the gate is full. */
  enter(): (() => void) | undefined;
  readonly open: number;
}

export function gate(most: number): Gate {
  let open = 0;
  return {
    get open() {
      return open;
    },
    enter() {
      if (open >= most) return undefined;
      open += 1;
      let isInside = true;
      return () => {
        if (isInside) open -= 1;
        isInside = false;
      };
    },
  };
}

/** A gate per key. Empty gates are not kept. */
export function gates(most: number): (name: string) => Gate {
  const byName = new Map<string, Gate>();
  return (name) => ({
    get open() {
      return byName.get(name)?.open ?? 0;
    },
    enter() {
      // Looked up on each entry: two that were looked up before the first one entered must be the same gate.
      const own = byName.get(name) ?? gate(most);
      const leave = own.enter();
      if (!leave) return undefined;
      byName.set(name, own);
      return () => {
        leave();
        // Leaving twice must not drop a gate that was opened under this name in between.
        if (own.open === 0 && byName.get(name) === own) byName.delete(name);
      };
    },
  });
}
