/** Which recorded effect a call is. */
import { createScope } from "@parley/node";
import { describe, expect, test } from "vitest";
import { awaitHandler } from "../awaited-by.ts";
import { ParleyError } from "../errors.ts";
import type { Entry } from "../journal.ts";
import type { Ask, Task } from "../task.ts";
import { Flow } from "./flow.ts";
import { type CalledKind, recollect } from "./recollection.ts";

interface Remembered {
  /** By id: where it was called, or the entry. */
  readonly recorded?: Readonly<Record<string, string | Partial<Entry>>>;
  readonly asks?: Readonly<Record<string, string>>;
  readonly generation?: number;
}

const quiet = { rejected: () => undefined, handled: () => undefined, threw: () => undefined };

function run({ recorded = {}, asks = {}, generation = 0 }: Remembered = {}) {
  const scope = createScope();
  const start = Flow.start({ ...quiet });
  const course = {
    settled: 0,
    settledLast: undefined as string | undefined,
    isInDrain: true,
    at: () => (course.isInDrain ? `${course.settled}` : `${course.settled}o`),
  };
  const entryOf = (of: string | Partial<Entry>): Entry => ({
    digest: "",
    calledAt: "0",
    outcome: { type: "value" },
    ...(typeof of === "string" ? { calledAt: of } : of),
  });
  const journal = new Map(Object.entries(recorded).map(([id, of]) => [id, entryOf(of)]));
  const open = Object.entries(asks).map(([key, calledAt]) => ({ key, calledAt, digest: "" }) as Ask);
  const task = { id: "0-task", generation, asks: open } as unknown as Task;
  const recollection = recollect({ task, journal, scope, start, course });
  return {
    ...recollection,
    scope,
    start,
    journal,
    /** Moves the handler to the drain of this settlement, of that effect, or to after an outside await. */
    goTo(settled: number, where: "drain" | "outside", settledLast?: string) {
      course.settled = settled;
      course.settledLast = settledLast;
      course.isInDrain = where === "drain";
    },
    /** The keys of calls that one flow makes one after another. */
    keys: (names: readonly string[], { flow = start as object, kind = "step" as CalledKind } = {}) =>
      scope.run(flow, () => names.map((name) => recollection.call(kind, name).key)),
  };
}
const thrown = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    if (error instanceof ParleyError) return [error.code, error.message];
    throw error;
  }
  return [];
};
const AMBIGUOUS = [
  "AMBIGUOUS_EFFECT",
  'step "a" is called again after an await of something outside ctx, and replay could not tell the two calls apart',
];

describe("a call", () => {
  test("gets a key of its name, branch, generation and occurrence, separate from other kinds", () => {
    const subject = run({ generation: 2 });
    const branch = subject.branch("alice");
    expect(subject.keys(["a", "b", "a"])).toStrictEqual(["a@2", "b@2", "a@2#2"]);
    expect(subject.keys(["a"], { kind: "ask" })).toStrictEqual(["a@2"]);
    expect(subject.keys(["a", "a"], { flow: branch })).toStrictEqual(["alice/a@2", "alice/a@2#2"]);
    expect(subject.keys(["a"], { flow: subject.scope.run(branch, () => subject.branch("deep")) })).toStrictEqual(["alice/deep/a@2"]);
  });

  test("finds its entry and where it was called then; a new one says where it is called now", () => {
    const subject = run({ recorded: { "step:a": "0o" } });
    const call = () => subject.scope.run(subject.start, () => subject.call("step", "a"));
    expect(call()).toStrictEqual({
      key: "a",
      scoped: "a",
      id: "step:a",
      calledAt: "0o",
      entry: subject.journal.get("step:a"),
      effectKey: "a",
    });
    subject.goTo(3, "drain");
    expect(call()).toStrictEqual({ key: "a#2", scoped: "a", id: "step:a#2", calledAt: "3", entry: undefined, effectKey: "a#2" });
  });

  test("with an invalid name is refused, and so is an invalid branch", () => {
    const subject = run();
    const refusal = (kind: string, name: string) => [
      "INVALID_NAME",
      `${kind} name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - .`,
    ];
    for (const name of ["", "two words", "é-acute", "end\u00e9", "a/b", "x".repeat(65)]) {
      expect(thrown(() => subject.keys([name]))).toStrictEqual(refusal("step", name));
      expect(thrown(() => subject.branch(name))).toStrictEqual(refusal("branch", name));
      expect(thrown(() => subject.scoped("ask", name))).toStrictEqual(refusal("ask", name));
    }
    expect(subject.keys(["x".repeat(64)])).toStrictEqual(["x".repeat(64)]);
  });

  test("within a step, or by another task's handler, is misplaced; one from an unknown flow belongs to the run", () => {
    const subject = run();
    expect(thrown(() => subject.keys(["a"], { flow: subject.start.inStep("charge") }))).toStrictEqual([
      "MISPLACED_EFFECT",
      'ctx was used inside the step "charge": call it in the handler, before or after the step',
    ]);
    const foreign = ["MISPLACED_EFFECT", "ctx of task 0-task was used by another task"];
    expect(thrown(() => subject.keys(["a"], { flow: Flow.start({ ...quiet }) }))).toStrictEqual(foreign);
    expect(thrown(() => subject.scope.run(Flow.start({ ...quiet }), () => subject.branch("a")))).toStrictEqual(foreign);
    expect(subject.keys(["a"], { flow: {} })).toStrictEqual(["a"]);
    expect(subject.call("step", "a").key).toBe("a#2");
  });
});

