/** Polls of an upstream's events, whatever it answers. test/e2e/gateway-events.e2e.test.ts has a real one. */
import { expect, test } from "vitest";
import { parseUpstreams } from "../config/upstreams.ts";
import {
  CURSOR_CHARS_MAX,
  EVENT_ARGUMENTS_CHARS_MAX,
  EVENT_CHARS_MAX,
  EVENT_ID_CHARS_MAX,
  gatewayEvent,
  PAGE_EVENTS_MAX,
  type PollWanted,
} from "./gateway-event.ts";

const [UPSTREAM] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com" }] }));
const LISTED = { name: "note", inputSchema: {}, payloadSchema: {} };
const at = "2026-11-30T00:00:00Z";
const event = (eventId: string, data: object = {}) => ({ eventId, name: "note", timestamp: at, data });

/** A type of an upstream that answers so, and what it was asked. */
function answering(answer: (wanted: PollWanted) => unknown) {
  const asked: PollWanted[] = [];
  const poll = async (_upstream: unknown, wanted: PollWanted) => {
    asked.push(wanted);
    return answer(wanted);
  };
  return { type: gatewayEvent(LISTED, { upstream: UPSTREAM!, polls: { poll, pollWithOthers: poll } }), asked };
}

const rawIds = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id.replace("up:", ""));

test("however many events are wanted at once, each is told once, in order, from pages of one size", async () => {
  const log = Array.from({ length: 23 }, (_, index) => event(`e${index}`));
  for (const limit of [1, 2, 3, 7, 100]) {
    const { type, asked } = answering(({ cursor: given }) => {
      const from = Number(given);
      return { events: log.slice(from, from + 5), cursor: String(Math.min(from + 5, log.length)), hasMore: from + 5 < log.length };
    });
    const heard: string[] = [];
    let from = cursor("0");
    for (let isMore = true; isMore;) {
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const page = await type.poll({ arguments: {}, limit, cursor: from });
      expect(page.events.length).toBeLessThanOrEqual(limit);
      expect(page.events.at(-1)?.cursor).toBe(page.cursor);
      heard.push(...rawIds(page.events));
      from = page.cursor ?? "";
      ({ isMore } = page);
    }
    expect(heard).toEqual(log.map(({ eventId }) => eventId));
    expect(new Set(asked.map(({ maxEvents }) => maxEvents))).toEqual(new Set([100]));
  }
});

test("an event is known by the name of its upstream, too: another may give the same id", async () => {
  const { type } = answering(() => ({ events: [event("a")], cursor: "1" }));
  expect((await type.poll({ arguments: {}, limit: 1 })).events.map(({ id }) => id)).toEqual(["up:a"]);
});

test("an upstream without cursors tells all of a page, because nobody could go on in the middle of it", async () => {
  const { type } = answering(() => ({ events: [event("a"), event("b")], cursor: null }));
  const page = await type.poll({ arguments: {}, limit: 1 });
  expect([rawIds(page.events), page.cursor, page.isMore]).toEqual([["a", "b"], null, false]);
});

test("who continues after an event that is gone hears the whole page again, rather than miss something", async () => {
  let page = [event("a"), event("b"), event("c")];
  const { type } = answering(() => ({ events: page, cursor: "9" }));
  const whole = await type.poll({ arguments: {}, limit: 9 });
  const from = whole.cursor ?? "";
  const [first] = (await type.poll({ arguments: {}, limit: 1, cursor: from })).events;
  expect(rawIds((await type.poll({ arguments: {}, limit: 9, cursor: first?.cursor ?? "" })).events)).toEqual(["b", "c"]);
  page = page.slice(1);
  expect(rawIds((await type.poll({ arguments: {}, limit: 9, cursor: first?.cursor ?? "" })).events)).toEqual(["b", "c"]);
  page = [event("d"), event("e")];
  expect(rawIds((await type.poll({ arguments: {}, limit: 9, cursor: first?.cursor ?? "" })).events)).toEqual(["d", "e"]);
});

test("that something is missing is told once of a page, with its first part", async () => {
  for (const page of [
    { events: [event("a"), event("b"), event("c")], truncated: true },
    { events: [event("a"), 5, event("b"), event("c")] },
  ]) {
    const { type } = answering(({ cursor: given }) => (given === "0" ? { ...page, cursor: "1" } : { events: [], cursor: "1" }));
    const told: boolean[] = [];
    let from = cursor("0");
    for (let polls = 0; polls < 4; polls += 1) {
      // oxlint-disable-next-line no-await-in-loop -- part after part
      const part = await type.poll({ arguments: {}, limit: 1, cursor: from });
      told.push(part.isTruncated);
      from = part.cursor ?? "";
    }
    expect(told).toEqual([true, false, false, false]);
  }
});

test("two events of one id are one, as they are to receivers, so nobody hears the same part of a page forever", async () => {
  const log = ["a", "b", "a", "a", "c", "a"].map((id) => event(id));
  for (const limit of [1, 2, 9]) {
    const { type } = answering(({ cursor: given }) => ({ events: given === "0" ? log : [], cursor: "1" }));
    const heard: string[] = [];
    let from = cursor("0");
    for (let polls = 0; polls < 6; polls += 1) {
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const page = await type.poll({ arguments: {}, limit, cursor: from });
      expect(page.isTruncated).toBe(false);
      heard.push(...rawIds(page.events));
      from = page.cursor ?? "";
    }
    expect(heard).toEqual(["a", "b", "c"]);
  }
});

