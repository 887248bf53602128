/** Which calls preceded a call in its flow. */
import { describe, expect, test } from "vitest";
import { Flow, type Strays, straysOf } from "./flow.ts";

const strays: Strays = { rejected: () => undefined, handled: () => undefined, threw: () => undefined };

describe("a flow", () => {
  test("includes the calls of the flow that it came from, and no others", () => {
    const start = Flow.start(strays);
    const first = start.after(1);
    const left = first.after(2).after(5);
    const right = first.after(3).after(4);
    const made = (flow: Flow) => [0, 1, 2, 3, 4, 5, 6].filter((call) => flow.hasCalled(call));
    expect(made(start)).toStrictEqual([0]);
    expect(made(left)).toStrictEqual([0, 1, 2, 5]);
    expect(made(right)).toStrictEqual([0, 1, 3, 4]);
  });

  test("keeps its calls in a branch and in a step, and its branch in a step and after further calls", () => {
    const flow = Flow.start(strays).after(1).after(2).inBranch("alice/").inStep("alice/charge").after(3);
    expect([1, 2, 3].filter((call) => !flow.hasCalled(call))).toStrictEqual([]);
    expect([flow.branch, flow.step]).toStrictEqual(["alice/", "alice/charge"]);
    expect([Flow.start(strays).branch, Flow.start(strays).step]).toStrictEqual(["", undefined]);
  });

  test("leads to the run that handles its stray errors; any other value leads to none", () => {
    expect(straysOf(Flow.start(strays).after(1).inBranch("a/"))).toBe(strays);
    expect(straysOf({ strays })).toBeUndefined();
    expect(straysOf(undefined)).toBeUndefined();
  });
});
