/** Lines at their bounds: long chains, much code, many runs, and a V8 that shows less than usual. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Effects } from "../effects.ts";
import { subject } from "../replay.fixture.ts";
import type { RunEnd } from "../replay.ts";
import type { JsonObject } from "../task.ts";

/** As in line.ts. */
const WALK_MAX = 100_000;
const BEGINNINGS_MAX = 10_000;

const read = () => systemClock.sleep(1);
const save = (effects: Effects, item: unknown) => effects.step("save", () => `saved ${String(item)}`);

async function resultOf(
  handler: (effects: Effects) => Promise<unknown>,
): Promise<{ readonly end: RunEnd; readonly keys: readonly string[] }> {
  const task = subject(async (effects) => ({ done: (await handler(effects)) as string }));
  const end = await task.run();
  return { end, keys: [...task.journal.keys()] };
}

/** A helper that reads and saves, with so many functions around it that each await the next. */
function nested(depth: number) {
  return async (effects: Effects) => {
    const innermost = async () => {
      await read();
      return await save(effects, depth);
    };
    const around = async (awaited: Promise<unknown>) => await awaited;
    let outermost: Promise<unknown> = innermost();
    for (let level = 0; level < depth; level += 1) outermost = around(outermost);
    return await outermost;
  };
}

describe("a call that is awaited through many functions", () => {
  // The innermost function and the handler, which the fixture wraps, are part of the way.
  test("has its key up to the bound", async () => {
    const { end, keys } = await resultOf(nested(WALK_MAX - 3));
    expect(end).toMatchObject({ type: "returned", result: { done: `saved ${WALK_MAX - 3}` } });
    expect(keys).toEqual(["step:save"]);
  });

  test("is refused beyond the bound, before it begins", async () => {
    const { end, keys } = await resultOf(nested(WALK_MAX));
    expect(end).toMatchObject({
      type: "threw",
      error: {
        code: "AMBIGUOUS_EFFECT",
        message: expect.stringMatching(/^step "save" at .*line-bounds\.test\.ts:\d+:\d+ runs beside other code/),
      },
    });
    expect(keys).toEqual([]);
  });
});

/** Async functions whose code is made at run time, each at a place of its own. */
function generated(count: number): readonly (() => Promise<void>)[] {
  const source = Array.from({ length: count }, (_, index) => `async () => { await ${index}; }`).join(",\n");
  return runInNewContext(`[${source}]`) as readonly (() => Promise<void>)[];
}

test.each([BEGINNINGS_MAX, 2 * BEGINNINGS_MAX + 1])(
  "a line is followed past %i functions, also in one that began before them",
  async (count) => {
    const others = generated(count);
    const { end, keys } = await resultOf(async (effects) => {
      await read();
      const done = [await save(effects, "first")];
      for (const other of others) await other();
      await read();
      done.push(await save(effects, "second"));
      return done;
    });
    expect(end).toMatchObject({ type: "returned", result: { done: ["saved first", "saved second"] } });
    expect(keys).toEqual(["step:save", "step:save#2"]);
  },
);

test("a thousand items of a Promise.all that read first have a number each", async () => {
  const items = Array.from({ length: 1_000 }, (_, index) => index);
  const { end, keys } = await resultOf(
    async (effects) =>
      await Promise.all(
        items.map(async (item) => {
          await systemClock.sleep(1 + (item % 7));
          return await save(effects, item);
        }),
      ),
  );
  expect(end).toMatchObject({ type: "returned", result: { done: items.map((item) => `saved ${item}`) } });
  expect(new Set(keys)).toEqual(new Set(items.map((item) => `step:save~${item}`)));
});

test("the same holds without async stack traces", async () => {
  setFlagsFromString("--no-async-stack-traces");
  try {
    const helper = async (effects: Effects, item: string) => {
      await read();
      return await save(effects, item);
    };
    const inLine = await resultOf(async (effects) => [await helper(effects, "a"), await helper(effects, "b")]);
    expect(inLine).toMatchObject({
      end: { type: "returned", result: { done: ["saved a", "saved b"] } },
      keys: ["step:save", "step:save#2"],
    });
    const items = await resultOf(async (effects) => await Promise.all(["a", "b"].map((item) => helper(effects, item))));
    expect(items.end).toMatchObject({ type: "returned", result: { done: ["saved a", "saved b"] } });
    expect(items.keys.toSorted()).toEqual(["step:save~0", "step:save~1"]);
    const beside = await resultOf(async (effects) => {
      const started = ["a", "b"].map((item) => helper(effects, item));
      for (const each of started) each.catch(() => undefined);
      await systemClock.sleep(10);
      return await Promise.all(started);
    });
    expect(beside).toMatchObject({ end: { type: "threw", error: { code: "AMBIGUOUS_EFFECT" } }, keys: [] });
  } finally {
    setFlagsFromString("--async-stack-traces");
  }
});

/** Bytes of memory that each of so many runs leaves behind, of a handler that leaks what `leak` returns. */
async function leftBy(runs: number, leak: (effects: Effects) => unknown): Promise<number> {
  const leaked: unknown[] = [];
  const handler = async (effects: Effects): Promise<JsonObject> => {
    await Promise.resolve();
    leaked.push(leak(effects));
    await save(effects, "a");
    return {};
  };
  const collect = collector();
  let before = 0;
  for (let run = -WARM_UP; run < runs; run += 1) {
    if (run === 0) before = heapAfter(collect);
    expect((await subject(handler).run()).type).toBe("returned");
  }
  const left = (heapAfter(collect) - before) / runs;
  // Read only now: until then it keeps what was leaked.
  expect(leaked).toHaveLength(WARM_UP + runs);
  return left;
}

const WARM_UP = 300;
/** Of the promises themselves and what is noted of each. */
const LEAKED_BYTES = 3_500;

test("promises that outlive their runs keep nothing of these in memory", { timeout: 300_000 }, async () => {
  const leaksPromises = () => [new Promise(() => undefined), Promise.resolve(1), (async () => await Promise.resolve(1))()];
  expect(await leftBy(1_000, leaksPromises)).toBeLessThan(LEAKED_BYTES);
  // A run that is kept takes much more, so the bound tells.
  expect(await leftBy(200, (effects) => effects)).toBeGreaterThan(LEAKED_BYTES);
});

function heapAfter(collect: () => void): number {
  for (let time = 0; time < 3; time += 1) collect();
  return process.memoryUsage().heapUsed;
}

/** The garbage collector, which code does not see otherwise. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
