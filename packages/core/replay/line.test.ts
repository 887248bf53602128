/** Which calls are told apart by what the handler awaits, and which are refused: handlers as people write them. */
import { createHook as createAsyncHook } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { createScope, systemClock } from "@parley/node";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { importAnew } from "../../../test/support/import-anew.ts";
import type { Effects } from "../effects.ts";
import { accept, form, subject } from "../replay.fixture.ts";
import type { JsonObject } from "../task.ts";

const ITEMS = ["a", "b", "c"] as const;
const wait = (ms: number) => systemClock.sleep(ms);
const saved = (...items: readonly string[]) => items.map((item) => `saved ${item}`);

/** How long a read of something outside ctx takes: milliseconds, or so many microtasks if negative. Always awaited. */
type Latency = (item: string) => number;
const position = (item: string) => "abcdef".indexOf(item);
const LATENCIES: Readonly<Record<string, Latency>> = {
  "cold, in order": (item) => 1 + 3 * position(item),
  "cold, in reverse": (item) => 10 - 3 * position(item),
  warm: () => -1,
  "warm, in reverse": (item) => position(item) - 6,
  "layered: some are cold": (item) => (position(item) % 2 === 0 ? -3 : 4),
  "layered: others are cold": (item) => (position(item) % 2 === 0 ? 4 : -2),
};
/** The latencies of one run and of those after it. */
const SEQUENCES = [
  ["cold, in order", "cold, in reverse"],
  ["cold, in reverse", "warm"],
  ["warm", "cold, in reverse"],
  ["warm, in reverse", "layered: some are cold", "warm"],
  ["layered: others are cold", "cold, in order", "layered: some are cold"],
] as const;

interface Given {
  readonly effects: Effects;
  /** Counts from 1. */
  readonly run: number;
  /** Awaits something outside ctx. */
  read(item: string): Promise<string>;
  /** The step `save`. */
  save(item: string): Promise<string>;
}
type Handler = (given: Given) => Promise<readonly unknown[]>;

interface Tried {
  readonly handler: Handler;
  readonly latencies: readonly string[];
  /** The worker dies in this call of the step. */
  readonly diesIn?: number;
}

function create({ handler, latencies, diesIn }: Tried) {
  const calls: { readonly item: string; readonly key: string }[] = [];
  let runs = 0;
  let stop = new AbortController();
  const task = subject(async (effects) => {
    runs += 1;
    const latency = LATENCIES[latencies[Math.min(runs, latencies.length) - 1] ?? ""] ?? (() => 1);
    const done = await handler({
      effects,
      run: runs,
      async read(item) {
        const takes = latency(item);
        if (takes > 0) await wait(takes);
        for (let turn = takes; turn < 0; turn += 1) await Promise.resolve();
        return item;
      },
      save: (item) =>
        effects.step("save", ({ idempotencyKey }) => {
          calls.push({ item, key: idempotencyKey });
          if (calls.length === diesIn) stop.abort();
          return `saved ${item}`;
        }) as Promise<string>,
    });
    await effects.ask("go", form("?"));
    return { done: done as string[] };
  });
  const run = async () => {
    for (;;) {
      const end = await task.run((stop = new AbortController()).signal);
      // A run that took what is slow for a lock is thrown away, and the next one goes on at once.
      if (end.type !== "parked" || !end.isAgain) return end;
    }
  };
  return { task, calls, run };
}

/** Runs the handler to its end, in three runs or more, and returns its result and the keys under which each item was saved. */
async function tried(each: Tried) {
  const { task, calls, run } = create(each);
  let end = await run();
  if (end.type === "aborted") end = await run();
  if (end.type === "parked") {
    task.answer("go", accept(1));
    end = await run();
  }
  const result = "result" in end ? end.result["done"] : "error" in end ? String(end.error) : end.type;
  const keysOf = new Map<string, Set<string>>();
  for (const { item, key } of calls) keysOf.set(item, (keysOf.get(item) ?? new Set()).add(key));
  return { result, calls: calls.length, keys: Object.fromEntries([...keysOf].map(([item, keys]) => [item, [...keys].join()])) };
}

/** In every order, with and without a crash at each step. `keys`: under which each item is saved, if that is the same in every order. */
async function inEveryRun(handler: Handler, expected: readonly unknown[], keys?: Readonly<Record<string, string>>) {
  const steps = keys ? Object.keys(keys).length : expected.length;
  const cases = SEQUENCES.flatMap((latencies) => Array.from({ length: steps + 1 }, (_, diesIn) => ({ handler, latencies, diesIn })));
  // All at once: runs of one process must not disturb each other.
  const found = await Promise.all(
    cases.map(async (each) => ({ ...(await tried(each)), of: `${each.latencies.join("; ")}: ${each.diesIn}` })),
  );
  // Without a crash, every call is made once. A worker that dies may leave several calls that were under way, which are repeated with their keys.
  expect(found.map(({ calls, ...each }, index) => ({ ...each, isOnce: cases[index]?.diesIn !== 0 || calls === steps }))).toEqual(
    found.map(({ of }) => ({ of, result: expected, keys: keys ?? expect.anything(), isOnce: true })),
  );
}

// ── what is awaited one thing after another ──────────────────────────────────────────────────────────────────────

const memo = new Map<string, Promise<string>>();

/** As p-retry. */
async function retried<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt === 3) throw error;
      await wait(1);
    }
  }
}

/** An object that saves once it is awaited, or a promise is resolved with it. */
function lazily(save: Given["save"], item: string): Promise<string> {
  // oxlint-disable-next-line unicorn/no-thenable -- it is what is tested
  return { then: (...given: Parameters<Promise<string>["then"]>) => save(item).then(...given) } as Promise<string>;
}

const ONE_AFTER_ANOTHER: readonly (readonly [string, Handler])[] = [
  [
    "a loop",
    async ({ read, save }) => {
      const done: string[] = [];
      for (const item of ITEMS) {
        await read(item);
        done.push(await save(item));
      }
      return done;
    },
  ],
  [
    "a helper that reads and saves",
    async ({ read, save }) => {
      const one = async (item: string) => {
        await read(item);
        return await save(item);
      };
      const done: string[] = [];
      for (const item of ITEMS) done.push(await one(item));
      return done;
    },
  ],
  [
    "two helpers one after the other, of which each saves",
    async ({ read, save }) => {
      const first = async () => {
        await read("a");
        return [await save("a")];
      };
      const others = async () => {
        const done = [];
        for (const item of ["b", "c"]) done.push(await save(await read(item)));
        return done;
      };
      return [...(await first()), ...(await others())];
    },
  ],
  [
    "reduce with async callbacks",
    async ({ read, save }) =>
      await ITEMS.reduce<Promise<string[]>>(async (before, item) => {
        const done = await before;
        await read(item);
        return [...done, await save(item)];
      }, Promise.resolve([])),
  ],
  [
    "a chain of then",
    async ({ read, save }) => {
      const done: string[] = [];
      let chain: Promise<unknown> = Promise.resolve();
      for (const item of ITEMS)
        chain = chain
          .then(() => read(item))
          .then((name) => save(name))
          .then((one) => done.push(one));
      await chain;
      return done;
    },
  ],
  [
    "an async generator that reads, and for await",
    async ({ read, save }) => {
      async function* pages() {
        for (const item of ITEMS) yield await read(item);
      }
      const done: string[] = [];
      for await (const page of pages()) done.push(await save(page));
      return done;
    },
  ],
  [
    "an async generator that saves",
    async ({ read, save }) => {
      async function* all() {
        for (const item of ITEMS) {
          await read(item);
          yield await save(item);
        }
      }
      const done: string[] = [];
      for await (const each of all()) done.push(each);
      return done;
    },
  ],
  [
    "an async generator that reads and saves once the loop is left",
    async ({ read, save }) => {
      const done: string[] = [];
      async function* some() {
        try {
          yield* ["a", "b", "f"];
        } finally {
          await read("c");
          done.push(await save("c"));
        }
      }
      for await (const item of some()) {
        done.push(await save(await read(item)));
        if (item === "b") break;
      }
      return done;
    },
  ],
  [
    "Array.fromAsync with a callback that reads and saves",
    async ({ read, save }) =>
      await Array.fromAsync(ITEMS, async (item) => {
        await read(item);
        return await save(item);
      }),
  ],
  [
    "Array.fromAsync with callbacks that read in one place and save in another",
    async ({ read, save }) => {
      const names = await Array.fromAsync(ITEMS, (item) => read(item));
      return await Array.fromAsync(names, (item) => save(item));
    },
  ],
  [
    "Array.fromAsync of an async generator that reads and saves",
    async ({ read, save }) => {
      async function* all() {
        for (const item of ITEMS) {
          await read(item);
          yield await save(item);
        }
      }
      return await Array.fromAsync(all());
    },
  ],
  [
    "Array.fromAsync of an async generator that reads, with a callback that saves",
    async ({ read, save }) => {
      async function* pages() {
        for (const item of ITEMS) yield await read(item);
      }
      return await Array.fromAsync(pages(), async (item) => await save(item));
    },
  ],
  [
    "Array.fromAsync in a helper, with callbacks that call helpers",
    async ({ read, save }) => {
      const one = async (item: string) => {
        await read(item);
        return save(item);
      };
      const all = async () => {
        await read("a");
        return await Array.fromAsync(ITEMS, one);
      };
      return await all();
    },
  ],
  [
    "a retry loop of its own",
    async ({ read, save }) => {
      const done: string[] = [];
      for (const item of ITEMS) {
        for (let attempt = 1; ; attempt += 1) {
          try {
            await read(item);
            if (attempt < 3) throw new Error("busy");
            break;
          } catch {
            await wait(1);
          }
        }
        done.push(await save(item));
      }
      return done;
    },
  ],
  [
    "a retry helper that is given a function",
    async ({ read, save }) => {
      const done: string[] = [];
      for (const item of ITEMS)
        done.push(
          await retried(async (attempt) => {
            await read(item);
            if (attempt === 1) throw new Error("busy");
            return await save(item);
          }),
        );
      return done;
    },
  ],
  [
    "helpers that return a promise without awaiting it",
    async ({ read, save }) => {
      const inner = async (item: string) => {
        await read(item);
        return save(item);
      };
      const outer = async (item: string) => {
        await read(item);
        return inner(item);
      };
      const done: string[] = [];
      for (const item of ITEMS) done.push(await outer(item));
      return done;
    },
  ],
  [
    "a recursion that ends with a promise which it does not await",
    async ({ read, save }) => {
      const upTo = async (count: number): Promise<string[]> => {
        const item = ITEMS[count - 1];
        if (item === undefined) return read("a").then(() => []);
        const before = await upTo(count - 1);
        await read(item);
        return [...before, await save(item)];
      };
      return await upTo(ITEMS.length);
    },
  ],
  [
    "a function that begins itself for what comes next, and reads before it awaits that",
    async ({ read, save }) => {
      const load = async (item: string, isAhead: boolean): Promise<string> => {
        if (isAhead) return read(item);
        const ahead = load("f", true);
        await read(item);
        const done = await save(item);
        await ahead;
        return done;
      };
      const done: string[] = [];
      for (const item of ITEMS) done.push(await load(item, false));
      return done;
    },
  ],
  [
    "a reaction that begins something else before it saves",
    async ({ read, save }) => {
      const begin = async (item: string) => read(item);
      const done: string[] = [];
      for (const item of ITEMS)
        done.push(
          await read(item).then(() => {
            void begin(item);
            return save(item);
          }),
        );
      return done;
    },
  ],
  [
    "a dynamic import before a call",
    async ({ save }) => {
      const done: string[] = [];
      for (const item of ITEMS) {
        await import("./flow.ts");
        done.push(await save(item));
      }
      return done;
    },
  ],
  [
    "a helper that awaits nothing",
    async ({ read, save }) => {
      const one = (item: string) => save(item.toLowerCase());
      const done: string[] = [];
      for (const item of ITEMS) {
        await read(item);
        done.push(await one(item));
      }
      return done;
    },
  ],
  [
    "a memoised promise, of an earlier run or another task",
    async ({ read, save }) => {
      const config = (item: string) => {
        const promise = memo.get(item) ?? read(item);
        memo.set(item, promise);
        return promise;
      };
      const done: string[] = [];
      for (const item of ITEMS) done.push(await save(await config(item)));
      return done;
    },
  ],
  [
    "awaits of values that are no promises",
    async ({ run, read, save }) => {
      const done: string[] = [];
      for (const item of ITEMS) {
        await (run === 1 ? undefined : read(item));
        done.push(await save(item));
      }
      return done;
    },
  ],
  [
    "objects that call when they are awaited, as queries of a database do",
    async ({ read, save }) => {
      const returned = async (item: string) => {
        await read(item);
        return lazily(save, item);
      };
      const done: string[] = [await lazily(save, "a"), await returned("b")];
      await read("c");
      return [...done, await lazily(save, "c")];
    },
  ],
];

