import { type Ask, ParleyError } from "@parley/core";
import { createMemorySessions, createMemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { describe, expect, test, vi } from "vitest";
import { holdStream } from "./hold-stream.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const HOUR_MS = 3_600_000;
const ask: Ask = {
  key: "k",
  digest: "d",
  calledAt: "0",
  request: { type: "roots" },
  askedAtMs: 0,
  deadlineMs: HOUR_MS,
  onTimeout: "cancel",
};

async function subject() {
  const wakeUps = createMemoryWakeUps();
  const sessions = createMemorySessions({ clock: systemClock, wakeUps });
  await sessions.open({ id: "s", principal: "ann", version: "2025-11-25", capabilities: {} }, HOUR_MS);
  const beats = new Set<() => void>();
  const heartbeat = {
    onBeat(beat: () => void) {
      beats.add(beat);
      return () => beats.delete(beat);
    },
    stop: () => beats.clear(),
  };
  const services = { ids: { taskId: String, token: String, random: Math.random, uuid: () => crypto.randomUUID() }, clock: systemClock };
  const route = {
    sessions,
    heartbeat,
    services,
    times: { keepAliveMs: HOUR_MS, sessionTtlMs: HOUR_MS },
    limits: { sessionWaitsMax: 2 },
    log: silent,
  };
  const claim = { sessionId: "s", taskId: "t", key: "k", refusals: 0, event: 1, nowMs: Date.now(), most: 10 };
  return { route, sessions, beats, claim, isWatched: () => wakeUps.isWatched("session:s") };
}

describe("a hold on a stream", () => {
  test("that Redis does not confirm leaves no watch and no heartbeat behind, and is released if it was written after all", async () => {
    const { route, sessions, beats, claim, isWatched } = await subject();
    const late = {
      ...sessions,
      async holdStream(request: Parameters<typeof sessions.holdStream>[0]) {
        await sessions.holdStream(request);
        throw new ParleyError("UNAVAILABLE", "Redis: Command timed out");
      },
    };
    const hold = { sessionId: "s", token: "token", nowMs: Date.now(), leaseMs: HOUR_MS, after: 0, most: 10 };
    await sessions.holdStream({ ...hold, stream: "one" });
    await sessions.claimAsk({ ...claim, stream: "one", token: "token" });
    await sessions.holdStream({ ...hold, stream: "two" });

    const held = holdStream({ ...route, sessions: late }, { sessionId: "s", stream: "one", after: 1, onChange: () => undefined });

    await expect(held).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect({ watched: isWatched(), beats: beats.size }).toEqual({ watched: false, beats: 0 });
    expect(await sessions.claimAsk({ ...claim, stream: "two", token: "token" })).toBe("claimed");
  });

  test("is not lost by changes in the session before it is written, and reports them afterwards", async () => {
    const { route, sessions } = await subject();
    const busy = {
      ...sessions,
      async holdStream(request: Parameters<typeof sessions.holdStream>[0]) {
        await sessions.follow("s", "task", 1);
        await systemClock.idle();
        return await sessions.holdStream(request);
      },
    };
    const onChange = vi.fn();

    const held = await holdStream({ ...route, sessions: busy }, { sessionId: "s", stream: "one", after: 0, onChange });

    await expect.poll(() => onChange).toHaveBeenCalled();
    expect(held.lost).toBe(false);
  });

  test("sends an ask once, and knows from the previous holder what was sent and read", async () => {
    const { route } = await subject();
    const asked = (key: string, count = 0) => ({
      taskId: "t",
      ask: { ...ask, key, ...(count > 0 && { refused: { count, violations: [] } }) },
    });
    const first = await holdStream(route, { sessionId: "s", stream: "one", after: 0, onChange: () => undefined });
    expect(await first.claim({ ...asked("a"), event: 5 })).toBe("claimed");
    expect(await first.claim({ ...asked("a"), event: 6 })).toBe("put");
    expect(await first.claim({ ...asked("b", 2), event: 7 })).toBe("claimed");
    expect(await first.claim({ ...asked("c"), event: 8 })).toBe("claimed");

    const second = await holdStream(route, { sessionId: "s", stream: "one", after: 7, onChange: () => undefined });

    expect(second.sentBefore("t").toSorted()).toEqual(["0 a", "2 b"]);
    expect(second.sentBefore("other")).toEqual([]);
    expect(await second.claim({ ...asked("c"), event: 9 })).toBe("claimed");
    expect(await second.claim({ ...asked("b", 3), event: 10 })).toBe("claimed");
    expect(await first.claim({ ...asked("d"), event: 11 })).toBe("elsewhere");
  });

  test("has at most 2,000 asks on the streams of a session, and logs the next", async () => {
    const { route } = await subject();
    const warn = vi.fn();
    const held = await holdStream(
      { ...route, log: { ...silent, warn } },
      { sessionId: "s", stream: "one", after: 0, onChange: () => undefined },
    );
    for (let event = 1; event <= 2_000; event += 1)
      expect(await held.claim({ taskId: "t", ask: { ...ask, key: String(event) }, event })).toBe("claimed");
    expect(warn).not.toHaveBeenCalled();

    expect(await held.claim({ taskId: "t", ask, event: 2_001 })).toBe("elsewhere");
    expect(warn).toHaveBeenCalledWith({ taskId: "t", most: 2_000 }, expect.any(String));
  });

  test("is refused while its session is at its limit of holds, and is lost at once in a session that has ended", async () => {
    const { route, sessions, beats, isWatched } = await subject();
    const hold = async (stream: string) => await holdStream(route, { sessionId: "s", stream, after: 0, onChange: () => undefined });
    const held = [await hold("one"), await hold("two")];
    await expect(hold("three")).rejects.toMatchObject({
      code: "TOO_MANY_CALLS",
      message: expect.stringContaining("PARLEY_SESSION_WAITS_MAX"),
    });
    await Promise.all(held.map((each) => each.drop()));
    expect({ watched: isWatched(), beats: beats.size }).toEqual({ watched: false, beats: 0 });

    await sessions.close("s");
    expect((await hold("one")).lost).toBe(true);
  });

  test("is renewed once at a time: once more for all changes in the meantime, and by a heartbeat after a renewal that failed", async () => {
    const { route, sessions, beats } = await subject();
    const renewals: PromiseWithResolvers<"kept">[] = [];
    const slow = {
      ...sessions,
      async keepStream() {
        renewals.push(Promise.withResolvers());
        return await renewals.at(-1)!.promise;
      },
    };
    const onChange = vi.fn();
    const held = await holdStream({ ...route, sessions: slow }, { sessionId: "s", stream: "one", after: 0, onChange });
    const seen = () => ({ renewals: renewals.length, changes: onChange.mock.calls.length });
    await expect.poll(() => renewals).toHaveLength(1);
    const changing = Array.from({ length: 10 }, (_, index) => sessions.follow("s", `task ${index}`, 10));
    await Promise.all(changing);
    expect(seen()).toEqual({ renewals: 1, changes: 0 });

    renewals[0]!.resolve("kept");
    await expect.poll(() => seen()).toEqual({ renewals: 2, changes: 1 });
    renewals[1]!.reject(new Error("Redis is unavailable"));
    await systemClock.idle();
    expect(seen()).toEqual({ renewals: 2, changes: 1 });
    for (const beat of beats) beat();
    renewals[2]!.resolve("kept");
    await expect.poll(() => seen()).toEqual({ renewals: 3, changes: 2 });
    await held.drop();
  });

  test("is lost to a later holder, and leaves neither watch nor heartbeat when it is dropped", async () => {
    const { route, beats, isWatched } = await subject();
    const lost = vi.fn();
    const first = await holdStream(route, { sessionId: "s", stream: "one", after: 0, onChange: () => first.lost && lost() });
    const second = await holdStream(route, { sessionId: "s", stream: "one", after: 0, onChange: () => undefined });

    await expect.poll(() => lost).toHaveBeenCalled();
    expect(second.lost).toBe(false);
    await Promise.all([first.drop(), second.drop()]);
    expect({ watched: isWatched(), beats: beats.size }).toEqual({ watched: false, beats: 0 });
  });
});
