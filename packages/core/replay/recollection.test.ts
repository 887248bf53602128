/** Which recorded effect a call is. */
import { createScope } from "@parley/node";
import { describe, expect, test } from "vitest";
import { ParleyError } from "../errors.ts";
import type { Entry } from "../journal.ts";
import type { Ask, Task } from "../task.ts";
import { Flow } from "./flow.ts";
import { type CalledKind, recollect } from "./recollection.ts";
import { readRecordedCalls } from "./recorded-calls.ts";

interface Remembered {
  /** By id: where it was called, or the entry. */
  readonly recorded?: Readonly<Record<string, string | Partial<Entry>>>;
  readonly asks?: Readonly<Record<string, string>>;
  readonly generation?: number;
  readonly isTraced?: boolean;
}

/** Where the code that calls stands. */
interface At {
  readonly way?: string | undefined;
  readonly wayLater?: string | undefined;
  readonly seen?: bigint;
  readonly entry?: string;
  readonly isKeyed?: boolean;
  /** Functions that are running, and those that the item consists of. */
  readonly running?: readonly object[];
  readonly item?: readonly object[];
  /** By name, the list of the item, and the calls that certainly came before it was made. */
  readonly list?: Readonly<Record<string, bigint>>;
}

const quiet = { rejected: () => undefined, handled: () => undefined, threw: () => undefined };