const IN_LINE = { a: "0-task.save", b: "0-task.save#2", c: "0-task.save#3" };

describe("what a handler awaits one thing after another is in order, whatever it reads:", () => {
  test.each(ONE_AFTER_ANOTHER)("%s", async (_what, handler) => {
    memo.clear();
    await inEveryRun(handler, saved(...ITEMS), IN_LINE);
  });
});

// ── items of a Promise.all ───────────────────────────────────────────────────────────────────────────────────────

const BY_ITEM = { a: "0-task.save~0", b: "0-task.save~1", c: "0-task.save~2" };
const ITEM_BY_ITEM: readonly (readonly [string, Handler, readonly unknown[], Readonly<Record<string, string>>])[] = [
  [
    "async callbacks",
    async ({ read, save }) =>
      await Promise.all(
        ITEMS.map(async (item) => {
          await read(item);
          return await save(item);
        }),
      ),
    saved(...ITEMS),
    BY_ITEM,
  ],
  [
    "async callbacks that return the promise of a helper without awaiting it",
    async ({ read, save }) => {
      const one = async (item: string) => await save(await read(item));
      return await Promise.all(ITEMS.map(async (item) => one(item)));
    },
    saved(...ITEMS),
    BY_ITEM,
  ],
  [
    "callbacks that are no async functions",
    async ({ read, save }) => {
      const one = async (item: string) => await save(await read(item));
      return await Promise.all(ITEMS.map((item) => one(item)));
    },
    saved(...ITEMS),
    BY_ITEM,
  ],
  [
    "functions that have called themselves and got an answer at once",
    async ({ read, save }) => {
      const visit = async (item: string, depth: number): Promise<string> => {
        if (depth === 0) return item;
        const inner = visit(item, depth - 1);
        await read(item);
        return await save(await inner);
      };
      return await Promise.all(ITEMS.map((item) => visit(item, 1)));
    },
    saved(...ITEMS),
    BY_ITEM,
  ],
  [
    "reactions that begin to read for the next item before they save",
    async ({ read, save }) => {
      const begun = new Map<string, Promise<string>>();
      const load = async (item: string) => read(item);
      const ahead = (item: string) => {
        const reading = begun.get(item) ?? load(item);
        begun.set(item, reading);
        return reading;
      };
      return await Promise.all(
        ITEMS.map((item, index) =>
          read(item)
            .then(() => ahead(item))
            .then(() => {
              void ahead(ITEMS[index + 1] ?? "f");
              return save(item);
            }),
        ),
      );
    },
    saved(...ITEMS),
    BY_ITEM,
  ],
  [
    "functions of which some return what a helper does, and others call at once",
    async ({ read, save }) => {
      const later = async (item: string) => await save(await read(item));
      return await Promise.all(["a", "b", "c", "d"].map(async (item) => (position(item) % 2 === 0 ? later(item) : save(item))));
    },
    saved("a", "b", "c", "d"),
    { a: "0-task.save~0", b: "0-task.save", c: "0-task.save~2", d: "0-task.save#2" },
  ],
  [
    "an item beside an Array.fromAsync that was begun before it",
    async ({ read, save }) => {
      const [, done] = await Promise.all([
        Array.fromAsync(ITEMS, (item) => read(item)),
        (async () => {
          await read("f");
          return await save("a");
        })(),
      ]);
      return [done];
    },
    saved("a"),
    { a: "0-task.save~1" },
  ],
  ["callbacks of then", async ({ read, save }) => await Promise.all(ITEMS.map((item) => read(item).then(save))), saved(...ITEMS), BY_ITEM],
  [
    "a layered cache that each item asks",
    async ({ read, save }) => {
      const layer = async (item: string) => {
        await read(item);
        return await read(item);
      };
      const cache = async (item: string) => layer(item);
      return await Promise.all(ITEMS.map(async (item) => await save(await cache(item))));
    },
    saved(...ITEMS),
    BY_ITEM,
  ],
  [
    "items in a helper that the handler awaits",
    async ({ read, save }) => {
      const all = async () => await Promise.all(ITEMS.map(async (item) => await save(await read(item))));
      await read("f");
      return await all();
    },
    saved(...ITEMS),
    BY_ITEM,
  ],
  [
    "an item that is a call of ctx itself, before and after them",
    async ({ effects, read, save }) => {
      const [, a, b, c] = await Promise.all([
        effects.step("first", () => 1),
        ...ITEMS.map(async (item) => await save(await read(item))),
        effects.step("last", () => 1),
      ]);
      return [a, b, c];
    },
    saved(...ITEMS),
    { a: "0-task.save~1", b: "0-task.save~2", c: "0-task.save~3" },
  ],
  [
    "a Promise.all in each item of another one",
    async ({ read, save }) =>
      await Promise.all(
        [
          ["a", "b"],
          ["c", "d"],
        ].map(async (row) => {
          await read(row[0] ?? "");
          return await Promise.all(row.map(async (item) => await save(await read(item))));
        }),
      ),
    [saved("a", "b"), saved("c", "d")],
    { a: "0-task.save~0.0", b: "0-task.save~1.0", c: "0-task.save~0.1", d: "0-task.save~1.1" },
  ],
  [
    "chunks: a Promise.all in each round of a loop",
    async ({ read, save }) => {
      const done: string[] = [];
      for (const chunk of [["a", "b"], ["c", "d"], ["e"]])
        done.push(
          ...(await Promise.all(
            chunk.map(async (item) => {
              await read(item);
              return await save(item);
            }),
          )),
        );
      return done;
    },
    saved("a", "b", "c", "d", "e"),
    { a: "0-task.save~0", b: "0-task.save~1", c: "0-task.save~0#2", d: "0-task.save~1#2", e: "0-task.save~0#3" },
  ],
  [
    "chunks in a helper, with allSettled and a failure among them, behind calls that have awaited nothing",
    async ({ effects, read, save }) => {
      const chunked = async (chunk: readonly string[], isFirst: boolean) =>
        await Promise.allSettled(
          chunk.map(async (item) => {
            await effects.step("look", () => item);
            await read(item);
            const done = await save(item);
            if (isFirst) throw new Error(done);
            return done;
          }),
        );
      const done = [...(await chunked(["a", "b"], true)), ...(await chunked(["c"], false))];
      return done.map((each) => (each.status === "fulfilled" ? each.value : (each.reason as Error).message));
    },
    saved("a", "b", "c"),
    { a: "0-task.save~0", b: "0-task.save~1", c: "0-task.save~0#2" },
  ],
  [
    "allSettled, and a failure beside them",
    async ({ read, save }) => {
      const settled = await Promise.allSettled([
        ...ITEMS.map(async (item) => await save(await read(item))),
        (async () => {
          await read("f");
          throw new Error("away");
        })(),
      ]);
      return settled.map((each) => (each.status === "fulfilled" ? each.value : String(each.reason)));
    },
    [...saved(...ITEMS), "Error: away"],
    BY_ITEM,
  ],
];

