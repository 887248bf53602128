/** What the tests beside a real outbox (packages/redis/tasks/follow-occurrences.redis.test.ts) cannot time: an outbox of which each answer is held. */
import { expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Outbox, OutboxEntry } from "../ports/outbox.ts";
import { followOccurrences, type Subscriber } from "./follow-occurrences.ts";
import { inMemory } from "./in-memory.fixture.ts";

const HOUR = 3_600_000;
const NOW_MS = 10 * HOUR;

/** Entries by the hour at which they happened. */
function ended(id: string, atMs: number): OutboxEntry {
  const call = { kind: "tool", name: "subject", principal: "alice", hidden: false } as const;
  return { id, partition: 0, taskId: `0-${id}`, revision: 1, atMs, call, changes: [{ what: "completed", audience: [] }] };
}

/** A feed that reads when the test says so. */
function subject(outbox: Partial<Outbox>, entries: OutboxEntry[] = []) {
  const { services } = inMemory();
  const problems: string[] = [];
  const due: (() => void)[] = [];
  const clock = { ...services.clock, now: () => NOW_MS, after: (_ms: number, run: () => void) => (due.push(run), () => undefined) };
  const end = (id: string) => [{ after: id, changes: 0 }];
  const feed = followOccurrences({
    ...services,
    clock,
    outbox: {
      now: async () => end(entries.at(-1)?.id ?? "0-0"),
      async read([from], limit) {
        const found = entries.filter(
          ({ id }) => Number.parseFloat(id.replace("-", ".")) > Number.parseFloat((from?.after ?? "0-0").replace("-", ".")),
        );
        const some = found.slice(0, limit);
        const isMore = found.length > limit;
        return { entries: some, end: end(some.at(-1)?.id ?? from?.after ?? "0-0"), isMore, isTruncated: false, nowMs: NOW_MS };
      },
      names: async () => new Set(),
      namesVersion: async () => "",
      ...outbox,
    },
  });
  const heard: { readonly ids: string[]; readonly isTruncated: boolean }[] = [];
  const follow = (more: Partial<Subscriber> = {}) =>
    feed.follow({
      caller: callerNamed("alice"),
      filter: { types: ["task.ended"] },
      from: end("0-0"),
      limit: 100,
      deliver: ({ occurrences, isTruncated }) => void heard.push({ ids: occurrences.map(({ id }) => id), isTruncated }),
      failed: (error) => problems.push(String(error)),
      troubled: () => problems.push("troubled"),
      ...more,
    });
  const pass = async () => await new Promise((resolve) => setTimeout(resolve, 5));
  const tick = async () => {
    due.splice(0).forEach((run) => run());
    await pass();
  };
  return { follow, heard, tick, pass, problems, entries };
}

test("nothing older than was wanted is heard, however much of it there is", async () => {
  const old = Array.from({ length: 1_200 }, (_, at) => ended(`${at + 1}-0`, NOW_MS - 5 * HOUR));
  const { follow, heard, pass, problems } = subject({}, [...old, ended("2000-0", NOW_MS - 1_000)]);
  follow({ maxAgeMs: HOUR });
  await pass();
  expect(problems).toEqual([]);
  expect(heard.flatMap(({ ids }) => ids)).toEqual(["0-2000-0-0-task-ended"]);
  expect(heard[0]?.isTruncated).toBe(true);
});

test("who learns their names while others learn newer ones hears of what is asked under the newest", async () => {
  let version = "v1";
  let held: (() => void) | undefined;
  let holds = true;
  const names = () => {
    const known = new Set([`bob ${version}`]);
    return holds ? new Promise<Set<string>>((resolve) => (held = () => resolve(known))) : Promise.resolve(known);
  };
  const { follow, tick, pass, entries, problems } = subject({ namesVersion: async () => version, names });
  const asked = (id: string): OutboxEntry => ({
    ...ended(id, NOW_MS),
    call: { kind: "tool", name: "subject", principal: "ann", hidden: false },
    changes: [{ what: "answered", key: "sure", audience: [`bob ${version}`], answeredAs: "given", isApproval: true }],
  });
  let looked = 0;
  follow({ caller: callerNamed("bob"), filter: { types: ["approval.given"] }, urlOf: () => (looked += 1).toString() });
  await pass();
  await tick();
  // It asked while v1 was the newest, and has no reply yet when v2 comes.
  version = "v2";
  entries.push(asked("1-0"));
  await tick();
  holds = false;
  held?.();
  await pass();
  await tick();
  const before = looked;
  entries.push(asked("2-0"));
  await tick();
  await tick();
  expect(problems).toEqual([]);
  expect(looked).toBeGreaterThan(before);
});

test("names of tenants that nobody follows are not looked at, however many there are", async () => {
  const looked: string[] = [];
  const namesVersion = async (tenant: string) => (looked.push(tenant), "");
  const { follow, tick, pass, entries } = subject({ namesVersion });
  follow({ caller: { ...callerNamed("bob"), tenant: "acme" } });
  await pass();
  await tick();
  looked.length = 0;
  const inTenant = (id: string, tenant: string): OutboxEntry => ({
    ...ended(id, NOW_MS),
    call: { kind: "tool", name: "subject", principal: "ann", hidden: false, tenant },
    changes: [{ what: "asked", key: "sure", audience: ["somebody"] }],
  });
  for (let at = 0; at < 100; at += 1) entries.push(inTenant(`${at + 1}-0`, at === 50 ? "acme" : `tenant-${at}`));
  await tick();
  expect(looked).toEqual(["acme"]);
});
