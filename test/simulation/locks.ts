/** Locks and semaphores as people write them by hand, put together from parts: nearly every combination is somebody's code. */
import type { Random } from "../chaos/random.ts";

/** Of each part the first is the plainest. */
export const PARTS = {
  /** Who does the work of those who have to wait. A loop does everybody's, that of the first caller too. */
  doneBy: ["itself", "who lets go", "who lets go, awaited", "who lets go, awaited at once", "loop", "loop, awaited"],
  order: ["first", "last", "priority"],
  /** What waits: a function around the work, or the work and a promise for it. Of those who do their work themselves, a promise. */
  queued: ["wrapper", "work"],
  /** How the holder lets go: before its caller is told, in a reaction that its caller awaits, or after. */
  letsGo: ["finally", "then", "told"],
  /** What the holder awaits before it lets go. */
  aside: ["nothing", "read", "step"],
  /** Whether everybody waits in the queue, even if nobody holds it. */
  isAlwaysAsked: [false, true],
  capacity: [1, 2, 3],
  /** Whether there is one for odd items and one for even ones. */
  isKeyed: [false, true],
} as const;

export type Lock = { readonly [part in keyof typeof PARTS]: (typeof PARTS)[part][number] };
type Work<T> = () => Promise<T>;
interface Holder {
  readonly priority: number;
  readonly aside: (() => Promise<unknown>) | undefined;
}
export type Exclusively = <T>(work: Work<T>, holder: Holder) => Promise<T>;

/** Not one whose holder awaits the work of those who wait: one of these can still be mixed up, as "Limits" of ADR 24 says. */
export function isDrawn(option: unknown): boolean {
  return typeof option !== "string" || !option.includes("awaited");
}

export function drawLock(random: Random): Lock {
  return mapParts((options) => random.pick(random.chance(0.4) ? options.slice(0, 1) : options.filter(isDrawn)));
}

function mapParts(choose: (options: readonly unknown[]) => unknown): Lock {
  return Object.fromEntries(Object.entries(PARTS).map(([part, options]) => [part, choose(options)])) as Lock;
}

/** Whether the holder awaits the work of those who wait as if it were its own. */
export function isHolderDoingAll({ doneBy }: Lock): boolean {
  return doneBy.endsWith("awaited") || doneBy.endsWith("at once");
}

/** A mutex whose queue holds promises. */
export const PLAINEST = mapParts(([first]) => first);

/** The same with one part as plain as it can be. */
export function* plainerLocks(lock: Lock): Generator<Lock> {
  for (const part of Object.keys(PARTS) as (keyof Lock)[]) if (lock[part] !== PLAINEST[part]) yield { ...lock, [part]: PLAINEST[part] };
}

/** That of even items, and that of odd ones. */
export function createLocks(lock: Lock): readonly [Exclusively, Exclusively] {
  const even = createLock(lock);
  return [even, lock.isKeyed ? createLock(lock) : even];
}

function createLock({ doneBy, order, queued, letsGo, isAlwaysAsked, capacity }: Lock): Exclusively {
  const waiting: { readonly priority: number; readonly go: () => Promise<unknown> | void }[] = [];
  let free: number = capacity;
  const isLoop = doneBy === "loop" || doneBy === "loop, awaited";
  const isDoneByHolder = doneBy === "who lets go, awaited" || doneBy === "who lets go, awaited at once";
  let loop: Promise<void> | undefined;

  function next() {
    if (order === "first") return waiting.shift();
    if (order === "last") return waiting.pop();
    const highest = Math.max(...waiting.map(({ priority }) => priority));
    return waiting.splice(
      waiting.findIndex(({ priority }) => priority === highest),
      1,
    )[0];
  }

  async function workOff(): Promise<void> {
    if (doneBy === "who lets go, awaited at once") {
      while (waiting.length > 0) await Promise.all(waiting.splice(0).map(async ({ go }) => await go()));
    } else while (waiting.length > 0) await next()?.go();
    free += 1;
  }

  function passOn(): Promise<void> | void {
    if (isDoneByHolder) return workOff();
    free += 1;
    start();
  }

  function start(): void {
    if (free === 0 || waiting.length === 0) return;
    free -= 1;
    if (isLoop) loop = workOff();
    else void next()?.go();
  }

  function hold<T>(work: Work<T>, { aside }: Holder): Promise<T> {
    const letGo = (): Promise<unknown> | void => (aside ? afterwards(aside) : passOn());
    if (letsGo === "finally") return doneAndLetGo(work, letGo);
    if (letsGo === "then") return work().finally((): unknown => letGo());
    return new Promise((resolve, reject) => {
      void work().then(
        (result) => {
          resolve(result);
          void letGo();
        },
        (error: unknown) => {
          reject(error as Error);
          void letGo();
        },
      );
    });
  }

  async function afterwards(aside: () => Promise<unknown>): Promise<void> {
    await aside();
    const passing = passOn();
    if (passing) await passing;
  }

  function enqueue<T>(work: Work<T>, priority: number): Promise<T> {
    const add = (go: () => Promise<unknown>) => {
      waiting.push({ priority, go });
      start();
    };
    if (queued === "wrapper") {
      return new Promise((resolve, reject) =>
        add(async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error as Error);
          }
        }),
      );
    }
    const { promise, resolve } = Promise.withResolvers<T>();
    add(() => {
      resolve(work());
      return promise.catch(() => undefined);
    });
    return promise;
  }

  async function firstWorksOff<T>(work: Work<T>, priority: number): Promise<T> {
    const before = loop;
    const result = enqueue(work, priority);
    result.catch(() => undefined); // its caller hears of it once the loop is over
    if (loop !== before) await loop;
    return await result;
  }

  function turn(priority: number): Promise<void> {
    return new Promise((resolve) => {
      waiting.push({ priority, go: resolve });
      start();
    });
  }

  async function afterTurn<T>(work: Work<T>, holder: Holder): Promise<T> {
    await turn(holder.priority);
    return await hold(work, holder);
  }

  return (work, holder) => {
    const { priority, aside } = holder;
    if (isLoop) {
      const each = aside ? () => doneAndLetGo(work, aside) : work;
      return doneBy === "loop" ? enqueue(each, priority) : firstWorksOff(each, priority);
    }
    if (free > 0 && (!isAlwaysAsked || isDoneByHolder)) {
      free -= 1;
      return hold(work, holder);
    }
    if (doneBy !== "itself") return enqueue(isDoneByHolder ? work : () => hold(work, holder), priority);
    return letsGo === "then" ? turn(priority).then(() => hold(work, holder)) : afterTurn(work, holder);
  };
}

async function doneAndLetGo<T>(work: Work<T>, letGo: () => Promise<unknown> | void): Promise<T> {
  try {
    return await work();
  } finally {
    const passing = letGo();
    if (passing) await passing;
  }
}
