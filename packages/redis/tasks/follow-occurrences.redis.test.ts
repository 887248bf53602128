/** Many who hear of what happens, and one reading for all of them: each hears the same as if it read alone, in order and once. */
import {
  type Caller,
  cursorOfPlace,
  followOccurrences,
  type Following,
  type Occurrence,
  type OccurrenceFeed,
  type OccurrenceFilter,
  type Outbox,
  ParleyError,
} from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callerNamed } from "../../core/callers/caller.fixture.ts";
import { outboxWindow } from "../../core/use-cases/outbox-window.ts";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { aLife, anAsk, HOUR_MS } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";

const OUTBOX = { lengthMax: 5_000, ageMs: 24 * HOUR_MS };
const FOR_FINANCE = { audience: { to: { groups: ["finance"] } } };
const ada = callerNamed("ada");
const bob = callerNamed("bob", { groups: ["finance"] });

let redis: OpenRedis;
let reads: number;
let isDown: boolean;
let feeds: OccurrenceFeed[];

beforeEach(async () => {
  [reads, isDown, feeds] = [0, false, []];
  redis = await openRedis({ outbox: OUTBOX, partitions: 3 });
});
afterEach(async () => {
  for (const feed of feeds) feed.close();
  await redis.close();
});

function outboxOf({ outbox }: OpenRedis): Outbox {
  if (!outbox) throw new Error("the backend has no outbox");
  return outbox;
}

