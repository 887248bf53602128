/**
 * A run's lease on its task: the token that fences its writes, and how long it is sure of it.
 *
 *   begin ─── lease ───▶│           every write and renewal moves the end of the lease: now + leaseMs
 *        renew ── lease ─────▶│     it runs out: the run stops, regardless of what the store says later
 *
 * Another worker takes the task over only when the lease has run out, and by then this one has stopped: a step never runs twice side by side
 * (P6). The lease counts from before the write was sent, by the same clock as the store's.
 */
import { OVER } from "../over.ts";
import { stopped } from "../run-stopped.ts";
import type { Begun, Fenced, Finish, ParentDue, Parked, ParkRequest, Refused, Report } from "../ports.ts";
import type { KeyedEntry } from "../journal.ts";
import type { Open, ParentLink } from "../task.ts";
import type { Services } from "./services.ts";

/** A task that a run holds, as the store handed it over. */
export type Held = Extract<Begun, { type: "begun" }>;

export interface RunLease {
  readonly token: string;
  /** Aborted when the run must stop, with why (RunStopped): its task was taken over or cancelled, its lease ran out, or its time is over. */
  readonly signal: AbortSignal;
  /** Why the run has to stop, while the task is still held: for the write that ends the run. */
  stoppedBy(): "cancelled" | "timeout" | "draining" | undefined;
  /** Stops the run, and keeps its task, for the write that ends the task. */
  stop(why: "timeout" | "draining"): void;
  /** Whether it is held for sure, renewing it if there is doubt. */
  isHeld(): boolean | Promise<boolean>;
  record(entries: readonly KeyedEntry[], asks?: readonly Open[]): Promise<void>;
  report(report: Report): Promise<void>;
  park(request: Omit<ParkRequest, keyof Fenced | "graceMs">): Promise<Parked>;
  /** A write that is fenced by the token, and renews the lease if it is taken; it says what became of it. */
  write(change: (fenced: Fenced & { readonly leaseMs: number }) => Promise<string>): Promise<void>;
  finish(request: Omit<Finish, "parent"> & { readonly parent?: ParentLink }): Promise<"finished" | ParentDue | Refused>;
  settle(entries: readonly KeyedEntry[]): Promise<"settled" | Refused>;
  /** Ends the renewals. */
  release(): void;
}

export interface RunLeaseOptions {
  readonly taskId: string;
  readonly token: string;
  readonly heldUntilMs: number;
  /** Called when something was recorded. */
  readonly progressed?: () => void;
}

export function leaseRun(
  { store, clock, settings, log, stopping }: Services,
  { taskId, token, progressed, ...begun }: RunLeaseOptions,
): RunLease {
  const { leaseMs, renewEveryMs, graceMs } = settings;
  const stop = new AbortController();
  let isLost = false;
  let stoppedBy: "cancelled" | "timeout" | "draining" | undefined;
  const released = new AbortController();
  let heldUntilMs = begun.heldUntilMs;
  const fence = (): Fenced => ({ taskId, token, nowMs: clock.now() });

  function lose(): void {
    isLost = true;
    stop.abort(stopped("lost"));
  }

  function stopBy(why: NonNullable<typeof stoppedBy>): void {
    stoppedBy ??= why;
    stop.abort(stopped(why));
  }

  /** A write that renews the lease if it is taken. */
  async function renewing(write: (fenced: Fenced) => Promise<string>): Promise<void> {
    const fenced = fence();
    const written = await write(fenced);
    if (written === "refused") return lose();
    if (written === "cancelled") stopBy("cancelled");
    else heldUntilMs = Math.max(heldUntilMs, fenced.nowMs + leaseMs);
  }

  const renew = () => renewing((fenced) => store.renew({ ...fenced, leaseMs }));

  async function keepRenewing(): Promise<void> {
    for (;;) {
      await clock.sleep(renewEveryMs, released.signal);
      if (released.signal.aborted || isLost || stoppedBy === "cancelled") return;
      // A store that is away may be back before the lease has run out.
      await renew().catch(() => undefined);
    }
  }

  /** Never more than a lease: the store's clock may be set back, as by a failover, and what was held by the old one is held no longer than that. */
  function leftOfLease(): number {
    const nowMs = clock.now();
    heldUntilMs = Math.min(heldUntilMs, nowMs + leaseMs);
    return heldUntilMs - nowMs;
  }

  async function watchLease(): Promise<void> {
    for (;;) {
      if (stoppedBy === "cancelled") return;
      const leftMs = leftOfLease();
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
    return !isLost && stoppedBy === undefined && leftOfLease() > 0;
  }

  const drain = () => stopBy("draining");
  if (stopping?.aborted) drain();
  stopping?.addEventListener("abort", drain);
  void keepRenewing();
  void watchLease();

  return {
    token,
    signal: stop.signal,
    stoppedBy: () => (isLost ? undefined : stoppedBy),
    stop: stopBy,
    isHeld() {
      if (isLost || stoppedBy !== undefined) return false;
      return leftOfLease() > 0 || isRenewed();
    },
    async record(entries, asks = []) {
      await renewing((fenced) => store.record({ ...fenced, entries, ...(asks.length > 0 && { asks }), leaseMs }));
      if (entries.length > 0) progressed?.();
    },
    async report(report) {
      const reported = await store.report({ ...fence(), ...report });
      if (reported === "refused") lose();
      if (reported === "cancelled") stopBy("cancelled");
    },
    write: (change) => renewing((fenced) => change({ ...fenced, leaseMs })),
    park: (request) => store.park({ ...fence(), ...request, graceMs }),
    finish: ({ parent, ...request }) =>
      store.finish({ ...fence(), ...request, ...(parent && { parent: { link: parent, toldMax: settings.journalSizeMax } }) }),
    settle: (entries) => store.settle({ ...fence(), entries }),
    release() {
      stopping?.removeEventListener("abort", drain);
      released.abort(OVER);
    },
  };
}
