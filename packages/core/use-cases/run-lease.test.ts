/** A run's lease on its task: which clock it counts by, and what ends it. */
import { createScope, createValidator, sha256Digest } from "@parley/node";
import { describe, expect, test } from "vitest";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import { leaseRun } from "./run-lease.ts";
import type { Services } from "./services.ts";

const LEASE_MS = 100;
const RENEW_EVERY_MS = 30;
const away = () => Promise.reject(new Error("away"));

/** A task that has just begun, and its lease. `over` replaces methods of the store. */
async function held(over: (memory: TaskStore) => Partial<TaskStore> = () => ({})) {
  const { clock: hand, ...time } = createHandClock();
  let setBackMs = 0;
  const clock = { ...hand, now: () => hand.now() - setBackMs };
  const wakeUps = createMemoryWakeUps();
  const memory = createMemoryStore({ clock, wakeUps });
  const startMs = clock.now();
  const renewedAtMs: number[] = [];
  const warnings: [object, string][] = [];
  const replaced = over(memory);
  const renew = replaced.renew ?? memory.renew;
  const store: TaskStore = {
    ...memory,
    ...replaced,
    renew(request) {
      renewedAtMs.push(clock.now() - startMs);
      return renew(request);
    },
  };
  const quiet = () => undefined;
  const services: Services = {
    store,
    queue: { add: async () => undefined },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => "0-1", token: () => "token", uuid: () => crypto.randomUUID(), random: () => 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: quiet, info: quiet, warn: (fields, message) => void warnings.push([fields, message]), error: quiet },
    settings: { ...DEFAULT_SETTINGS, leaseMs: LEASE_MS, renewEveryMs: RENEW_EVERY_MS, graceMs: 7 },
  };
  const call = {
    kind: "tool",
    name: "subject",
    arguments: {},
    principal: "alice",
    capabilities: {},
    createdAtMs: startMs,
    retentionMs: 1_000_000,
    seed: "seed",
    hidden: false,
  } as const;
  await memory.create({ taskId: "0-1", call, graceMs: 7 });
  await memory.begin({ taskId: "0-1", run: 1, token: "token", nowMs: startMs, leaseMs: LEASE_MS });
  let blockings = 0;
  const blocked = () => void (blockings += 1);
  const lease = leaseRun(services, { taskId: "0-1", token: "token", heldUntilMs: startMs + LEASE_MS, blocked });
  /** Whether another worker could take the task over. */
  const isFree = async () => (await memory.overdue({ partition: 0, nowMs: clock.now(), limit: 1 })).length > 0;
  return {
    lease,
    memory,
    clock,
    time,
    renewedAtMs,
    warnings,
    isFree,
    blockings: () => blockings,
    setBack: (ms: number) => void (setBackMs = ms),
  };
}