function feedOf(opened = redis, readEveryMs = 20): OccurrenceFeed {
  const outbox = outboxOf(opened);
  const counted: Outbox = {
    ...outbox,
    async read(from, limit) {
      reads += 1;
      if (isDown) throw new ParleyError("UNAVAILABLE", "Redis does not respond");
      return await outbox.read(from, limit);
    },
  };
  const clock = {
    now: Date.now,
    after(ms: number, callback: () => void) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
  const services = { store: opened.store, digest: (text: string) => text, clock, outbox: counted, log: { warn: () => undefined } };
  const feed = followOccurrences(services as never, { readEveryMs });
  feeds.push(feed);
  return feed;
}

interface Heard {
  readonly all: Occurrence[];
  readonly following: Following;
  readonly troubles: number;
}

async function follow(feed: OccurrenceFeed, caller: Caller, filter: OccurrenceFilter, deliver?: () => Promise<void>): Promise<Heard> {
  const all: Occurrence[] = [];
  let troubles = 0;
  const following = feed.follow({
    caller,
    filter,
    from: await outboxOf(redis).now(),
    limit: 10,
    async deliver({ occurrences }) {
      await deliver?.();
      all.push(...occurrences);
    },
    failed: (error) => expect.unreachable(String(error)),
    troubled: () => (troubles += 1),
  });
  return {
    all,
    following,
    get troubles() {
      return troubles;
    },
  };
}

const life = (opened = redis) => aLife(opened.store, () => opened.newTaskId());
const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Whoever began to follow has read what there was, which takes a while for many, so that from now on there is one reading for each look. */
async function untilAllWait(): Promise<void> {
  await expect
    .poll(async () => {
      const [before, startedAt] = [reads, performance.now()];
      await pass(200);
      return reads - before <= (performance.now() - startedAt) / 20 + 1;
    })
    .toBe(true);
}
const keysOf = ({ all }: Heard) => all.map(({ data }) => data["key"]);

describe("one reading for all", () => {
  test("300 who are not concerned read nothing: of other callers, of other tools, types and tasks", async () => {
    const feed = feedOf();
    const filters: OccurrenceFilter[] = [
      { types: ["ask.opened"], tool: "other" },
      { types: ["task.ended"] },
      { types: ["ask.opened"], taskId: "none" },
    ];
    const idle = await Promise.all(Array.from({ length: 300 }, (_, at) => follow(feed, ada, filters[at % 3] ?? { types: [] })));
    const eve = await follow(feed, callerNamed("eve"), { types: ["ask.opened"] });
    await untilAllWait();
    reads = 0;
    const startedAt = performance.now();
    for (let number = 0; number < 30; number += 1)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await life().parked([anAsk(`size${number}`)], { principal: number % 2 === 0 ? "ada" : "eve" });
    await expect.poll(() => eve.all).toHaveLength(15);
    const ticks = (performance.now() - startedAt) / 20;
    // One reading for each look, whoever follows.
    expect(reads).toBeLessThanOrEqual(ticks + 2);
    expect(idle.every(({ all }) => all.length === 0)).toBe(true);
    // They have heard everything all the same.
    const end = cursorOfPlace(eve.following.place);
    await expect.poll(() => idle.every(({ following }) => cursorOfPlace(following.place) >= end)).toBe(true);
  });

  test("100 who are concerned hear the same in the same order, and the outbox is not read for each of them", async () => {
    const feed = feedOf();
    const all = await Promise.all(Array.from({ length: 100 }, () => follow(feed, ada, { types: ["ask.opened", "ask.settled"] })));
    await untilAllWait();
    reads = 0;
    const startedAt = performance.now();
    const expected: string[] = [];
    for (let number = 0; number < 20; number += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await life().parked([anAsk(`a${number}`), anAsk(`b${number}`)], { principal: "ada" });
      expected.push(`a${number}`, `b${number}`);
    }
    await expect.poll(() => all.every((each) => each.all.length === 40)).toBe(true);
    for (const each of all) expect(keysOf(each)).toEqual(expected);
    expect(reads).toBeLessThanOrEqual((performance.now() - startedAt) / 20 + 2);
  });

  test("who is slow, comes later, or was away hears everything once, and nobody waits for them", async () => {
    const feed = feedOf();
    const from = await outboxOf(redis).now();
    let release: (() => void) | undefined;
    const stuck = new Promise<void>((resolve) => (release = resolve));
    const slow = await follow(feed, ada, { types: ["ask.opened"] }, () => stuck);
    const quick = await follow(feed, ada, { types: ["ask.opened"] });
    const asked: string[] = [];
    const ask = async (count: number) => {
      for (let number = 0; number < count; number += 1) {
        const key = `q${asked.length}`;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await life().parked([anAsk(key)], { principal: "ada" });
        asked.push(key);
      }
    };
    await ask(25);
    await expect.poll(() => quick.all).toHaveLength(25);
    expect(slow.all).toEqual([]);
    const late: Occurrence[] = [];
    feed.follow({
      caller: ada,
      filter: { types: ["ask.opened"] },
      from,
      limit: 7,
      deliver: ({ occurrences }) => void late.push(...occurrences),
      failed: (error) => expect.unreachable(String(error)),
      troubled: () => undefined,
    });
    await ask(10);
    release?.();
    await ask(10);
    await expect.poll(() => [slow.all.length, quick.all.length, late.length]).toEqual([45, 45, 45]);
    expect([keysOf(slow), keysOf(quick), late.map(({ data }) => data["key"])]).toEqual([asked, asked, asked]);
  });

  test("nothing is lost and nothing comes twice where the outbox cannot be read for a while", async () => {
    const feed = feedOf();
    const heard = await follow(feed, ada, { types: ["ask.opened"] });
    await life().parked([anAsk("before")], { principal: "ada" });
    await expect.poll(() => heard.all).toHaveLength(1);
    for (const key of ["first", "second"]) {
      const { troubles } = heard;
      isDown = true;
      // oxlint-disable no-await-in-loop -- one outage after the other
      await life().parked([anAsk(key)], { principal: "ada" });
      await expect.poll(() => heard.troubles).toBe(troubles + 1);
      await pass(100);
      expect(heard.troubles).toBe(troubles + 1);
      isDown = false;
      await expect.poll(() => keysOf(heard)).toContain(key);
      // oxlint-enable no-await-in-loop
    }
    await pass(100);
    expect(keysOf(heard)).toEqual(["before", "first", "second"]);
  });

  test("trouble is said again after each time that it was over, also to those whom nothing concerned in between", async () => {
    const heard = await follow(feedOf(), ada, { types: ["ask.opened"] });
    for (const expected of [1, 2, 3]) {
      isDown = true;
      // oxlint-disable no-await-in-loop -- one outage after the other
      await expect.poll(() => heard.troubles).toBe(expected);
      isDown = false;
      const before = reads;
      await expect.poll(() => reads).toBeGreaterThan(before + 2);
      // oxlint-enable no-await-in-loop
    }
  });

  test("who hears nothing for longer than the outbox keeps has missed nothing", async () => {
    const brief = await openRedis({ outbox: { lengthMax: 1_000, ageMs: 500 } });
    const gaps: boolean[] = [];
    const following = feedOf(brief).follow({
      caller: ada,
      filter: { types: ["ask.opened"] },
      from: await outboxOf(brief).now(),
      limit: 10,
      deliver: ({ isTruncated }) => void gaps.push(isTruncated),
      failed: (error) => expect.unreachable(String(error)),
      troubled: () => undefined,
    });
    for (let number = 0; number < 10; number += 1) {
      // oxlint-disable no-await-in-loop -- something happens all the time
      await life(brief).parked([anAsk("size")], { principal: "eve" });
      await pass(100);
      // oxlint-enable no-await-in-loop
    }
    await life(brief).parked([anAsk("size")], { principal: "ada" });
    await expect.poll(() => gaps).toEqual([false]);
    following.stop();
    await brief.close();
  });

  test("who has waited since before there was a new key hears what is sealed with it", async () => {
    const contentKeys = aContentKey();
    const older = await openRedis({ outbox: OUTBOX, contentKeys });
    const heard: Occurrence[] = [];
    feedOf(older).follow({
      caller: bob,
      filter: { types: ["ask.opened"] },
      from: await outboxOf(older).now(),
      limit: 10,
      deliver: ({ occurrences }) => void heard.push(...occurrences),
      failed: (error) => expect.unreachable(String(error)),
      troubled: () => undefined,
    });
    await life(older).parked([anAsk("size", FOR_FINANCE)], { principal: "ada" });
    await expect.poll(() => heard).toHaveLength(1);
    const newer = await openRedis({ outbox: OUTBOX, contentKeys, contentEpochMs: 1, prefix: older.prefix });
    const word = (taskId: string) => taskId.split("-")[1];
    expect(word(newer.newTaskId())).not.toBe(word(older.newTaskId()));
    await life(newer).parked([anAsk("age", FOR_FINANCE)], { principal: "ada" });
    await expect.poll(() => heard.map(({ data }) => data["key"])).toEqual(["size", "age"]);
    for (const feed of feeds.splice(0)) feed.close();
    await newer.close();
    await older.close();
  });
});

test("a read in the window is the read of the outbox, from any place and of any size, and what is behind it is read there", async () => {
  const outbox = outboxOf(redis);
  const window = outboxWindow(outbox);
  const start = await outbox.now();
  window.begin(start);
  const places = [start];
  let page = await outbox.read(start, 500);
  for (let round = 0; round < 12; round += 1) {
    // oxlint-disable no-await-in-loop -- one after the other
    for (let number = 0; number <= round % 4; number += 1) {
      const taskId = await life().parked([anAsk("size")], { principal: "ada" });
      if (round % 3 === 0) await life().answer(taskId, "size", "4");
    }
    page = await outbox.read(window.end ?? start, 500);
    window.add(page);
    places.push(page.end, ...(page.entries.length > 1 ? [(await outbox.read(places.at(-1) ?? start, 1)).end] : []));
    // oxlint-enable no-await-in-loop
  }
  const ids = ({ entries }: typeof page) => entries.map(({ id, partition }) => `${partition} ${id}`);
  let compared = 0;
  for (const from of places) {
    for (const limit of [1, 2, 5, 500]) {
      // oxlint-disable no-await-in-loop -- page after page
      const [there, all] = [await outbox.read(from, limit), await outbox.read(from, 500)];
      expect(ids(await window.read(from, limit)), `${cursorOfPlace(from)} ${limit}`).toEqual(ids(there));
      const paged: string[] = [];
      for (let at = from, isMore = true; isMore;) {
        const here = await window.read(at, limit);
        paged.push(...ids(here));
        ({ end: at, isMore } = here);
        expect(here.isTruncated).toBe(false);
      }
      // oxlint-enable no-await-in-loop
      expect(paged.toSorted()).toEqual(ids(all).toSorted());
      compared += paged.length;
    }
  }
  expect(compared).toBeGreaterThan(100);
  const before = start.map(({ after }) => ({ after: `${Number(after.split("-")[0]) - 1_000}-0`, changes: 0 }));
  expect(ids(await window.read(before, 500))).toEqual(ids(await outbox.read(before, 500)));
});

test("a window is bounded, and beyond its bound the outbox is read", async () => {
  const outbox = outboxOf(redis);
  const window = outboxWindow(outbox);
  const start = await outbox.now();
  window.begin(start);
  const { entries: none, ...page } = await outbox.read(start, 1);
  expect(none).toEqual([]);
  const entry = (number: number) => ({ id: `${page.nowMs + number}-0`, partition: 0, taskId: "0-x", revision: 1, atMs: 0, changes: [] });
  for (const from of [0, 700, 1_400]) {
    const entries = Array.from({ length: 700 }, (_, at) => entry(from + at + 1));
    const end = page.end.map((each, partition) => (partition === 0 ? { after: entries.at(-1)!.id, changes: 0 } : each));
    window.add({ ...page, entries: entries as never, end, isTruncated: false });
  }
  const from = (number: number) => start.map((each, partition) => (partition === 0 ? { after: entry(number).id, changes: 0 } : each));
  expect((await window.read(from(1_100), 5_000)).entries).toHaveLength(1_000);
  expect((await window.read(from(2_095), 5_000)).entries).toHaveLength(5);
  // In Redis there is nothing of this.
  expect((await window.read(from(1_099), 5_000)).entries).toHaveLength(0);
});
