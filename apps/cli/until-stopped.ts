/** Runs `close` on the first SIGTERM or SIGINT and ends the process with what it says; a second signal ends it at once. */
export function untilStopped(close: () => Promise<boolean | void>): void {
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    void close().then(
      (clean) => process.exit(clean === false ? 1 : 0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}
