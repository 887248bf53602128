/** Which names, and which run, a call belongs to. */
import { describe, expect, test } from "vitest";
import { Flow, type Strays, straysOf } from "./flow.ts";

const strays: Strays = { rejected: () => undefined, handled: () => undefined, threw: () => undefined };

describe("a flow", () => {
  test("keeps its branch in a step, and its step in a branch", () => {
    const start = Flow.start(strays);
    expect([start.branch, start.step]).toStrictEqual(["", undefined]);
    const inStep = start.inBranch("alice/").inStep("alice/charge");
    expect([inStep.branch, inStep.step]).toStrictEqual(["alice/", "alice/charge"]);
    const inBranch = start.inStep("charge").inBranch("alice/");
    expect([inBranch.branch, inBranch.step]).toStrictEqual(["alice/", "charge"]);
  });

  test("is not changed by the branches and steps that begin in it", () => {
    const start = Flow.start(strays);
    start.inBranch("alice/");
    start.inStep("charge");
    expect([start.branch, start.step]).toStrictEqual(["", undefined]);
  });

  test("leads to the run that handles its stray errors; any other value leads to none", () => {
    expect(straysOf(Flow.start(strays).inBranch("a/").inStep("a/charge"))).toBe(strays);
    expect(straysOf({ strays })).toBeUndefined();
    expect(straysOf(undefined)).toBeUndefined();
  });
});
