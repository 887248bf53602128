import { ParleyError } from "@parley/core";
import { createMemoryEvents, createMemorySessions } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { describe, expect, test, vi } from "vitest";
import { holdStream } from "./hold-stream.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const HOUR_MS = 3_600_000;

async function subject() {
  const events = createMemoryEvents();
  const sessions = createMemorySessions({ clock: systemClock, events });
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
  const door = { sessions, heartbeat, services, times: { keepAliveMs: HOUR_MS, sessionTtlMs: HOUR_MS }, log: silent };
  const claim = { sessionId: "s", taskId: "t", key: "k", nowMs: Date.now() };
  return { door, sessions, beats, claim, isWatched: () => events.isWatched("session:s") };
}

describe("a hold on a stream", () => {
  test("that Redis does not confirm leaves no watch and no heartbeat behind, and is given up if it was written all the same", async () => {
    const { door, sessions, beats, claim, isWatched } = await subject();
    const late = {
      ...sessions,
      async holdStream(request: Parameters<typeof sessions.holdStream>[0]) {
        await sessions.holdStream(request);
        throw new ParleyError("UNAVAILABLE", "Redis: Command timed out");
      },
    };
    await sessions.claimAsk({ ...claim, stream: "one" });

    const held = holdStream({ ...door, sessions: late }, { sessionId: "s", stream: "one", onChange: () => undefined });

    await expect(held).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect({ watched: isWatched(), beats: beats.size }).toEqual({ watched: false, beats: 0 });
    expect(await sessions.claimAsk({ ...claim, stream: "two" })).toBe("claimed");
  });

  test("is not lost by what changes in the session before it is there, and looks once it is", async () => {
    const { door, sessions } = await subject();
    const busy = {
      ...sessions,
      async holdStream(request: Parameters<typeof sessions.holdStream>[0]) {
        await sessions.follow("s", "task", 1);
        await systemClock.idle();
        await sessions.holdStream(request);
      },
    };
    const onChange = vi.fn();

    const held = await holdStream({ ...door, sessions: busy }, { sessionId: "s", stream: "one", onChange });

    await vi.waitFor(() => expect(onChange).toHaveBeenCalled());
    expect(held.lost).toBe(false);
  });

  test("is lost to a later holder; dropped, it leaves neither watch nor heartbeat", async () => {
    const { door, beats, isWatched } = await subject();
    const lost = vi.fn();
    const first = await holdStream(door, { sessionId: "s", stream: "one", onChange: () => first.lost && lost() });
    const second = await holdStream(door, { sessionId: "s", stream: "one", onChange: () => undefined });

    await vi.waitFor(() => expect(lost).toHaveBeenCalled());
    expect(second.lost).toBe(false);
    await Promise.all([first.drop(), second.drop()]);
    expect({ watched: isWatched(), beats: beats.size }).toEqual({ watched: false, beats: 0 });
  });
});
