/** Tools that do what no tool may do, and one that behaves. */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const input = z.object({});

// What a library of the process does, outside of every run.
process.on("SIGHUP", () => void Promise.reject(new Error("nobody hears this")));
process.on("SIGUSR2", () => {
  throw new Error("nobody catches this");
});

export const floats = defineTool({
  name: "floats",
  input,
  async run(_args, ctx) {
    const floating = async () => {
      await sleep(20);
      throw new Error("nobody hears this");
    };
    void floating();
    await ctx.step("work", () => sleep(200));
    return "done";
  },
});

export const throwsInTimer = defineTool({
  name: "throws_in_timer",
  input,
  async run(_args, ctx) {
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 20);
    await ctx.step("work", () => sleep(200));
    return "done";
  },
});

export const throwsLate = defineTool({
  name: "throws_late",
  input,
  async run() {
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 300);
    return "done";
  },
});

/** Finding 1 of issue 10, as it stands there. */
export const hearsLate = defineTool({
  name: "hears_late",
  input,
  async run(_args, ctx) {
    const flight = ctx.step("flight", async () => {
      await sleep(300);
      return "flight";
    });
    const hotel = ctx.step("hotel", async () => {
      await sleep(20);
      throw new Error("no room");
    });
    await flight;
    try {
      await hotel;
    } catch {
      return "flight without hotel";
    }
    return "both";
  },
});

export const returnsEarly = defineTool({
  name: "returns_early",
  input,
  async run(_args, ctx) {
    const slow = ctx.step("slow", () => sleep(500));
    return await Promise.race([slow.then(() => "late"), ctx.step("fast", () => "early")]);
  },
});

export const forgetsAwait = defineTool({
  name: "forgets_await",
  input,
  async run(_args, ctx) {
    // oxlint-disable-next-line parley/no-dropped-call -- the mistake under test
    void ctx.confirm("sure", { message: "Delete everything?" });
    return "deleted";
  },
});

export const waitsForever = defineTool({
  name: "waits_forever",
  input,
  runTimeout: "1s",
  run: () => new Promise<string>(() => undefined),
});

export const exits = defineTool({
  name: "exits",
  input,
  async run() {
    await sleep(50);
    return process.exit(0);
  },
});

export const blocks = defineTool({
  name: "blocks",
  input,
  async run() {
    await sleep(50);
    for (;;);
  },
});

export const allocates = defineTool({
  name: "allocates",
  input,
  async run() {
    await sleep(50);
    const kept: object[] = [];
    for (;;) {
      kept.push(Array.from({ length: 10_000 }, (_, n) => ({ n })));
      // It does not block: the heap is to be what ends the process.
      await nextTurn();
    }
  },
});

export const neighbour = defineTool({
  name: "neighbour",
  input: z.object({ workMs: z.number() }),
  async run({ workMs }, ctx) {
    await ctx.step("work", () => sleep(workMs));
    const { n } = await ctx.elicit("n", { message: "How many?", schema: z.object({ n: z.number().int() }) });
    return `n is ${n}`;
  },
});
