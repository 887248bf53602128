/** What a session's own stream takes, and gives back however often its client comes and goes. */
import { createMemorySessions, createMemoryWakeUps } from "@parley/core/memory";
import type { Announcement } from "@parley/core";
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { until } from "../../../../../test/support/until.ts";
import { callerNamed } from "../../../deployment.fixture.ts";
import { sharedGate } from "../../../front-end/gate.ts";
import type { Outlet } from "../../../streams/outlet.ts";
import type { SessionContext, SessionRoute } from "./session-route.ts";
import { openStandalone } from "./standalone-stream.ts";

const HOUR_MS = 3_600_000;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Counts who listens. */
function listened<Given>() {
  const listeners = new Set<(given: Given) => void>();
  const add = (listener: (given: Given) => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return { listeners, add, tell: (given: Given) => listeners.forEach((listener) => listener(given)) };
}

/** A signal that knows how many listen to it. */
function counted() {
  const { signal } = new AbortController();
  let count = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...given: [string, never]) => ((count += 1), add(...given));
  signal.removeEventListener = (...given: [string, never]) => ((count -= 1), remove(...given));
  return { signal, count: () => count };
}

/** A front end with places for two streams, one of each caller. */
async function subject() {
  const wakeUps = createMemoryWakeUps();
  const sessions = createMemorySessions({ clock: systemClock, wakeUps });
  const [beats, announced] = [listened<void>(), listened<Announcement>()];
  const [closing, ending] = [counted(), counted()];
  const ids = { taskId: String, token: () => crypto.randomUUID(), random: Math.random, uuid: () => crypto.randomUUID() };
  const route = {
    sessions,
    heartbeat: { onBeat: beats.add, stop: () => undefined },
    announcements: { onAnnouncement: announced.add, stop: () => undefined },
    lifecycle: { closing: closing.signal, ending: ending.signal },
    listens: sharedGate({ what: "streams", most: 2, own: { what: "streams of this caller", most: 1, code: "QUOTA_EXCEEDED" } }),
    services: { ids, clock: systemClock, wakeUps, log: silent },
    times: { keepAliveMs: HOUR_MS, sessionTtlMs: HOUR_MS, retryMs: 1, taskGraceMs: 1 },
    limits: { sessionWaitsMax: 2 },
    eventIds: { write: (_session: string, { event }: { event: number }) => String(event) },
    log: silent,
  } as unknown as SessionRoute;

  async function open(principal: string, expiresAtMs?: number) {
    await sessions.open({ id: principal, principal, version: "2025-11-25", capabilities: {} }, HOUR_MS);
    const over: (() => void)[] = [];
    const sent: unknown[] = [];
    const outlet = {
      onClose: (callback: () => void) => void over.push(callback),
      prime: () => undefined,
      open: () => undefined,
      send: (message: unknown) => void sent.push(message),
      drained: async () => undefined,
      abandon: () => sent.push("abandoned"),
      endUnanswered: () => sent.push("ended"),
    } as unknown as Outlet;
    const context = {
      session: { id: principal, capabilities: {} },
      caller: callerNamed(principal, expiresAtMs === undefined ? {} : { expiresAtMs }),
      dialect: { closesEarly: true },
      encode: { changed: (change: Announcement) => change },
    } as unknown as SessionContext;
    const close = () => over.splice(0).forEach((callback) => callback());
    try {
      await openStandalone(route, context, outlet, undefined);
    } catch (error) {
      // A request that is refused is over as well.
      close();
      throw error;
    }
    return { sent, close };
  }
  const taken = () => ({
    beats: beats.listeners.size,
    announcements: announced.listeners.size,
    signals: closing.count() + ending.count(),
    watched: ["ann", "bob"].filter((name) => wakeUps.isWatched(`session:${name}`)).length,
  });
  return { open, taken, announce: announced.tell };
}

const NOTHING = { beats: 0, announcements: 0, signals: 0, watched: 0 };

describe("a session's own stream", () => {
  test.each([
    ["whose token expires", Date.now() + HOUR_MS],
    ["whose token does not expire", undefined],
  ])("of a client %s gives back all that it took when the client leaves, also the fourth time", async (_whose, expiresAtMs) => {
    const { open, taken } = await subject();
    const first = await open("ann", expiresAtMs);
    const ofOne = taken();
    expect(ofOne).toMatchObject({ announcements: 1, watched: 1 });
    first.close();
    await until(() => taken().watched === 0);
    expect(taken()).toEqual(NOTHING);
    for (let times = 2; times <= 4; times += 1) {
      const again = await open("ann", expiresAtMs);
      expect(taken()).toEqual(ofOne);
      again.close();
      await until(() => taken().watched === 0);
      expect(taken()).toEqual(NOTHING);
    }
  });

  test("that is refused takes nothing, and another caller's is open meanwhile", async () => {
    const { open, taken } = await subject();
    const anns = await open("ann");
    const ofOne = taken();
    for (let times = 0; times < 3; times += 1) await expect(open("ann")).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    expect(taken()).toEqual(ofOne);
    const bobs = await open("bob");
    expect(taken()).toMatchObject({ announcements: 2, watched: 2 });
    anns.close();
    await until(() => taken().watched === 1);
    expect(taken()).toEqual(ofOne);
    bobs.close();
    await until(() => taken().watched === 0);
    expect(taken()).toEqual(NOTHING);
  });

  test("of one caller hears what changes while another's, which was just closed, hears nothing", async () => {
    const { open, announce } = await subject();
    const [anns, bobs] = [await open("ann"), await open("bob")];
    announce({ type: "tools" });
    await until(() => anns.sent.length === 1 && bobs.sent.length === 1);
    announce({ type: "prompts" });
    // Before it is told.
    anns.close();
    await until(() => bobs.sent.length === 2);
    expect([anns.sent, bobs.sent]).toEqual([[{ type: "tools" }], [{ type: "tools" }, { type: "prompts" }]]);
    bobs.close();
  });
});