function run({ recorded = {}, asks = {}, generation = 0, isTraced = true }: Remembered = {}) {
  const scope = createScope();
  const start = Flow.start({ ...quiet });
  let isOutside = false;
  let where: At = { way: "" };
  let restarts = 0;
  const course = { settled: 0, at: (outside: boolean) => `${course.settled}${outside ? "o" : ""}`, outOfTurn: () => undefined };
  const called: number[] = [];
  const lists = new Map<string, { readonly seenBefore: bigint }>();
  const listOf = (known: At["list"]) => {
    const [[name, seenBefore] = ["only", 0n]] = Object.entries(known ?? {});
    const list = lists.get(name) ?? { seenBefore };
    lists.set(name, list);
    return list;
  };
  const line = {
    isTraced,
    position() {
      const { way, wayLater, seen = 0n, entry = "", isKeyed = false, running = [], item = [], list } = where;
      return {
        isOutside,
        isKeyed,
        running,
        entry,
        way,
        startedAs: undefined,
        behind: 0n,
        isLeft: undefined,
        owner: undefined,
        caller: undefined,
        wayLater: () => wayLater,
        item: () => ({ functions: new Set(item), list: listOf(list) }),
        seen,
      };
    },
    called: (serial: number) => void called.push(serial),
    enter: <T>(_branch: string, _within: string, work: () => T) => work(),
    enterCall: <T>(_branch: string, _within: string, call: () => T) => call(),
    isAwaited: () => true,
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
  const recollection = recollect({
    task,
    journal,
    recorded: readRecordedCalls(task, journal),
    scope,
    start,
    course,
    line,
    traceFirst: () => void (restarts += 1),
    refuse: () => undefined,
  });
  return {
    ...recollection,
    scope,
    start,
    journal,
    called,
    restarts: () => restarts,
    /** Moves the handler to the drain of this settlement, or to after an outside await. On its own line, unless stated otherwise. */
    goTo(settled: number, now: "drain" | "outside", at: At = { way: "" }) {
      course.settled = settled;
      isOutside = now === "outside";
      where = at;
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
/** Code that no line leads to. */
const BESIDE: At = { way: undefined };
const HERE = "/.*/recollection\\.test\\.ts:\\d+:\\d+";
const HOW_TO =
  "Give it a key, such as { key: item.id }, or run the items with ctx.map; or put what is awaited into a step, so that the code awaits ctx alone";
const BESIDE_THE_LINE = [
  "AMBIGUOUS_EFFECT",
  expect.stringMatching(
    new RegExp(
      `^step "a" at ${HERE} runs beside other code of the handler, and has awaited something outside ctx that may take longer or shorter in another run\\. ${HOW_TO}$`,
    ),
  ),
];
const IN_ANY_ORDER = [
  "AMBIGUOUS_EFFECT",
  expect.stringMatching(
    new RegExp(
      `^step "a" at ${HERE}, and the call at ${HERE}, run beside each other\\. One of them has awaited something outside ctx, so they may come in another order in another run\\. ${HOW_TO}$`,
    ),
  ),
];

describe("a call", () => {
  test("gets a key of its name, branch, generation and occurrence, separate from other kinds", () => {
    const subject = run({ generation: 2 });
    expect(subject.keys(["a", "b", "a"])).toStrictEqual(["a@2", "b@2", "a@2#2"]);
    expect(subject.keys(["a"], { kind: "ask" })).toStrictEqual(["a@2"]);
    const inAlice = (names: readonly string[]) => subject.branch("alice", () => names.map((name) => subject.call("step", name).key));
    expect(inAlice(["a", "a"])).toStrictEqual(["alice/a@2", "alice/a@2#2"]);
    expect(subject.branch("alice", () => subject.branch("deep", () => subject.call("step", "a").key))).toBe("alice/deep/a@2");
    expect(inAlice(["a"])).toStrictEqual(["alice/a@2#3"]);
    expect(subject.keyed("bob", () => subject.call("step", "a").key)).toBe("bob/a@2");
    expect(subject.called).toStrictEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("finds its entry and where it was called then; a new one says where it is called now", () => {
    const subject = run({ recorded: { "step:a": "0o" } });
    const call = () => subject.scope.run(subject.start, () => subject.call("step", "a"));
    expect(call()).toStrictEqual({ key: "a", scoped: "a", id: "step:a", calledAt: "0o", entry: subject.journal.get("step:a") });
    subject.goTo(3, "drain");
    expect(call()).toStrictEqual({ key: "a#2", scoped: "a", id: "step:a#2", calledAt: "3", entry: undefined });
    subject.goTo(3, "outside");
    expect(call()).toStrictEqual({ key: "a#3", scoped: "a", id: "step:a#3", calledAt: "3o", entry: undefined });
  });

  test("with an invalid name is refused", () => {
    const subject = run();
    const refusal = (kind: string, name: string) => [
      "INVALID_NAME",
      `${kind} name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - .`,
    ];
    for (const name of ["", "two words", "é-acute", "end\u00e9", "a/b", "x".repeat(65)]) {
      expect(thrown(() => subject.keys([name]))).toStrictEqual(refusal("step", name));
      expect(thrown(() => subject.scoped("ask", name))).toStrictEqual(refusal("ask", name));
    }
    expect(subject.keys(["x".repeat(64)])).toStrictEqual(["x".repeat(64)]);
  });

  test("with a key of any short text has that text in its own key; one without text, or too long, is refused", () => {
    const subject = run();
    const keyOf = (key: string) => subject.keyed(key, () => subject.call("step", "a").key);
    expect(["ada@example.com", "two words", "a/b", "a~b", "a#2", "ü", "x".repeat(64)].map(keyOf)).toStrictEqual([
      "ada~40example.com/a",
      "two~20words/a",
      "a~2fb/a",
      "a~7eb/a",
      "a~232/a",
      "~c3~bc/a",
      `${"x".repeat(64)}/a`,
    ]);
    for (const key of ["", "x".repeat(65)]) {
      const refusal = ["INVALID_NAME", `the key ${JSON.stringify(key)} is not allowed: use 1 to 64 characters`];
      expect(thrown(() => keyOf(key))).toStrictEqual(refusal);
      expect(thrown(() => subject.branch(key, () => undefined))).toStrictEqual(refusal);
    }
  });

  test("within a step, or by another task's handler, is misplaced; one from an unknown flow belongs to the run", () => {
    const subject = run();
    expect(thrown(() => subject.keys(["a"], { flow: subject.start.inStep("charge") }))).toStrictEqual([
      "MISPLACED_EFFECT",
      'ctx was used inside the step "charge": call it in the handler, before or after the step',
    ]);
    const foreign = ["MISPLACED_EFFECT", expect.stringMatching(/^ctx of task 0-task was used by another task: .* bluebird/)];
    expect(thrown(() => subject.keys(["a"], { flow: Flow.start({ ...quiet }) }))).toStrictEqual(foreign);
    expect(thrown(() => subject.scope.run(Flow.start({ ...quiet }), () => subject.branch("a", () => undefined)))).toStrictEqual(foreign);
    expect(subject.keys(["a"], { flow: {} })).toStrictEqual(["a"]);
    expect(subject.call("step", "a").key).toBe("a#2");
  });
});

describe("a call after an await of something outside ctx (C2)", () => {
  test("is counted with the others of its name if it is on the line of its flow", () => {
    const subject = run();
    expect(subject.keys(["a"])).toStrictEqual(["a"]);
    subject.goTo(1, "outside");
    expect(subject.keys(["a", "b", "a"])).toStrictEqual(["a#2", "b", "a#3"]);
    subject.goTo(2, "drain");
    expect(subject.keys(["a"])).toStrictEqual(["a#4"]);
  });

  test("is counted by itself if it is on the line of an item, in every order", () => {
    for (const order of [
      ["0", "1", "1.0"],
      ["1.0", "1", "0"],
      ["1", "0", "1.0"],
    ]) {
      const subject = run({ generation: 2 });
      const known = order.map((way) => {
        subject.goTo(0, "outside", { way });
        return subject.keys(["a"])[0];
      });
      expect(known.toSorted()).toStrictEqual(["a~0@2", "a~1.0@2", "a~1@2"]);
    }
  });

  test("is refused if its item has called the name before, itself or in one of its functions: it may work off what others share", () => {
    const again = (first: At, second: At) => {
      const subject = run();
      subject.goTo(0, "outside", first);
      subject.keys(["a"]);
      subject.goTo(0, "outside", second);
      return thrown(() => subject.keys(["a"]))[0];
    };
    const worker = {};
    expect(again({ way: "1" }, { way: "1" })).toBe("AMBIGUOUS_EFFECT");
    expect(again({ way: "", running: [worker] }, { way: "1", item: [worker] })).toBe("AMBIGUOUS_EFFECT");
    expect(again({ way: "", running: [{}] }, { way: "1", item: [worker] })).toBeUndefined();
    expect(again({ way: "1" }, { way: "2" })).toBeUndefined();
  });

  test("of an item comes after that of an earlier list, if this one was made when it had been made", () => {
    const again = (first: At, second: At) => {
      const subject = run({ generation: 1 });
      subject.goTo(0, "outside", first);
      subject.keys(["other", "a"]);
      subject.goTo(2, "outside", second);
      let keys: readonly string[] = [];
      const refusal = thrown(() => (keys = subject.keys(["a"])));
      return [...keys, ...refusal];
    };
    const first = { way: "1", list: { first: 0n } };
    expect(again(first, { way: "1", list: { second: 1n << 2n } })).toStrictEqual(["a~1@1#2"]);
    expect(again(first, { way: "1", list: { second: 1n << 2n }, entry: ">0" })).toStrictEqual(["a~1@1#2"]);
    // It has seen the other one itself, as behind a lock.
    expect(again(first, { way: "1", list: { second: 1n << 1n }, seen: 1n << 2n })).toStrictEqual(IN_ANY_ORDER);
    // What items call at once comes before their own list.
    expect(again({ way: "1", list: { first: 1n << 2n } }, { way: "1", list: { first: 0n } })[0]).toBe("AMBIGUOUS_EFFECT");
    // The function that calls has called before it was an item.
    const worker = {};
    expect(again({ way: "", running: [worker] }, { way: "1", item: [worker], list: { second: 1n << 2n } })[0]).toBe("AMBIGUOUS_EFFECT");
  });

  test("is found again in the next run by items of both lists", () => {
    const subject = run({ recorded: { "step:a~0#2": "2o", "step:a~0": "0o" } });
    subject.goTo(0, "outside", { way: "0", list: { first: 0n } });
    expect(subject.keys(["a"])).toStrictEqual(["a~0"]);
    subject.goTo(2, "outside", { way: "0", list: { second: 1n << 1n } });
    expect(subject.keys(["a"])).toStrictEqual(["a~0#2"]);
    subject.goTo(3, "outside", { way: "0", list: { third: 1n << 2n } });
    expect(subject.keys(["a"])).toStrictEqual(["a~0#3"]);
  });

  test("has its item in the keys of events and calls of tools as well, and a patch has none", () => {
    const subject = run();
    subject.goTo(0, "outside", { way: "1" });
    expect(subject.keys(["a"], { kind: "event" })).toStrictEqual(["event:a~1"]);
    expect(subject.keys(["a"], { kind: "call" })).toStrictEqual(["call:a~1"]);
    expect(subject.keys(["a"], { kind: "uuid" })).toStrictEqual(["a~1"]);
    expect(subject.keys(["a"], { kind: "patch" })).toStrictEqual(["a"]);
    subject.goTo(0, "outside", BESIDE);
    expect(subject.keys(["b"], { kind: "patch" })).toStrictEqual(["b"]);
  });

  test("beside all lines is refused, also as the first of its name, and says where it is", () => {
    const subject = run({ recorded: { "step:a": "0o" } });
    subject.goTo(0, "outside", BESIDE);
    expect(thrown(() => subject.keys(["a"]))).toStrictEqual(BESIDE_THE_LINE);
    expect([...subject.ahead]).toStrictEqual(["step:a"]);
  });

  test("beside all lines ends a run that does not know its lines, to be traced", () => {
    const subject = run({ isTraced: false });
    subject.goTo(0, "outside", BESIDE);
    subject.keys(["a"]);
    expect(subject.restarts()).toBe(1);
    subject.goTo(0, "drain", BESIDE);
    subject.keys(["b", "b"]);
    expect(subject.restarts()).toBe(1);
  });

  test("is ready only once it is known who waits for its code", () => {
    const subject = run();
    subject.goTo(0, "outside", { way: undefined, wayLater: "2" });
    const begun = subject.begin("step", "a");
    expect([begun.isReady, subject.called]).toStrictEqual([false, [1]]);
    subject.goTo(3, "drain");
    expect(begun.take()).toMatchObject({ key: "a~2", calledAt: "0o" });
    for (const [where, at] of [
      ["outside", { way: "" }],
      ["outside", { way: "1" }],
      ["drain", BESIDE],
      ["outside", { ...BESIDE, isKeyed: true }],
    ] as const) {
      subject.goTo(0, where, at);
      expect(subject.begin("step", "other").isReady).toBe(true);
    }
  });

  test("is certain beside all lines if it has a key", () => {
    const subject = run();
    subject.goTo(0, "outside", { ...BESIDE, isKeyed: true });
    expect(subject.keyed("ada", () => subject.call("step", "a").key)).toBe("ada/a");
    subject.goTo(0, "outside", { way: "1", isKeyed: true });
    expect(subject.keyed("bob", () => subject.call("step", "a").key)).toBe("bob/a");
  });
});

describe("two calls of a name (C3)", () => {
  test("are certain if both follow from ctx alone, on whatever line", () => {
    const subject = run();
    subject.goTo(0, "drain", BESIDE);
    expect(subject.keys(["a", "a"])).toStrictEqual(["a", "a#2"]);
    subject.goTo(1, "drain", { way: "1" });
    expect(subject.keys(["a"])).toStrictEqual(["a#3"]);
  });

  test("of which one has awaited something else are certain if one follows from the other, or both are on one line", () => {
    for (const [first, second, expected] of [
      [{ way: "" }, { way: "" }, ["a#2"]],
      [{ way: "" }, BESIDE, IN_ANY_ORDER],
      [{ way: "" }, { way: "0" }, IN_ANY_ORDER],
      [{ way: "" }, { way: undefined, seen: 1n << 1n }, ["a#2"]],
      [{ way: "" }, { way: undefined, seen: 1n << 2n }, IN_ANY_ORDER],
      [{ way: "", entry: ">0" }, { way: "", entry: ">1" }, IN_ANY_ORDER],
      [{ way: "", entry: ">0" }, { way: "", entry: ">0" }, ["a#2"]],
    ] as const) {
      const subject = run();
      subject.goTo(0, "outside", first);
      subject.keys(["a"]);
      subject.goTo(1, "drain", second);
      let keys: readonly string[] = [];
      const refusal = thrown(() => (keys = subject.keys(["a"])));
      expect([...keys, ...refusal]).toStrictEqual(expected);
    }
  });

  test("are refused if the second one finds, beside the line, the record of a call on it", () => {
    const found = (at: At) => {
      const subject = run({ recorded: { "step:a": "0o" } });
      subject.goTo(0, "drain", at);
      return thrown(() => subject.keys(["a"]));
    };
    expect(found(BESIDE)).toStrictEqual(BESIDE_THE_LINE);
    expect(found({ way: "" })).toStrictEqual([]);
  });
});

describe("a record of a version that noted the item and counted all calls of a name together", () => {
  test("is found by the item, in any order of the store, and further calls get keys of the item", () => {
    const subject = run({ recorded: { "step:a#3": "0o:1", "step:a#2": "0o:0", "step:a": "0o:1" } });
    subject.goTo(0, "outside", { way: "1" });
    expect(subject.keys(["a"])).toStrictEqual(["a"]);
    subject.goTo(0, "outside", { way: "0" });
    expect(subject.keys(["a"])).toStrictEqual(["a#2"]);
    subject.goTo(0, "outside", { way: "1" });
    // The item has called the name: which of its records is meant is uncertain.
    expect(thrown(() => subject.keys(["a"]))[0]).toBe("AMBIGUOUS_EFFECT");
    expect([...subject.ahead]).toStrictEqual(["step:a#3"]);
  });

  test("belongs to no call on the flow's own line", () => {
    const subject = run({ recorded: { "step:a": "0o:1" } });
    subject.goTo(0, "outside");
    expect(subject.keys(["a"])).toStrictEqual(["a#2"]);
  });
});

describe("a second call of a name", () => {
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