describe("a second call of a name (C2)", () => {
  test("is certain in the drain of the first, and in every later one", () => {
    const subject = run();
    expect(subject.keys(["a"])).toStrictEqual(["a"]);
    expect(subject.keys(["a"])).toStrictEqual(["a#2"]);
    subject.goTo(1, "drain");
    expect(subject.keys(["a"])).toStrictEqual(["a#3"]);
    subject.goTo(1, "outside");
    expect(thrown(() => subject.keys(["a"]))).toStrictEqual(AMBIGUOUS);
    subject.goTo(2, "drain");
    expect(subject.keys(["a"])).toStrictEqual(["a#4"]);
  });

  test("is certain after an outside await when one flow made both, even with other calls between", () => {
    const subject = run();
    subject.goTo(0, "outside");
    expect(subject.keys(["a", "b", "c", "d", "a", "a"])).toStrictEqual(["a", "b", "c", "d", "a#2", "a#3"]);
    expect(thrown(() => subject.keys(["a"]))).toStrictEqual(AMBIGUOUS);
    expect(thrown(() => subject.keys(["e", "a"]))).toStrictEqual(AMBIGUOUS);
  });

  test("is certain after an outside await if it was recorded to follow from a settlement after the first", () => {
    for (const [recordedAt, expected] of [
      ["1", ["a#2"]],
      ["0", AMBIGUOUS],
      ["1o", AMBIGUOUS],
      [undefined, AMBIGUOUS],
    ] as const) {
      const subject = run({ recorded: { "step:a": "0", ...(recordedAt !== undefined && { "step:a#2": recordedAt }) } });
      subject.keys(["a"]);
      subject.goTo(1, "outside");
      let keys: readonly string[] = [];
      const refusal = thrown(() => (keys = subject.keys(["a"])));
      expect([...keys, ...refusal]).toStrictEqual(expected);
    }
  });

  test("before a recorded one that follows from a later settlement is a different call", () => {
    for (const generation of [0, 1]) {
      const at = generation === 0 ? "" : "@1";
      const subject = run({ generation, recorded: { [`step:a${at}`]: "0", [`step:a${at}#2`]: "1" } });
      expect(subject.keys(["a", "a", "a"])).toStrictEqual([`a${at}`, `a${at}#3`, `a${at}#4`]);
      subject.goTo(1, "drain");
      expect(subject.keys(["a", "a"])).toStrictEqual([`a${at}#2`, `a${at}#5`]);
    }
  });

  test("is also distinguished from the first one if that is the later one", () => {
    const subject = run({ recorded: { "step:a": "1" } });
    expect(subject.keys(["a"])).toStrictEqual(["a#2"]);
    subject.goTo(1, "drain");
    expect(subject.keys(["a", "a"])).toStrictEqual(["a", "a#3"]);
  });

  test("that came first in an earlier run is the same one again", () => {
    const subject = run({ recorded: { "step:a": "0", "step:a#2": "1", "step:a#4": "0" } });
    expect(subject.keys(["a", "a", "a"])).toStrictEqual(["a", "a#4", "a#5"]);
    subject.goTo(1, "drain");
    expect(subject.keys(["a", "a"])).toStrictEqual(["a#2", "a#3"]);
  });

  test("before a recorded one is new, even if a call between drains was recorded before", () => {
    const subject = run({ recorded: { "step:a": "2", "step:a#2": "0o" } });
    subject.goTo(1, "drain");
    expect(subject.keys(["a"])).toStrictEqual(["a#3"]);
  });

  test("is the next recorded one if that was called after an outside await, or in the same drain", () => {
    expect(run({ recorded: { "step:a": "0", "step:a#2": "1o" } }).keys(["a", "a"])).toStrictEqual(["a", "a#2"]);
    expect(run({ recorded: { "step:a": "0", "step:a#2": "0" } }).keys(["a", "a"])).toStrictEqual(["a", "a#2"]);
  });
});