/** Where items get to an object that saves once it is awaited. */
const LAZY: readonly (readonly [string, (given: Given, lazy: (item: string) => Promise<string>) => readonly Promise<string>[]])[] = [
  [
    "await",
    ({ read }, lazy) =>
      ITEMS.map(async (item) => {
        await read(item);
        return await lazy(item);
      }),
  ],
  [
    "return",
    ({ read }, lazy) =>
      ITEMS.map(async (item) => {
        await read(item);
        return lazy(item);
      }),
  ],
  ["hand on in a reaction", ({ read }, lazy) => ITEMS.map((item) => read(item).then(() => lazy(item)))],
  [
    "resolve a promise with",
    ({ read }, lazy) =>
      ITEMS.map((item) => {
        const { promise, resolve } = Promise.withResolvers<string>();
        void read(item).then(() => resolve(lazy(item)));
        return promise;
      }),
  ],
  [
    "give to Promise.resolve",
    ({ read }, lazy) =>
      ITEMS.map(async (item) => {
        await read(item);
        return await Promise.resolve(lazy(item));
      }),
  ],
  ["are", (_given, lazy) => ITEMS.map(lazy)],
];

describe("every item of a list that the handler awaits gets its own results, in every order:", () => {
  test.each(ITEM_BY_ITEM)("%s", async (_what, handler, expected, keys) => {
    await inEveryRun(handler, expected, keys);
  });

  test.each(LAZY)("items that %s an object that calls when it is awaited", async (_what, itemsOf) => {
    await inEveryRun(async (given) => await Promise.all(itemsOf(given, (item) => lazily(given.save, item))), saved(...ITEMS), BY_ITEM);
  });

  test("reactions of a subclass of Promise are refused: nothing tells on what they wait", async () => {
    class Command<T> extends Promise<T> {}
    const { run, calls } = create({
      latencies: ["cold, in reverse"],
      handler: async ({ read, save }) => await Promise.all(ITEMS.map((item) => Command.resolve(item).then(read).then(save))),
    });
    expect(await run()).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT" } });
    expect(calls).toEqual([]);
  });

  test("a second call of a name by one item is refused: it may work off what the items share", async () => {
    const { run, calls } = create({
      latencies: ["cold, in order"],
      handler: async ({ read, save }) =>
        await Promise.all(
          ["a", "b"].map(async (item) => {
            const done: string[] = [];
            for (const each of [item, `${item}${item}`]) {
              await read(item);
              done.push(await save(each));
            }
            return done;
          }),
        ),
    });
    expect(await run()).toMatchObject({
      type: "threw",
      error: { code: "AMBIGUOUS_EFFECT", message: expect.stringContaining("line.test.ts:") },
    });
    expect(calls.map(({ item }) => item)).not.toContain("aa");
  });

  test("also if one item has awaited nothing but ctx", async () => {
    const handler: Handler = async ({ effects, read, save }) =>
      await Promise.all(
        ITEMS.map(async (item) => {
          await (item === "b" ? effects.step("look", () => item) : read(item));
          return await save(item);
        }),
      );
    await inEveryRun(handler, saved(...ITEMS), { a: "0-task.save~0", b: "0-task.save", c: "0-task.save~2" });
  });

  test("workers that take the next item from a list they share never exchange results, also where that is refused", async () => {
    for (const [first, later] of [
      [
        [1, 10, 60, 1],
        [10, 1, 60, 60],
      ],
      [
        [1, 20, 1, 1],
        [20, 1, 1, 1],
      ],
    ] as const) {
      const { task, run } = create({
        latencies: [],
        async handler({ run: number, save }) {
          const done: Record<string, string> = {};
          const queue = ["a", "b", "c", "d"];
          const worker = async () => {
            for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
              done[item] = await save(item);
              await wait((number === 1 ? first : later)[position(item)] ?? 1);
            }
          };
          await Promise.all([worker(), worker()]);
          return ["a", "b", "c", "d"].map((item) => done[item]);
        },
      });
      let end = await run();
      if (end.type === "parked") {
        task.answer("go", accept(1));
        end = await run();
      }
      if (end.type === "returned") expect(end.result).toEqual({ done: saved("a", "b", "c", "d") });
      else expect(end).toMatchObject({ error: { code: expect.stringMatching(/^(AMBIGUOUS_EFFECT|REPLAY_DIVERGED)$/) } });
    }
  });
});

// ── what follows from ctx ────────────────────────────────────────────────────────────────────────────────────────

const COUNTED = ["0-task.save", "0-task.save#2", "0-task.save#3"];
const BY_NUMBER = ["0-task.save~0", "0-task.save~1", "0-task.save~2"];
/** What each of three items awaits before it saves, and the keys under which they do. */
const BEFORE: readonly (readonly [string, readonly string[], (given: Given, item: string) => Promise<unknown>])[] = [
  ["a call of its own", COUNTED, async ({ effects }, item) => await effects.step(`look-${item}`, () => 1)],
  ["a read", BY_NUMBER, async ({ read }, item) => await read(item)],
  [
    "a read, and then a call of its own",
    COUNTED,
    async ({ effects, read }, item) => {
      await read(item);
      await effects.step(`look-${item}`, () => 1);
    },
  ],
  [
    "a call of its own, and then a read",
    BY_NUMBER,
    async ({ effects, read }, item) => {
      await effects.step(`look-${item}`, () => 1);
      await read(item);
    },
  ],
  [
    "a call of its own, and then a cache that has what is asked for",
    BY_NUMBER,
    async ({ effects }, item) => {
      const cached = async () => item;
      await effects.step(`look-${item}`, () => 1);
      await cached();
    },
  ],
  [
    "a call of its own, and then what a cache has had since before that call",
    BY_NUMBER,
    async ({ effects }, item) => {
      const cached = async () => item;
      const begun = cached();
      await effects.step(`look-${item}`, () => 1);
      await begun;
    },
  ],
  [
    "a read, and then a helper of a helper that makes the call",
    COUNTED,
    async ({ effects, read }, item) => {
      const look = async () => await effects.step(`look-${item}`, () => 1);
      const looks = async () => await look();
      await read(item);
      await looks();
    },
  ],
  [
    "a read, and then a call that was made before",
    BY_NUMBER,
    async ({ effects, read }, item) => {
      const made = effects.step(`look-${item}`, async () => await wait(30));
      await read(item);
      await made;
    },
  ],
  [
    "a call of its own, and then a helper that had made its call before",
    COUNTED,
    async ({ effects }, item) => {
      const look = async (what: string) => await effects.step(`${what}-${item}`, () => 1);
      const [first] = [look("first")];
      await look("second");
      await first;
    },
  ],
  [
    "a promise that ctx has made of a call, and that takes some microtasks more",
    COUNTED,
    async ({ effects }, item) => {
      const look = async () => {
        await effects.step(`look-${item}`, () => 1);
        await Promise.resolve();
      };
      await effects.ofCtx(look());
    },
  ],
  [
    "a read, and then such a promise that was made before",
    BY_NUMBER,
    async ({ effects, read }, item) => {
      const look = async () => await effects.step(`look-${item}`, async () => await wait(30));
      const made = effects.ofCtx(look());
      await read(item);
      await made;
    },
  ],
  [
    "a read, and then a call that was made before and given to ctx once more",
    BY_NUMBER,
    async ({ effects, read }, item) => {
      const made = effects.step(`look-${item}`, async () => await wait(30));
      await read(item);
      await effects.ofCtx(made as Promise<unknown>);
    },
  ],
  [
    "a call of its own, and then such a promise that a read has settled meanwhile",
    BY_NUMBER,
    async ({ effects, read }, item) => {
      const made = effects.ofCtx(read(item));
      await effects.step(`look-${item}`, async () => await wait(60));
      await made;
    },
  ],
];

describe("items of a Promise.all are told apart by their numbers exactly if they have awaited something else since ctx let them continue:", () => {
  test.each(BEFORE)("%s", async (_what, keys, before) => {
    const { run, calls } = create({
      latencies: ["cold, in order"],
      handler: async (given) =>
        await Promise.all(
          ITEMS.map(async (item) => {
            await before(given, item);
            return await given.save(item);
          }),
        ),
    });
    expect((await run()).type).toBe("parked");
    expect(calls.map(({ key }) => key).toSorted()).toEqual(keys);
  });

  test.each<[string, (item: string) => Promise<unknown>]>([
    // The item that comes to its await last goes on first: nothing of ctx settles in between.
    ["that no code of the handler has made", (item) => wait(40 - 15 * position(item))],
    ["that is ready at once", () => Promise.resolve()],
  ])("a promise %s, and then given a reaction to a call in the same breath", async (_what, make) => {
    const { run, calls } = create({
      latencies: [],
      handler: async ({ effects, save }) =>
        await Promise.all(
          ITEMS.map(async (item) => {
            let made: Promise<unknown> | undefined;
            await effects.step(`make-${item}`, () => void (made = make(item)));
            await (made ?? make(item));
            void effects.step(`look-${item}`, () => 1).then(() => undefined);
            return await save(item);
          }),
        ),
    });
    expect((await run()).type).toBe("parked");
    expect(calls.map(({ key }) => key).toSorted()).toEqual(BY_NUMBER);
  });

  test("a promise of another run that had ended when it settled, in a cache", async () => {
    const cached: Promise<unknown>[] = [];
    const { run } = create({
      latencies: [],
      async handler() {
        cached.push((async () => await wait(20))());
        return await Promise.resolve([]);
      },
    });
    expect((await run()).type).toBe("parked");
    await Promise.all(cached);
    const later = create({
      latencies: [],
      handler: async ({ effects, save }) =>
        await Promise.all(
          ITEMS.map(async (item) => {
            await effects.step(`look-${item}`, () => 1);
            await cached[0];
            return await save(item);
          }),
        ),
    });
    expect((await later.run()).type).toBe("parked");
    expect(later.calls.map(({ key }) => key).toSorted()).toEqual(BY_NUMBER);
  });

  test("a promise that another run has settled, in a cache", async () => {
    const cached = new Map<string, Promise<unknown>>();
    const handler: Handler = async ({ effects, save }) => {
      const client = async () => await effects.step("token", () => 1);
      return await Promise.all(
        ITEMS.map(async (item) => {
          const known = cached.get("client") ?? client();
          cached.set("client", known);
          await effects.step(`look-${item}`, () => 1);
          await known;
          return await save(item);
        }),
      );
    };
    for (const keys of [COUNTED, BY_NUMBER]) {
      const { run, calls } = create({ handler, latencies: [] });
      expect((await run()).type).toBe("parked");
      expect(calls.map(({ key }) => key).toSorted()).toEqual(keys);
    }
  });
});

