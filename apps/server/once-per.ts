/** Asks at most once in `ms`, regardless of the number of callers: many probes must not become a load of their own. */
export function oncePer<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let askedAtMs = -Infinity;
  let answer: Promise<T> | undefined;
  return async () => {
    if (!answer || performance.now() - askedAtMs >= ms) {
      askedAtMs = performance.now();
      answer = ask();
    }
    return await answer;
  };
}
