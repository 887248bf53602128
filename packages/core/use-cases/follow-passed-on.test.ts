import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { RpcFailure } from "../errors.ts";
import type { PassedOnPage, PassedOnPoll, PassedOnType } from "../ports/passed-on.ts";
import { type FollowPassedOn, followPassedOn, GONE_AFTER_MS } from "./follow-passed-on.ts";

/** A log that a type is polled from, and time that passes as it is waited for. */
function heard(more: Partial<FollowPassedOn> = {}) {
  const log: string[] = [];
  const waits: number[] = [];
  const told: string[] = [];
  const troubles: unknown[] = [];
  const failures: unknown[] = [];
  const ends: RpcFailure[] = [];
  let isDown = false;
  let isOffered = true;
  const type = {
    name: "up_note",
    inputSchema: {},
    payloadSchema: {},
    async poll({ cursor, limit }) {
      if (isDown) throw new Error("down");
      const from = Number(cursor ?? log.length);
      const events = log.slice(from, from + limit).map((id, index) => ({ id, atMs: 0, data: {}, cursor: String(from + index + 1) }));
      const end = from + events.length;
      return { events, cursor: String(end), isTruncated: false, isMore: end < log.length, nextPollMs: 1_000 } satisfies PassedOnPage;
    },
  } satisfies PassedOnType;
  const following = followPassedOn({
    name: "up_note",
    look: () => (isOffered ? type : undefined),
    arguments: {},
    from: "0",
    limit: 2,
    clock: {
      async sleep(ms) {
        waits.push(ms);
        await new Promise((passed) => setTimeout(passed, 1));
      },
    },
    deliver: ({ events }) => void told.push(...events.map(({ id }) => id)),
    troubled: (error) => void troubles.push(error),
    failed: (error) => void failures.push(error),
    ended: (error) => void ends.push(error),
    ...more,
  });
  return {
    log,
    waits,
    told,
    troubles,
    failures,
    ends,
    following,
    down: (now: boolean) => void (isDown = now),
    offered: (now: boolean) => void (isOffered = now),
    waited: () => vi.waitFor(() => expect(waits.length).toBeGreaterThan(0)),
    again: async () => {
      waits.length = 0;
      await vi.waitFor(() => expect(waits.length).toBeGreaterThan(2));
    },
  };
}

test("what there is more of is polled at once, and then as the publisher wants", async () => {
  const { log, waits, told, following, waited } = heard();
  log.push("a", "b", "c", "d", "e");
  await waited();
  expect(told).toEqual(["a", "b", "c", "d", "e"]);
  expect(waits[0]).toBe(1_000);
  expect(following.cursor).toBe("5");
  following.stop();
});

test("an upstream that is down is tried again, later and later, is said to be down once, and nothing is lost", async () => {
  const { log, waits, told, troubles, following, down, again } = heard();
  await again();
  down(true);
  log.push("a");
  await again();
  expect(troubles).toHaveLength(1);
  await vi.waitFor(() => expect(waits).toContain(60_000));
  expect(Math.max(...waits)).toBe(60_000);
  down(false);
  await vi.waitFor(() => expect(told).toEqual(["a"]));
  down(true);
  await again();
  expect(troubles).toHaveLength(2);
  following.stop();
});

test.each([
  ["has no cursor", null],
  ["stays where it is", "0"],
])("an upstream that always has more, and %s, is polled as it wants and not at once", async (_what, cursor) => {
  let polls = 0;
  const page = { events: [{ id: "a", atMs: 0, data: {}, cursor }], cursor, isTruncated: false, isMore: true, nextPollMs: 1_000 };
  const type = { name: "up_note", inputSchema: {}, payloadSchema: {}, poll: async () => ((polls += 1), page) };
  const { waits, following, waited } = heard({ look: () => (polls < 50 ? type : undefined), from: cursor });
  await waited();
  // It is not offered any more after 50 polls, which are five seconds later.
  expect(waits[0]).toBe(1_000);
  following.stop();
});

