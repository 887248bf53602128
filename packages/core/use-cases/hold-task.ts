/**
 * A run's hold on its task: the token that fences its writes, and the lease that says how long it is sure of it.
 *
 *   begin ─── lease ───▶│           every write and renewal moves the end of the lease: now + leaseMs
 *        renew ── lease ─────▶│     it runs out: the run stops, whatever the store says later
 *
 * Another worker takes the task over only when the lease has run out, and by then this one has stopped: a step never runs twice side by side
 * (P6). The lease counts from before the write was sent, by the same clock as the store's.
 */
import { OVER } from "../over.ts";
import type { Fenced, Finish, Parked, ParkRequest, Refused, Report } from "../ports.ts";
import type { KeyedEntry } from "../journal.ts";
import type { Open } from "../task.ts";
import type { Services } from "./services.ts";

export interface Hold {
  readonly token: string;
  /** Aborted when the run must stop: its task was taken over or cancelled, its lease ran out, or its time is over. */
  readonly signal: AbortSignal;
  /** Whether it was the run's time. */
  isTimedOut(): boolean;
  /** Stops the run, and keeps its hold, for the write that ends the task. */
  timeOut(): void;
  /** Whether it is held for sure, renewing it if there is doubt. */
  isHeld(): boolean | Promise<boolean>;
  record(entries: readonly KeyedEntry[], asks?: readonly Open[]): Promise<void>;
  report(report: Report): Promise<void>;
  park(request: Omit<ParkRequest, keyof Fenced | "graceMs">): Promise<Parked>;
  finish(request: Finish): Promise<"finished" | Refused>;
  /** Ends the renewals. */
  release(): void;
}

export interface HoldTask {
  readonly taskId: string;
  readonly token: string;
  readonly heldUntilMs: number;
  /** Called when something was recorded. */
  readonly progressed?: () => void;
}

export function holdTask({ store, clock, settings, log }: Services, { taskId, token, progressed, ...begun }: HoldTask): Hold {
  const { leaseMs, renewEveryMs, graceMs } = settings;
  const stop = new AbortController();
  let isLost = false;
  let isTimedOut = false;
  const released = new AbortController();
  let heldUntilMs = begun.heldUntilMs;
  const fence = (): Fenced => ({ taskId, token, nowMs: clock.now() });

  function lose(): void {
    isLost = true;
    stop.abort(OVER);
  }

  /** A write that renews the lease if it is taken. */
  async function renewing(write: (fenced: Fenced) => Promise<string>): Promise<void> {
    const fenced = fence();
    if ((await write(fenced)) === "refused") lose();
    else heldUntilMs = Math.max(heldUntilMs, fenced.nowMs + leaseMs);
  }

  const renew = () => renewing((fenced) => store.renew({ ...fenced, leaseMs }));

  async function keepRenewing(): Promise<void> {
    for (;;) {
      await clock.sleep(renewEveryMs, released.signal);
      if (released.signal.aborted || isLost) return;
      // A store that is away may be back before the lease has run out.
      await renew().catch(() => undefined);
    }
  }

  async function watchLease(): Promise<void> {
    for (;;) {
      const leftMs = heldUntilMs - clock.now();
      if (leftMs <= 0) {
        log.warn({ taskId }, "lease could not be renewed in time, run stopped");
        lose();
        return;
      }
      await clock.sleep(leftMs, released.signal);
      if (released.signal.aborted || isLost) return;
    }
  }

  async function isRenewed(): Promise<boolean> {
    await renew().catch(lose);
    return !isLost && clock.now() < heldUntilMs;
  }

  void keepRenewing();
  void watchLease();

  return {
    token,
    signal: stop.signal,
    isTimedOut: () => isTimedOut && !isLost,
    timeOut() {
      isTimedOut = true;
      stop.abort(OVER);
    },
    isHeld() {
      if (isLost) return false;
      return clock.now() < heldUntilMs || isRenewed();
    },
    async record(entries, asks = []) {
      await renewing((fenced) => store.record({ ...fenced, entries, ...(asks.length > 0 && { asks }), leaseMs }));
      if (entries.length > 0) progressed?.();
    },
    async report(report) {
      if ((await store.report({ ...fence(), ...report })) === "refused") lose();
    },
    park: (request) => store.park({ ...fence(), ...request, graceMs }),
    finish: (request) => store.finish({ ...fence(), ...request }),
    release: () => released.abort(OVER),
  };
}
