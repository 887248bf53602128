/**
 * Lets long work be done once in each turn of the event loop: sockets and timers that others wait for are served in between, and not after
 * all of it. Resolves when it is the caller's turn.
 */
export function onePerTurn(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return async () => {
    // Immediates that are set together run together: each is set by the one before.
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    await last;
  };
}