describe("a run's lease", () => {
  test("is renewed again and again, so that the task cannot be taken over, until it is released", async () => {
    const { lease, time, renewedAtMs, isFree, warnings } = await held();
    await time.pass(10 * LEASE_MS);
    expect(renewedAtMs.slice(0, 3)).toStrictEqual([30, 60, 90]);
    expect([lease.isHeld(), lease.signal.aborted, await isFree()]).toStrictEqual([true, false, false]);
    lease.release();
    const { length } = renewedAtMs;
    await time.pass(10 * LEASE_MS);
    expect(renewedAtMs).toHaveLength(length);
    expect(time.sleeping()).toStrictEqual([]);
    expect([lease.signal.aborted, warnings]).toStrictEqual([false, []]);
    expect(lease.token).toBe("token");
  });

  test("that is released while a renewal is on its way is not renewed again", async () => {
    const reply = Promise.withResolvers<"renewed">();
    const { lease, time, renewedAtMs } = await held(() => ({ renew: () => reply.promise }));
    await time.pass(RENEW_EVERY_MS);
    lease.release();
    reply.resolve("renewed");
    await time.pass(10 * LEASE_MS);
    expect(renewedAtMs).toStrictEqual([RENEW_EVERY_MS]);
    expect(time.sleeping()).toStrictEqual([]);
  });

  test("is lost at its end when no renewal succeeded, not a moment before, and the run is notified", async () => {
    const { lease, time, warnings, isFree } = await held(() => ({ renew: away }));
    await time.pass(LEASE_MS - 1);
    expect([lease.isHeld(), lease.signal.aborted, warnings]).toStrictEqual([true, false, []]);
    await time.pass(1);
    expect([lease.isHeld(), lease.signal.aborted, await isFree()]).toStrictEqual([false, true, true]);
    expect(warnings).toStrictEqual([[{ taskId: "0-1" }, "lease could not be renewed in time, run stopped"]]);
    await time.pass(LEASE_MS);
    expect(time.sleeping()).toStrictEqual([]);
  });

  test("says so when it is lost because nothing could run until it expired", async () => {
    const { lease, time, warnings, blockings } = await held(() => ({ renew: away }));
    time.stand(LEASE_MS + 500);
    await time.pass(0);
    expect([lease.signal.aborted, blockings()]).toStrictEqual([true, 1]);
    expect(warnings).toStrictEqual([[{ taskId: "0-1" }, "event loop blocked until the lease expired, run stopped"]]);

    const late = await held(() => ({ renew: away }));
    late.time.stand(LEASE_MS + 499);
    await late.time.pass(0);
    expect([late.lease.signal.aborted, late.blockings()]).toStrictEqual([true, 0]);
  });

  test("survives failed renewals when one succeeds in time", async () => {
    let failures = 2;
    const { lease, time, warnings } = await held((memory) => ({ renew: (request) => (failures-- > 0 ? away() : memory.renew(request)) }));
    await time.pass(10 * LEASE_MS);
    expect([lease.signal.aborted, lease.isHeld(), warnings]).toStrictEqual([false, true, []]);
  });

  test("is lost as soon as the store refuses a renewal, an entry, or a report, and is not renewed any more", async () => {
    for (const write of ["renew", "record", "report"] as const) {
      const { lease, memory, time, clock, renewedAtMs, warnings } = await held();
      await memory.cancel({ taskId: "0-1", nowMs: clock.now(), message: "cancelled" });
      if (write === "renew") await time.pass(RENEW_EVERY_MS);
      if (write === "record") await lease.record([]);
      if (write === "report") await lease.report({ items: [] });
      expect([lease.signal.aborted, lease.isHeld()]).toStrictEqual([true, false]);
      await time.pass(10 * LEASE_MS);
      expect(renewedAtMs.length).toBeLessThanOrEqual(1);
      expect(time.sleeping()).toStrictEqual([]);
      expect(warnings).toStrictEqual([]);
    }
  });

  test("is not lost by writes that the store accepts", async () => {
    const { lease, memory } = await held();
    await lease.record([{ key: "step:a", entry: { digest: "", calledAt: "0", outcome: { type: "value" } } }]);
    await lease.report({ items: [], message: "working" });
    expect([lease.signal.aborted, lease.isHeld()]).toStrictEqual([false, true]);
    expect(await memory.load("0-1")).toMatchObject({ message: "working" });
  });

  test("counts from before a write was sent, however long the store takes", async () => {
    const gate = Promise.withResolvers<void>();
    const { lease, time } = await held((memory) => ({
      renew: away,
      record: async (request) => {
        await gate.promise;
        return memory.record(request);
      },
    }));
    await time.pass(40);
    const recorded = lease.record([]);
    await time.pass(50);
    gate.resolve();
    await recorded;
    // Sent at 40: held until 140.
    await time.pass(49);
    expect([lease.isHeld(), lease.signal.aborted]).toStrictEqual([true, false]);
    await time.pass(1);
    expect([lease.isHeld(), lease.signal.aborted]).toStrictEqual([false, true]);
  });

  test("is no longer than one lease if the store's clock is set back: the new clock counts", async () => {
    let isAway = false;
    const { lease, time, setBack, isFree } = await held((memory) => ({
      renew: (request) => (isAway ? away() : memory.renew(request)),
    }));
    setBack(3_600_000);
    await time.pass(RENEW_EVERY_MS);
    isAway = true;
    await time.pass(LEASE_MS);
    expect(await isFree()).toBe(true);
    // Its last check was at the end of its first lease.
    await time.pass(LEASE_MS - RENEW_EVERY_MS);
    expect([lease.isHeld(), lease.signal.aborted]).toStrictEqual([false, true]);
  });

  test("is not shortened by an older write that ends later", async () => {
    const gate = Promise.withResolvers<void>();
    let writes = 0;
    const { lease, time } = await held((memory) => ({
      renew: away,
      record: async (request) => {
        if ((writes += 1) === 1) await gate.promise;
        return memory.record(request);
      },
    }));
    const older = lease.record([]);
    await time.pass(50);
    await lease.record([]);
    gate.resolve();
    await older;
    await time.pass(99);
    expect([lease.isHeld(), lease.signal.aborted]).toStrictEqual([true, false]);
  });
});