describe("a call in a drain by a flow that continues with another flow's effect, as at a lock (C2)", () => {
  const flowOf = (subject: ReturnType<typeof run>) => Flow.start(subject.start.strays);

  test("is ambiguous after a call of its name if the handler has made a call after an outside await", () => {
    const subject = run();
    subject.goTo(0, "outside");
    subject.keys(["a"], { flow: flowOf(subject) });
    subject.goTo(1, "drain", "step:a");
    expect(thrown(() => subject.keys(["a"], { flow: flowOf(subject) }))).toStrictEqual(AMBIGUOUS);
    expect(subject.keys(["b"], { flow: flowOf(subject) })).toStrictEqual(["b"]);
  });

  test("is ambiguous, too, if that call was recorded after such an await and is made in a drain now", () => {
    for (const [recordedAt, expected] of [
      ["0o", AMBIGUOUS],
      ["0", []],
    ] as const) {
      const subject = run({ recorded: { "step:a": recordedAt } });
      subject.keys(["a"], { flow: flowOf(subject) });
      subject.goTo(1, "drain", "step:a");
      expect(thrown(() => subject.keys(["a"], { flow: flowOf(subject) }))).toStrictEqual(expected);
    }
  });

  test("is certain if the flow called that effect itself, or the earlier call of the name", () => {
    const subject = run();
    const step = (name: string) => subject.call("step", name).key;
    subject.goTo(0, "outside");
    subject.scope.run(flowOf(subject), () => {
      step("a");
      step("x");
      subject.scope.run(flowOf(subject), () => [step("b"), step("y")]);
      subject.goTo(1, "drain", "step:x");
      expect(step("b")).toBe("b#2");
      subject.goTo(2, "drain", "step:y");
      expect(step("x")).toBe("x#2");
    });
  });

  test("is certain if nothing outside was awaited since its own last call, and before anything has settled", () => {
    const subject = run();
    subject.goTo(0, "outside");
    subject.scope.run(flowOf(subject), () => {
      subject.call("step", "plan");
      const plannedBy = subject.scope.get() as Flow;
      subject.goTo(1, "drain", "step:plan");
      subject.scope.run(plannedBy, () => subject.call("step", "a"));
      subject.goTo(2, "drain", "step:a");
      expect(subject.scope.run(plannedBy, () => subject.call("step", "a").key)).toBe("a#2");
    });
    const begun = run({ recorded: { "step:a": "0o" } });
    begun.keys(["a"], { flow: flowOf(begun) });
    expect(begun.keys(["a"], { flow: flowOf(begun) })).toStrictEqual(["a#2"]);
  });

  test("is certain if the handler awaits it", async () => {
    const subject = run();
    subject.goTo(0, "outside");
    subject.keys(["a"], { flow: flowOf(subject) });
    subject.goTo(1, "drain", "step:a");
    const called = async () => {
      await Promise.resolve();
      return subject.scope.run(flowOf(subject), () => subject.call("step", "a").key);
    };
    await expect(called()).rejects.toMatchObject({ code: "AMBIGUOUS_EFFECT" });
    expect(await awaitHandler(called)).toBe("a#2");
  });
});

/** Makes the call in an async function that is this item of a Promise.all. */
async function calledAs(
  subject: ReturnType<typeof run>,
  item: number,
  { name = "a", kind = "step" as CalledKind, flow = Flow.start(subject.start.strays) } = {},
) {
  const calls = await Promise.all(
    Array.from({ length: item + 1 }, async (_, each) => {
      await Promise.resolve();
      return each === item ? subject.scope.run(flow, () => subject.call(kind, name)) : undefined;
    }),
  );
  return calls[item];
}
const callAs = async (...made: Parameters<typeof calledAs>) => (await calledAs(...made))?.key;

