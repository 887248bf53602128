/** A bounded cache: the least recently used entry is evicted first, and each entry expires at its own time. */
export interface Recent<Value> {
  get(name: string, nowMs: number): Value | undefined;
  set(name: string, value: Value, untilMs: number): void;
  readonly size: number;
}

export function recent<Value>(entriesMax: number): Recent<Value> {
  // A Map keeps insertion order, and each use reinserts an entry, so the first one is the least recently used.
  const entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  return {
    get size() {
      return entries.size;
    },
    get(name, nowMs) {
      const entry = entries.get(name);
      if (!entry) return undefined;
      entries.delete(name);
      if (entry.untilMs <= nowMs) return undefined;
      entries.set(name, entry);
      return entry.value;
    },
    set(name, value, untilMs) {
      entries.delete(name);
      entries.set(name, { value, untilMs });
      const [oldest] = entries.keys();
      if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
    },
  };
}
