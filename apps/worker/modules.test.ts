import type { Module } from "@parley/core";
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { startModules } from "./modules.ts";

function stage() {
  const happened: string[] = [];
  const logged: string[] = [];
  const write = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: write, info: write, warn: write, error: write };
  const module = (name: string, given: Partial<Module> = {}): Module => ({
    kind: "module",
    name,
    start: async () => void happened.push(`start ${name}`),
    stop: async () => void happened.push(`stop ${name}`),
    ...given,
  });
  return { happened, logged, module, options: { timeoutMs: 20, clock: systemClock, log } };
}

describe("modules", () => {
  test("start one after another, and stop in reverse order", async () => {
    const { happened, module, options } = stage();
    const modules = await startModules([module("a"), module("b")], options);
    await modules.stop();
    await modules.stop();
    expect(happened).toEqual(["start a", "start b", "stop b", "stop a"]);
  });

  test("are stopped if one of them does not start, and the error says which and why", async () => {
    const { happened, module, options } = stage();
    const failing = module("b", { start: () => Promise.reject(new Error("no such host")) });
    await expect(startModules([module("a"), failing, module("c")], options)).rejects.toThrow('the module "b" did not start: no such host');
    expect(happened).toEqual(["start a", "stop a"]);
  });

  test("that exceed their timeout fail to start, and do not keep a worker from stopping", async () => {
    const { logged, module, options } = stage();
    const forever = () => new Promise<never>(() => undefined);
    await expect(startModules([module("slow", { start: forever })], options)).rejects.toThrow(
      'the module "slow" did not start: it took longer than 20 ms (PARLEY_MODULE_TIMEOUT)',
    );
    const modules = await startModules([module("stuck", { stop: forever })], options);
    await modules.stop();
    expect(logged.at(-1)).toContain('module did not stop {"module":"stuck"');
  });
});