// ── what is awaited in some runs only ────────────────────────────────────────────────────────────────────────────

/** Which items the cache of a worker has. */
const CACHED = ["", "a", "b", "c", "ab", "ac", "bc", "abc"] as const;

/** Each looks into the cache, and awaits a read only of what that does not have. */
const LOOKED_UP: readonly (readonly [
  string,
  (given: Given, look: (item: string) => Promise<string> | string) => Promise<readonly unknown[]>,
])[] = [
  [
    "before the call",
    async ({ save }, look) =>
      await Promise.all(
        ITEMS.map(async (item) => {
          const known = look(item);
          if (typeof known !== "string") await known;
          return await save(item);
        }),
      ),
  ],
  [
    "after a call of its own",
    async ({ effects, save }, look) =>
      await Promise.all(
        ITEMS.map(async (item) => {
          await effects.step(`look-${item}`, () => 1);
          const known = look(item);
          if (typeof known !== "string") await known;
          return await save(item);
        }),
      ),
  ],
  [
    "in a helper, after a read of the handler's own",
    async ({ read, save }, look) => {
      const loaded = async (item: string) => {
        const known = look(item);
        return typeof known === "string" ? known : await known;
      };
      const one = async (item: string) => {
        if (typeof look(item) !== "string") await loaded(item);
        return await save(item);
      };
      await read("a");
      return await Promise.all(ITEMS.map(one));
    },
  ],
];

describe("items that look into a cache first, and await a read of what it does not have, get their own results or are refused", () => {
  test.each(LOOKED_UP)("%s, whichever the first worker and the later ones have", async (_what, work) => {
    const of = CACHED.flatMap((first) => CACHED.flatMap((later) => [0, 1, 2, 3].map((diesIn) => ({ first, later, diesIn }))));
    const found = await Promise.all(
      of.map(async ({ first, later, diesIn }) => {
        const { result } = await tried({
          latencies: ["cold, in reverse", "cold, in order"],
          diesIn,
          handler: async (given) => {
            const has: string = given.run === 1 ? first : later;
            return await work(given, (item) => (has.includes(item) ? item : given.read(item)));
          },
        });
        return { first, later, diesIn, result };
      }),
    );
    // After a crash it may be too late to tell whose record it is that is there: the item that it was made for may come last.
    const isRefused = ({ diesIn, result }: (typeof found)[number]) =>
      diesIn > 0 && typeof result === "string" && result.includes("whose record another item has taken");
    expect(found.filter((each) => !isRefused(each)).map(({ result }) => result)).toEqual(
      found.filter((each) => !isRefused(each)).map(() => saved(...ITEMS)),
    );
    expect(found.filter(isRefused).length).toBeLessThan(found.length / 8);
  });

  test("an item's call behind a read has its record, also if a later one of the item follows from ctx", async () => {
    const handler: Handler = async ({ effects, read, save }) =>
      await Promise.all(
        ITEMS.map(async (item) => {
          try {
            await read(item);
            return await effects.step("save", () => {
              throw new Error("away");
            });
          } catch {
            return await save(item);
          }
        }),
      );
    expect(await tried({ handler, latencies: ["cold, in reverse", "warm"] })).toMatchObject({ result: saved(...ITEMS) });
  });

  test("an item's call behind a read has its record, also if an item of a later list is on the handler's line", async () => {
    const handler: Handler = async ({ effects, read, save }) => {
      const [first] = await Promise.all(
        ["a"].map(async (item) => {
          await read(item);
          const done = await save(item);
          await Promise.resolve();
          return done;
        }),
      );
      const [second] = await Promise.all(["b"].map(async (item) => (await Promise.all([save(item), effects.step("beside", () => 1)]))[0]));
      return [first, second];
    };
    expect(await tried({ handler, latencies: ["cold, in order", "warm"] })).toMatchObject({ result: saved("a", "b") });
  });

  test("calls that an item's function makes at once have their own records, also if only the last of them has one", async () => {
    const done: string[] = [];
    let holdsBack = true;
    const stop = new AbortController();
    const task = subject(async ({ step }) => {
      const work = (item: string) => async () => {
        if (holdsBack && item !== "c") await new Promise(() => undefined);
        done.push(item);
        return `saved ${item}`;
      };
      const [found] = await Promise.all([
        (async () => {
          await step("look", () => 1);
          return await Promise.all(ITEMS.map((item) => step("save", work(item))));
        })(),
        step("beside", () => 1),
      ]);
      return { found: found as string[] };
    });
    const first = task.run(stop.signal);
    await expect.poll(() => task.journal.has("step:save#3")).toBe(true);
    stop.abort();
    await first;
    holdsBack = false;
    expect(await task.run()).toMatchObject({ result: { found: saved(...ITEMS) } });
    expect(done.toSorted()).toEqual([...ITEMS]);
  });

  test("calls are counted in the order in which they are made, also if it is known at once of some only who waits for them", async () => {
    const { run, calls } = create({
      latencies: [],
      async handler({ effects, save }) {
        await effects.step("look", () => 1);
        const all = Promise.all(ITEMS.map(async (item) => await save(item)));
        const last = save("d");
        return [...(await all), await last];
      },
    });
    expect((await run()).type).toBe("parked");
    expect(Object.fromEntries(calls.map(({ item, key }) => [item, key]))).toEqual({
      a: "0-task.save",
      b: "0-task.save#2",
      c: "0-task.save#3",
      d: "0-task.save#4",
    });
  });
});

// ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────

const ignored = () => undefined;

type Limit = <T>(work: () => Promise<T>) => Promise<T>;

/** As p-limit. */
function createLimit(concurrency: number): Limit {
  const queue: (() => void)[] = [];
  let active = 0;
  const next = () => {
    active -= 1;
    queue.shift()?.();
  };
  return async (work) => {
    if (active >= concurrency) await new Promise<void>((resolve) => queue.push(resolve));
    active += 1;
    const result = (async () => work())();
    void (async () => {
      await result.catch(ignored);
      next();
    })();
    return result;
  };
}

const REFUSED: readonly (readonly [string, Handler])[] = [
  [
    "a limiter that runs what it was given beside its callers",
    async ({ read, save }) => {
      const queue: (() => Promise<void>)[] = [];
      const pump = async () => {
        for (let work = queue.shift(); work; work = queue.shift()) await work();
      };
      const limit = (item: string) =>
        new Promise<string>((resolve) => {
          queue.push(async () => {
            await read(item);
            resolve(await save(item));
          });
          if (queue.length === 1) void Promise.resolve().then(pump).catch(ignored);
        });
      return await Promise.all(ITEMS.map((item) => limit(item)));
    },
  ],
  [
    "a limiter that awaits the result as well, as p-limit",
    async ({ read, save }) => {
      const limit = createLimit(2);
      return await Promise.all(ITEMS.map((item) => limit(async () => await save(await read(item)))));
    },
  ],
  [
    "a queue that starts the functions of other items when it is full",
    async ({ read, save }) => {
      const queue: (() => Promise<void>)[] = [];
      const one = async (item: string) => {
        await read(item);
        return await new Promise<string>((resolve) => {
          queue.push(async () => resolve(await save(item)));
          if (queue.length === ITEMS.length) for (const work of queue) void work().catch(ignored);
        });
      };
      return await Promise.all(ITEMS.map(one));
    },
  ],
  [
    "a runner that starts a function for each free place, as p-map",
    async ({ read, save }) =>
      await new Promise<string[]>((resolve, reject) => {
        const done: string[] = [];
        let index = 0;
        let open = ITEMS.length;
        const next = () => {
          const at = index;
          index += 1;
          const item = ITEMS[at];
          if (item === undefined) return;
          void (async () => {
            try {
              await read(item);
              done[at] = await save(item);
              open -= 1;
              if (open === 0) resolve(done);
              next();
            } catch (error) {
              reject(error as Error);
            }
          })();
        };
        next();
        next();
      }),
  ],
  [
    "functions that are started and awaited later, one after another",
    async ({ read, save }) => {
      const started = ITEMS.map(async (item) => {
        await read(ITEMS[2 - position(item)] ?? "");
        return await save(item);
      });
      for (const each of started) each.catch(ignored);
      await wait(15);
      const done: string[] = [];
      for (const each of started) done.push(await each);
      return done;
    },
  ],
  [
    "the loser of a race that is decided",
    async ({ save }) => {
      const slow = async () => {
        await wait(5);
        return await save("b");
      };
      const first = await Promise.race([wait(1), slow()]);
      await wait(20);
      return [first];
    },
  ],
  [
    "an item of a race, which may lose it before or after its call",
    async ({ read, save }) => {
      const done: unknown[] = [];
      for (const item of ITEMS) done.push(await Promise.race([(async () => await save(await read(item)))(), wait(4)]));
      return done;
    },
  ],
  [
    "an item of a Promise.all after another one has failed and left items behind",
    async ({ read, save }) => {
      for (const isLast of [false, true]) {
        const one = async (item: string) => {
          if (!isLast && item === "a") throw new Error("away");
          await wait(20);
          return await save(await read(item));
        };
        try {
          return await Promise.all(ITEMS.map(one));
        } catch {
          // Once more.
        }
      }
      return [];
    },
  ],
  [
    "the callback of a timer",
    async ({ save }) => {
      const done = Promise.withResolvers<string>();
      setTimeout(() => void save("a").then(done.resolve, done.reject), 1);
      return [await done.promise];
    },
  ],
  ...(["timer", "tick", "microtask"] as const).map((how): readonly [string, Handler] => [
    `the callback of a ${how} beside an Array.fromAsync that is under way`,
    async ({ read, save }) => {
      const done = Promise.withResolvers<string>();
      done.promise.catch(ignored);
      const call = () => void save("a").then(done.resolve, done.reject);
      setTimeout(() => (how === "timer" ? call() : how === "tick" ? process.nextTick(call) : queueMicrotask(call)), 2);
      // Callbacks that are no async functions: nothing tells that what they have returned is not there.
      await Array.fromAsync(ITEMS, (item) => Promise.race([read(item), new Promise<never>(() => undefined)]).then(() => wait(5)));
      return [await done.promise];
    },
  ]),
  [
    "two branches with one key that run beside each other",
    async ({ effects, read, save }) =>
      await Promise.all(["a", "b"].map((item) => effects.branch("same", async () => await save(await read(item))))),
  ],
  [
    "two calls of Array.fromAsync that run beside each other",
    async ({ read, save }) => {
      const names = Array.fromAsync(ITEMS, (item) => read(item));
      const done = Array.fromAsync(ITEMS, (item) => save(item));
      done.catch(ignored);
      await names;
      return await done;
    },
  ],
  [
    "the listener of an event emitter",
    async ({ read, save }) => {
      const emitter = new EventEmitter();
      const done = Promise.withResolvers<string>();
      emitter.on("read", (item: string) => void save(item).then(done.resolve, done.reject));
      void read("a").then((item) => emitter.emit("read", item));
      return [await done.promise];
    },
  ],
  [
    "a function that nobody awaits",
    async ({ read, save }) => {
      void (async () => {
        await read("a");
        await save("a");
      })().catch(ignored);
      await wait(20);
      return [];
    },
  ],
];