test("a cursor of any characters, with an id of any, leads on", async () => {
  for (const character of ["x", "\u0000", "\uD800", "界", '"']) {
    const [own, id] = [character.repeat(CURSOR_CHARS_MAX), character.repeat(EVENT_ID_CHARS_MAX)];
    const { type, asked } = answering(() => ({ events: [event(id), event("last")], cursor: own }));
    // oxlint-disable no-await-in-loop -- character after character
    const { cursor: from } = await type.poll({ arguments: {}, limit: 9 });
    const { events } = await type.poll({ arguments: {}, limit: 1, cursor: from ?? "" });
    expect(rawIds((await type.poll({ arguments: {}, limit: 1, cursor: events[0]?.cursor ?? "" })).events)).toEqual(["last"]);
    // oxlint-enable no-await-in-loop
    expect(asked.at(-1)?.cursor).toBe(own);
  }
});

test("a page has at most so many events, and one more is the upstream's mistake", async () => {
  let count = PAGE_EVENTS_MAX;
  const { type } = answering(() => ({ events: Array.from({ length: count }, (_, index) => event(`e${index}`)), cursor: "1" }));
  expect((await type.poll({ arguments: {}, limit: PAGE_EVENTS_MAX, cursor: cursor("0") })).events).toHaveLength(PAGE_EVENTS_MAX);
  count += 1;
  await expect(type.poll({ arguments: {}, limit: 1, cursor: cursor("0") })).rejects.toMatchObject({ code: "UPSTREAM_INVALID" });
});

test("arguments may have so many characters, and more reach nobody", async () => {
  const { type, asked } = answering(() => ({ events: [], cursor: "1" }));
  const ofSize = (size: number) => ({ a: "x".repeat(size - '{"a":""}'.length) });
  await type.poll({ arguments: ofSize(EVENT_ARGUMENTS_CHARS_MAX), limit: 1 });
  await expect(type.poll({ arguments: ofSize(EVENT_ARGUMENTS_CHARS_MAX + 1), limit: 1 })).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
    message: expect.stringContaining("arguments"),
  });
  expect(asked).toHaveLength(1);
});

const DEEP = JSON.parse(`${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`) as object;
test.each([
  ["an id that is as long as it may be", event("x".repeat(EVENT_ID_CHARS_MAX)), true],
  ["a longer id", event("x".repeat(EVENT_ID_CHARS_MAX + 1)), false],
  ["no id", { ...event("x"), eventId: undefined }, false],
  ["data that are as large as they may be", event("x", { a: "x".repeat(EVENT_CHARS_MAX - '{"a":""}'.length) }), true],
  ["larger data", event("x", { a: "x".repeat(EVENT_CHARS_MAX - '{"a":""}'.length + 1) }), false],
  ["data that nest too deeply", event("x", DEEP), false],
  ["data that are a list", { ...event("x"), data: [] }, false],
  ["a time that is none", { ...event("x"), timestamp: "yesterday" }, false],
  ["a time with another zone", { ...event("x"), timestamp: "2026-11-30T02:00:00+02:00" }, true],
  ["nothing", null, false],
])("of %s it is told, or that something is missing", async (_what, given, isTold) => {
  const { type } = answering(() => ({ events: [event("before"), given, event("after")], cursor: "3" }));
  const page = await type.poll({ arguments: {}, limit: 9, cursor: cursor("0") });
  expect(page.events).toHaveLength(isTold ? 3 : 2);
  expect(page.isTruncated).toBe(!isTold);
});

function cursor(...place: readonly unknown[]): string {
  return `u.${Buffer.from(JSON.stringify(place)).toString("base64url")}`;
}

test.each([
  ["u."],
  ["1.0-0"],
  [""],
  [cursor()],
  [cursor(1)],
  [cursor("a", "b", "c")],
  [cursor("a", 1)],
  [cursor("x".repeat(CURSOR_CHARS_MAX + 1))],
  [`u.${"A".repeat(50_000)}`],
])("the cursor %.20s is refused before anybody is asked", async (given) => {
  const { type, asked } = answering(() => ({ events: [] }));
  await expect(type.poll({ arguments: {}, limit: 1, cursor: given })).rejects.toMatchObject({ code: "INVALID_CURSOR" });
  expect(asked).toEqual([]);
});

test.each([
  ["no events", {}],
  ["events that are no list", { events: {} }],
  ["a cursor that is too long", { events: [], cursor: "x".repeat(CURSOR_CHARS_MAX + 1) }],
  ["a negative time to wait", { events: [], nextPollMs: -1 }],
  ["nothing", undefined],
])("a page with %s is the upstream's mistake", async (_what, answer) => {
  const { type } = answering(() => answer);
  await expect(type.poll({ arguments: {}, limit: 1 })).rejects.toMatchObject({ code: "UPSTREAM_INVALID" });
});

test.each([
  [undefined, 5_000],
  [0, 1_000],
  [1_000, 1_000],
  [59_999, 59_999],
  [86_400_000, 60_000],
])("an upstream that wants to be polled after %s ms is polled after %i", async (nextPollMs, expected) => {
  const { type } = answering(() => ({ events: [], cursor: null, ...(nextPollMs !== undefined && { nextPollMs }) }));
  expect(await type.poll({ arguments: {}, limit: 1 })).toEqual({
    events: [],
    cursor: null,
    isTruncated: false,
    isMore: false,
    nextPollMs: expected,
  });
});
