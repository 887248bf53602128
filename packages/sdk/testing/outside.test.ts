/** What a test finds of a handler that awaits something outside `ctx`, and of what a handler leaves behind. */
import { readFile } from "node:fs/promises";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { Context } from "../context/context.ts";
import { defineTool } from "../index.ts";
import { outside, runTool, startTool, type TestOptions } from "./testing.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8] as const;
const PEOPLE = ["ada", "bob", "cyd"];

function doing(
  run: (ctx: Context) => Promise<unknown>,
  compensate?: (ctx: { step: Context["step"]; done: readonly unknown[] }) => Promise<void>,
) {
  return defineTool({
    name: "doing",
    run: async (_args, ctx) => String(await run(ctx)),
    ...(compensate && { compensate: (_args, ctx) => compensate(ctx) }),
  });
}

test("a handler whose code waits for a lock in the wrong order in each run fails its test within seconds, and is told what to do", async () => {
  let runs = 0;
  const locking = doing(async (ctx) => {
    runs += 1;
    const first = runs === 1 ? "ada" : "bob";
    let tail: Promise<unknown> = Promise.resolve();
    await Promise.all(
      ["ada", "bob"].map((id) =>
        ctx.branch(id, async () => {
          for (let turn = id === first ? 1 : 10; turn > 0; turn -= 1) await nextTurn();
          const before = tail;
          const { promise, resolve } = Promise.withResolvers<void>();
          tail = promise;
          await before;
          await ctx.confirm("ok", { message: "?" });
          resolve();
        }),
      ),
    );
  });
  const running = await startTool(locking, {}, { strict: false });
  expect(running.task.asks.map(({ key }) => key)).toEqual(["ada/ok"]);
  await expect(running.answer({ "ada/ok": true })).rejects.toThrow(
    /^in each of 4 runs, code of tool doing waited .*\n.*REPLAY_DIVERGED\. Use ctx\.map .* Seed: 1\.$/u,
  );
}, 20_000);

describe("a handler that depends on what is faster", () => {
  /** Thanks only the person whose row arrives first. */
  const racing = (load: (id: string) => Promise<unknown>) =>
    doing(async (ctx) => {
      const arrived: string[] = [];
      await Promise.all(
        PEOPLE.map(async (id) => {
          await load(id);
          arrived.push(id);
        }),
      );
      await ctx.step(`thank-${arrived[0]}`, () => 1);
      await ctx.confirm("ok", { message: "?" });
      return "done";
    });
  const codeWith = async (load: (id: string) => Promise<unknown>, options: TestOptions) => {
    const run = await runTool(racing(load), {}, { answers: { ok: true }, ...options });
    return run.error ? String((run.error.data as { code?: string }).code) : run.text;
  };

  test("passes while everything is always as fast as before, and diverges once it is not", async () => {
    const load = async (id: string) => id;
    const plain = await Promise.all(SEEDS.map((seed) => codeWith(load, { seed })));
    expect(new Set(plain)).toEqual(new Set(["done"]));
    const varied = await Promise.all(SEEDS.map((seed) => codeWith(outside(load), { seed })));
    expect(varied).toContain("REPLAY_DIVERGED");
  });

  test("is found by the same seed again", async () => {
    const ends = async (seed: number) =>
      await codeWith(
        outside(async (id: string) => id),
        { seed },
      );
    for (const seed of SEEDS) expect(await ends(seed)).toBe(await ends(seed));
    const running = await startTool(
      racing(async (id) => id),
      {},
      { seed: 7 },
    );
    expect(running.seed).toBe(7);
    expect((await startTool(racing(async (id) => id))).seed).toBe(1);
    await expect(
      startTool(
        racing(async (id) => id),
        {},
        { seed: 1.5 },
      ),
    ).rejects.toThrow(new TypeError("seed must be a whole number, and is 1.5"));
  });

  test("is not looked for with strict: false, nor within steps", async () => {
    const load = outside(async (id: string) => id);
    const all = await Promise.all(SEEDS.map((seed) => codeWith(load, { seed, strict: false })));
    expect(new Set(all)).toEqual(new Set(["done"]));
    const inSteps = doing(async (ctx) => {
      const arrived: string[] = [];
      await Promise.all(PEOPLE.map((id) => ctx.step(id, async () => void arrived.push(await load(id)))));
      return arrived.join();
    });
    for (const seed of SEEDS) expect((await runTool(inSteps, {}, { seed })).text).toBe("ada,bob,cyd");
  });

  test("includes reads of files and timers", async () => {
    const order = async (wait: (id: string) => Promise<unknown>, seed: number) => {
      const arrived: string[] = [];
      const tool = doing(async () => {
        await Promise.all(PEOPLE.map(async (id) => void (await wait(id), arrived.push(id))));
        return arrived.join();
      });
      return (await runTool(tool, {}, { seed })).text;
    };
    for (const wait of [() => readFile(import.meta.filename), () => sleep(1)]) {
      expect(new Set(await Promise.all(SEEDS.map((seed) => order(wait, seed)))).size).toBeGreaterThan(1);
    }
  });
});

