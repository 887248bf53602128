import { afterEach, describe, expect, test } from "vitest";
import { catalogue } from "./catalogue.ts";
import { DefinitionError } from "../failures.ts";
import { defineModule, provide } from "./module.ts";
import { runTool } from "../testing/testing.ts";
import { defineTool } from "./tool.ts";

function counted() {
  const log: string[] = [];
  const module = defineModule({
    name: "pool",
    start() {
      log.push("start");
      return { n: log.length };
    },
    stop: ({ n }) => void log.push(`stop ${n}`),
  });
  return { module, log };
}

const undone: (() => void)[] = [];
afterEach(() => {
  for (const undo of undone.splice(0)) undo();
});

describe("a module", () => {
  test("has its value from its start to its stop, and otherwise throws", async () => {
    const { module, log } = counted();
    const missing = expect.objectContaining({ code: "MODULE_NOT_STARTED", message: 'the module "pool" is not started in this process' });
    expect(() => module.use()).toThrow(missing);
    await module.start();
    expect(module.use()).toEqual({ n: 1 });
    await module.stop();
    expect(() => module.use()).toThrow(missing);
    expect(log).toEqual(["start", "stop 1"]);
  });

  test("that two workers of one process start is started once, until the last of them stops", async () => {
    const { module, log } = counted();
    await Promise.all([module.start(), module.start()]);
    await module.stop();
    expect(module.use()).toEqual({ n: 1 });
    await module.stop();
    expect(log).toEqual(["start", "stop 1"]);
    await module.start();
    expect(module.use()).toEqual({ n: 3 });
  });

  test("whose start failed can be started again", async () => {
    let isUp = false;
    const module = defineModule({ name: "flaky", start: () => (isUp ? "up" : Promise.reject(new Error("down"))) });
    await expect(module.start()).rejects.toThrow("down");
    isUp = true;
    await module.start();
    expect(module.use()).toBe("up");
  });

  test("is found among the exports of a tool module, once, and two of one name are refused", () => {
    const { module } = counted();
    const tool = defineTool({ name: "tool", run: () => "done" });
    expect(catalogue({ tool, module, again: module }).modules).toEqual([module]);
    expect(catalogue({ tool })).not.toHaveProperty("modules");
    expect(() => catalogue({ module, other: counted().module })).toThrow("two definitions of the module pool");
  });

  test.each(["", "no spaces", "x".repeat(65), "ü", undefined as never])("has a valid name, and not %j", (name) => {
    expect(() => defineModule({ name, start: () => 1 })).toThrow(
      new DefinitionError(`module name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - . /`),
    );
    expect(defineModule({ name: "x".repeat(64), start: () => 1 }).kind).toBe("module");
  });

  test("without a start, or with a stop that is no function, is refused when the file loads", () => {
    expect(() => defineModule({ name: "pool" } as never)).toThrow(
      new DefinitionError("module pool has no start: give the function that returns its value"),
    );
    expect(() => defineModule({ name: "pool", start: () => 1, stop: true } as never)).toThrow(
      new DefinitionError("module pool: stop must be a function"),
    );
  });

  test("may have no stop, and may be stopped without having been started", async () => {
    const quiet = defineModule({ name: "quiet", start: () => 1 });
    await quiet.start();
    await quiet.stop();
    expect(() => quiet.use()).toThrow("is not started");
    const { module, log } = counted();
    await module.stop();
    expect(log).toStrictEqual([]);
    // It does not count for those who start it later.
    await module.start();
    await module.start();
    await module.stop();
    expect([module.use(), log]).toStrictEqual([{ n: 1 }, ["start"]]);
  });

  test("whose start fails during another start keeps the other's value", async () => {
    const starts: PromiseWithResolvers<string>[] = [];
    const module = defineModule({
      name: "slow",
      start() {
        const begun = Promise.withResolvers<string>();
        starts.push(begun);
        return begun.promise;
      },
    });
    const both = [module.start(), module.start()];
    starts[0]?.reject(new Error("down"));
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toStrictEqual(["rejected", "rejected"]);
    const again = module.start();
    starts[1]?.resolve("up");
    await again;
    expect([module.use(), starts.length]).toStrictEqual(["up", 2]);
  });

  test("is provided by a test, and otherwise fails the step that needs it", async () => {
    const { module } = counted();
    const tool = defineTool({ name: "tool", run: async (_args, ctx) => String(await ctx.step("use", () => module.use().n)) });
    expect((await runTool(tool)).text).toContain("is not started");
    undone.push(provide(module, { n: 42 }));
    expect((await runTool(tool)).text).toBe("42");
    const undo = provide(module, { n: 43 });
    expect(module.use()).toEqual({ n: 43 });
    undo();
    expect(module.use()).toEqual({ n: 42 });
  });
});
