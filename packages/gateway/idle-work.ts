/**
 * Background work, such as closing a session or opening one for a later call. It starts when no run has been active for a moment, so that it delays
 * none, and after a maximum delay in any case.
 */
export interface Quiet {
  /** Marks a run as active until the returned function is called. */
  enter(): () => void;
  whenQuiet(work: () => void): void;
  /** Starts the delayed work, and delays nothing from now on. */
  close(): void;
}

export interface QuietOptions {
  readonly afterMs?: number;
  readonly atLatestMs?: number;
}

export function createQuiet({ afterMs = 20, atLatestMs = 250 }: QuietOptions = {}): Quiet {
  let runs = 0;
  let isClosed = false;
  let putOff: (() => void)[] = [];
  let soon: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;

  function doAll(): void {
    clearTimeout(soon);
    clearTimeout(late);
    late = undefined;
    const works = putOff;
    putOff = [];
    for (const work of works) work();
  }

  function wait(): void {
    clearTimeout(soon);
    if (runs === 0 && putOff.length > 0) soon = setTimeout(doAll, afterMs);
  }

  return {
    enter() {
      runs += 1;
      clearTimeout(soon);
      let isIn = true;
      return () => {
        if (isIn) runs -= 1;
        isIn = false;
        wait();
      };
    },
    whenQuiet(work) {
      if (isClosed) return work();
      putOff.push(work);
      late ??= setTimeout(doAll, atLatestMs);
      wait();
    },
    close() {
      isClosed = true;
      doAll();
    },
  };
}
