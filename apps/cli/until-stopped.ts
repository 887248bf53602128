/**
 * Runs `close` on the first SIGTERM or SIGINT, then exits: with 1 if it resolved to false or rejected, with 0 otherwise. A second signal exits at once.
 * When `broken` resolves, `close` runs too and the exit code is 1.
 */
export function untilStopped(close: () => Promise<boolean | void>, broken?: Promise<void>): void {
  let stopping = false;
  const stop = (code: 0 | 1) => {
    if (stopping) process.exit(1);
    stopping = true;
    void close().then(
      (clean) => process.exit(clean === false ? 1 : code),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", () => stop(0));
  process.on("SIGINT", () => stop(0));
  void broken?.then(() => {
    if (!stopping) stop(1);
  });
}
