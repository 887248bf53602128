/** What settles next, what is written first, and what keeps a run from being live. */
import { createScope, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Entry, KeyedEntry } from "../journal.ts";
import type { Task } from "../task.ts";
import { createCourse } from "./course.ts";
import { Flow } from "./flow.ts";
import { createSequentialLine } from "./line.ts";
import { recollect } from "./recollection.ts";
import { readRecordedCalls, type Recorded } from "./recorded-calls.ts";
import { createRecords } from "./records.ts";
import { createSettling, type Settling } from "./settling.ts";

interface Given {
  readonly recorded?: Readonly<Record<string, Partial<Entry>>>;
  readonly arrived?: readonly Recorded[];
  readonly isHeld?: () => boolean | Promise<boolean>;
}

const value = (of: number): Entry => ({ digest: "", calledAt: "0", outcome: { type: "value", value: of } });

/** A run whose handler calls `called` at its start and then waits. */
async function run(called: readonly string[], { recorded = {}, arrived = [], isHeld = () => true }: Given = {}) {
  const writes: (readonly KeyedEntry[])[] = [];
  const settled: string[] = [];
  const state = { isOver: false, isLive: false, mayCallMeanwhile: false, gate: Promise.resolve() };
  const journal = new Map(Object.entries(recorded).map(([id, entry]) => [id, { ...value(0), ...entry }]));
  const scope = createScope();
  const start = Flow.start({ rejected: () => undefined, handled: () => undefined, threw: () => undefined });
  const line = createSequentialLine();
  const course = createCourse({ clock: systemClock, line, drained: () => settling.drained() });
  const task = { generation: 0, asks: [] } as unknown as Task;
  const recollection = recollect({
    task,
    journal,
    recorded: readRecordedCalls(task, journal),
    scope,
    start,
    course,
    line,
    traceFirst: () => undefined,
    refuse: () => undefined,
  });
  const records = createRecords({
    isOutOfTurn: () => false,
    journal,
    journalSize: 0,
    settings: { journalEntriesMax: 100, journalSizeMax: 10_000 },
    async record(entries) {
      await state.gate;
      writes.push(entries);
    },
    stop: () => (state.isOver = true),
  });
  const settling: Settling = createSettling({
    course,
    recollection,
    records,
    journal,
    isOver: () => state.isOver,
    isHeld,
    mayCallMeanwhile: () => state.mayCallMeanwhile,
    arrived: () => arrived,
  });
  void settling.live.then(() => (state.isLive = true));
  const wait = (name: string, isWithdrawn = () => false) => {
    const { id } = scope.run(start, () => recollection.call("step", name));
    settling.await(id, { promise: {}, isWithdrawn, settle: () => void settled.push(name) });
    settling.advance();
  };
  const rest = async () => {
    for (let turn = 0; turn < 5; turn += 1) await systemClock.idle();
  };
  course.start(() => called.forEach((name) => wait(name)));
  await rest();
  return { settling, records, settled, writes, state, wait, rest };
}
const keys = (writes: readonly (readonly KeyedEntry[])[]) => writes.map((entries) => entries.map(({ key }) => key));

describe("recorded effects", () => {
  test("settle in the order of their places, and only then is the run live (S1)", async () => {
    const recorded = { "step:b": { place: 1 }, "step:a": { place: 2 }, "step:c": { place: 3, calledAt: "2" } };
    const subject = await run(["a", "b"], { recorded });
    expect([subject.settled, subject.state.isLive, subject.settling.isLive()]).toStrictEqual([["b", "a"], false, false]);
    expect(subject.settling.missing()).toBe("step:c (not called again)");
    subject.wait("c");
    await subject.rest();
    expect([subject.settled, subject.state.isLive, subject.settling.isLive()]).toStrictEqual([["b", "a", "c"], true, true]);
    expect(subject.writes).toStrictEqual([]);
  });

  test("wait for earlier calls, even if nothing waits for those", async () => {
    const subject = await run(["a"], { recorded: { "step:a": { place: 1 }, "step:b": { calledAt: "0o" } } });
    expect(subject.settled).toStrictEqual([]);
    subject.wait("b");
    await subject.rest();
    expect(subject.settled).toStrictEqual(["a"]);
  });

  test("that were withdrawn settle when the handler has withdrawn them, and the rest after them", async () => {
    let isWithdrawn = false;
    const recorded = { "step:a": { place: 1, withdrawn: true as const }, "step:b": { place: 2 } };
    const subject = await run(["b"], { recorded });
    subject.wait("a", () => isWithdrawn);
    await subject.rest();
    expect([subject.settled, subject.settling.missing(), subject.state.isLive]).toStrictEqual([[], "the withdrawal of step:a", false]);
    expect(subject.settling.isLive()).toBe(false);
    isWithdrawn = true;
    subject.settling.advance();
    await subject.rest();
    expect([subject.settled, subject.settling.missing(), subject.state.isLive]).toStrictEqual([["a", "b"], "nothing more", true]);
  });

  test("that are called but have no place leave nothing missing", async () => {
    expect((await run(["a"], { recorded: { "step:a": {} } })).settling.missing()).toBe("nothing more");
    expect((await run(["a"], { recorded: { "step:a": { place: 1 } } })).settling.missing()).toBe("nothing more");
  });
});

