/** What was found out lately, by name: at most so many, the one that was used longest ago gives way, and none beyond its time. */
export interface Recent<Value> {
  get(name: string, nowMs: number): Value | undefined;
  set(name: string, value: Value, untilMs: number): void;
  readonly size: number;
}

export function recent<Value>(most: number): Recent<Value> {
  // A Map keeps the order in which its entries were set: the first is the one that was used longest ago.
  const entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  return {
    get size() {
      return entries.size;
    },
    get(name, nowMs) {
      const found = entries.get(name);
      if (!found) return undefined;
      entries.delete(name);
      if (found.untilMs <= nowMs) return undefined;
      entries.set(name, found);
      return found.value;
    },
    set(name, value, untilMs) {
      entries.delete(name);
      entries.set(name, { value, untilMs });
      const [oldest] = entries.keys();
      if (entries.size > most && oldest !== undefined) entries.delete(oldest);
    },
  };
}
