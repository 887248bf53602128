/** Asks and sleeps: how they are asked, what wakes the task, and what the handler withdraws. */
import { getEventListeners } from "node:events";
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "../effects.ts";
import { accept, askKeys, form, subject } from "../replay.fixture.ts";

const HOUR = 3_600_000;
/** The recorded end of a sleep. */
function endOf({ journal }: ReturnType<typeof subject>, id: string): number {
  const outcome = journal.get(id)?.outcome;
  return outcome?.type === "value" ? Number(outcome.value) : Number.NaN;
}
const until = async (isSo: () => boolean) => {
  while (!isSo()) await systemClock.sleep(1);
};

describe("an ask", () => {
  test("is asked with its deadline and its policy, and stays as it was asked in every later run", async () => {
    const settings = { askTimeoutMs: 2 * HOUR, askTimeoutMaxMs: 10 * HOUR };
    const task = subject(async ({ ask }) => {
      await Promise.all([
        ask("plain", form("?")),
        ask("short", form("?"), { timeoutMs: HOUR, onTimeout: "decline" }),
        ask("long", form("?"), { timeoutMs: 10 * HOUR, onTimeout: { default: { n: 1 } } }),
      ]);
      return {};
    }, settings);
    const first = await task.run();
    if (first.type !== "parked") throw new Error(first.type);
    expect(first.asks.map(({ key, onTimeout, askedAtMs, deadlineMs }) => [key, onTimeout, deadlineMs - askedAtMs])).toStrictEqual([
      ["plain", "cancel", 2 * HOUR],
      ["short", "decline", HOUR],
      ["long", { default: { n: 1 } }, 10 * HOUR],
    ]);
    task.skip(HOUR / 2);
    expect(await task.run()).toStrictEqual(first);
  });

  test("names its audience, an event has none; an event is written before the next side effect", async () => {
    const audience = { to: "tenant" } as const;
    const known: string[][] = [];
    const task = subject(async ({ ask, event, step }) => {
      const asked = [ask("mine", form("?")), ask("theirs", form("?"), { audience }), event("paid", { type: "event", schema: {} }).answer];
      await step("hand-over", () => void known.push([...task.open.keys()]));
      await Promise.all(asked);
      return {};
    });
    const end = await task.run();
    if (end.type !== "parked") throw new Error(end.type);
    expect(end.asks.map((ask) => [ask.key, "audience" in ask ? ask.audience : "none"])).toStrictEqual([
      ["mine", "none"],
      ["theirs", audience],
      ["event:paid", "none"],
    ]);
    expect(known).toStrictEqual([["event:paid"]]);
  });

  test("with too long a timeout is refused, unless it is already open", async () => {
    const settings = { askTimeoutMaxMs: 10 * HOUR };
    const long = async ({ ask }: Effects) => ({ ...(await ask("long", form("?"), { timeoutMs: 10 * HOUR + 1 })) });
    expect(await subject(long, settings).run()).toMatchObject({
      type: "threw",
      error: {
        code: "INVALID_ASK",
        violations: [{ path: "/timeout", message: "is 36000001 ms; the maximum is 36000000 (PARLEY_ASK_TIMEOUT_MAX)" }],
      },
    });
    const settled = { askTimeoutMaxMs: 11 * HOUR };
    const waiting = subject(long, settled);
    expect(askKeys(await waiting.run())).toStrictEqual(["long"]);
    settled.askTimeoutMaxMs = 10 * HOUR;
    expect(askKeys(await waiting.run())).toStrictEqual(["long"]);
  });

  test("uses its default only if no answer can be had", async () => {
    const task = subject(async ({ ask }) => ({ ...(await ask("size", form("?"), { onTimeout: { default: { n: 2 } } })) }), {
      withoutCapability: "default",
    });
    await task.run();
    task.answer("size", accept(7));
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "accept", content: { n: 7 } } });
  });

  test("of a later generation is not answered by an early reply, under any name", async () => {
    const reply = { action: "accept", content: { n: 1 } };
    const task = subject(
      async ({ ask, restart }) => {
        await ask("size", form("?"));
        return await restart({});
      },
      {},
      { size: reply, "size@1": reply },
    );
    expect(await task.run()).toMatchObject({ type: "restarted" });
    expect(askKeys(await task.run())).toStrictEqual(["size@1"]);
  });

  test("that cannot be asked, has changed, or times out says which, and what to look at", async () => {
    const messageOf = async (run: Promise<unknown>) => ((await run) as { error?: Error }).error?.message;
    const both = async ({ ask }: Effects) => {
      await Promise.all([ask("a", form("?")), ask("b", form("?"), { onTimeout: "fail" })]);
      return {};
    };
    expect(await messageOf(subject(both, { openAsksMax: 1 }).run())).toBe("more than 1 questions are open at once (PARLEY_OPEN_ASKS_MAX)");

    const late = subject(both);
    await late.run();
    late.answer("b", { action: "timeout" });
    expect(await messageOf(late.run())).toBe("ask:b was not answered in time");

    const changed = subject(both);
    await changed.run();
    changed.deploy(async ({ ask }) => ({ ...(await ask("a", form("!"))) }));
    expect(await messageOf(changed.run())).toMatch(
      /^replay diverged in tool subject: recorded ask:a with digest \S{22}, found ask:a with digest \S{22}$/,
    );
  });
});