test.each([
  ["of which the last has an event are asked for at once", 30, 30, 1],
  ["without an end are asked for at once a hundred times, and then as it wants", Infinity, 100, 0],
])("pages of an upstream that say nothing but that there is more, %s", async (_what, until, expected, events) => {
  let polls = 0;
  const poll = async (): Promise<PassedOnPage> => {
    polls += 1;
    const found = polls === until ? [{ id: "a", atMs: 0, data: {}, cursor: `${polls}` }] : [];
    return { events: found, cursor: `${polls}`, isTruncated: false, isMore: polls < until, nextPollMs: 1_000 };
  };
  const waits: number[] = [];
  const { told, following } = heard({
    look: () => ({ name: "up_note", inputSchema: {}, payloadSchema: {}, poll }),
    clock: { sleep: (ms) => (waits.push(ms), new Promise(() => undefined)) },
  });
  await vi.waitFor(() => expect(waits).toEqual([1_000]));
  following.stop();
  expect([polls, told.length]).toEqual([expected, events]);
});

test.each([
  ["from a cursor", "1", { share: "tenant:acme", principal: "ada" }],
  ["from now on, for callers that cannot be told apart", null, undefined],
])("each poll says what is wanted, where it goes on and for whom, and that others may ask with it: %s", async (_what, from, taker) => {
  const asked: PassedOnPoll[] = [];
  const poll = async (wanted: PassedOnPoll): Promise<PassedOnPage> => {
    asked.push(wanted);
    return { events: [], cursor: from === null ? null : "2", isTruncated: false, isMore: false, nextPollMs: 1_000 };
  };
  const look = () => ({ name: "up_note", inputSchema: {}, payloadSchema: {}, poll });
  const { following, again } = heard({ look, from, limit: 7, arguments: { room: "a" }, taker });
  await again();
  following.stop();
  const wanted = { arguments: { room: "a" }, limit: 7, isShared: true, ...(taker && { taker }) };
  expect(asked.slice(0, 2)).toEqual(
    from === null
      ? [wanted, wanted]
      : [
          { ...wanted, cursor: "1" },
          { ...wanted, cursor: "2" },
        ],
  );
});

test("a page without events is told only if it says that something is missing", async () => {
  const told: PassedOnPage[] = [];
  let polls = 0;
  const poll = async (): Promise<PassedOnPage> => {
    polls += 1;
    return { events: [], cursor: `${polls}`, isTruncated: polls === 2, isMore: false, nextPollMs: 1_000 };
  };
  const look = () => ({ name: "up_note", inputSchema: {}, payloadSchema: {}, poll });
  const { following } = heard({ look, deliver: (page) => void told.push(page) });
  await vi.waitFor(() => expect(polls).toBeGreaterThan(4));
  following.stop();
  expect(told.map(({ cursor }) => cursor)).toEqual(["2"]);
});

test("an upstream that does not take its own cursor any more is heard from now on, and what is missing is said", async () => {
  const told: PassedOnPage[] = [];
  let refuses = new RpcFailure(-32_602, "bad cursor");
  const asked: (string | undefined)[] = [];
  const poll = async ({ cursor }: { readonly cursor?: string }): Promise<PassedOnPage> => {
    asked.push(cursor);
    if (cursor === "old") throw refuses;
    return { events: [], cursor: "new", isTruncated: false, isMore: false, nextPollMs: 1_000 };
  };
  const options = {
    look: () => ({ name: "up_note", inputSchema: {}, payloadSchema: {}, poll }),
    from: "old",
    deliver: (page: PassedOnPage) => void told.push(page),
  };
  const { following, again, troubles } = heard(options);
  await again();
  expect([following.cursor, told.map(({ isTruncated }) => isTruncated), troubles]).toEqual(["new", [true], []]);
  expect(asked.slice(0, 3)).toEqual(["old", undefined, "new"]);
  following.stop();

  // Whatever else fails says nothing about the cursor.
  refuses = new RpcFailure(-32_603, "broken");
  const broken = heard(options);
  await broken.again();
  expect([broken.following.cursor, broken.troubles]).toEqual(["old", [refuses]]);
  broken.following.stop();
});

test("the page that was polled before is not kept for as long as somebody follows", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const type = (): PassedOnType => ({
    name: "up_note",
    inputSchema: {},
    payloadSchema: {},
    poll: async () => ({ events: [], cursor: "2", isTruncated: false, isMore: false, nextPollMs: 1_000 }),
  });
  const begin = () => {
    const first: PassedOnPage = {
      events: [{ id: "a", atMs: 0, data: {}, cursor: "1" }],
      cursor: "1",
      isTruncated: false,
      isMore: false,
      nextPollMs: 1_000,
    };
    const following = followPassedOn({
      name: "up_note",
      look: type,
      arguments: {},
      from: "0",
      first,
      limit: 2,
      clock: { sleep: async () => await new Promise((passed) => setTimeout(passed, 1)) },
      deliver: () => undefined,
      troubled: () => undefined,
      failed: () => undefined,
      ended: () => undefined,
    });
    return { following, page: new WeakRef(first) };
  };
  const { following, page } = begin();
  await vi.waitFor(() => {
    collect();
    // An assertion that fails would keep the page.
    expect(page.deref() === undefined).toBe(true);
  });
  expect(following.cursor).toBe("2");
  following.stop();
});

