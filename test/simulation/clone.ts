/** What structuredClone does to plain data, ten times as fast: the memory store copies whatever goes in and out. */
export function clonePlain<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  if (value instanceof Map) return new Map([...value].map(([key, each]) => [copy(key), copy(each)]));
  const plain = value as Record<string, unknown>;
  const copied: Record<string, unknown> = {};
  for (const key in plain) copied[key] = copy(plain[key]);
  return copied;
}
