/** Ctrl-C leaves the command and never cancels a task. A second Ctrl-C ends the process at once. */
export const INTERRUPTED = 130;

export function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  process.on("SIGINT", () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  });
  return controller.signal;
}