describe("the handlers that replay once got wrong", () => {
  /** Each with what a right run returns. */
  const HANDLERS: Readonly<Record<string, (load: (id: string) => Promise<string>) => (ctx: Context) => Promise<unknown>>> = {
    "a read before a step, in each item of a map": (load) => async (ctx) => {
      const receipts = await Promise.all(
        PEOPLE.map(async (id) => {
          await load(id);
          return await ctx.step("charge", () => `receipt of ${id}`);
        }),
      );
      await ctx.confirm("ok", { message: "?" });
      return receipts;
    },
    "a helper that reads and then calls, in a loop": (load) => async (ctx) => {
      const charge = async (id: string) => {
        await load(id);
        return await ctx.step("charge", () => `receipt of ${id}`);
      };
      const receipts: string[] = [];
      for (const id of PEOPLE) receipts.push(await charge(id));
      await ctx.confirm("ok", { message: "?" });
      return receipts;
    },
    "the same in reduce": (load) => async (ctx) => {
      const receipts = await PEOPLE.reduce(async (before: Promise<string[]>, id) => {
        const all = await before;
        await load(id);
        return [...all, await ctx.step("charge", () => `receipt of ${id}`)];
      }, Promise.resolve([]));
      await ctx.confirm("ok", { message: "?" });
      return receipts;
    },
    "ctx.map": (load) => async (ctx) => {
      const receipts = await ctx.map(
        PEOPLE,
        (id) => id,
        async (id) => {
          await load(id);
          return await ctx.step("charge", () => `receipt of ${id}`);
        },
        { concurrency: 2 },
      );
      await ctx.confirm("ok", { message: "?" });
      return receipts;
    },
  };
  const RECEIPTS = PEOPLE.map((id) => `receipt of ${id}`).join();

  test.each(Object.keys(HANDLERS))("%s: right with every seed, wherever the worker dies", async (name) => {
    for (const seed of SEEDS.slice(0, 5)) {
      for (const crashAt of [undefined, 2, "every"] as const) {
        const rows = new Map<string, string>();
        const read = outside(async (id: string) => id);
        const load = async (id: string) => rows.get(id) ?? (rows.set(id, await read(id)), id);
        const run = await runTool(doing(HANDLERS[name]!(load)), {}, { answers: { ok: true }, seed, crashAt });
        expect([run.text, seed, crashAt]).toEqual([RECEIPTS, seed, crashAt]);
      }
    }
  });
});

test("a run that takes what is slow for a lock is thrown away, and the next one goes on at once", async () => {
  let runs = 0;
  const slow = doing(async (ctx) => {
    const run = (runs += 1);
    const save = (id: string, takesMs: number) =>
      ctx.branch(id, async () => {
        await sleep(1);
        await new Promise<void>((proceed) => void setTimeout(proceed, takesMs));
        await ctx.step("save", () => id);
      });
    await Promise.all([save("ada", run === 2 ? 5_000 : 1), save("bob", 20)]);
    await ctx.confirm("ok", { message: "?" });
    return "done";
  });
  const running = await startTool(slow, {}, { strict: false });
  await running.answer({ ok: true });
  expect([running.text, runs]).toEqual(["done", 3]);
});

describe("a failure that a handler leaves behind", () => {
  const FLOATS = { data: { code: "UNHANDLED_REJECTION" } };
  const fails = async () => {
    throw new Error("nobody looks at this");
  };

  test("fails its task, and not the test process", async () => {
    const floats = doing(async (ctx) => {
      void fails();
      await ctx.step("a", () => 1);
      return "done";
    });
    expect((await runTool(floats)).error).toMatchObject(FLOATS);
    const throws = doing(async (ctx) => {
      setTimeout(() => {
        throw new Error("nobody catches this");
      }, 0);
      await new Promise((resolve) => setTimeout(resolve, 20));
      await ctx.step("a", () => 1);
    });
    expect((await runTool(throws, {}, { strict: false })).error).toMatchObject(FLOATS);
  });

  test("is none if the handler looks at it before it ends", async () => {
    const late = doing(async (ctx) => {
      const failing = fails();
      await new Promise((resolve) => setTimeout(resolve, 5));
      await ctx.step("a", () => 1);
      return await failing.catch((error: Error) => error.message);
    });
    expect((await runTool(late)).text).toBe("nobody looks at this");
  });

  test("is a warning once the run has ended", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    try {
      const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
      const leaves = doing(async () => {
        void ended.then(fails);
        return "done";
      });
      expect((await runTool(leaves)).text).toBe("done");
      hasEnded();
      await vi.waitFor(() => {
        expect(warn).toHaveBeenCalledWith(
          "After the end of a run under test, a promise was rejected and never handled: Error: nobody looks at this",
          { code: "PARLEY_LEFT_BEHIND" },
        );
      });
    } finally {
      warn.mockRestore();
    }
  });
});

describe("a compensation that is given up", () => {
  const partly = doing(
    async (ctx) => {
      await ctx.step("book", () => 1);
      throw new Error("no");
    },
    async (ctx) => {
      await ctx.step("unbook", () => {
        throw new Error("the service is gone");
      });
    },
  );

  test("fails the test, with the reason and the seed", async () => {
    await expect(runTool(partly, {}, { seed: 3 })).rejects.toThrow(
      expect.objectContaining({
        name: "CompensationGivenUp",
        message: expect.stringMatching(/tool doing was given up: .*the service is gone[^]*Seed: 3\./),
      }),
    );
  });

  test("is listed with strict: false", async () => {
    const run = await runTool(partly, {}, { strict: false });
    expect(run.givenUp).toEqual([expect.stringContaining("the service is gone")]);
    expect((await runTool(doing(async () => "done"))).givenUp).toEqual([]);
  });
});