const AGAIN = /^step "save" at .*line\.test\.ts:\d+:\d+ is called a second time by the same item of a Promise\.all/;
const BESIDE_EACH_OTHER = /^step "save" at .*line\.test\.ts:\d+:\d+, and the call at .*line\.test\.ts:\d+:\d+, run beside each other/;

/** Handlers whose first calls are certain, with the items that are saved before the refusal. */
const LATER: readonly (readonly [string, RegExp, Handler])[] = [
  [
    "workers that take chunks from a list that they share",
    AGAIN,
    async ({ read, save }) => {
      const queue = [["a"], ["b"], ["c"], ["d"]];
      const worker = async () => {
        for (let chunk = queue.shift(); chunk; chunk = queue.shift())
          await Promise.all(
            chunk.map(async (item) => {
              await read(item);
              return await save(item);
            }),
          );
      };
      await Promise.all([worker(), worker()]);
      return [];
    },
  ],
  [
    "items that call at once, and again after a read",
    AGAIN,
    async ({ read, save }) => {
      await read("f");
      await Promise.all(
        [
          ["a", "c"],
          ["b", "d"],
        ].map(async ([first = "", second = ""]) => {
          await save(first);
          await read(second);
          await save(second);
        }),
      );
      return [];
    },
  ],
  [
    "two lists that are made together and awaited one after another",
    BESIDE_EACH_OTHER,
    async ({ effects, read, save }) => {
      const hasSaved = Promise.withResolvers<void>();
      const one = async (item: string) => {
        await read(item);
        if (item > "b") await hasSaved.promise;
        return await save(item);
      };
      const lists = [
        ["a", "b"],
        ["c", "d"],
      ].map(async (list) => await Promise.all(list.map(one)));
      const done: unknown[] = [];
      for (const list of lists) {
        done.push(await list);
        await effects.step("between", () => 1);
        setTimeout(hasSaved.resolve, 5);
      }
      return done;
    },
  ],
];

describe("is refused at the second call, if the first one is certain:", () => {
  test.each(LATER.flatMap(([what, message, handler]) => ["cold, in order", "warm"].map((how) => [what, how, message, handler] as const)))(
    "%s (%s)",
    async (_what, how, message, handler) => {
      const { run, calls } = create({ handler, latencies: [how] });
      expect(await run()).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT", message: expect.stringMatching(message) } });
      expect(calls.map(({ item }) => item).toSorted()).toEqual(["a", "b"]);
    },
  );
});

const REFUSAL =
  /^step "(?:same\/)?save" at (\/.*\/line\.test\.ts):\d+:\d+(, and the call at \1:\d+:\d+, run beside each other\. One of them has| runs beside other code of the handler, and has) awaited something outside ctx/;

describe("is refused in the first run, before it takes effect:", () => {
  test.each(
    REFUSED.flatMap(([what, handler]) => ["cold, in order", "cold, in reverse", "warm"].map((how) => [what, how, handler] as const)),
  )("%s (%s)", async (_what, how, handler) => {
    const { run, calls } = create({ handler, latencies: [how] });
    const end = await run();
    expect(end).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT", message: expect.stringMatching(REFUSAL) } });
    expect(calls).toEqual([]);
  });

  test("two items of which one has called the name beside the other, with the places of both", async () => {
    const { run, calls } = create({
      latencies: ["cold, in order"],
      async handler({ effects, read }) {
        const done = await Promise.all([
          effects.branch("same", async () => {
            await read("a");
            return effects.uuid("id");
          }),
          effects.branch("same", async () => {
            await read("b");
            return effects.uuid("id");
          }),
        ]);
        return done;
      },
    });
    expect(await run()).toMatchObject({
      type: "threw",
      error: { code: "AMBIGUOUS_EFFECT", message: expect.stringContaining("line.test.ts:") },
    });
    expect(calls).toEqual([]);
  });
});

test("items that have their turn one after another at ctx alone need no order of their own", async () => {
  await inEveryRun(
    async ({ effects, save }) => {
      const done = await Promise.all(ITEMS.map(async (item) => [await effects.step("look", () => item), await save(item)]));
      return done.map(([, each]) => each);
    },
    saved(...ITEMS),
    IN_LINE,
  );
});

// ── locks and queues that items come to after a read ─────────────────────────────────────────────────────────────

interface Job {
  readonly work: () => Promise<string>;
  readonly resolve: (result: string | Promise<string>) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs one job after another. `start`: how it runs one, and when it says that it is done. */
function createQueue(start: (job: Job, done: () => void) => void): Limit {
  const jobs: Job[] = [];
  let isBusy = false;
  const next = () => {
    const job = isBusy ? undefined : jobs.shift();
    if (!job) return;
    isBusy = true;
    start(job, () => {
      isBusy = false;
      next();
    });
  };
  return (work) =>
    new Promise((resolve, reject) => {
      jobs.push({ work, resolve, reject } as unknown as Job);
      next();
    });
}

const TURNS: Readonly<Record<string, () => Limit>> = {
  "a lock that runs what others have left with it in a reaction, as async-lock": () =>
    createQueue(({ work, resolve, reject }, done) => void work().then(resolve, reject).finally(done)),
  "a lock that answers with the promise of what it runs": () =>
    createQueue(({ work, resolve }, done) => {
      const result = work();
      resolve(result);
      result.finally(done).catch(ignored);
    }),
  "a loop that works off a queue": () => {
    const jobs: Job[] = [];
    let isBusy = false;
    const workOff = async () => {
      isBusy = true;
      for (let job = jobs.shift(); job; job = jobs.shift()) {
        try {
          job.resolve(await job.work());
        } catch (error) {
          job.reject(error);
        }
      }
      isBusy = false;
    };
    return (work) =>
      new Promise((resolve, reject) => {
        jobs.push({ work, resolve, reject } as unknown as Job);
        if (!isBusy) void workOff();
      });
  },
  "a loop that works off functions of which each answers its own caller": () => {
    const jobs: (() => Promise<void>)[] = [];
    let isBusy = false;
    const workOff = async () => {
      isBusy = true;
      for (let job = jobs.shift(); job; job = jobs.shift()) await job();
      isBusy = false;
    };
    return (work) =>
      new Promise((resolve, reject) => {
        jobs.push(async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error as Error);
          }
        });
        if (!isBusy) void workOff();
      });
  },
  "a semaphore": () => {
    const waiting: (() => void)[] = [];
    let isBusy = false;
    return async (work) => {
      if (isBusy) await new Promise<void>((proceed) => waiting.push(proceed));
      isBusy = true;
      try {
        return await work();
      } finally {
        isBusy = false;
        waiting.shift()?.();
      }
    };
  },
  "a lock that chains gates": () => {
    let tail: Promise<unknown> = Promise.resolve();
    return async (work) => {
      const before = tail;
      const { promise, resolve } = Promise.withResolvers<void>();
      tail = promise;
      await before;
      try {
        return await work();
      } finally {
        resolve();
      }
    };
  },
};

/** How the lock is taken: by items of a list, by branches, by calls with a key, and by items of which the first has read nothing. */
const TAKEN: Readonly<
  Record<string, (given: Given, lock: Limit, save: (item: string, key?: string) => Promise<string>) => Promise<unknown>[]>
> = {
  items: ({ read }, lock, save) =>
    ITEMS.map(async (item) => {
      await read(item);
      return await lock(() => save(item));
    }),
  "items of which the first has read nothing": ({ read }, lock, save) =>
    ITEMS.map(async (item) => {
      if (item !== "a") await read(item);
      return await lock(() => save(item));
    }),
  branches: ({ effects, read }, lock, save) =>
    ITEMS.map((item) =>
      effects.branch(item, async () => {
        await read(item);
        return await lock(() => save(item));
      }),
    ),
  "branches, with a key within": ({ effects, read }, lock, save) =>
    ITEMS.map((item) =>
      effects.branch(item, async () => {
        await read(item);
        return await lock(() => save(item, "own"));
      }),
    ),
};

const IN_TURN = Object.keys(TURNS).flatMap((lock) =>
  Object.keys(TAKEN).flatMap((by) => ["warm", "warm, in reverse", "layered: some are cold"].map((how) => [lock, by, how] as const)),
);

