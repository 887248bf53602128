/** Calls `ask` at most once per `ms` and shares the answer, so that many probes do not become a load of their own. */
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
