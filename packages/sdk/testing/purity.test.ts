import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { type Context, defineTool } from "../index.ts";
import { ImpureHandler, runTool, startTool } from "./testing.ts";

const GO = z.object({ go: z.boolean() });
const answers = { go: { go: true } };

function tool(run: (ctx: Context) => unknown) {
  return defineTool({
    name: "impure",
    async run(_args, ctx) {
      await run(ctx);
      return "done";
    },
  });
}

/** Reads something, then asks. */
function asksAfter(read: (ctx: Context) => unknown) {
  return tool(async (ctx) => {
    await read(ctx);
    await ctx.elicit("go", { message: "Go?", schema: GO });
  });
}

const globals = () => ({
  Date,
  elapsed: performance.now,
  random: Math.random,
  fetch,
  setTimeout,
  wait,
  uuid: crypto.randomUUID,
  nodeUuid: randomUUID,
});
const originals = globals();

afterEach(() => {
  vi.unstubAllGlobals();
  expect(globals()).toEqual(originals);
});

describe("a handler that waits after it read something outside of ctx", () => {
  test.each<[string, () => unknown]>([
    ["Date.now", () => Date.now()],
    ["new Date", () => new Date()],
    ["performance.now", () => performance.now()],
    ["Math.random", () => Math.random()],
    ["crypto.randomUUID", () => crypto.randomUUID()],
    ["crypto.randomUUID", () => randomUUID()],
    ["fetch", () => fetch("data:,hello")],
    ["setTimeout", () => new Promise((resolve) => setTimeout(resolve, 1))],
    ["setTimeout", () => wait(1)],
  ])("fails its test and names the line: %s", async (name, read) => {
    const error: unknown = await runTool(asksAfter(read), {}, { answers }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ImpureHandler);
    expect(error).toMatchObject({ impurities: [{ name, at: expect.stringMatching(/purity\.test\.ts:\d+:\d+$/) }] });
    expect((error as Error).message).toMatch(/^tool impure reads something outside of ctx and then waits/);
  });

  test("fails its test where another test has left a method of its own on performance or crypto", async () => {
    Object.assign(performance, { now: performance.now });
    Object.assign(crypto, { randomUUID: crypto.randomUUID });
    onTestFinished(() => {
      Reflect.deleteProperty(performance, "now");
      Reflect.deleteProperty(crypto, "randomUUID");
    });
    const read = () => [performance.now(), crypto.randomUUID()];
    const error: unknown = await runTool(asksAfter(read), {}, { answers }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ impurities: [{ name: "performance.now" }, { name: "crypto.randomUUID" }] });
  });

  test("is shown everything that it reads, by place and with the alternative", async () => {
    const error: unknown = await runTool(
      asksAfter(() => [Date.now(), Math.random(), Math.random()]),
      {},
      { answers },
    ).catch((thrown: unknown) => thrown);
    const { name, message, impurities } = error as ImpureHandler;
    const [clock, ...chance] = impurities.map(({ at }) => at);
    expect([name, impurities.map((each) => each.name), new Set([clock, ...chance]).size]).toStrictEqual([
      "ImpureHandler",
      ["Date.now", "Math.random", "Math.random"],
      3,
    ]);
    expect(message).toBe(
      [
        "tool impure reads something outside of ctx and then waits; it starts from the top when the wait is over, and reads something else:",
        `  Date.now at ${clock}: use ctx.now()`,
        ...chance.map((at) => `  Math.random at ${at}: use ctx.random()`),
        "If nothing that it does depends on that, test it with { strict: false }.",
      ].join("\n"),
    );
  });

  test("is detected after other effects, in helpers, and after awaits", async () => {
    const late = tool(async (ctx) => {
      await ctx.elicit("go", { message: "Go?", schema: GO });
      await ctx.step("one", () => 1);
      const draw = async () => {
        await Promise.resolve();
        return [1, 2].map(() => Math.random());
      };
      await draw();
      await ctx.sleep("night", "8 hours");
    });
    const running = await startTool(late);
    await expect(running.answer(answers)).rejects.toThrow(/Math\.random at .*purity\.test\.ts.*: use ctx\.random\(\)/);
  });

  test("passes with strict: false, and the calls are listed, each place once", async () => {
    const run = await runTool(
      asksAfter(() => Date.now()),
      {},
      { answers, strict: false },
    );
    expect(run.text).toBe("done");
    expect(run.impurities).toMatchObject([{ name: "Date.now" }]);
  });

  test("is detected under crashAt even if it only has steps, because a worker may die after each", async () => {
    const stepping = tool(async (ctx) => {
      Date.now();
      await ctx.step("one", () => 1);
    });
    await expect(runTool(stepping, {}, { crashAt: "every" })).rejects.toThrow(ImpureHandler);
    expect((await runTool(stepping)).text).toBe("done");
  });
});