test.each(IN_TURN)("%s, taken after a read by %s: no call takes the key of another item's (%s)", async (lock, by, how) => {
  const saves: { readonly item: string; readonly key: string }[] = [];
  const { run } = create({
    latencies: [how],
    async handler(given) {
      const save = (item: string, key?: string) => {
        const step = () =>
          given.effects.step("save", async ({ idempotencyKey }) => {
            saves.push({ item, key: idempotencyKey });
            await wait(15);
            return item;
          }) as Promise<string>;
        return key === undefined ? step() : given.effects.keyed(key, step);
      };
      return await Promise.all(TAKEN[by]!(given, TURNS[lock]!(), save));
    },
  });
  const end = await run();
  // With a key that says nothing of the item, only a lock that lets others through leaves everybody in his own branch.
  if (end.type !== "threw") expect([by, end.type]).toEqual(["branches, with a key within", "parked"]);
  else expect(end).toMatchObject({ error: { code: "AMBIGUOUS_EFFECT" } });
  for (const { item, key } of saves) {
    if (by.startsWith("branches")) expect(key).toContain(`.${item}/`);
    else if (key.includes("~")) expect(key).toMatch(new RegExp(`~${position(item)}$`));
    else expect([by, key]).toEqual(["items of which the first has read nothing", "0-task.save"]);
  }
});

/** Reads that come one by one when the calls are recorded, so that nobody waits for the lock, and at once or in another order in the replay. */
const LATER_IN_TURN = Object.keys(TURNS).flatMap((lock) =>
  Object.keys(TAKEN).flatMap((by) =>
    [
      ["cold, in order", "warm"],
      ["cold, in reverse", "warm"],
      ["cold, in order", "cold, in reverse"],
      ["cold, in order", "layered: others are cold"],
    ].map((latencies) => [lock, by, latencies] as const),
  ),
);

test.each(LATER_IN_TURN)(
  "%s, taken after a read by %s: if somebody waits for it in the replay alone, the run is right or refused at once (%s)",
  async (lock, by, latencies) => {
    const began = performance.now();
    const { result, keys } = await tried({
      latencies,
      handler: async (given) =>
        await Promise.all(
          TAKEN[by]!(given, TURNS[lock]!(), (item, key) =>
            key === undefined ? given.save(item) : given.effects.keyed(key, () => given.save(item)),
          ),
        ),
    });
    if (typeof result === "string") expect(result).toMatch(/has its turn when|runs beside other code/u);
    else expect(result).toEqual(saved(...ITEMS));
    for (const [item, key] of Object.entries(keys)) {
      if (by.startsWith("branches")) expect(key).toContain(`.${item}/`);
      else expect(key).toMatch(new RegExp(`~${position(item)}$|^0-task.save$`, "u"));
    }
    expect(performance.now() - began).toBeLessThan(1_500);
  },
);

test("what takes long is no lock: runs are thrown away until one waits as long as it takes", async () => {
  const done: string[] = [];
  const { task, calls, run } = create({
    latencies: [],
    handler: async ({ effects, run: number }) =>
      await Promise.all(
        ITEMS.map((item) =>
          effects.branch(item, async () => {
            // A driver of its own: what it waits for is settled by nobody that is known.
            const takes = (number === 1 ? [1, 10, 20] : [300, 1, 1])[position(item)] ?? 1;
            await wait(1);
            await new Promise<void>((proceed) => void setTimeout(proceed, takes));
            const saves = (await effects.step("save", () => `saved ${item}`)) as string;
            done.push(`${number} ${item}`);
            if (number === 2) effects.now("late");
            return saves;
          }),
        ),
      ),
  });
  expect((await run()).type).toBe("parked");
  task.answer("go", accept(1));
  // The second run has let b and c settle out of turn, and nothing of that is kept.
  const { size } = task.journal;
  expect(await task.run()).toMatchObject({ type: "parked", asks: [], entries: [] });
  expect([task.journal.size, done]).toEqual([size, ["1 a", "1 b", "1 c", "2 b", "2 c"]]);
  expect(await run()).toMatchObject({ type: "returned", result: { done: saved(...ITEMS) } });
  expect(calls).toEqual([]);
});

/** Two branches take a lock after a read. `first`: whose read comes first in each run, and in all later ones. */
function exclusively(first: readonly string[], within: (given: Given, item: string) => Promise<unknown>) {
  return create({
    latencies: [],
    handler: async (given) => {
      const lock = TURNS["a semaphore"]!();
      const isFirst = first[Math.min(given.run, first.length) - 1];
      return await Promise.all(
        ["a", "b"].map((item) =>
          given.effects.branch(item, async () => {
            await wait(item === isFirst ? 1 : 20);
            return await lock(async () => {
              await within(given, item);
              return item;
            });
          }),
        ),
      );
    },
  });
}

const confirm = ({ effects }: Given) => effects.ask("confirm", form("?"));

test.each([
  ["an open question of another branch", confirm],
  [
    "a step that has not been recorded",
    async (given: Given, item: string) => {
      await given.save(item);
      await confirm(given);
    },
  ],
])("a lock that is held over %s in a replay alone: the run is thrown away, and a later one is right", async (_, within) => {
  const { task, calls, run } = exclusively(["a", "b", "a"], within);
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "a/confirm" }] });
  const { size } = task.journal;
  const thrownAway = await task.run();
  expect(thrownAway).toMatchObject({ type: "parked", isAgain: true, asks: [{ key: "a/confirm" }], entries: [] });
  expect(task.journal.size).toBe(size);
  for (const key of ["a/confirm", "b/confirm", "go"]) {
    expect(await run()).toMatchObject({ type: "parked", asks: [{ key }] });
    task.answer(key, accept(1));
  }
  expect(await run()).toMatchObject({ type: "returned", result: { done: ["a", "b"] } });
  expect(new Set(calls.map(({ key }) => key)).size).toBe(calls.length);
});

test("of a lock that is let go after another read nothing is known: the run is thrown away, and a later one is right", async () => {
  const { task, run } = exclusively(["a", "b", "a"], async ({ save }, item) => {
    await save(item);
    await systemClock.idle();
  });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "go" }] });
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "parked", isAgain: true, entries: [] });
  expect(await run()).toMatchObject({ type: "returned", result: { done: ["a", "b"] } });
});

test("each run that is thrown away lets the next one wait four times as long", async () => {
  const { task, run } = exclusively(["a", "b"], confirm);
  await run();
  const waits: number[] = [];
  while (waits.length < 3) {
    const began = performance.now();
    expect(await task.run()).toMatchObject({ type: "parked", isAgain: true });
    waits.push(performance.now() - began);
  }
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 1_200);
  expect(await task.run(stop.signal)).toMatchObject({
    type: "aborted",
    diverging: { code: "REPLAY_DIVERGED", message: expect.stringMatching(/If items take a lock/u) },
  });
  // The divergence wait of these tests is 50 ms.
  expect(waits.map((ms, index) => ms >= 50 * 4 ** index && ms < 50 * 4 ** (index + 1))).toEqual([true, true, true]);
});

test("a lock that is held over an answered question in the replay alone is refused", async () => {
  const { task, run } = exclusively(["a", "b"], (given, item) => (item === "a" ? given.save(item) : confirm(given)));
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "b/confirm" }] });
  task.answer("b/confirm", accept(1));
  expect(await run()).toMatchObject({
    type: "threw",
    error: { code: "AMBIGUOUS_EFFECT", message: expect.stringMatching(/has its turn when/u) },
  });
});

/** What a branch does once its race is decided. */
const AFTER_RACE: Readonly<Record<string, (save: Given["save"], item: string) => Promise<unknown>>> = {
  "calls a step": (save, item) => save(item),
  "calls a function that looks into a cache first": async (save, item) => {
    await Promise.resolve();
    return await save(item);
  },
  "calls several of these beside each other": async (save, item) => {
    const fromCache = async () => {
      await Promise.resolve();
      return await save(item);
    };
    return (await Promise.all([fromCache(), Promise.resolve()]))[0];
  },
};

test.each(Object.entries(AFTER_RACE))("what a branch awaits itself in a race that it lost before is no lock: it %s", async (_, after) => {
  const { task, run } = create({
    latencies: [],
    handler: async ({ effects, run: number, save }) =>
      await Promise.all(
        ["a", "b"].map((item) =>
          effects.branch(item, async () => {
            const poll = async () => {
              await Promise.resolve();
              if (number === 3) await new Promise<void>((proceed) => void setTimeout(proceed, 150));
            };
            await Promise.race([confirm({ effects } as Given), poll()]);
            return await after(save, item);
          }),
        ),
      ),
  });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "a/confirm" }, { key: "b/confirm" }, { key: "go" }] });
  task.answer("a/confirm", accept(1));
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "b/confirm" }, { key: "go" }] });
  task.answer("b/confirm", accept(1));
  // In this run the poll is slow, one confirmation has its place and the other one has arrived.
  expect(await task.run()).toMatchObject({ type: "parked", isAgain: true });
  task.answer("go", accept(1));
  expect(await run()).toMatchObject({ type: "returned", result: { done: saved("a", "b") } });
});

test("code that other code lets through in a race that it lost before is no lock", async () => {
  const { task, run } = create({
    latencies: [],
    handler: async ({ effects, run: number, save }) => {
      const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
      const poll = async () => {
        await Promise.resolve();
        if (number === 2) await wait(1);
        if (number === 2) await new Promise<void>((proceed) => void setTimeout(proceed, 150));
      };
      const untilStopped = effects.branch("a", async () => {
        await confirm({ effects } as Given);
        stop();
      });
      const polled = effects.branch("b", async () => {
        await Promise.race([stopped, poll()]);
        return await save("b");
      });
      return [await polled, await untilStopped];
    },
  });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "a/confirm" }] });
  task.answer("a/confirm", accept(1));
  expect(await task.run()).toMatchObject({ type: "parked", isAgain: true });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "go" }] });
});

