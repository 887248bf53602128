/**
 * A run's lease on its task: the token that fences its writes, and how long the run can be sure of the task.
 *
 *   begin ─── lease ───▶│           every write and renewal moves the end of the lease: now + leaseMs
 *        renew ── lease ─────▶│     it expires: the run stops, also if the store answers later
 *
 * Another worker takes the task over only after the lease has expired, and by then this one has stopped, so no step
 * ever runs twice at the same time. The lease counts from before the write was sent, by the same clock as the
 * store's.
 */
import { stopped } from "../run-stopped.ts";
import type { Begun, Fenced, Finish, ParentDue, Parked, ParkRequest, Refused, Report } from "../ports.ts";
import type { KeyedEntry } from "../journal.ts";
import type { Open, ParentLink } from "../task.ts";
import type { Services } from "./services.ts";

/** How late the timer at the end of a lease is at least if the event loop was blocked. A busy loop is late by less. */
const BLOCKED_FROM_MS = 500;

/** A task that a run holds, as the store returned it. */
export type Held = Extract<Begun, { type: "begun" }>;

export interface RunLease {
  readonly token: string;
  /**
   * Aborted when the run must stop, with a RunStopped as the reason: the task was taken over or cancelled, the lease
   * expired, or the run's time is up.
   */
  readonly signal: AbortSignal;
  /** Why the run has to stop although it still holds the task, for the write that ends the run. */
  stoppedBy(): "cancelled" | "timeout" | "draining" | undefined;
  /** Stops the run but keeps the task, for the write that ends it. */
  stop(why: "timeout" | "draining"): void;
  /** Whether the run certainly holds the task. Renews the lease if in doubt. */
  isHeld(): boolean | Promise<boolean>;
  record(entries: readonly KeyedEntry[], asks?: readonly Open[]): Promise<void>;
  report(report: Report): Promise<void>;
  park(request: Omit<ParkRequest, keyof Fenced | "graceMs" | "tenant">): Promise<Parked>;
  /**
   * Sends a write with the run's token. If the store accepts it, the lease is renewed. `change` returns the store's
   * result.
   */
  write(change: (fenced: Fenced & { readonly leaseMs: number }) => Promise<string>): Promise<void>;
  finish(request: Omit<Finish, "parent"> & { readonly parent?: ParentLink }): Promise<"finished" | ParentDue | Refused>;
  settle(entries: readonly KeyedEntry[]): Promise<"settled" | Refused>;
  /** Stops the renewals. */
  release(): void;
}

export interface RunLeaseOptions {
  readonly taskId: string;
  /** Absent for the default tenant. */
  readonly tenant?: string;
  readonly token: string;
  readonly heldUntilMs: number;
  /** Called when something was recorded. */
  readonly progressed?: () => void;
  /** Called when the lease expired because this process' event loop was blocked. */
  readonly blocked?: () => void;
}

export function leaseRun(
  { store, clock, settings, log, stopping }: Services,
  { taskId, tenant, token, progressed, blocked, ...begun }: RunLeaseOptions,
): RunLease {
  const ofTenant = tenant === undefined ? {} : { tenant };
  const { leaseMs, renewEveryMs, graceMs } = settings;
  const stop = new AbortController();
  let isLost = false;
  let stoppedBy: "cancelled" | "timeout" | "draining" | undefined;
  let isReleased = false;
  let stopRenewing: () => void = () => undefined;
  let stopWatching: () => void = () => undefined;
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

  /** A write that renews the lease if it is accepted. */
  async function renewing(write: (fenced: Fenced) => Promise<string>): Promise<void> {
    const fenced = fence();
    const written = await write(fenced);
    if (written === "refused") return lose();
    if (written === "cancelled") stopBy("cancelled");
    else heldUntilMs = Math.max(heldUntilMs, fenced.nowMs + leaseMs);
  }

  const renew = () => renewing((fenced) => store.renew({ ...fenced, leaseMs }));

  function keepRenewing(): void {
    stopRenewing = clock.after(renewEveryMs, () => {
      if (isLost || stoppedBy === "cancelled") return;
      void renewOnce();
    });
  }

  async function renewOnce(): Promise<void> {
    // The store may be reachable again before the lease expires.
    await renew().catch(() => undefined);
    if (!isReleased) keepRenewing();
  }

  /**
   * At most one lease: the store's clock may be set back, for instance by a failover, and a lease from the old clock
   * must not last longer.
   */
  function leftOfLease(): number {
    const nowMs = clock.now();
    heldUntilMs = Math.min(heldUntilMs, nowMs + leaseMs);
    return heldUntilMs - nowMs;
  }

  function watchLease(): void {
    if (isLost || stoppedBy === "cancelled") return;
    const leftMs = leftOfLease();
    if (leftMs > 0) {
      stopWatching = clock.after(leftMs, watchLease);
      return;
    }
    // A timer is that late only if nothing else could run either, renewals included.
    const isBlocked = -leftMs >= BLOCKED_FROM_MS;
    if (isBlocked) blocked?.();
    log.warn({ taskId }, `${isBlocked ? "event loop blocked until the lease expired" : "lease could not be renewed in time"}, run stopped`);
    lose();
  }

  async function isRenewed(): Promise<boolean> {
    await renew().catch(lose);
    return !isLost && stoppedBy === undefined && leftOfLease() > 0;
  }

  const drain = () => stopBy("draining");
  if (stopping?.aborted) drain();
  stopping?.addEventListener("abort", drain);
  keepRenewing();
  watchLease();

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
      await renewing((fenced) => store.record({ ...fenced, entries, ...(asks.length > 0 && { asks, ...ofTenant }), leaseMs }));
      if (entries.length > 0) progressed?.();
    },
    async report(report) {
      const reported = await store.report({ ...fence(), ...report });
      if (reported === "refused") lose();
      if (reported === "cancelled") stopBy("cancelled");
    },
    write: (change) => renewing((fenced) => change({ ...fenced, leaseMs })),
    park: (request) => store.park({ ...fence(), ...ofTenant, ...request, graceMs }),
    finish: ({ parent, ...request }) =>
      store.finish({ ...fence(), ...request, ...(parent && { parent: { link: parent, childEndsMax: settings.journalSizeMax } }) }),
    settle: (entries) => store.settle({ ...fence(), entries }),
    release() {
      stopping?.removeEventListener("abort", drain);
      isReleased = true;
      stopRenewing();
      stopWatching();
    },
  };
}
