/**
 * Admits one piece of long work per turn of the event loop, so that sockets and timers are served in between. The promise resolves when it
 * is the caller's turn.
 */
export function onePerTurn(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return async () => {
    // Immediates that are set together run in the same turn, so each one is set after the one before has run.
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    await last;
  };
}
