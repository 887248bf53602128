/** The life of a process that serves: from its start to the signal that stops it. */

export interface Running {
  /** Finishes what is at work. Resolves to false if something was left undone. */
  close(): Promise<boolean | void>;
  /** Resolves when the process cannot continue. */
  readonly broken?: Promise<void>;
}

/**
 * Resolves when the process has started, with what `start` rejects if it has not. From then on the first SIGTERM or SIGINT closes it, and it
 * exits: with 0, or with 1 if something was left undone or it was broken. A second signal, or one that comes before the process has started,
 * ends it at once with 1.
 *
 * It listens before it starts anything. The first process of a container has no default action for these signals, so one that came while the
 * process still waited for Redis would be lost, and the process would then serve until it is killed.
 */
export async function untilStopped(start: () => Promise<Running>): Promise<void> {
  const exitAtOnce = () => process.exit(1);
  let onSignal: () => void = exitAtOnce;
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => onSignal());
  const running = await start();

  function stop(code: 0 | 1): void {
    const isStopping = onSignal === exitAtOnce;
    if (isStopping) return;
    onSignal = exitAtOnce;
    void running.close().then(
      (finished) => process.exit(finished === false ? 1 : code),
      () => process.exit(1),
    );
  }

  onSignal = () => stop(0);
  void running.broken?.then(() => stop(1));
}