describe("new effects", () => {
  test("settle one after another, in the order in which they were added, with the next places (S2)", async () => {
    const subject = await run(["old", "a", "b"], { recorded: { "step:old": { place: 1 } } });
    subject.settling.add({ id: "step:b", entry: value(2) });
    subject.settling.add({ id: "step:a", entry: value(1) });
    await subject.rest();
    expect(subject.settled).toStrictEqual(["old", "b", "a"]);
    expect(subject.records.take()).toStrictEqual([
      { key: "step:b", entry: { ...value(2), place: 2 } },
      { key: "step:a", entry: { ...value(1), place: 3 } },
    ]);
  });

  test("are marked as known if the journal holds them, so that they need not be sent again", async () => {
    const arrived = { ...value(1), arrived: { atMs: 1, revision: 1 } };
    const subject = await run(["a", "b"], { recorded: { "step:a": arrived }, arrived: [{ id: "step:a", entry: arrived }] });
    subject.settling.add({ id: "step:b", entry: value(2) });
    await subject.rest();
    expect(subject.records.take()).toStrictEqual([
      { key: "step:a", entry: { ...arrived, place: 1 }, known: true },
      { key: "step:b", entry: { ...value(2), place: 2 } },
    ]);
  });

  test("come after everything that had arrived before the run was live, each once", async () => {
    const [one, two] = [
      { id: "step:one", entry: value(1) },
      { id: "step:two", entry: value(2) },
    ];
    const subject = await run(["one", "two", "new"], { recorded: { "step:ahead": {} }, arrived: [one, two] });
    subject.settling.add({ id: "step:new", entry: value(3) });
    // Settled by the handler in the meantime, not by arriving.
    subject.settling.add({ id: "step:two", entry: value(4) });
    subject.wait("ahead");
    await subject.rest();
    expect(subject.settled).toStrictEqual(["one", "new", "two"]);
    expect(subject.records.take().map(({ entry }) => entry.outcome)).toStrictEqual([1, 3, 4].map((of) => value(of).outcome));
  });

  test("and everything after them are not seen by the handler if recording them ends the run", async () => {
    const subject = await run(["a", "b"]);
    const large = (of: string): Entry => ({ ...value(0), outcome: { type: "value", value: of } });
    subject.settling.add({ id: "step:a", entry: large("x".repeat(10_000)) });
    subject.settling.add({ id: "step:b", entry: value(1) });
    await subject.rest();
    expect(subject.settled).toStrictEqual([]);
  });

  test("do not reach a handler whose run ended just before they settled", async () => {
    const subject = await run(["a"]);
    subject.settling.add({ id: "step:a", entry: value(1) });
    subject.state.isOver = true;
    await subject.rest();
    expect(subject.settled).toStrictEqual([]);
  });

  test("may be withdrawn until they settle; removing one that was never added is harmless", async () => {
    const subject = await run(["a", "b", "c"], { recorded: { "step:ahead": {} } });
    for (const name of ["a", "b", "c"]) subject.settling.add({ id: `step:${name}`, entry: value(1) });
    subject.settling.drop("step:b");
    subject.settling.drop("step:never");
    subject.wait("ahead");
    await subject.rest();
    expect([subject.settled, subject.settling.isWaitedFor("step:b")]).toStrictEqual([["a", "c"], true]);
    expect(subject.settling.isWaitedFor("step:a")).toBe(false);
  });

  test("must be saved before the next side effect if something else could have settled instead (S4)", async () => {
    for (const [called, mayCallMeanwhile, expected] of [
      [["a"], false, []],
      [["a", "b"], false, [["step:a"]]],
      [["a"], true, [["step:a"]]],
    ] as const) {
      const subject = await run(called);
      subject.state.mayCallMeanwhile = mayCallMeanwhile;
      subject.settling.add({ id: "step:a", entry: value(1) });
      expect(subject.settling.isBusy()).toBe(true);
      await subject.rest();
      await subject.records.saved();
      expect(keys(subject.writes)).toStrictEqual(expected);
    }
  });
});

