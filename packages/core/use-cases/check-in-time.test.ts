import { describe, expect, test } from "vitest";
import type { ArgumentsRead } from "../catalogue.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { toolNamed } from "../tool.fixture.ts";
import { callTaskless } from "./call-taskless.ts";
import { ARGUMENTS_CHECK_MAX_MS, inCheckTime } from "./check-in-time.ts";
import { createTask } from "./create-task.ts";
import { alice, inMemory } from "./in-memory.fixture.ts";

const request = { caller: alice, arguments: { n: 1 }, capabilities: {}, hidden: false } as const;

/** A tool whose check of its arguments ends after `ms`. */
function checking(ms: number, check: () => ArgumentsRead = () => ({ ok: true, args: { n: 1 } })) {
  const hand = createHandClock();
  const memory = inMemory();
  const tool = toolNamed("subject", async () => ({}), { readArguments: () => hand.clock.sleep(ms).then(check) });
  return { ...memory, hand, tool, services: { ...memory.services, clock: hand.clock } };
}

describe("the check of arguments, which is an author's code", () => {
  test("is awaited for five seconds, and not a millisecond longer", async () => {
    const inTime = checking(4_999);
    const created = createTask(inTime.services, inTime.tool, request);
    await inTime.hand.pass(4_999);
    expect(await created).toMatchObject({ status: "working" });
    expect(inTime.hand.sleeping()).toEqual([]);

    const late = checking(5_001);
    const refused = createTask(late.services, late.tool, request).catch((error: unknown) => error);
    await late.hand.pass(ARGUMENTS_CHECK_MAX_MS - 1);
    expect(late.requests).toEqual([]);
    await late.hand.pass(1);
    expect(await refused).toMatchObject({
      code: "CALL_TIMEOUT",
      message: expect.stringMatching(/^checking the arguments of tool subject took longer than 5000 ms, so nothing was started\./),
    });
    await late.hand.pass(10_000);
    expect([late.requests, late.runs]).toEqual([[], []]);
  });

  test("is bounded where the call would have needed no task", async () => {
    const { hand, services, tool } = checking(60_000);
    const { audit: _, ...unaudited } = services;
    let isMade = false;
    const made = async () => ((isMade = true), { result: {}, reports: [] });
    const signal = new AbortController().signal;
    const refused = callTaskless(unaudited, { ...tool, callTaskless: made }, { ...request, signal }).catch((error: unknown) => error);
    await hand.pass(60_000);
    expect(await refused).toMatchObject({ code: "CALL_TIMEOUT" });
    expect(isMade).toBe(false);
  });

  test("that fails once nobody waits for it, harms nobody, and one that fails in time is told", async () => {
    const broken = () => {
      throw new Error("the check is broken");
    };
    const late = checking(6_000, broken);
    const refused = createTask(late.services, late.tool, request).catch((error: unknown) => error);
    await late.hand.pass(7_000);
    expect(await refused).toMatchObject({ code: "CALL_TIMEOUT" });

    const { hand, services, tool } = checking(10, broken);
    const failed = createTask(services, tool, request).catch((error: unknown) => error);
    await hand.pass(10);
    expect(await failed).toMatchObject({ message: "the check is broken" });
    expect(hand.sleeping()).toEqual([]);
  });

  test("costs no wait if it is there at once", async () => {
    const { clock } = createHandClock();
    expect(await inCheckTime(clock, { ok: true })).toEqual({ ok: true });
  });
});