describe("not impure", () => {
  test.each<[string, (ctx: Context) => unknown]>([
    ["what a step reads, also behind its awaits", (ctx) => ctx.step("read", () => fetch("data:,x").then(() => Date.now() + Math.random()))],
    ["facts", (ctx) => [ctx.now(), ctx.random(), ctx.uuid()]],
    ["a date made of something", () => new Date(5).getTime()],
    ["a step with a time limit and retries", (ctx) => ctx.step("slow", () => 1, { timeout: "1 minute", attempts: 2 })],
  ])("%s", async (_what, read) => {
    const run = await runTool(asksAfter(read), {}, { answers, crashAt: "every" });
    expect([run.text, run.impurities]).toEqual(["done", []]);
  });

  test("what a package does for itself, such as a logger's timestamps; its fetch counts", async () => {
    const dir = await mkdtemp(join(tmpdir(), "parley-purity-"));
    try {
      await mkdir(join(dir, "node_modules", "logger"), { recursive: true });
      const file = join(dir, "node_modules", "logger", "index.mjs");
      await writeFile(file, "export const log = () => Date.now(); export const load = () => fetch('data:,x');");
      const logger = (await import(/* @vite-ignore */ file)) as { log(): number; load(): Promise<unknown> };
      expect((await runTool(asksAfter(logger.log), {}, { answers })).impurities).toEqual([]);
      await expect(runTool(asksAfter(logger.load), {}, { answers })).rejects.toThrow(/fetch at /);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  test("reads after the last wait", async () => {
    const run = await runTool(
      tool(async (ctx) => {
        await ctx.elicit("go", { message: "Go?", schema: GO });
        ctx.log(`done at ${new Date().toISOString()}`);
      }),
      {},
      { answers },
    );
    expect(run.impurities).toEqual([]);
  });

  test("reads of a round that restarts, or of an attempt that failed", async () => {
    const rounds = defineTool({
      name: "rounds",
      input: z.object({ round: z.int() }),
      async run({ round }, ctx) {
        if (round === 1) return await ctx.restart({ round: Date.now() });
        await ctx.elicit("go", { message: "Go?", schema: GO });
        return "done";
      },
    });
    const run = await runTool(rounds, { round: 1 }, { answers: { "go@1": { go: true } } });
    expect([run.text, run.impurities]).toEqual(["done", []]);
    let tries = 0;
    const failing = defineTool({
      name: "failing",
      attempts: 2,
      backoff: 0,
      async run(_args, ctx) {
        tries += 1;
        if (tries === 1) throw new Error(`at ${Date.now()}`);
        await ctx.elicit("go", { message: "Go?", schema: GO });
        return "done";
      },
    });
    expect((await runTool(failing, {}, { answers })).text).toBe("done");
  });

  test("what the test itself does, and other work in the process", async () => {
    const running = await startTool(asksAfter(() => undefined));
    const elsewhere = Promise.resolve().then(() => Date.now());
    await Promise.all([running.answer(answers), elsewhere]);
    expect([running.text, running.impurities]).toEqual(["done", []]);
  });
});

test("a date created in a watched handler is a Date", async () => {
  let made: Date | undefined;
  let isStamp = false;
  await runTool(
    asksAfter((ctx) => {
      class Stamp extends Date {}
      made = new Date(ctx.now());
      isStamp = new Stamp(5) instanceof Stamp;
    }),
    {},
    { answers },
  );
  expect(made).toBeInstanceOf(Date);
  expect(made?.constructor).toBe(Date);
  expect(isStamp).toBe(true);
});

test("a fake of the test's own is called, and stays", async () => {
  const fake = vi.fn<typeof fetch>(async () => new Response("fake"));
  vi.stubGlobal("fetch", fake);
  const run = await runTool(
    asksAfter((ctx) => ctx.step("load", async () => (await fetch("https://example.com")).text())),
    {},
    { answers },
  );
  expect(run.text).toBe("done");
  expect(fake).toHaveBeenCalledTimes(1);
  expect(fetch).toBe(fake);
});

test("concurrent runs are distinguished", async () => {
  const slow = asksAfter((ctx) => ctx.step("slow", () => new Promise((resolve) => setTimeout(resolve, 5))));
  const [pure, impure] = await Promise.allSettled([
    runTool(slow, {}, { answers }),
    runTool(
      asksAfter(() => Date.now()),
      {},
      { answers },
    ),
  ]);
  expect([pure.status, impure.status]).toEqual(["fulfilled", "rejected"]);
});
