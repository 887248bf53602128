/** Ctrl-C leaves the command and never cancels a task. A second Ctrl-C ends the process at once. */
export const INTERRUPTED = 130;

/** Aborted when the process is asked to stop. What it has begun it ends. A second time ends it at once. */
export function onStop(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

export function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  process.on("SIGINT", () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  });
  return controller.signal;
}