/** What a branch does after a step. */
const AWAITED_LATER: Readonly<Record<string, (effects: Effects) => Promise<unknown>>> = {
  "after another step": async ({ step }) => {
    const logged = step("log", () => "logged");
    await step("other", () => 1);
    return await logged;
  },
  "after a call of the same function that is under way": async ({ step }) => {
    const log = async (isFirst: boolean): Promise<unknown> => {
      if (isFirst) return wait(1);
      const first = log(true);
      const logged = step("log", () => "logged");
      await step("second", () => 2);
      await first;
      return await logged;
    };
    await step("look", () => 1);
    return await log(false);
  },
  "with others of a loop": async ({ step }) => {
    const logged = [];
    for (const _ of [1, 2]) {
      await step("other", () => 1);
      logged.push(step("log", () => "logged"));
    }
    return (await Promise.all(logged))[0];
  },
};

test.each(Object.entries(AWAITED_LATER))(
  "what a branch begins, and awaits %s, is not left to other code because another branch reads slowly in a replay",
  async (_, work) => {
    const { task, run } = create({
      latencies: [],
      handler: async ({ effects, run: number, save }) =>
        await Promise.all([
          effects.branch("a", async () => {
            await Promise.resolve();
            if (number === 2) await wait(1);
            if (number === 2) await new Promise<void>((proceed) => void setTimeout(proceed, 150));
            return await save("a");
          }),
          effects.branch("b", async () => {
            await effects.step("first", () => 1);
            return await work(effects);
          }),
        ]),
    });
    expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "go" }] });
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ type: "parked", isAgain: true });
    expect(await run()).toMatchObject({ type: "returned", result: { done: [...saved("a"), "logged"] } });
  },
);

test.each(Object.entries(AWAITED_LATER))(
  "what a branch begins, and awaits %s, is its own while another branch waits for a timer",
  async (_, work) => {
    const handler: Handler = async ({ effects, save }) =>
      await Promise.all([
        effects.branch("a", async () => {
          await wait(1);
          await new Promise<void>((proceed) => void setTimeout(proceed, 30));
          return await save("a");
        }),
        effects.branch("b", async () => {
          await effects.step("first", () => wait(10));
          return await work(effects);
        }),
      ]);
    const { task, run } = create({ latencies: [], handler });
    expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "go" }] });
    task.answer("go", accept(1));
    expect(await run()).toMatchObject({ type: "returned", result: { done: [...saved("a"), "logged"] } });
  },
);

test("what the engine waits for while a branch reads is no gate of the handler", async () => {
  const { task, run } = create({
    latencies: [],
    handler: async ({ effects, run: number, save }) =>
      await Promise.all([
        effects.branch("a", async () => {
          await Promise.resolve();
          if (number === 2) await wait(25);
          return await save("a");
        }),
        effects.branch("b", async () => {
          await effects.step("first", () => 1);
          // Nobody knows by which way its flow awaits an item of a race.
          const dated = async () => {
            await effects.step("second", () => 2);
            effects.now("dated");
            return await save("b");
          };
          return await Promise.race([dated(), new Promise(() => undefined)]);
        }),
      ]),
  });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "go" }] });
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned", result: { done: saved("a", "b") } });
});

const after100ms = (text: string) => new Promise<string>((proceed) => void setTimeout(() => proceed(text), 100));
test.each<[string, (effects: Effects) => unknown]>([
  ["it writes a report", (effects) => effects.status("Reading.")],
  ["it reads a deposit", (effects) => effects.deposit("key")],
  ["it gets an access token", (effects) => effects.accessToken?.("key")],
  ["it opens a file", (effects) => effects.openFile?.("id")],
])("what the engine waits for while %s is no gate of the handler", async (_, work) => {
  const { task, run } = create({
    latencies: [],
    handler: async ({ effects, save }) => {
      const dated = async () => {
        await effects.step("slow", () => wait(20));
        effects.now("dated");
        return await save("b");
      };
      return await Promise.all([
        effects.branch("a", async () => {
          await wait(1);
          await work(effects);
          return await save("a");
        }),
        effects.branch("b", () => Promise.race([dated(), new Promise(() => undefined)])),
      ]);
    },
  });
  task.wire({
    report: async () => void (await after100ms("")),
    deposit: () => after100ms("deposit"),
    accessToken: () => after100ms("token"),
    openFile: async () => new Blob([await after100ms("file")]).stream(),
  });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "go" }] });
});

test("code that was let through by an effect before is no lock, also if that settles out of turn", async () => {
  const { task, run } = create({
    latencies: [],
    handler: async ({ effects, run: number, save }) => {
      const { promise: opened, resolve: open } = Promise.withResolvers<void>();
      const branches = {
        a: async () => {
          await wait(1);
          await new Promise<void>((proceed) => void setTimeout(proceed, number === 2 ? 150 : 1));
        },
        b: async () => {
          await wait(20);
          await effects.step("open", () => 1);
          open();
        },
        c: async () => {
          await wait(1);
          await opened;
        },
      };
      return await Promise.all(
        Object.entries(branches).map(([name, work]) =>
          effects.branch(name, async () => {
            await work();
            return await save(name);
          }),
        ),
      );
    },
  });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "go" }] });
  expect(await task.run()).toMatchObject({ type: "parked", isAgain: true });
  task.answer("go", accept(1));
  expect(await run()).toMatchObject({ type: "returned", result: { done: saved(...ITEMS) } });
});

/** In the second run, `a` reads for `slowMs`, so that `b` and `c` settle out of turn. `late`: what they do then. */
function slowOnce(slowMs: number, late: (effects: Effects, item: string) => Promise<void> | void): Handler {
  return async ({ effects, run: number }) =>
    await Promise.all(
      ITEMS.map((item) =>
        effects.branch(item, async () => {
          const takes = (number === 1 ? [1, 10, 20] : [slowMs, 1, 1])[position(item)] ?? 1;
          await wait(1);
          await new Promise<void>((proceed) => void setTimeout(proceed, takes));
          const saves = (await effects.step("save", () => `saved ${item}`)) as string;
          if (number === 2) await late(effects, item);
          return saves;
        }),
      ),
    );
}

test("a run that is stopped while effects settle out of turn keeps nothing of what they led to", async () => {
  const stop = new AbortController();
  const { task, run } = create({
    latencies: [],
    handler: slowOnce(5_000, (effects, item) => {
      effects.now("late");
      effects.patched("late");
      if (item === "c") stop.abort();
      return effects.sleep("late", 60_000);
    }),
  });
  expect((await run()).type).toBe("parked");
  task.answer("go", accept(1));
  expect(await task.run(stop.signal)).toMatchObject({ type: "aborted", entries: [] });
});

test("what looks as if it were left to other code, while effects settle out of turn, fails no task", async () => {
  const { task, run } = create({ latencies: [], handler: slowOnce(300, (effects) => void effects.sleep("late", 1)) });
  expect((await run()).type).toBe("parked");
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "parked", isAgain: true });
  expect(await run()).toMatchObject({ type: "returned", result: { done: saved(...ITEMS) } });
});

test("of tasks whose runs were thrown away, ten thousand are remembered: the one of which that is longest ago is forgotten", async () => {
  const { task, run } = create({ latencies: [], handler: slowOnce(300, () => undefined) });
  await run();
  task.answer("go", accept(1));
  task.thrownAway.set("0-task", 0);
  for (let number = 1; number < 10_000; number += 1) task.thrownAway.set(`0-other-${number}`, 1);
  await task.run();
  expect([task.thrownAway.size, task.thrownAway.get("0-task"), task.thrownAway.has("0-other-1")]).toEqual([10_000, 1, true]);
  task.thrownAway.delete("0-task");
  task.thrownAway.set("0-other-10000", 1);
  await task.run();
  expect([task.thrownAway.size, task.thrownAway.get("0-task"), task.thrownAway.has("0-other-1")]).toEqual([10_000, 1, false]);
});

test("a compensation is thrown away, too, and goes on at once", async () => {
  let attempts = 0;
  const items = slowOnce(300, () => undefined);
  const { task, run } = create({
    latencies: [],
    handler: async (given) => {
      const done = await items(given);
      if ((attempts += 1) === 1) throw new Error("the first attempt");
      return done;
    },
  });
  task.compensate(false);
  expect(await run()).toMatchObject({ type: "threw" });
  expect(await task.run()).toMatchObject({ type: "parked", isAgain: true, asks: [], entries: [] });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "compensation:/go" }] });
});

test.each(["is thrown away", "is stopped"])("a sleep that was begun in a run which %s ends as if that run had recorded it", async (how) => {
  const HOUR = 3_600_000;
  const { task, run } = create({
    latencies: [],
    handler: async (given) => {
      const { effects, run: number } = given;
      const lock = TURNS["a semaphore"]!();
      const first = number === 2 ? "b" : "a";
      return await Promise.all([
        ...["a", "b"].map((item) =>
          effects.branch(item, async () => {
            await wait(item === first ? 1 : 20);
            await lock(() => confirm(given));
          }),
        ),
        effects.branch("c", async () => {
          await (number === 1 ? wait(200) : Promise.resolve());
          effects.now("begun");
          await effects.sleep("pause", HOUR);
        }),
      ]);
    },
  });
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "a/confirm" }], wakeAtMs: undefined });
  // The lock is taken in the other order, and so nothing that this run calls may bind the next one.
  const stop = new AbortController();
  if (how === "is stopped") setTimeout(() => stop.abort(), 35);
  const end = await task.run(stop.signal);
  const entries = "entries" in end ? end.entries : [];
  for (const { key, entry } of entries) task.journal.set(key, entry);
  expect([end.type, entries.map(({ key }) => key)]).toEqual([how === "is stopped" ? "aborted" : "parked", ["read sleep c/pause"]]);
  const { outcome } = entries[0]!.entry;
  task.skip(60_000);
  const wakeAtMs = outcome.type === "value" ? outcome.value : undefined;
  expect(await run()).toMatchObject({ type: "parked", asks: [{ key: "a/confirm" }], wakeAtMs });
  expect([task.journal.get("sleep:c/pause")?.outcome, wakeAtMs]).toEqual([outcome, expect.any(Number)]);
});