describe("a call in a drain, awaited by an item of a Promise.all,", () => {
  test("is the recorded one of any item if nothing outside ctx is awaited", async () => {
    expect(await callAs(run({ recorded: { "step:a": "0:0" } }), 1)).toBe("a");
  });

  test.each([
    ["the same item", "0:1", "a"],
    ["no item", "0", "a"],
    ["another item", "0:0", "a#2"],
    ["an item whose number begins with the same digit", "0:12", "a#2"],
    ["the same item, in a Promise.all further out", "0:1.0", "a"],
    ["an item with the same number further out", "0:0.1", "a#2"],
  ])("takes the record of %s, or none, if something outside is", async (_what, recordedAt, key) => {
    expect(await callAs(run({ recorded: { "step:a": recordedAt, "step:z": "0o" } }), 1)).toBe(key);
  });

  test("takes a record of which less is known than of the call", async () => {
    const subject = run({ recorded: { "step:a": "0:1", "step:z": "0o" } });
    const further = async () => await callAs(subject, 1);
    const [key] = await Promise.all([further(), Promise.resolve()]);
    expect(key).toBe("a");
  });

  test("takes the record of an item if its own is not known, and only that could be meant", () => {
    expect(run({ recorded: { "step:a": "0:0", "step:z": "0o" } }).keys(["a"])).toStrictEqual(["a"]);
    expect(run({ recorded: { "step:a": "0:0", "step:a#2": "0:1" } }).keys(["a", "a"])).toStrictEqual(["a", "a#2"]);
    const subject = run({ recorded: { "step:a": "0:0", "step:a#2": "0:1", "step:z": "0o" } });
    expect(thrown(() => subject.keys(["a"]))).toStrictEqual(AMBIGUOUS);
  });
});

describe("a call from outside ctx, awaited by an item of a Promise.all", () => {
  test("is the one that this item made, by number, in any order of the store", async () => {
    const subject = run({ recorded: { "step:a#3": "0o:1", "step:a#2": "0o:0", "step:a": "0o:1" } });
    subject.goTo(0, "outside");
    expect(await callAs(subject, 1)).toBe("a");
    expect(await callAs(subject, 0)).toBe("a#2");
  });

  test("is not the one that another item made in a drain", async () => {
    const subject = run({ recorded: { "step:x": { place: 1 }, "step:a": "1:1", "step:b": "1:1" } });
    subject.goTo(1, "outside");
    expect(await callAs(subject, 0)).toBe("a#2");
    expect(await callAs(subject, 1)).toBe("a");
    expect(await callAs(subject, 1, { name: "b" })).toBe("b");
  });

  test("has an effect identified by the item and how often it used the name, not by a number shared with others (C3)", async () => {
    for (const order of [
      [0, 1, 1],
      [1, 0, 1],
      [1, 1, 0],
    ]) {
      const subject = run({ generation: 2 });
      const known: string[] = [];
      for (const item of order) known.push(`${item}: ${(await calledAs(subject, item))?.effectKey}`);
      expect(known.toSorted()).toStrictEqual(["0: a~0@2", "1: a~1@2", "1: a~1@2#2"]);
    }
    const straight = run();
    expect(
      straight.scope.run(straight.start, () => [straight.call("step", "a").effectKey, straight.call("step", "a").effectKey]),
    ).toStrictEqual(["a", "a#2"]);
  });

  test("is not told apart by the item if it has no record: a random number or a UUID", async () => {
    for (const kind of ["random", "uuid"] as const) {
      const subject = run();
      subject.goTo(0, "outside");
      expect(await callAs(subject, 0, { kind })).toBe("a");
      await expect(callAs(subject, 1, { kind })).rejects.toMatchObject({ code: "AMBIGUOUS_EFFECT" });
    }
  });

  test("is ambiguous without a known item if several items made the recorded ones", () => {
    const subject = run({ recorded: { "step:a": "0o:0", "step:a#2": "0o:1", "step:b": "0o:0" } });
    subject.goTo(0, "outside");
    expect(thrown(() => subject.keys(["a"]))).toStrictEqual(AMBIGUOUS);
    expect(subject.keys(["b"])).toStrictEqual(["b"]);
  });

  test("is ambiguous if several were recorded before items were", async () => {
    const subject = run({ recorded: { "step:a": "0", "step:a#2": "0", "step:b": "0" } });
    subject.goTo(0, "outside");
    await expect(callAs(subject, 1)).rejects.toMatchObject({ code: "AMBIGUOUS_EFFECT" });
    expect(await callAs(subject, 1, { name: "b" })).toBe("b");
  });
});