describe("a process that was frozen", () => {
  test("asks the store at the end of its lease whether it still holds the task, and not before", async () => {
    const { lease, time, renewedAtMs } = await held();
    time.stand(LEASE_MS - 1);
    expect(lease.isHeld()).toBe(true);
    time.stand(1);
    expect(renewedAtMs).toStrictEqual([]);
    expect(await lease.isHeld()).toBe(true);
    expect(renewedAtMs).toStrictEqual([LEASE_MS]);
    // The lease is a new one.
    expect(lease.isHeld()).toBe(true);
  });

  test("has lost its task if another worker took it in the meantime, or if the store does not answer", async () => {
    const taken = await held();
    taken.time.stand(LEASE_MS);
    await taken.memory.begin({ taskId: "0-1", run: 1, token: "other", nowMs: taken.clock.now(), leaseMs: LEASE_MS });
    expect(await taken.lease.isHeld()).toBe(false);
    expect(taken.lease.signal.aborted).toBe(true);

    const unknown = await held(() => ({ renew: away }));
    unknown.time.stand(LEASE_MS);
    expect(await unknown.lease.isHeld()).toBe(false);
    expect(unknown.lease.signal.aborted).toBe(true);
  });

  test("is not sure of a lease that expired again before the store replied", async () => {
    const { lease, time } = await held((memory) => ({
      renew: async (request) => {
        const renewed = await memory.renew(request);
        time.stand(LEASE_MS);
        return renewed;
      },
    }));
    time.stand(LEASE_MS);
    expect(await lease.isHeld()).toBe(false);
  });
});

describe("the end of a run's lease", () => {
  test("is written with its token, and clears the token", async () => {
    const { lease, memory, clock } = await held();
    const ask = {
      key: "size",
      digest: "d",
      calledAt: "0",
      request: { type: "form", message: "?", schema: { type: "object", properties: {} } },
      askedAtMs: clock.now(),
      deadlineMs: clock.now() + 500,
      onTimeout: "cancel",
    } as const;
    expect(await lease.park({ entries: [], asks: [ask], dueAtMs: ask.deadlineMs, attempt: 0 })).toStrictEqual({ type: "parked" });
    expect(await memory.load("0-1")).toMatchObject({ status: "input_required", updatedAtMs: clock.now() });
    expect(await lease.park({ entries: [], asks: [], dueAtMs: 0, attempt: 0 })).toStrictEqual({ type: "refused" });
    expect(await lease.finish({ entries: [], outcome: { type: "result", result: {} } })).toBe("refused");
  });

  test("can be the end of the task", async () => {
    const { lease, memory } = await held();
    expect(await lease.finish({ entries: [], outcome: { type: "result", result: { ok: true } } })).toBe("finished");
    expect(await memory.load("0-1")).toMatchObject({ status: "completed", outcome: { type: "result", result: { ok: true } } });
  });
});