test("items that wait for what another one opens to all of them are in order", async () => {
  await inEveryRun(
    async ({ effects, read, save }) => {
      const waiting: (() => void)[] = [];
      const [, ...done] = await Promise.all([
        (async () => {
          while (waiting.length < ITEMS.length) await wait(1);
          await effects.step("open", () => 1);
          for (const proceed of waiting) proceed();
        })(),
        ...ITEMS.map(async (item) => {
          await read(item);
          await new Promise<void>((proceed) => waiting.push(proceed));
          return await save(item);
        }),
      ]);
      return done;
    },
    saved(...ITEMS),
    { a: "0-task.save~1", b: "0-task.save~2", c: "0-task.save~3" },
  );
});

test("a pool of connections that branches share for their reads is no lock around their calls", async () => {
  await inEveryRun(
    async ({ effects, read, save }) => {
      const waiting: (() => void)[] = [];
      let isBusy = false;
      const query = async (item: string) => {
        if (isBusy) await new Promise<void>((proceed) => waiting.push(proceed));
        isBusy = true;
        try {
          return await read(item);
        } finally {
          isBusy = false;
          waiting.shift()?.();
        }
      };
      return await Promise.all(
        ITEMS.map((item) =>
          effects.branch(item, async () => {
            await effects.step("look", () => 1);
            await read(item);
            await query(item);
            await effects.step("look", () => 1);
            await read(item);
            await query(item);
            return await save(item);
          }),
        ),
      );
    },
    saved(...ITEMS),
    { a: "0-task.a/save", b: "0-task.b/save", c: "0-task.c/save" },
  );
});

/** How people put a promise of their own around a call. */
const AROUND: Readonly<Record<string, (call: () => Promise<string>) => Promise<string>>> = {
  "its reactions": (call) => new Promise((resolve, reject) => void call().then(resolve, reject)),
  "an async function, as p-timeout": (call) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("late")), 5_000);
      void (async () => {
        try {
          resolve(await call());
        } catch (error) {
          reject(error as Error);
        } finally {
          clearTimeout(timer);
        }
      })();
    }),
  "a function with a callback": (call) => {
    const called = (tell: (error: unknown, result: string) => void) => {
      call().then(
        (result) => tell(undefined, result),
        (error: unknown) => tell(error, ""),
      );
    };
    return new Promise((resolve, reject) => called((error, result) => (error === undefined ? resolve(result) : reject(error as Error))));
  },
  "a race with a timer": (call) =>
    Promise.race([
      call(),
      new Promise<string>((_resolve, reject) => {
        setTimeout(() => reject(new Error("late")), 5_000).unref();
      }),
    ]),
};

describe.each(Object.entries(AROUND))("a promise around a call by %s keeps it in order, while other items read:", (_what, around) => {
  /** Of code that makes a promise for what it waits for, as a driver of a database does. */
  const driven = (read: Given["read"], item: string) =>
    new Promise((resolve, reject) => {
      setTimeout(() => void read(item).then(resolve, reject), position(item));
    });

  test("in the items of a list", async () => {
    await inEveryRun(
      async ({ effects, read, save }) =>
        await Promise.all(
          ITEMS.map(async (item) => {
            await driven(read, item);
            await driven(read, item);
            await effects.step("look", () => 1);
            return await around(() => save(item));
          }),
        ),
      saved(...ITEMS),
    );
  });

  test("in branches", async () => {
    await inEveryRun(
      async ({ effects, read, save }) =>
        await Promise.all(
          ITEMS.map((item) =>
            effects.branch(item, async () => {
              await driven(read, item);
              await driven(read, item);
              await effects.step("look", () => 1);
              return await around(() => save(item));
            }),
          ),
        ),
      saved(...ITEMS),
      { a: "0-task.a/save", b: "0-task.b/save", c: "0-task.c/save" },
    );
  });
});

test.each([
  [7, "returned"],
  [8, "threw"],
])("%i promises that are made in between do not hide what a promise around a call waits for: the run %s", async (count, type) => {
  const isRead = Promise.withResolvers<void>();
  const task = subject(async (effects) => {
    const driven = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
    const [saved] = await Promise.all([
      effects.branch("a", async () => {
        await driven(1);
        await effects.step("look", () => isRead.promise);
        return await new Promise<unknown>((resolve, reject) => {
          for (let made = 0; made < count; made += 1) void new Promise<void>((done) => done());
          void effects.step("save", () => 1).then(resolve, reject);
        });
      }),
      effects.branch("b", async () => {
        await driven(1);
        const second = driven(40);
        isRead.resolve();
        await second;
        return await effects.step("save", () => 2);
      }),
    ]);
    return { saved: saved as number };
  });
  const end = await task.run();
  expect(end.type).toBe(type);
  if (end.type === "threw") expect(end.error).toMatchObject({ code: "AMBIGUOUS_EFFECT" });
});

test("a promise that is made around an async function hides nothing of what is awaited one thing after another", async () => {
  const around = <T>(work: () => Promise<T>) => new Promise<T>((resolve, reject) => void work().then(resolve, reject));
  await inEveryRun(
    async ({ effects, read, save }) => {
      const done: string[] = [];
      for (const item of ITEMS) {
        await around(() => read(item));
        await around(async () => {
          await effects.step("look", () => 1);
          await around(() => effects.step("look-again", () => 1));
        });
        done.push(await around(() => save(item)));
      }
      return done;
    },
    saved(...ITEMS),
    IN_LINE,
  );
});

// ── what others do to the process ────────────────────────────────────────────────────────────────────────────────

describe("the same holds", () => {
  const { stackTraceLimit, prepareStackTrace } = Error;
  afterEach(() => {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace;
  });
  const LINE = ONE_AFTER_ANOTHER.find(([what]) => what.startsWith("a helper that reads"))?.[1] as Handler;
  const LIST = ITEM_BY_ITEM[0]?.[1] as Handler;
  const refused = REFUSED.find(([what]) => what.startsWith("a limiter that runs"))?.[1] as Handler;

  /** One handler of each kind. `message`: of the refusal. */
  async function holds(message: RegExp) {
    await inEveryRun(LINE, saved(...ITEMS), IN_LINE);
    await inEveryRun(LIST, saved(...ITEMS), BY_ITEM);
    const { run, calls } = create({ handler: refused, latencies: ["cold, in order"] });
    expect(await run()).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT", message: expect.stringMatching(message) } });
    expect(calls).toEqual([]);
  }

  test("while others follow promises too", async () => {
    let followed = 0;
    const noted = () => void (followed += 1);
    const others = createAsyncHook({ init: noted, before: noted, after: noted, promiseResolve: noted }).enable();
    try {
      await holds(REFUSAL);
    } finally {
      others.disable();
    }
    expect(followed).toBeGreaterThan(0);
  });

  test("without stack traces of errors", async () => {
    Error.stackTraceLimit = 0;
    await holds(REFUSAL);
    expect(Error.stackTraceLimit).toBe(0);
  });

  test("with stack traces of another shape; a refusal then names no place", async () => {
    const theirs = () => ["theirs"];
    Error.prepareStackTrace = theirs;
    await holds(/^step "save" runs beside other code of the handler, and has awaited something outside ctx/);
    expect(Error.prepareStackTrace).toBe(theirs);
  });
});

describe("a run leaves no promise hook behind", () => {
  // A run that an earlier file abandoned as if its process had died still follows promises. The engine is loaded anew, without it.
  let alone: typeof subject;
  beforeAll(async () => {
    ({ subject: alone } = await importAnew<{ readonly subject: typeof subject }>(import.meta.resolve("../replay.fixture.ts")));
  });

  function counting() {
    const scope = createScope();
    const count = { created: 0, removed: 0 };
    const promises: typeof scope.promises = {
      createHook(callbacks) {
        count.created += 1;
        const remove = scope.promises.createHook(callbacks);
        return () => {
          count.removed += 1;
          remove();
        };
      },
    };
    return { count, scope: { ...scope, promises } };
  }

  const ENDS: readonly (readonly [string, (effects: Effects) => Promise<JsonObject>, string])[] = [
    ["returned", async ({ step }) => ({ done: (await step("one", () => 1)) ?? null }), "returned"],
    ["parked", async ({ ask }) => ({ done: (await ask("go", form("?"))).action }), "parked"],
    [
      "threw",
      async ({ step }) => {
        await step("one", () => 1);
        throw new Error("away");
      },
      "threw",
    ],
    [
      "threw while effects that it had started were settling",
      async ({ step, sleep }) => {
        const started = [step("one", () => wait(1)), sleep("nap", 1), step("two", () => wait(2))];
        await started[0];
        throw new Error(`away ${started.length}`);
      },
      "threw",
    ],
    [
      "awaited something outside ctx that never comes",
      async ({ step, ask }) => {
        await Promise.race([new Promise(() => undefined), step("one", () => 1)]);
        await Promise.all([new Promise(() => undefined), ask("go", form("?"))]);
        return {};
      },
      "parked",
    ],
  ];
  test.each(ENDS)("that %s", async (_what, handler, type) => {
    const { count, scope } = counting();
    const task = alone(handler);
    task.wire({ scope });
    expect((await task.run()).type).toBe(type);
    for (let turn = 0; turn < 10; turn += 1) await systemClock.idle();
    await wait(5);
    expect(count.created).toBeGreaterThan(0);
    expect(count.removed).toBe(count.created);
  });

  test("that was stopped", async () => {
    const { count, scope } = counting();
    const stop = new AbortController();
    const task = alone(async ({ step, sleep }) => {
      const nap = sleep("nap", 2);
      await step("one", () => stop.abort());
      await nap;
      return {};
    });
    task.wire({ scope });
    expect((await task.run(stop.signal)).type).toBe("aborted");
    await wait(10);
    expect(count.removed).toBe(count.created);
  });
});
