import type { Services } from "@parley/core";
import { createMemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { gate } from "../../../front-end/gate.ts";
import { holdOpen } from "./hold-open.ts";

function frontEnd() {
  const wakeUps = createMemoryWakeUps();
  const waits = gate("calls", 1);
  return { wakeUps, waits, services: { wakeUps, clock: systemClock } as unknown as Services };
}

describe("a request that is held open", () => {
  test("takes a place and watches its task until its work is done", async () => {
    const here = frontEnd();
    const result = await holdOpen(here, "t", async () => {
      expect([here.waits.open, here.wakeUps.isWatched("t")]).toEqual([1, true]);
      await expect(holdOpen(here, "u", async () => "done")).rejects.toMatchObject({ code: "OVERLOADED" });
      return "done";
    });
    expect([result, here.waits.open, here.wakeUps.isWatched("t")]).toEqual(["done", 0, false]);
  });

  test("leaves nothing behind when its work fails, or its task cannot be watched", async () => {
    const here = frontEnd();
    const refusal = new Error("Redis is away");
    await expect(holdOpen(here, "t", () => Promise.reject(refusal))).rejects.toBe(refusal);
    expect([here.waits.open, here.wakeUps.isWatched("t")]).toEqual([0, false]);
    Object.assign(here.wakeUps, { watch: () => Promise.reject(refusal) });
    await expect(holdOpen(here, "t", async () => "done")).rejects.toBe(refusal);
    expect(here.waits.open).toBe(0);
  });
});
