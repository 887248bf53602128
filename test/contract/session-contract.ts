/** What every session store promises: each method, and each race that it settles. Run against memory and against Redis. */
import { randomUUID } from "node:crypto";
import { DEFAULT_TENANT, type PutAsk, type Session, type SessionStore } from "@parley/core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

export interface SessionsUnderTest {
  readonly sessions: SessionStore;
  close(): Promise<void>;
}

const TTL_MS = 60_000;
const LEASE_MS = 10_000;
const URI = "file:///menu.md?x={1}&y=fünf ☃";

export function aSession(session: Partial<Session> = {}): Session {
  return {
    id: randomUUID(),
    principal: "anonymous",
    version: "2025-11-25",
    capabilities: { elicitation: { form: true, url: false } },
    clientInfo: { name: "a client", version: "1.2.3" },
    ...session,
  };
}

export function describeSessions(name: string, openStore: () => Promise<SessionsUnderTest>): void {
  describe(`the session store ${name}`, () => {
    let sessions: SessionStore;
    let close: () => Promise<void>;
    beforeAll(async () => {
      ({ sessions, close } = await openStore());
    });
    afterAll(() => close());

    async function opened(session: Partial<Session> = {}): Promise<string> {
      const made = aSession(session);
      await sessions.open(made, TTL_MS);
      return made.id;
    }

    async function closed(): Promise<string> {
      const id = await opened();
      await sessions.close(id);
      return id;
    }

    const taskOf = async (sessionId: string, call: string) => (await sessions.calls(sessionId)).get(call);

    /** Watches the session, and tells whether it was called since the last look. */
    async function watched(sessionId: string) {
      const onChange = vi.fn();
      const stop = await sessions.watch(sessionId, onChange);
      return {
        stop,
        async wakes(work: () => Promise<unknown>) {
          onChange.mockClear();
          await work();
          await expect.poll(() => onChange).toHaveBeenCalled();
        },
        async sleepsThrough(work: () => Promise<unknown>) {
          onChange.mockClear();
          await work();
          // This wake-up arrives after every earlier one.
          await sessions.subscribe(sessionId, randomUUID(), 1_000);
          await expect.poll(() => onChange).toHaveBeenCalled();
          expect(onChange).toHaveBeenCalledTimes(1);
        },
      };
    }

    const hold = (
      sessionId: string,
      stream: string,
      { token = stream, nowMs = Date.now(), leaseMs = LEASE_MS, after = 0, most = 100 } = {},
    ) => sessions.holdStream({ sessionId, stream, token, nowMs, leaseMs, after, most });
    const keep = (sessionId: string, stream: string, { token = stream, nowMs = Date.now(), leaseMs = LEASE_MS } = {}) =>
      sessions.keepStream({ sessionId, stream, token, nowMs, leaseMs });
    const drop = (sessionId: string, stream: string, token = stream) => sessions.dropStream({ sessionId, stream, token });
    const end = (sessionId: string, stream: string) => sessions.endStream({ sessionId, stream, heir: "standalone", nowMs: Date.now() });
    let events = 0;
    /** Claims a question as a new event of the stream. */
    const claim = (
      sessionId: string,
      key: string,
      stream: string,
      { token = stream, nowMs = Date.now(), refusals = 0, event = (events += 1), most = 100, taskId = "task" } = {},
    ) => sessions.claimAsk({ sessionId, taskId, key, stream, token, refusals, event, nowMs, most });
    const held = (...put: readonly PutAsk[]) => ({ type: "held", put });

    describe("the life of a session", () => {
      test("a session is returned as it was opened, with as much and as little as its client may declare", async () => {
        for (const session of [
          aSession(),
          aSession({ logLevel: "warning", capabilities: { sampling: { tools: true }, roots: true } }),
          { id: randomUUID(), principal: `auth0|${"ü".repeat(300)}`, version: "2025-03-26", capabilities: {} },
          aSession({ clientInfo: { name: "", version: "" } }),
        ]) {
          await sessions.open(session, TTL_MS);
          expect(await sessions.touch(session.id, TTL_MS)).toEqual(session);
        }
      });

      test("an id that was never issued, and a string that cannot be a session id, find no session", async () => {
        for (const id of [randomUUID(), "", "{x}", "a b", "../..", "x".repeat(10_000), "ünïcode", "*"]) {
          expect(await sessions.touch(id, TTL_MS)).toBeUndefined();
          expect(await sessions.close(id)).toBe(false);
          expect(await sessions.cancelCall(id, "1", 10)).toBeUndefined();
          expect(await sessions.stateOfCall(id, "1")).toBe("gone");
          await end(id, "standalone");
          expect(await sessions.calls(id)).toEqual(new Map());
          expect(await sessions.interests(id)).toEqual({ taskIds: [], resources: [] });
        }
      });

      test("a session expires after its last use", async () => {
        const { id } = aSession();
        await sessions.open({ ...aSession(), id }, 2_000);
        const openedAtMs = Date.now();
        expect(await sessions.touch(id, TTL_MS)).toBeDefined();
        await expect.poll(() => Date.now() - openedAtMs).toBeGreaterThan(2_050);
        await sessions.follow(id, "task", 10);
        expect(await sessions.touch(id, 50)).toBeDefined();
        await expect.poll(async () => (await sessions.interests(id)).taskIds).toEqual([]);
        expect(await sessions.touch(id, TTL_MS)).toBeUndefined();
      });

      test("a session is neither shown to a caller who does not own it nor kept for them", async () => {
        const owners = [
          { principal: "ann", tenant: DEFAULT_TENANT },
          { principal: "ann", tenant: "acme" },
          { principal: 'ann","acme', tenant: DEFAULT_TENANT },
          { principal: "an", tenant: DEFAULT_TENANT },
          { principal: "änn", tenant: 'ac"me' },
        ];
        for (const [n, { principal, tenant }] of owners.entries()) {
          const session = { ...aSession(), principal, ...(tenant !== DEFAULT_TENANT && { tenant }) };
          await sessions.open(session, 2_000);
          const openedAtMs = Date.now();
          const others = owners.filter((_, index) => index !== n);
          for (const other of others) expect(await sessions.touch(session.id, TTL_MS, other)).toBeUndefined();
          if (n === 0) {
            await expect.poll(() => Date.now() - openedAtMs).toBeGreaterThan(2_050);
            expect(await sessions.touch(session.id, TTL_MS, { principal, tenant })).toBeUndefined();
            continue;
          }
          expect(await sessions.touch(session.id, TTL_MS, { principal, tenant })).toStrictEqual(session);
        }
      });

      test("an expired session is deleted with everything in it", async () => {
        const id = await opened();
        await sessions.follow(id, "task", 10);
        await sessions.noteCall(id, "1", "task", 10);
        await sessions.touch(id, 20);

        await expect.poll(() => sessions.interests(id)).toEqual({ taskIds: [], resources: [] });
        expect(await taskOf(id, "1")).toBeUndefined();
        expect(await sessions.close(id)).toBe(false);
      });

      test("of many that close a session at once, one has closed it", async () => {
        const id = await opened();
        const results = await Promise.all(Array.from({ length: 10 }, () => sessions.close(id)));
        expect(results.filter((result) => result)).toHaveLength(1);
        expect(await sessions.touch(id, TTL_MS)).toBeUndefined();
      });

      test("writes after the end of a session change nothing and restore nothing", async () => {
        const id = await closed();

        await sessions.setLogLevel(id, "debug");
        expect(await sessions.subscribe(id, URI, 10)).toBe("full");
        expect(await sessions.follow(id, "task", 10)).toBe("full");
        expect(await sessions.noteCall(id, "1", "task", 10)).toBe("gone");
        expect(await sessions.cancelCall(id, "1", 10)).toBeUndefined();
        expect(await hold(id, "standalone")).toEqual({ type: "gone" });
        expect(await keep(id, "standalone")).toBe("lost");
        expect(await claim(id, "ask", "standalone")).toBe("elsewhere");
        await sessions.unsubscribe(id, URI);
        await sessions.unfollow(id, ["task"]);
        await sessions.forgetCalls(id, ["1"]);
        await sessions.forgetClaims(id, [{ taskId: "task", key: "ask" }]);
        await drop(id, "standalone");

        expect(await sessions.claims(id)).toEqual([]);
        expect(await sessions.calls(id)).toEqual(new Map());
        expect(await sessions.touch(id, TTL_MS)).toBeUndefined();
        expect(await sessions.interests(id)).toEqual({ taskIds: [], resources: [] });
        expect(await taskOf(id, "1")).toBeUndefined();
      });

      test("a session that is closed while others write to it stays closed", async () => {
        for (let round = 0; round < 20; round += 1) {
          const id = await opened();
          await hold(id, "a");
          await Promise.all([
            sessions.setLogLevel(id, "debug"),
            sessions.noteCall(id, "1", "task", 10),
            sessions.follow(id, "task", 10),
            sessions.touch(id, TTL_MS),
            sessions.close(id),
            sessions.subscribe(id, URI, 10),
            hold(id, "b"),
            keep(id, "a"),
            claim(id, "ask", "a"),
            sessions.touch(id, TTL_MS),
            sessions.noteCall(id, "2", "task", 10),
            sessions.cancelCall(id, "3", 10),
          ]);
          expect(await sessions.touch(id, TTL_MS)).toBeUndefined();
          expect(await taskOf(id, "2")).toBeUndefined();
        }
      });

      test("the log level is kept with the session", async () => {
        const id = await opened();
        await sessions.setLogLevel(id, "error");
        await sessions.setLogLevel(id, "notice");
        expect(await sessions.touch(id, TTL_MS)).toMatchObject({ logLevel: "notice" });
      });
    });

    describe("calls", () => {
      test("a request finds its task until it is forgotten, and a number and its string are different ids", async () => {
        const id = await opened();
        await sessions.noteCall(id, "1", "one", 10);
        await sessions.noteCall(id, '"1"', "the text", 10);

        expect(await taskOf(id, "1")).toBe("one");
        expect(await taskOf(id, '"1"')).toBe("the text");
        await sessions.forgetCalls(id, ["1"]);
        expect(await taskOf(id, "1")).toBeUndefined();
        expect(await taskOf(id, '"1"')).toBe("the text");
      });

      test("a request id that is used again names the later task", async () => {
        const id = await opened();
        await sessions.noteCall(id, "1", "one", 10);
        await sessions.noteCall(id, "1", "two", 10);
        expect(await taskOf(id, "1")).toBe("two");
      });

      test("a session has a limit of them; one that is already noted does not count again, and a forgotten one makes room", async () => {
        const id = await opened();
        await sessions.follow(id, "one", 10);
        expect(await sessions.noteCall(id, "1", "one", 2)).toBe("noted");
        expect(await sessions.noteCall(id, "2", "two", 2)).toBe("noted");
        expect(await sessions.noteCall(id, "3", "three", 2)).toBe("full");
        expect(await sessions.noteCall(id, "2", "again", 2)).toBe("noted");
        expect(await sessions.calls(id)).toEqual(
          new Map([
            ["1", "one"],
            ["2", "again"],
          ]),
        );

        await sessions.forgetCalls(id, []);
        await sessions.forgetCalls(id, ["1", "unknown"]);
        expect(await sessions.noteCall(id, "3", "three", 2)).toBe("noted");
        await sessions.forgetCalls(id, ["2", "3"]);
        expect(await sessions.calls(id)).toEqual(new Map());
        expect((await sessions.interests(id)).taskIds).toEqual(["one"]);
      });

      test("each of the last places is taken once, however many want it", async () => {
        const id = await opened();
        const results = await Promise.all(Array.from({ length: 20 }, (_, i) => sessions.noteCall(id, String(i), "task", 5)));
        expect(results.filter((result) => result === "noted")).toHaveLength(5);
        expect((await sessions.calls(id)).size).toBe(5);
      });

      test("a call that has a task is cancelled by it, as often as the client likes", async () => {
        const id = await opened();
        await sessions.noteCall(id, "1", "one", 1);
        expect(await sessions.cancelCall(id, "1", 1)).toBe("one");
        expect(await sessions.cancelCall(id, "1", 1)).toBe("one");
        expect(await sessions.stateOfCall(id, "1")).toBe("open");
        expect(await taskOf(id, "1")).toBe("one");
      });

      test("a call that is cancelled before it has a task gets none, until it is forgotten", async () => {
        const id = await opened();
        expect(await sessions.stateOfCall(id, "1")).toBe("open");
        expect(await sessions.cancelCall(id, "1", 1)).toBeUndefined();
        expect(await sessions.cancelCall(id, "1", 1)).toBeUndefined();
        expect(await sessions.stateOfCall(id, "1")).toBe("cancelled");
        expect(await sessions.noteCall(id, "1", "one", 1)).toBe("cancelled");
        expect(await sessions.noteCall(id, "1", "one", 1)).toBe("cancelled");
        // A cancellation takes the place of a call.
        expect(await sessions.noteCall(id, "2", "two", 1)).toBe("full");
        await sessions.forgetCalls(id, ["1"]);
        expect(await sessions.stateOfCall(id, "1")).toBe("open");
        expect(await sessions.noteCall(id, "1", "one", 1)).toBe("noted");
        // There is no place for it.
        expect(await sessions.cancelCall(id, "2", 1)).toBeUndefined();
        expect(await sessions.stateOfCall(id, "2")).toBe("open");
      });

      test("of a call and its cancellation at the same moment, one finds the other", async () => {
        const id = await opened();
        for (let round = 0; round < 20; round += 1) {
          const call = String(round);
          const [noted, task] = await Promise.all(
            round % 2 === 0
              ? [sessions.noteCall(id, call, "task", 100), sessions.cancelCall(id, call, 100)]
              : [sessions.cancelCall(id, call, 100), sessions.noteCall(id, call, "task", 100)].toReversed(),
          );
          expect([noted, task]).toEqual(noted === "noted" ? ["noted", "task"] : ["cancelled", undefined]);
        }
      });

      test("another session's request of the same id is another request", async () => {
        const [mine, theirs] = [await opened(), await opened()];
        await sessions.noteCall(mine, "1", "one", 10);
        expect(await taskOf(theirs, "1")).toBeUndefined();
      });
    });

    describe("interests", () => {
      test("tasks and resources are reported on from subscription to unsubscription", async () => {
        const id = await opened();
        expect(await sessions.follow(id, "one", 10)).toBe("following");
        expect(await sessions.follow(id, "two", 10)).toBe("following");
        expect(await sessions.subscribe(id, URI, 10)).toBe("subscribed");
        expect(await sessions.subscribe(id, "file:///other", 10)).toBe("subscribed");

        const interests = await sessions.interests(id);
        expect(interests.taskIds.toSorted()).toEqual(["one", "two"]);
        expect(interests.resources.toSorted()).toEqual([URI, "file:///other"]);

        await sessions.unfollow(id, ["one", "unknown"]);
        await sessions.unfollow(id, []);
        await sessions.unsubscribe(id, "file:///other");
        expect(await sessions.interests(id)).toEqual({ taskIds: ["two"], resources: [URI] });
      });

      test("a session has a limit of them; one that it already has does not count again, and each kind counts separately", async () => {
        const id = await opened();
        for (const task of ["one", "two"]) await sessions.follow(id, task, 2);
        await sessions.noteCall(id, "1", "one", 10);

        expect(await sessions.follow(id, "three", 2)).toBe("full");
        expect(await sessions.follow(id, "two", 2)).toBe("following");
        expect(await sessions.subscribe(id, URI, 2)).toBe("subscribed");
        expect(await sessions.subscribe(id, "file:///other", 2)).toBe("subscribed");
        expect(await sessions.subscribe(id, "file:///third", 2)).toBe("full");
        await sessions.unfollow(id, ["one"]);
        expect(await sessions.follow(id, "three", 2)).toBe("following");
        expect((await sessions.interests(id)).taskIds.toSorted()).toEqual(["three", "two"]);
      });

      test("each of the last places is taken once, however many want it", async () => {
        const id = await opened();
        const results = await Promise.all(Array.from({ length: 20 }, (_, i) => sessions.follow(id, `task-${i}`, 5)));
        expect(results.filter((result) => result === "following")).toHaveLength(5);
        expect((await sessions.interests(id)).taskIds).toHaveLength(5);
      });
    });

    describe("streams", () => {
      test("a holder keeps its stream, even after its lease has expired, until another takes it", async () => {
        const id = await opened();
        const nowMs = Date.now();
        expect(await hold(id, "standalone", { nowMs, leaseMs: 1_000 })).toEqual(held());
        expect(await keep(id, "standalone", { nowMs: nowMs + 500, leaseMs: 1_000 })).toBe("kept");
        expect(await keep(id, "standalone", { nowMs: nowMs + 60_000, leaseMs: 1_000 })).toBe("kept");
      });

      test("the later of two holders has the stream, and the earlier one cannot keep it, drop it or take it back", async () => {
        const id = await opened();
        await hold(id, "standalone", { token: "one" });
        await hold(id, "standalone", { token: "two" });

        expect(await keep(id, "standalone", { token: "one" })).toBe("lost");
        await drop(id, "standalone", "one");
        expect(await keep(id, "standalone", { token: "two" })).toBe("kept");
        expect(await keep(id, "standalone", { token: "one" })).toBe("lost");
      });

      test("exactly one of many that take a stream at once keeps it", async () => {
        const id = await opened();
        const tokens = Array.from({ length: 10 }, () => randomUUID());
        await Promise.all(tokens.map((token) => hold(id, "standalone", { token })));
        const kept = await Promise.all(tokens.map((token) => keep(id, "standalone", { token })));
        expect(kept.filter((each) => each === "kept")).toHaveLength(1);
      });

      test("a stream that was dropped has no holder, and its last holder can no longer keep it", async () => {
        const id = await opened();
        await hold(id, "standalone");
        await drop(id, "standalone");
        expect(await keep(id, "standalone")).toBe("lost");
      });

      test("a stream that was ended has no holder any more, and another may take it", async () => {
        const [id, other] = [await opened(), await opened()];
        await hold(id, "result 1");
        await hold(id, "result 2");
        await hold(other, "result 1");
        await end(id, "result 1");
        await end(id, "result 1");
        expect(await keep(id, "result 1")).toBe("lost");
        expect([await keep(id, "result 2"), await keep(other, "result 1")]).toEqual(["kept", "kept"]);
        expect(await hold(id, "result 1", { token: "next" })).toEqual(held());
        expect(await keep(id, "result 1", { token: "next" })).toBe("kept");
      });

      test("the questions of a stream that was ended count as sent on its heir if that is held; if not, another stream may send them", async () => {
        const id = await opened();
        await hold(id, "result 1");
        expect(await claim(id, "first", "result 1")).toBe("claimed");
        await end(id, "result 1");
        await hold(id, "result 2");
        expect(await claim(id, "first", "result 2")).toBe("claimed");

        await hold(id, "standalone");
        expect(await claim(id, "own", "standalone")).toBe("claimed");
        await hold(id, "result 3");
        expect(await claim(id, "other", "result 3")).toBe("claimed");
        await end(id, "result 2");
        expect(await claim(id, "first", "standalone")).toBe("put");
        expect(await claim(id, "first", "result 3")).toBe("elsewhere");
        expect(await claim(id, "own", "standalone")).toBe("put");
        expect(await claim(id, "other", "standalone")).toBe("elsewhere");
        // A client that has lost it comes back without an event id, and is asked again.
        expect(await hold(id, "standalone", { token: "new" })).toEqual(held());
      });

      test("streams are separate, within one session and between two, with any names", async () => {
        const [mine, theirs] = [await opened(), await opened()];
        await hold(mine, 'result "a b"');
        await hold(mine, "result 1", { token: "two" });
        await hold(theirs, "result 1", { token: "three" });
        expect(await keep(mine, 'result "a b"')).toBe("kept");
        expect(await keep(mine, "result 1", { token: "two" })).toBe("kept");
        expect(await keep(theirs, "result 1", { token: "three" })).toBe("kept");
      });

      test("a session has a limit of held streams, and expired ones make room when there are too many", async () => {
        const id = await opened();
        const nowMs = Date.now();
        await hold(id, "a", { nowMs, leaseMs: 1_000 });
        await hold(id, "b", { nowMs, leaseMs: 2_000 });
        expect(await hold(id, "c", { nowMs, most: 2 })).toEqual({ type: "full" });
        expect(await hold(id, "b", { nowMs, leaseMs: 2_000, most: 2 })).toEqual(held());
        expect(await keep(id, "c")).toBe("lost");

        expect(await hold(id, "c", { nowMs: nowMs + 1_500, most: 3 })).toEqual(held());
        expect(await keep(id, "a", { nowMs: nowMs + 1_500, leaseMs: 1 })).toBe("kept");
        expect(await hold(id, "d", { nowMs: nowMs + 1_501, most: 3 })).toEqual(held());
        expect(await keep(id, "a")).toBe("lost");
        expect(await keep(id, "b")).toBe("kept");
      });
    });

    describe("questions", () => {
      test("a question is asked on the first stream that claims it, and on no other while that one is held", async () => {
        const id = await opened();
        await hold(id, "standalone");
        await hold(id, "result 1");

        expect(await claim(id, "ask", "standalone")).toBe("claimed");
        expect(await claim(id, "ask", "standalone")).toBe("put");
        expect(await claim(id, "ask", "result 1")).toBe("elsewhere");
        expect(await claim(id, "another", "result 1")).toBe("claimed");
        expect(await sessions.claims(id)).toEqual(
          expect.arrayContaining([
            { taskId: "task", key: "ask" },
            { taskId: "task", key: "another" },
          ]),
        );
      });

      test("a claim that is sent twice counts once", async () => {
        const id = await opened();
        await hold(id, "standalone");
        expect(await claim(id, "ask", "standalone", { event: 7 })).toBe("claimed");
        expect(await claim(id, "ask", "standalone", { event: 7 })).toBe("claimed");
      });

      test("a refused question is asked again, once, on the same stream", async () => {
        const id = await opened();
        await hold(id, "standalone");
        await hold(id, "result 1");
        await claim(id, "ask", "standalone");
        expect(await claim(id, "ask", "result 1", { refusals: 1 })).toBe("elsewhere");
        expect(await claim(id, "ask", "standalone", { refusals: 1 })).toBe("claimed");
        expect(await claim(id, "ask", "standalone", { refusals: 1 })).toBe("put");
      });

      test("a question is not asked on a stream by a process that does not hold it", async () => {
        const id = await opened();
        expect(await claim(id, "ask", "standalone")).toBe("elsewhere");
        await hold(id, "standalone", { token: "one" });
        await hold(id, "standalone", { token: "two" });
        expect(await claim(id, "ask", "standalone", { token: "one" })).toBe("elsewhere");
        expect(await claim(id, "ask", "standalone", { token: "two" })).toBe("claimed");
      });

      test("of many streams that claim a question at once, one has it", async () => {
        const id = await opened();
        const streams = Array.from({ length: 10 }, (_, i) => `result ${i}`);
        await Promise.all(streams.map((stream) => hold(id, stream)));
        const claims = await Promise.all(streams.map((stream) => claim(id, "ask", stream)));
        expect(claims.filter((each) => each === "claimed")).toHaveLength(1);
        expect(claims.filter((each) => each === "elsewhere")).toHaveLength(9);
      });

      test("the next stream claims a question once the lease of its stream has expired, and not before", async () => {
        const id = await opened();
        const nowMs = Date.now();
        await hold(id, "standalone", { nowMs, leaseMs: 1_000 });
        await hold(id, "result 1", { nowMs, leaseMs: 5_000 });
        await claim(id, "ask", "standalone", { nowMs });

        expect(await claim(id, "ask", "result 1", { nowMs: nowMs + 999 })).toBe("elsewhere");
        expect(await claim(id, "ask", "result 1", { nowMs: nowMs + 1_000 })).toBe("claimed");
        // The dead holder comes back: the question has moved.
        await keep(id, "standalone", { nowMs: nowMs + 1_500, leaseMs: 1_000 });
        expect(await claim(id, "ask", "standalone", { nowMs: nowMs + 1_500 })).toBe("elsewhere");
      });

      test("a question of a dropped stream can be claimed by the next one; until then the stream finds it again when it returns", async () => {
        const id = await opened();
        await hold(id, "standalone");
        await claim(id, "ask", "standalone", { event: 1 });
        await claim(id, "another", "standalone", { event: 2, refusals: 3 });
        await drop(id, "standalone");

        await hold(id, "result 1");
        expect(await claim(id, "ask", "result 1")).toBe("claimed");
        expect(await hold(id, "standalone", { after: 2 })).toEqual(held({ taskId: "task", key: "another", refusals: 3 }));
        expect(await claim(id, "ask", "standalone")).toBe("elsewhere");
        expect(await claim(id, "another", "standalone", { refusals: 3 })).toBe("put");
      });

      test("an unread question is no longer on the stream when the client returns, and an older claim does not restore it", async () => {
        const id = await opened();
        await hold(id, "standalone", { token: "one" });
        await claim(id, "read first", "standalone", { token: "one", event: 9, refusals: 2 });
        await claim(id, "read", "standalone", { token: "one", event: 10 });
        await claim(id, "unread", "standalone", { token: "one", event: 11 });
        await hold(id, "result 1");
        await claim(id, "elsewhere", "result 1", { event: 12 });

        const read = held({ taskId: "task", key: "read first", refusals: 2 }, { taskId: "task", key: "read", refusals: 0 });
        expect(await hold(id, "standalone", { token: "two", after: 10 })).toEqual(read);
        // The next holder comes before the second one has claimed the question, and further along the stream.
        expect(await hold(id, "standalone", { token: "three", after: 20 })).toEqual(read);
        expect(await claim(id, "unread", "standalone", { token: "three", event: 21 })).toBe("claimed");
        expect(await claim(id, "elsewhere", "standalone", { token: "three", event: 22 })).toBe("elsewhere");
        expect(await hold(id, "standalone", { token: "new" })).toEqual(held());
      });

      test("a question stays on its stream when another holder takes the stream", async () => {
        const id = await opened();
        await hold(id, "standalone", { token: "one" });
        await hold(id, "result 1");
        await claim(id, "ask", "standalone", { token: "one", event: 1 });
        await hold(id, "standalone", { token: "two", after: 1 });
        await drop(id, "standalone", "one");

        expect(await claim(id, "ask", "result 1")).toBe("elsewhere");
        expect(await claim(id, "ask", "standalone", { token: "two" })).toBe("put");
      });

      test("questions of a finished task, and forgotten ones, are on no stream", async () => {
        const id = await opened();
        await hold(id, "standalone");
        await hold(id, "result 1");
        for (const key of ["ask", "a:b"]) await claim(id, key, "standalone");
        await sessions.unfollow(id, ["another"]);
        await sessions.forgetClaims(id, []);
        expect(await claim(id, "ask", "result 1")).toBe("elsewhere");
        await sessions.forgetClaims(id, [{ taskId: "task", key: "a:b" }]);
        expect(await claim(id, "a:b", "result 1")).toBe("claimed");
        await sessions.unfollow(id, ["task"]);
        expect(await sessions.claims(id)).toEqual([]);
        expect(await claim(id, "ask", "result 1")).toBe("claimed");
      });

      test("a session has a limit of them; one that is already asked does not count again", async () => {
        const id = await opened();
        await hold(id, "standalone");
        await hold(id, "result 1");
        for (const key of ["a", "b"]) expect(await claim(id, key, "standalone", { most: 2 })).toBe("claimed");
        expect(await claim(id, "c", "standalone", { most: 2 })).toBe("full");
        expect(await claim(id, "a", "standalone", { most: 2, refusals: 1 })).toBe("claimed");
        await drop(id, "standalone");
        expect(await claim(id, "b", "result 1", { most: 2 })).toBe("claimed");
        await sessions.forgetClaims(id, [{ taskId: "task", key: "a" }]);
        expect(await claim(id, "c", "result 1", { most: 2 })).toBe("claimed");
        for (let count = 3; count <= 20; count += 1) expect(await claim(id, String(count), "result 1", { most: 20 })).toBe("claimed");
        expect(await claim(id, "one more", "result 1", { most: 20 })).toBe("full");
      });
    });

    describe("wake-ups", () => {
      test("watchers are woken by what another front end has to know and by nothing else", async () => {
        const id = await opened();
        const watcher = await watched(id);

        await watcher.wakes(() => sessions.follow(id, "task", 10));
        await watcher.wakes(() => sessions.subscribe(id, URI, 10));
        await watcher.wakes(() => sessions.unsubscribe(id, URI));
        await watcher.wakes(() => hold(id, "standalone"));
        await watcher.wakes(() => drop(id, "standalone"));
        await hold(id, "result 1");
        await hold(id, "result 2");

        await hold(id, "result 4");
        await watcher.wakes(() => end(id, "result 4"));

        await watcher.sleepsThrough(async () => {
          await end(id, "result 4");
          await sessions.touch(id, TTL_MS);
          await sessions.setLogLevel(id, "debug");
          await sessions.noteCall(id, "1", "task", 10);
          await sessions.forgetCalls(id, ["1"]);
          await sessions.follow(id, "task", 10);
          await sessions.unfollow(id, ["task"]);
          await claim(id, "ask", "result 1");
          await sessions.forgetClaims(id, [{ taskId: "task", key: "ask" }]);
          await keep(id, "standalone");
          await drop(id, "standalone");
          await keep(id, "result 1");
          await hold(id, "result 3", { most: 2 });
        });
        await watcher.wakes(() => sessions.close(id));
        watcher.stop();
      });

      test("learn that it has ended, and of other changes nothing", async () => {
        const id = await opened();
        const ends = vi.fn();
        const stop = await sessions.watch(id, ends);
        await sessions.subscribe(id, URI, 10);
        await sessions.close(id);
        await expect.poll(() => ends).toHaveBeenLastCalledWith(true);
        expect(ends.mock.calls).toEqual([[false], [true]]);
        stop();
      });

      test("watchers of other sessions, and watchers that stopped, are not woken", async () => {
        const [mine, theirs] = [await opened(), await opened()];
        const stopped = vi.fn();
        const other = vi.fn();
        (await sessions.watch(mine, stopped))();
        const stopOther = await sessions.watch(theirs, other);
        const watcher = await watched(mine);

        await watcher.wakes(() => sessions.close(mine));

        expect(stopped).not.toHaveBeenCalled();
        expect(other).not.toHaveBeenCalled();
        stopOther();
        watcher.stop();
      });

      test("watching an id that cannot be a session has no effect", async () => {
        const stop = await sessions.watch("{not} an id", () => undefined);
        stop();
      });
    });
  });
}
