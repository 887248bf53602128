/**
 * Hears from the server that something has changed. Only a page that is seen has a stream, because a browser opens few connections to one
 * server, and every other page of it waits for them.
 */

export interface Following {
  /** Whether changes are told. If not, the page has to ask by itself. */
  isOpen(): boolean;
  stop(): void;
}

interface Told {
  readonly onChange: () => void;
  /** The stream broke. It may come back. */
  readonly onEnd: () => void;
}

/** How long the page does without a stream that the server has refused. */
const REFUSED_MS = 60_000;

export function follow(url: string, { onChange, onEnd }: Told): Following {
  let source: EventSource | undefined;
  let timer = 0;
  let isStopped = false;

  function close(): void {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  }

  function open(): void {
    close();
    if (isStopped || document.hidden) return;
    const opened = new EventSource(url);
    source = opened;
    let wasOpen = false;
    opened.addEventListener("message", () => {
      wasOpen = true;
      onChange();
    });
    opened.addEventListener("error", () => {
      // Once: the browser tries again every few seconds, and each time would put off the page's own next question.
      if (wasOpen) onEnd();
      wasOpen = false;
      // Otherwise the browser comes back by itself.
      if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, REFUSED_MS) as unknown as number;
    });
  }

  document.addEventListener("visibilitychange", open);
  // A page that the browser keeps to go back to holds no connection.
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => source ?? open());
  open();
  return {
    isOpen: () => source?.readyState === EventSource.OPEN,
    stop() {
      isStopped = true;
      close();
    },
  };
}
