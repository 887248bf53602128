/**
 * Runs `close` on the first SIGTERM or SIGINT and ends the process with what it says; a second signal ends it at once. So does `broken`, and the
 * process ends with 1 then.
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