describe("results of steps (S3)", () => {
  test("are written before the handler sees them; those that are ready together share one write", async () => {
    const subject = await run(["a", "b", "c", "d"]);
    const gate = Promise.withResolvers<void>();
    subject.state.gate = gate.promise;
    subject.settling.add({ id: "step:a", entry: value(1), isStep: true });
    expect(subject.settling.isBusy()).toBe(true);
    subject.settling.add({ id: "step:b", entry: value(2), isStep: true });
    subject.settling.add({ id: "step:c", entry: value(3), isStep: true });
    subject.settling.add({ id: "step:d", entry: value(4) });
    await subject.rest();
    expect(subject.settled).toStrictEqual([]);
    gate.resolve();
    await subject.rest();
    expect(subject.settled).toStrictEqual(["a", "b", "c", "d"]);
    expect(subject.writes).toStrictEqual([
      [{ key: "step:a", entry: { ...value(1), place: 1 } }],
      [
        { key: "step:b", entry: { ...value(2), place: 2 } },
        { key: "step:c", entry: { ...value(3), place: 3 } },
      ],
    ]);
    expect(subject.records.take()).toStrictEqual([{ key: "step:d", entry: { ...value(4), place: 4 } }]);
  });

  test("that may be recorded later settle after the results that are written first, and are saved before a side effect", async () => {
    const subject = await run(["a", "b", "c"]);
    subject.settling.add({ id: "step:a", entry: value(1), isStep: true });
    subject.settling.add({ id: "step:b", entry: value(2), isStep: true, isLater: true });
    subject.settling.add({ id: "step:c", entry: value(3), isStep: true, isLater: true });
    await subject.rest();
    expect([subject.settled, keys(subject.writes), subject.records.isSaved()]).toStrictEqual([["a", "b", "c"], [["step:a"]], false]);
    await subject.records.saved();
    expect(subject.writes.slice(1)).toStrictEqual([
      [
        { key: "step:b", entry: { ...value(2), place: 2 } },
        { key: "step:c", entry: { ...value(3), place: 3 } },
      ],
    ]);
  });

  test("that may be recorded later and have not settled are left over when a run ends", async () => {
    const subject = await run(["a"], { recorded: { "step:ahead": {} } });
    subject.settling.add({ id: "step:a", entry: value(1), isStep: true, isLater: true });
    await subject.rest();
    expect([subject.settled, subject.settling.leftOver().map(({ id }) => id)]).toStrictEqual([[], ["step:a"]]);
  });

  test("that were not written are left over when a run ends, except for those in progress and answers", async () => {
    const subject = await run(["a", "b", "c"]);
    subject.state.gate = new Promise(() => undefined);
    subject.settling.add({ id: "step:a", entry: value(1), isStep: true });
    subject.settling.add({ id: "step:b", entry: value(2), isStep: true });
    subject.settling.add({ id: "step:c", entry: value(3) });
    await subject.rest();
    expect(subject.settling.leftOver().map(({ id }) => id)).toStrictEqual(["step:b"]);
  });
});

describe("a side effect", () => {
  test("waits until nothing is left that could settle", async () => {
    const subject = await run(["a", "b"], { recorded: { "step:ahead": {} } });
    const order: string[] = [];
    await subject.settling.calm().then(() => order.push("calm at once"));
    for (const name of ["a", "b"]) subject.settling.add({ id: `step:${name}`, entry: value(1) });
    expect(subject.settling.isBusy()).toBe(false);
    void subject.settling.calm().then(() => order.push(`calm behind ${subject.settled.join()}`));
    await subject.rest();
    expect(order).toStrictEqual(["calm at once"]);
    subject.wait("ahead");
    expect(subject.settling.isBusy()).toBe(true);
    await subject.rest();
    expect(order).toStrictEqual(["calm at once", "calm behind a,b"]);
    expect(subject.settling.isBusy()).toBe(false);
  });
});

describe("when its lease may have expired", () => {
  test("a run settles nothing new until it certainly holds its task", async () => {
    const renewed = Promise.withResolvers<boolean>();
    let asked = 0;
    let isSure = false;
    const subject = await run(["a"], {
      isHeld() {
        asked += 1;
        return isSure || renewed.promise;
      },
    });
    subject.settling.add({ id: "step:a", entry: value(1) });
    await subject.rest();
    expect([subject.settled, asked, subject.settling.isBusy()]).toStrictEqual([[], 1, true]);
    subject.settling.advance();
    expect(asked).toBe(1);
    isSure = true;
    renewed.resolve(true);
    await subject.rest();
    expect(subject.settled).toStrictEqual(["a"]);
  });
});