test("what is not offered any more is not polled, and goes on where it was when it is offered again", async () => {
  const { log, told, following, offered, again } = heard();
  await again();
  offered(false);
  log.push("a");
  await again();
  expect(told).toEqual([]);
  offered(true);
  await vi.waitFor(() => expect(told).toEqual(["a"]));
  following.stop();
});

test("what is not offered any more is said once, and has ended when it was not for a while; until then it may come back", async () => {
  const waits: number[] = [];
  let pass = () => undefined as void;
  const sleep = (ms: number) => (waits.push(ms), new Promise<void>((passed) => (pass = passed)));
  const { log, told, troubles, ends, failures, offered } = heard({ clock: { sleep } });
  /** Until it waits for the next time. */
  const next = async () => {
    const before = waits.length;
    pass();
    await vi.waitFor(() => expect(waits.length + ends.length).toBeGreaterThan(before));
  };
  await vi.waitFor(() => expect(waits).toHaveLength(1));
  // Not offered for as long as it may be, and then offered again: it goes on, and the time begins anew.
  for (let round = 0; round < 2; round += 1) {
    offered(false);
    log.push("a");
    // oxlint-disable no-await-in-loop -- look after look
    for (let waitedMs = 0; waitedMs < GONE_AFTER_MS; waitedMs += waits.at(-1) ?? 0) await next();
    expect([troubles.length, ends]).toEqual([round + 1, []]);
    expect(told).toHaveLength(round);
    if (round === 1) break;
    offered(true);
    await next();
    // oxlint-enable no-await-in-loop
  }
  await next();
  expect(ends).toHaveLength(1);
  expect(ends[0]).toMatchObject({ code: -32_011, message: "the event type up_note is not offered any more", data: { kind: "event" } });
  // It is followed no more.
  offered(true);
  await new Promise((passed) => setTimeout(passed, 20));
  expect([told, troubles.length, failures]).toEqual([["a"], 2, []]);
});

test.each([
  [-32_601, true],
  [-32_602, true],
  [-32_011, true],
  [-32_012, true],
  [-32_023, true],
  [-32_024, true],
  [-32_603, false],
  [-32_013, false],
])("an upstream that refuses every poll with %i has ended: %s", async (code, hasEnded) => {
  const refused = new RpcFailure(code, "no");
  const poll = () => Promise.reject(refused);
  const { waits, troubles, ends, following } = heard({ look: () => ({ name: "up_note", inputSchema: {}, payloadSchema: {}, poll }) });
  await vi.waitFor(() => expect(hasEnded ? ends.length : waits.length - 30).toBeGreaterThan(0));
  following.stop();
  expect(ends).toEqual(hasEnded ? [refused] : []);
  expect(troubles).toEqual([refused]);
});

test("while an upstream cannot be reached nobody knows whether it refuses, and nothing ends", async () => {
  let polls = 0;
  const poll = async (): Promise<PassedOnPage> => {
    polls += 1;
    if (polls % 10 === 0) return { events: [], cursor: "1", isTruncated: false, isMore: false, nextPollMs: 1_000 };
    throw polls % 2 === 0 ? new RpcFailure(-32_011, "no such event") : new Error("down");
  };
  const { ends, following } = heard({ look: () => ({ name: "up_note", inputSchema: {}, payloadSchema: {}, poll }), from: null });
  await vi.waitFor(() => expect(polls).toBeGreaterThan(60));
  following.stop();
  expect(ends).toEqual([]);
});

test("the cursor stays where it was if an event could not be delivered, and nothing is delivered after the end", async () => {
  const { log, failures, following, waited } = heard({
    deliver: () => Promise.reject(new Error("no")),
  });
  await waited();
  log.push("a");
  await vi.waitFor(() => expect(failures).toEqual([new Error("no")]));
  expect(following.cursor).toBe("0");

  const stopped = heard();
  stopped.following.stop();
  stopped.log.push("a");
  await new Promise((passed) => setTimeout(passed, 20));
  expect(stopped.told).toEqual([]);
});