describe("a withdrawal", () => {
  test("by a signal that outlives the run leaves nothing attached to it", async () => {
    const shutdown = new AbortController();
    const task = subject(async ({ ask, sleep }) => {
      await Promise.all([ask("maybe", form("?"), { signal: shutdown.signal }), sleep("long", HOUR, { signal: shutdown.signal })]);
      return {};
    });
    expect(askKeys(await task.run())).toStrictEqual(["maybe"]);
    expect(getEventListeners(shutdown.signal, "abort")).toStrictEqual([]);
  });

  test("counts although the answer had arrived, and has one place, in this run and in every later one", async () => {
    const task = subject(async ({ ask }) => {
      const stop = new AbortController();
      const b = ask("b", form("?"), { signal: stop.signal });
      await ask("a", form("?"));
      stop.abort();
      const { action } = await b;
      const last = await ask("c", form("?"));
      return { action, last: last.action };
    });
    await task.run();
    task.answer("a", accept(1), 1);
    task.answer("b", accept(1), 2);
    expect(askKeys(await task.run())).toStrictEqual(["c"]);
    expect(task.journal.get("ask:a")?.place).toBe(1);
    expect(task.journal.get("ask:b")).toMatchObject({ place: 2, withdrawn: true, outcome: { type: "answer", answer: accept(1) } });
    task.answer("c", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "withdrawn", last: "accept" } });
    expect(task.journal.get("ask:c")?.place).toBe(3);
  });

  test("is recorded before the next side effect, even if nothing else could have settled", async () => {
    let found: unknown;
    const task = subject(async ({ ask, step }) => {
      const stop = new AbortController();
      const asked = ask("maybe", form("?"), { signal: stop.signal });
      await step("one", () => 1);
      stop.abort();
      await asked;
      await step("two", () => void (found = task.journal.get("ask:maybe")));
      return {};
    });
    await task.run();
    expect(found).toMatchObject({ withdrawn: true, place: 2, outcome: { type: "withdrawn" } });
  });

  test("settles in a replay when the handler has withdrawn again, however long that takes", async () => {
    const seen: boolean[] = [];
    let isSlow = false;
    const task = subject(async ({ ask, step }) => {
      const stop = new AbortController();
      const maybe = ask("maybe", form("?"), { signal: stop.signal }).then(() => seen.push(stop.signal.aborted));
      await ask("other", form("?"));
      if (isSlow) await systemClock.sleep(5);
      stop.abort();
      await maybe;
      await ask("last", form("?"));
      await step("after", () => 1);
      return {};
    });
    await task.run();
    task.answer("other", accept(1));
    expect(askKeys(await task.run())).toStrictEqual(["last"]);
    isSlow = true;
    task.answer("last", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(seen).toStrictEqual([true, true]);
    // It has no second place.
    expect(["ask:other", "ask:maybe", "ask:last", "step:after"].map((id) => task.journal.get(id)?.place)).toStrictEqual([1, 2, 3, 4]);
  });

  test("does not settle sleeps again that are over by then", async () => {
    const task = subject(async ({ sleep, step }) => {
      const stop = new AbortController();
      const startedAt = performance.now();
      const nap = sleep("nap", 10, { signal: stop.signal }).catch(() => undefined);
      stop.abort(new Error("no need"));
      await nap;
      await step("long", () => until(() => performance.now() - startedAt > 20));
      await step("last", () => 1);
      return {};
    });
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect([...task.journal].map(([id, { place }]) => [id, place])).toStrictEqual([
      ["sleep:nap", 1],
      ["step:long", 2],
      ["step:last", 3],
    ]);
    const nap = task.journal.get("sleep:nap");
    expect([nap?.digest, nap?.withdrawn]).toStrictEqual(["", true]);
  });
});

describe("a sleep", () => {
  test("that is short keeps the run from parking at an open ask until it is over", async () => {
    const task = subject(async ({ ask, sleep, step }) => {
      await Promise.all([ask("go", form("?")), sleep("nap", 10).then(() => step("after", () => 1))]);
      return {};
    });
    expect(askKeys(await task.run())).toStrictEqual(["go"]);
    expect([...task.journal.keys()]).toStrictEqual(["sleep:nap", "step:after"]);
    expect(task.journal.get("sleep:nap")).toMatchObject({ digest: "", calledAt: "0", place: 1 });
  });

  test("that an earlier run began wakes this one when it is over", async () => {
    let fails = true;
    const task = subject(async ({ sleep, step }) => {
      const nap = sleep("nap", 60);
      await step("one", () => 1);
      if (fails) throw new Error("network");
      await nap;
      return {};
    });
    expect(await task.run()).toMatchObject({ type: "threw", error: new Error("network") });
    const endsAtMs = endOf(task, "sleep:nap");
    fails = false;
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(Date.now()).toBeGreaterThanOrEqual(endsAtMs - 1);
    expect(task.journal.get("sleep:nap")).toMatchObject({ place: 2, outcome: { value: endsAtMs } });
  });

  test("that ends first determines when the task is to run", async () => {
    const task = subject(async ({ sleep }) => {
      await Promise.all([sleep("long", 3 * HOUR), sleep("short", HOUR), sleep("middle", 2 * HOUR)]);
      return {};
    });
    const end = await task.run();
    expect(end.type === "parked" && end.wakeAtMs).toBe(endOf(task, "sleep:short"));
    task.skip(HOUR + 1);
    const next = await task.run();
    expect(next.type === "parked" && next.wakeAtMs).toBe(endOf(task, "sleep:middle"));
  });
});
