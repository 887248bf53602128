/** Handlers that await something outside ctx: which of their calls are told apart, and what happens to the others. */
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "./effects.ts";
import { accept, askKeys, form, subject } from "./replay.fixture.ts";
import type { JsonObject } from "./task.ts";

const HOUR = 3_600_000;
const wait = (ms: number) => systemClock.sleep(ms);
const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as JsonObject;

type Exclusively = <T>(work: () => Promise<T>) => Promise<T>;

/** As p-limit with a concurrency of one. */
function createLimiter(): Exclusively {
  const waiting: (() => void)[] = [];
  let isBusy = false;
  const next = () => {
    const first = isBusy ? undefined : waiting.shift();
    isBusy ||= first !== undefined;
    first?.();
  };
  return (work) =>
    new Promise((resolve, reject) => {
      const turn = new Promise<void>((begin) => waiting.push(begin));
      const run = async () => {
        await turn;
        await work().then(resolve, reject);
        isBusy = false;
        next();
      };
      void run();
      next();
    });
}

function createChain(): Exclusively {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

test("a branch that takes long before its recorded step has not diverged", async () => {
  const called = Promise.withResolvers<void>();
  let slow = 1;
  const task = subject(
    async ({ ask, step }) => {
      await Promise.all([
        (async () => {
          await wait(slow);
          await step("own", () => called.resolve());
        })(),
        (async () => {
          await ask("go", form("?"));
          await step("other", () => 1);
        })(),
        // Keeps the first run from parking before `own` was called.
        step("wait", () => called.promise),
      ]);
      return {};
    },
    { divergenceWaitMs: 10 },
  );
  await task.run();
  expect(task.journal.has("step:own~0")).toBe(true);
  slow = 300;
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned" });
});

test("items of a Promise.all that use the same name after an outside await are distinguished by their number", async () => {
  let euMs = 1;
  const saved: string[] = [];
  const task = subject(async ({ step, ask }) => {
    const done = await Promise.all(
      ["eu", "us"].map(async (region) => {
        await wait(region === "eu" ? euMs : 10);
        return await step("save", ({ idempotencyKey }) => {
          saved.push(`${region} ${idempotencyKey}`);
          return region;
        });
      }),
    );
    await ask("go", form("?"));
    return { done: json(done) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  euMs = 30;
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned", result: { done: ["eu", "us"] } });
  expect(saved).toEqual(["eu 0-task.save~0", "us 0-task.save~1"]);
  expect(task.recordings[0]).toEqual(["step:save~0"]);
  expect(task.journal.get("step:save~0")?.calledAt).toBe("0o");
});

test("an item that gets further than before does not take another item's record", async () => {
  let usMs = HOUR;
  const saved = Promise.withResolvers<void>();
  const task = subject(async ({ step, ask }) => {
    const done = await Promise.all([
      ...["eu", "us"].map(async (region) => {
        await wait(region === "eu" ? 1 : usMs);
        return await step("save", () => {
          saved.resolve();
          return region;
        });
      }),
      step("keep", () => saved.promise),
      ask("go", form("?")).then(({ action }) => action),
    ]);
    return { done: json(done.slice(0, 2)) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  expect(task.journal.has("step:save~0")).toBe(true);
  usMs = 0;
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned", result: { done: ["eu", "us"] } });
});

test("items that waited for one another in another order than before get their own records", async () => {
  let [euMs, usMs] = [1, 5];
  const task = subject(async ({ step, ask }) => {
    const queue: (() => void)[] = [];
    const [eu, us] = await Promise.all([
      ...["eu", "us"].map(async (region) => {
        await wait(region === "eu" ? euMs : usMs);
        await new Promise<void>((proceed) => queue.push(proceed));
        return await step("save", () => region);
      }),
      (async () => {
        while (queue.length < 2) await wait(1);
        await step("open", () => true);
        for (const proceed of queue) proceed();
      })(),
    ]);
    await ask("go", form("?"));
    return { done: json([eu, us]) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  [euMs, usMs] = [15, 1];
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned", result: { done: ["eu", "us"] } });
});

test("an item keeps its record if the handler comes to a Promise.all further out later than before", async () => {
  const loaded = Promise.withResolvers<void>();
  const task = subject(async ({ step, ask }) => {
    const saving = Promise.all(
      ["eu", "us"].map(async (region) => {
        await step("load", () => loaded.promise);
        return await step("save", () => region);
      }),
    );
    await wait(1);
    await step("mark", () => true);
    await wait(1);
    const [done] = await Promise.all([saving, wait(1).then(loaded.resolve)]);
    await ask("go", form("?"));
    return { done: json(done) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  expect(task.journal.get("step:save")?.calledAt).toBe("2:0.0");
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned", result: { done: ["eu", "us"] } });
});

test("an item that returns the promise of a helper without awaiting it has its own record, also if another one gets further than before", async () => {
  const waits = new Map([
    ["eu", 1],
    ["us", HOUR],
  ]);
  const saved: string[] = [];
  const hasSaved = Promise.withResolvers<void>();
  const task = subject(async ({ step, ask }) => {
    const save = async (region: string) => {
      const ms = waits.get(region);
      await (ms === undefined ? undefined : wait(ms));
      return await step("save", () => {
        saved.push(region);
        hasSaved.resolve();
      });
    };
    await Promise.all([
      // The returned promise is listened to only later; by then the helper has awaited its read.
      ...["eu", "us"].map(async (region) => save(region)),
      step("keep", () => hasSaved.promise),
      ask("go", form("?")),
    ]);
    return {};
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  expect(saved).toEqual(["eu"]);
  waits.delete("us");
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned" });
  expect(saved).toEqual(["eu", "us"]);
  expect([...task.journal.keys()].filter((key) => key.startsWith("step:save"))).toEqual(["step:save~0", "step:save~1"]);
});

test("branches of a race that use the same name after an outside await fail loudly before the first effect", async () => {
  const saved: string[] = [];
  const task = subject(async ({ step }) => {
    const save = async (region: string) => {
      await wait(region === "eu" ? 1 : 5);
      await step("save", () => saved.push(region));
    };
    await Promise.race([save("eu"), save("us")]);
    await wait(20);
    return {};
  });
  expect(await task.run()).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT" } });
  expect(saved).toEqual([]);
});

describe.each([
  ["a limiter that keeps functions", createLimiter],
  ["a lock that chains promises", createChain],
])("branches that queue up at %s", (_, create) => {
  test("after an outside await, for a step of one name, fail loudly before the first effect", async () => {
    const saved: string[] = [];
    const task = subject(async ({ step }) => {
      const exclusively = create();
      const regions = ["eu", "us"].map(async (region) => {
        await wait(region === "eu" ? 1 : 4);
        await exclusively(async () => {
          await step("save", async () => {
            saved.push(region);
            await wait(30);
          });
        });
      });
      for (const region of regions) await region;
      return {};
    });
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT" } });
    expect(saved).toEqual([]);
  });

  test("get their own results in every run if they take a branch each", async () => {
    let ms: Record<string, number> = { eu: 1, us: 5, asia: 9 };
    const task = subject(async ({ step, branch, ask }) => {
      const exclusively = create();
      const done = await Promise.all(
        Object.keys(ms).map((region) =>
          exclusively(() =>
            branch(region, async () => {
              await wait(ms[region] ?? 0);
              return await step("save", () => region);
            }),
          ),
        ),
      );
      await ask("go", form("?"));
      return { done: json(done) };
    });
    expect(askKeys(await task.run())).toEqual(["go"]);
    expect([...task.journal.keys()]).toEqual(["step:eu/save", "step:us/save", "step:asia/save"]);
    ms = { eu: 9, us: 5, asia: 1 };
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ result: { done: ["eu", "us", "asia"] } });
  });
});

describe("branches that queue up without an outside await of their own", () => {
  /** They plan together, then save one after another. */
  function planned(exclusively: Exclusively) {
    const saved: string[] = [];
    const task = subject(async ({ step, ask }) => {
      await wait(1);
      await step("plan", () => "all");
      const save = (region: string) => exclusively(async () => await step("save", () => (saved.push(region), region)));
      const done = await Promise.all(["eu", "us", "asia"].map(save));
      await ask("go", form("?"));
      return { done: json(done) };
    });
    return { task, saved };
  }

  test.each([
    ["a limiter that keeps functions", createLimiter],
    ["a lock that chains promises", createChain],
  ])("are refused at %s: its first turn is ready at once, as the answer of a cache is", async (_, create) => {
    const { task, saved } = planned(create());
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT" } });
    expect(saved).toEqual([]);
  });
});

/** Locks whose holder, when it lets go, does the work of those who wait, and awaits it. */
const HOLDERS: readonly (readonly [string, (queue: (() => unknown)[], work: () => Promise<unknown>) => Promise<unknown>])[] = [
  [
    "by a function that has been left with it",
    (queue, work) =>
      new Promise((resolve, reject) => {
        queue.push(async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error as Error);
          }
        });
      }),
  ],
  ["and hands on its result", (queue, work) => new Promise((resolve, reject) => queue.push(() => work().then(resolve, reject)))],
  [
    "and hands on its promise",
    (queue, work) =>
      new Promise((resolve) => {
        queue.push(async () => {
          const done = work();
          resolve(done);
          await done;
        });
      }),
  ],
];

describe.each(HOLDERS)("a lock whose holder does the work of those who wait, %s", (_, leave) => {
  function createLock(): (work: () => Promise<unknown>) => Promise<unknown> {
    const queue: (() => unknown)[] = [];
    let isHeld = false;
    return async (work) => {
      if (isHeld) return await leave(queue, work);
      isHeld = true;
      try {
        return await work();
      } finally {
        while (queue.length > 0) await queue.shift()?.();
        isHeld = false;
      }
    };
  }

  test.each([
    ["items", async (_effects: Effects, _region: string, work: () => Promise<unknown>) => await work()],
    ["branches", async ({ branch }: Effects, region: string, work: () => Promise<unknown>) => await branch(region, work)],
  ])("is refused if %s take it after a read: the first of them takes the work of the others for its own", async (_what, enter) => {
    const task = subject(async (effects) => {
      const exclusively = createLock();
      const saveAll = ["eu", "us", "asia"].map(async (region, index) =>
        enter(effects, region, async () => {
          await wait(1 + index);
          return await exclusively(async () => {
            const saved = await effects.step("save", () => wait(10).then(() => region));
            await wait(1);
            return saved;
          });
        }),
      );
      return { done: json(await Promise.all(saveAll)) };
    });
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "AMBIGUOUS_EFFECT" } });
  });
});

test("a step that begins while other code waits at a gate is written before, so that the next run comes to it again", async () => {
  const written: string[] = [];
  const task = subject(async ({ step, branch }) => {
    const let2 = Promise.withResolvers<void>();
    const first = branch("eu", async () => {
      await wait(5);
      await step("save", () => void written.push(...task.journal.keys()));
      let2.resolve();
    });
    const second = branch("us", async () => {
      await wait(1);
      await new Promise<void>((proceed) => void let2.promise.then(proceed));
    });
    await Promise.all([first, second]);
    return {};
  });
  expect(await task.run()).toMatchObject({ type: "returned" });
  expect(written).toEqual(["step:eu/save"]);
});

test("a gate that the handler has made for its items may be opened by a function that has called", async () => {
  const task = subject(async ({ step, ask }) => {
    await wait(1);
    const ready = Promise.withResolvers<string>();
    const produce = async () => {
      const rows = await step("fetch", () => "rows");
      await wait(1);
      ready.resolve(rows as string);
    };
    const use = async () => {
      const rows = await ready.promise;
      return await step("use", () => `used ${rows}`);
    };
    const [, done] = await Promise.all([wait(3).then(produce), wait(1).then(use)]);
    await ask("go", form("?"));
    return { done: json(done) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned", result: { done: "used rows" } });
});

test("calls in branches are distinguished, also if another branch is faster in the next run", async () => {
  let euMs = 1;
  const task = subject(async ({ step, branch, ask }) => {
    const done = await Promise.all(
      ["eu", "us"].map((region) =>
        branch(region, async () => {
          await wait(region === "eu" ? euMs : 6);
          return await step("save", () => region);
        }),
      ),
    );
    await ask("go", form("?"));
    return { done: json(done) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  expect([...task.journal.keys()]).toEqual(["step:eu/save", "step:us/save"]);
  euMs = 20;
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ result: { done: ["eu", "us"] } });
});

test("a branch may be entered again, even while it is active: its names continue counting", async () => {
  const task = subject(async ({ branch, ask, sleep }) => {
    for (let round = 0; round < 2; round += 1) {
      await Promise.race([branch("approval", () => ask("approve", form("?"))), sleep("patience", HOUR)]);
    }
    return {};
  });
  expect(askKeys(await task.run())).toEqual(["approval/approve"]);
  task.skip(HOUR);
  expect(askKeys(await task.run())).toEqual(["approval/approve", "approval/approve#2"]);
  task.answer("approval/approve#2", accept(1));
  expect(await task.run()).toMatchObject({ type: "returned" });
});

test("a loop that reads something outside before each step needs no names", async () => {
  const task = subject(async ({ step, ask }) => {
    const done: unknown[] = [];
    for (const file of ["a", "b", "c"]) {
      await wait(1);
      done.push(await step("upload", () => file));
    }
    await ask("go", form("?"));
    return { done: json(done) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ result: { done: ["a", "b", "c"] } });
});

test("a client that is warm in one run and cold in the next changes nothing", async () => {
  let warm = true;
  const task = subject(async ({ step, ask }) => {
    const helper = async (id: number) => {
      await (warm ? Promise.resolve() : wait(3));
      return await step("load", () => id);
    };
    await helper(0);
    await (warm ? undefined : wait(1));
    const rows = await Promise.all([1, 2, 3].map((id) => step("load", () => id)));
    await ask("go", form("?"));
    return { rows: json(rows) };
  });
  expect(askKeys(await task.run())).toEqual(["go"]);
  warm = false;
  task.answer("go", accept(1));
  expect(await task.run()).toMatchObject({ result: { rows: [1, 2, 3] } });
});

describe("a map over items whose reads a cache may answer", () => {
  /** Each item reads, unless it is cached, and saves. `read` takes the milliseconds of each item that is not. An answer of the cache is awaited or not. */
  function subjectWithCache(regions = ["eu", "us", "jp"], isAlwaysAwaited = false) {
    let reads: Readonly<Record<string, number>> = {};
    const saved: string[] = [];
    const task = subject(async ({ step, ask }) => {
      const ids = await Promise.all(
        regions.map(async (region) => {
          const ms = reads[region];
          if (ms !== undefined) await wait(ms);
          else if (isAlwaysAwaited) await Promise.resolve();
          return await step("save", () => {
            saved.push(region);
            return `saved ${region}`;
          });
        }),
      );
      await ask("go", form("?"));
      return { ids: json(ids) };
    });
    return { task, saved, read: (ms: typeof reads) => (reads = ms) };
  }

  test.each([
    ["in the first run only", { eu: 9, us: 1, jp: 5 }, {}],
    ["in the first run only, by one item", { eu: 5 }, {}],
    ["in the second run only", {}, { eu: 9, us: 1, jp: 5 }],
    ["in the second run only, by one item", {}, { eu: 5 }],
  ])("gives every item its own result if nothing is awaited where the cache answers, and it reads %s", async (_, first, second) => {
    const { task, saved, read } = subjectWithCache();
    read(first);
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    read(second);
    expect(await task.run()).toMatchObject({ result: { ids: ["saved eu", "saved us", "saved jp"] } });
    expect(saved.toSorted()).toEqual(["eu", "jp", "us"]);
  });

  test("gives every item its own result if the same items read in both runs", async () => {
    const { task, saved, read } = subjectWithCache();
    read({ us: 1, jp: 5 });
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    read({ us: 5, jp: 1 });
    expect(await task.run()).toMatchObject({ result: { ids: ["saved eu", "saved us", "saved jp"] } });
    expect(saved).toHaveLength(3);
  });

  test.each([
    ["first", { eu: 1 }, {}],
    ["second", {}, { eu: 1 }],
  ])("gives a single item its result, too, if it reads in the %s run only and awaits nothing in the other", async (_, first, second) => {
    const { task, saved, read } = subjectWithCache(["eu"]);
    read(first);
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    read(second);
    expect(await task.run()).toMatchObject({ result: { ids: ["saved eu"] } });
    expect(saved).toEqual(["eu"]);
  });

  test.each([
    ["in the first run only", { eu: 9, us: 1, jp: 5 }, {}],
    ["in the first run only, by one item", { eu: 5 }, {}],
    ["in the second run only", {}, { eu: 9, us: 1, jp: 5 }],
    ["in the second run only, by one item", {}, { eu: 5 }],
  ])("gives every item its own result if the cache is always awaited, and it reads %s", async (_, first, second) => {
    const { task, saved, read } = subjectWithCache(["eu", "us", "jp"], true);
    read(first);
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    read(second);
    expect(await task.run()).toMatchObject({ result: { ids: ["saved eu", "saved us", "saved jp"] } });
    expect(saved.toSorted()).toEqual(["eu", "jp", "us"]);
  });

  test("gets further in a later run, after calls of the same name in a line", async () => {
    let slow = HOUR;
    const saved: string[] = [];
    const task = subject(async ({ step, ask }) => {
      for (const region of ["eu", "us"]) await step("save", () => saved.push(region));
      await Promise.all([
        ask("go", form("?")),
        ...["jp", "br"].map(async (region) => {
          await wait(region === "br" ? slow : 1);
          await step("save", () => saved.push(region));
        }),
      ]);
      return {};
    });
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    slow = 1;
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(saved).toEqual(["eu", "us", "jp", "br"]);
  });

  test("gives every item its own result if it reads in both runs, in any order", async () => {
    const { task, saved, read } = subjectWithCache();
    read({ eu: 9, us: 1, jp: 5 });
    expect(askKeys(await task.run())).toEqual(["go"]);
    task.answer("go", accept(1));
    read({ eu: 1, us: 9, jp: 5 });
    expect(await task.run()).toMatchObject({ result: { ids: ["saved eu", "saved us", "saved jp"] } });
    expect(saved).toHaveLength(3);
  });
});
