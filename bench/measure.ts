/** Arithmetic of the measurements. */

/** The value below which `share` of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Runs `work` `count` times, `clients` at once; resolves to the milliseconds of each and the wall time of all. */
export async function inParallel(
  clients: number,
  count: number,
  work: () => Promise<void>,
): Promise<{ latencies: number[]; wallMs: number }> {
  const latencies: number[] = [];
  let left = count;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (left > 0) {
        left -= 1;
        const sentAt = performance.now();
        await work();
        latencies.push(performance.now() - sentAt);
      }
    }),
  );
  return { latencies, wallMs: performance.now() - startedAt };
}
