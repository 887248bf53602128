import { afterEach, describe, expect, test } from "vitest";
import { catalogue } from "./catalogue.ts";
import { defineModule, provide } from "./module.ts";
import { runTool } from "./testing.ts";
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
  test("has its value from its start to its stop, and says where it has none", async () => {
    const { module, log } = counted();
    const missing = expect.objectContaining({ code: "MODULE_NOT_STARTED", message: 'the module "pool" is not started in this process' });
    expect(() => module.use()).toThrow(missing);
    await module.start();
    expect(module.use()).toEqual({ n: 1 });
    await module.stop();
    expect(() => module.use()).toThrow(missing);
    expect(log).toEqual(["start", "stop 1"]);
  });

  test("that two workers of one process start is one, until the last of them stops", async () => {
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

  test("is found among what a tool module exports, once, and two of one name are refused", () => {
    const { module } = counted();
    const tool = defineTool({ name: "tool", run: () => "done" });
    expect(catalogue({ tool, module, again: module }).modules).toEqual([module]);
    expect(catalogue({ tool })).not.toHaveProperty("modules");
    expect(() => catalogue({ module, other: counted().module })).toThrow("two definitions of the module pool");
  });

  test("has a name that is allowed", () => {
    expect(() => defineModule({ name: "no spaces", start: () => 1 })).toThrow('module name "no spaces" is not allowed');
  });

  test("is provided by a test, and its absence fails the step that needs it", async () => {
    const { module } = counted();
    const tool = defineTool({ name: "tool", run: async (_args, ctx) => String(await ctx.step("use", () => module.use().n)) });
    expect((await runTool(tool)).text).toContain("is not started");
    undone.push(provide(module, { n: 42 }));
    expect((await runTool(tool)).text).toBe("42");
  });
});
