/** Who polls with others, and who by itself. reads.test.ts counts the polls that reach a real upstream. */
import { ParleyError } from "@parley/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { parseUpstreams } from "../config/upstreams.ts";
import type { PollWanted } from "./gateway-event.ts";
import { sharedPolls } from "./shared-polls.ts";

const upstreamOf = (name: string, headers = {}) =>
  parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name, url: `https://${name}.example.com`, headers }] }))[0]!;
const UP = upstreamOf("up");
const WANTED: PollWanted = { name: "note", arguments: { a: 1 }, cursor: "1", maxEvents: 100 };
const QUIET = { events: [], cursor: "1" };

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** An upstream that answers after a while, and how often it was asked. */
function answering(answer: (count: number) => unknown, tookMs = 20) {
  const asked: PollWanted[] = [];
  const poll = sharedPolls(async (_upstream, wanted) => {
    asked.push(wanted);
    const count = asked.length;
    await new Promise((passed) => setTimeout(passed, tookMs));
    return answer(count);
  });
  return { poll, asked };
}

test("whoever asks for the same while it is polled has the same answer, and so have those who ask a moment after nothing was said", async () => {
  const { poll, asked } = answering(() => QUIET);
  const together = Promise.all(Array.from({ length: 1_000 }, (_, at) => poll(UP, WANTED, { share: `tenant:${at}`, principal: `${at}` })));
  await vi.advanceTimersByTimeAsync(20);
  expect((await together).every((page) => page === QUIET)).toBe(true);
  await vi.advanceTimersByTimeAsync(400);
  expect(await poll(UP, WANTED)).toBe(QUIET);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(101);
  const later = poll(UP, WANTED);
  await vi.advanceTimersByTimeAsync(20);
  await later;
  expect(asked).toHaveLength(2);
});

test.each([
  ["another upstream", upstreamOf("other"), WANTED],
  ["an upstream that the file has changed since", upstreamOf("up", { authorization: "another" }), WANTED],
  ["another event type", UP, { ...WANTED, name: "other" }],
  ["other arguments", UP, { ...WANTED, arguments: { a: 2 } }],
  ["another cursor", UP, { ...WANTED, cursor: "2" }],
  ["another age", UP, { ...WANTED, maxAgeMs: 5 }],
  ["now, as is everybody", UP, { ...WANTED, cursor: null }],
])("whoever asks for %s is polled by itself", async (_what, upstream, wanted) => {
  const { poll, asked } = answering(() => QUIET);
  const both = Promise.all([poll(UP, { ...WANTED, ...(wanted.cursor === null && { cursor: null }) }), poll(upstream, wanted)]);
  await vi.advanceTimersByTimeAsync(20);
  await both;
  expect(asked).toHaveLength(2);
});

test.each([
  ["an event", { events: [{ eventId: "a" }], cursor: "2" }],
  ["more", { events: [], cursor: "2", hasMore: true }],
  ["that something is missing", { events: [], cursor: "2", truncated: true }],
  ["what is no page", "nothing"],
  ["nothing at all", null],
])("an answer that has %s is for those who asked before it came, and is not kept", async (_what, page) => {
  const { poll, asked } = answering(() => page);
  const both = Promise.all([poll(UP, WANTED), poll(UP, WANTED)]);
  await vi.advanceTimersByTimeAsync(20);
  expect(await both).toEqual([page, page]);
  expect(asked).toHaveLength(1);
  const again = poll(UP, WANTED);
  await vi.advanceTimersByTimeAsync(20);
  await again;
  expect(asked).toHaveLength(2);
});

test("nobody waits for the polls of others for longer than three moments, whatever becomes of them, and few are made meanwhile", async () => {
  // The first three wait for places that never come.
  const { poll, asked } = answering((count) => (count <= 3 ? new Promise(() => undefined) : QUIET));
  void poll(UP, WANTED);
  const told = Promise.all(Array.from({ length: 100 }, () => poll(UP, WANTED)));
  await vi.advanceTimersByTimeAsync(501);
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(500);
  expect(asked).toHaveLength(3);
  // The one that polled second and third hang with them; all others have their own.
  await vi.advanceTimersByTimeAsync(520);
  expect(asked).toHaveLength(3 + 98);
  await expect(Promise.race([told, Promise.resolve("two hang")])).resolves.toBe("two hang");
});

const busy = new ParleyError("UPSTREAM_BUSY", "no place");
const down = new ParleyError("UPSTREAM_UNAVAILABLE", "down");

test("whoever polls with somebody who has no place polls by itself, and what an upstream fails with is everybody's", async () => {
  const { poll, asked } = answering((count) => (count === 1 ? Promise.reject(busy) : QUIET));
  const all = Promise.allSettled([poll(UP, WANTED), poll(UP, WANTED), poll(UP, WANTED)]);
  await vi.advanceTimersByTimeAsync(40);
  expect((await all).map((each) => (each.status === "fulfilled" ? each.value : each.reason) as unknown)).toEqual([busy, QUIET, QUIET]);
  expect(asked).toHaveLength(2);

  const failing = answering(() => Promise.reject(down));
  const ask = (count: number) => Promise.allSettled(Array.from({ length: count }, () => failing.poll(UP, WANTED)));
  for (const [count, asks] of [
    [100, 1],
    [1, 2],
  ] as const) {
    const asking = ask(count);
    // oxlint-disable no-await-in-loop -- one after the other
    await vi.advanceTimersByTimeAsync(20);
    expect((await asking).every((each) => each.status === "rejected" && each.reason === down)).toBe(true);
    // oxlint-enable no-await-in-loop
    expect(failing.asked).toHaveLength(asks);
  }
});

test("nothing is kept of what was asked", async () => {
  const { poll } = answering(() => QUIET);
  const asked = Promise.all(Array.from({ length: 50 }, (_, at) => poll(UP, { ...WANTED, cursor: String(at) })));
  await vi.advanceTimersByTimeAsync(20);
  await asked;
  expect(vi.getTimerCount()).toBe(50);
  await vi.advanceTimersByTimeAsync(500);
  expect(vi.getTimerCount()).toBe(0);
});