describe("recorded effects", () => {
  test("tell of an await of something outside ctx before the handler comes to it; so does a call that is made after one", () => {
    expect(run({ recorded: { "step:a": "0", "step:b": "0o" } }).hasOutside()).toBe(true);
    const subject = run({ recorded: { "step:a": "0" } });
    subject.keys(["a"]);
    expect(subject.hasOutside()).toBe(false);
    subject.goTo(0, "outside");
    subject.keys(["b"]);
    expect(subject.hasOutside()).toBe(true);
  });

  test("settle in the order of their places, in any order of the store, and later ones by arrival", () => {
    const arrived = (atMs: number, revision: number) => ({ arrived: { atMs, revision } });
    const subject = run({
      recorded: {
        "step:second": { place: 2 },
        "step:first": { place: 1 },
        "sleep:begun": "0",
        "ask:late": arrived(30, 1),
        "ask:b": arrived(20, 5),
        "ask:a": arrived(20, 5),
        "ask:c": arrived(20, 5),
        "ask:before": arrived(20, 4),
        "ask:early": arrived(10, 9),
      },
    });
    expect(subject.settled.map(({ id }) => id)).toStrictEqual(["step:first", "step:second"]);
    expect(subject.arrived.map(({ id }) => id)).toStrictEqual(["ask:early", "ask:before", "ask:a", "ask:b", "ask:c", "ask:late"]);
    expect(subject.ahead.size).toBe(9);
  });

  test("are pending until called, including open questions, each once", () => {
    const subject = run({ recorded: { "ask:closed": "0" }, asks: { closed: "0", open: "0" } });
    expect([...subject.ahead]).toStrictEqual(["ask:closed", "ask:open"]);
    subject.keys(["closed"], { kind: "ask" });
    expect([[...subject.ahead], subject.isCalledBefore(1)]).toStrictEqual([["ask:open"], false]);
    subject.keys(["open", "new"], { kind: "ask" });
    expect([[...subject.ahead], subject.isCalledBefore(1)]).toStrictEqual([[], true]);
  });

  test("settle only when everything called before them has been called again (C1)", () => {
    const subject = run({ recorded: { "step:a": "0", "step:b": "0o", "step:c": "2" } });
    const called = () => [1, 2, 3, 9].map(subject.isCalledBefore);
    expect(called()).toStrictEqual([false, false, false, false]);
    subject.keys(["a"]);
    expect(called()).toStrictEqual([false, false, false, false]);
    subject.keys(["b"]);
    expect(called()).toStrictEqual([true, true, false, false]);
    subject.goTo(2, "drain");
    subject.keys(["c"]);
    expect(called()).toStrictEqual([true, true, true, true]);
    expect(run().isCalledBefore(1)).toBe(true);
  });

  test("may take their time if all pending calls were made after an outside await", () => {
    const isAheadOutside = (recorded: Record<string, string>, settled = 0) => {
      const subject = run({ recorded });
      subject.goTo(settled, "outside");
      return subject.isAheadOutside();
    };
    expect(isAheadOutside({})).toBe(false);
    expect(isAheadOutside({ "step:a": "0" })).toBe(false);
    expect(isAheadOutside({ "step:a": "0o" })).toBe(true);
    expect(isAheadOutside({ "step:a": "0o", "step:b": "0o" })).toBe(true);
    expect(isAheadOutside({ "step:a": "0o", "step:b": "0" })).toBe(false);
    // A call that follows from a later settlement is not the next one.
    expect(isAheadOutside({ "step:a": "0o", "step:b": "1" })).toBe(true);
    expect(isAheadOutside({ "step:a": "0o", "step:b": "1" }, 1)).toBe(false);
    expect(isAheadOutside({ "step:a": "1o" })).toBe(false);
    expect(isAheadOutside({ "step:a": "1o" }, 1)).toBe(true);
  });
});
