/** Orders in which most questions have their place in another set than the one that is read. */
import { randomUUID } from "node:crypto";
import { type Ask, type AskAbout, type AskPlace, type Caller, listAsks, namesOfCaller } from "@parley/core";
import { createMemorySnoozes } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aLife, anAsk, HOUR_MS } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";

/** As in page.lua. */
const PASSED_MAX = 2_000;
const OF_A_TASK = 100;

let opened: OpenRedis;
beforeEach(async () => void (opened = await openRedis()));
afterEach(() => opened.close());

const group = `finance-${randomUUID()}`;
const caller: Caller = {
  principal: "eve",
  tenant: "default",
  scopes: [],
  authenticatedBy: "test",
  names: ["eve"],
  groups: [group],
  roles: [],
};

function saying(key: string, about: AskAbout, closesInMs: number): Ask {
  const ask = anAsk(key, { deadlineMs: Date.now() + closesInMs, audience: { to: { groups: [group] } } });
  return { ...ask, request: { ...ask.request, about } as Ask["request"] };
}

/** So many that say something, which all come between two that say nothing. */
async function asked(count: number, about: AskAbout): Promise<void> {
  const life = aLife(opened.store);
  await life.parked([saying("first", {}, 1_000), saying("last", {}, 2 * HOUR_MS)]);
  for (let from = 0; from < count; from += OF_A_TASK) {
    const keys = Array.from({ length: Math.min(OF_A_TASK, count - from) }, (_, at) => `k${from + at}`);
    await life.parked(keys.map((key) => saying(key, about, HOUR_MS)));
  }
}

const list = (order: "due" | "priority") =>
  listAsks({ store: opened.store, clock: systemClock, snoozes: createMemorySnoozes() }, { caller, order, limit: 50 });

test.each([PASSED_MAX, PASSED_MAX + 1, 2 * PASSED_MAX + 100])(
  "a page by priority is full although %i questions that are not urgent are in the set that it reads first",
  async (count) => {
    await asked(count, { priority: "low" });
    const { asks, nextCursor } = await list("priority");
    expect(asks.map(({ priority }) => priority)).toEqual(["normal", "normal", ...Array<string>(48).fill("low")]);
    expect(nextCursor).toBeDefined();

    // All of them, each once, and no look that reads everything.
    const places: AskPlace[] = [];
    let looks = 0;
    for (let after: AskPlace | undefined, page: readonly AskPlace[] = []; looks === 0 || page.length > 0; after = page.at(-1)) {
      page = await opened.store.asked({ names: namesOfCaller(caller), order: "priority", limit: 1_000, ...(after && { after }) });
      places.push(...page.filter(({ isElsewhere }) => !isElsewhere));
      looks += 1;
    }
    expect(new Set(places.map(({ taskId, key }) => `${taskId} ${key}`)).size).toBe(count + 2);
    expect(places).toHaveLength(count + 2);
    expect(looks).toBeLessThanOrEqual(Math.ceil(count / 1_000) + Math.ceil(count / PASSED_MAX) + 2);
  },
);

test("a page of what is wanted ends with what says nothing, behind all that said when it was wanted", async () => {
  await asked(PASSED_MAX + 100, { dueMs: 2_000 });
  const cursorOf = async (cursor?: string) =>
    await listAsks(
      { store: opened.store, clock: systemClock, snoozes: createMemorySnoozes() },
      { caller, order: "due", limit: 100, ...(cursor !== undefined && { cursor }) },
    );
  const keys: string[] = [];
  for (let page = await cursorOf(); ; page = await cursorOf(page.nextCursor)) {
    keys.push(...page.asks.map(({ key }) => key));
    if (page.nextCursor === undefined) break;
  }
  expect([keys[0], keys.at(-1), keys.length, new Set(keys).size]).toEqual(["first", "last", PASSED_MAX + 102, PASSED_MAX + 102]);
});

describe("with more to pass over under several names than one look may", () => {
  const groups = Array.from({ length: 40 }, (_, at) => `${group}-${at}`);
  const of = (key: string, to: readonly string[], about: AskAbout): Ask => {
    const askedAtMs = Date.now();
    const open = anAsk(key, { askedAtMs, deadlineMs: askedAtMs + 2 * HOUR_MS, audience: { to: { groups: [...to] } } });
    return { ...open, request: { ...open.request, about } as Ask["request"] };
  };

  /** All pages; resolves to the keys and the number of pages. */
  async function pages(order: "due" | "priority"): Promise<[keys: readonly string[], pages: number]> {
    const keys: string[] = [];
    for (let cursor: string | undefined, read = 1; ; read += 1) {
      const page = await listAsks(
        { store: opened.store, clock: systemClock, snoozes: createMemorySnoozes() },
        { caller: { ...caller, groups }, order, limit: 100, ...(cursor !== undefined && { cursor }) },
      );
      keys.push(...page.asks.map(({ key }) => key));
      cursor = page.nextCursor;
      if (cursor === undefined) return [keys, read];
    }
  }

  test.each(["due", "priority"] as const)(
    "a list by %s goes on where a look ended at the place of a question that was found",
    async (order) => {
      // Wanted by their deadlines: both places are one.
      await aLife(opened.store).parked(Array.from({ length: 100 }, (_, at) => of(`k${at}`, groups, { dueMs: 2 * HOUR_MS })));
      const [keys] = await pages(order);
      expect([keys.length, new Set(keys).size]).toEqual([100, 100]);
    },
  );

  test.each([
    ["two groups", 2, 1_100],
    ["forty groups", 40, 100],
  ])("a list by priority of what was put to %s is read in few pages", async (_, count, asks) => {
    const life = aLife(opened.store);
    const about = { priority: "low", dueMs: HOUR_MS } as const;
    for (let from = 0; from < asks; from += OF_A_TASK)
      await life.parked(Array.from({ length: OF_A_TASK }, (__, at) => of(`k${from + at}`, groups.slice(0, count), about)));
    const [keys, read] = await pages("priority");
    expect([keys.length, new Set(keys).size]).toEqual([asks, asks]);
    expect(read).toBeLessThanOrEqual(Math.ceil(asks / 100) + 3);
  });
});
