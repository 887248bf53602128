/** Does the work for 0 … count − 1, with a limited number at once. */
export async function inParallel(width: number, count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}
