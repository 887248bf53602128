/** Ctrl-C leaves; it never cancels a task. A second one ends the process at once. */
export const INTERRUPTED = 130;

export function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  process.on("SIGINT", () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  });
  return controller.signal;
}
