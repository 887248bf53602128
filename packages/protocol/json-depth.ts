/** True when arrays and objects nest deeper than `max`. Does not recurse itself, and stops at the first that is too deep. */
export function jsonDepthExceeds(value: unknown, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  const pending: { readonly value: object; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (next.depth > max) return true;
    for (const item of Object.values(next.value) as unknown[]) {
      if (typeof item === "object" && item !== null) pending.push({ value: item, depth: next.depth + 1 });
    }
  }
  return false;
}
