import type { Observer } from "@parley/core";
import { describe, expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";
import { createObserver } from "./observer.ts";

type Running = Parameters<Observer["running"]>[0];
type Report = Awaited<ReturnType<Parameters<Observer["running"]>[1]>>;

const running = {
  task: { id: "0-a", run: 1, call: { kind: "tool", name: "subject" } },
  journal: new Map(),
  attempt: 0,
} as unknown as Running;

function observed() {
  const metrics = createMetrics();
  const { running: observe } = createObserver({ metrics, tracing: undefined, withLogFields: (_fields, work) => work() });
  const ends = async (report: object) => void (await observe(running, async () => report as Report));
  const lines = async (name: string) =>
    (await metrics.registry.getSingleMetricAsString(name)).split("\n").filter((line) => !line.startsWith("#"));
  return { observe, ends, lines };
}

describe("a run is counted", () => {
  test("while it is at work, also if it throws", async () => {
    const { observe, lines } = observed();
    const [atWork, broken] = [Promise.withResolvers<Report>(), Promise.withResolvers<Report>()];
    const runs = [observe(running, () => atWork.promise), observe(running, () => broken.promise)];
    expect(await lines("parley_runs_active")).toEqual(["parley_runs_active 2"]);
    atWork.resolve({ type: "parked" } as Report);
    broken.reject(new Error("Redis is away"));
    await Promise.allSettled(runs);
    expect(await lines("parley_runs_active")).toEqual(["parley_runs_active 0"]);
    const counts = (await lines("parley_run_seconds")).filter((line) => line.startsWith("parley_run_seconds_count"));
    expect(counts.toSorted()).toEqual([
      'parley_run_seconds_count{tool="subject",end="broken"} 1',
      'parley_run_seconds_count{tool="subject",end="parked"} 1',
    ]);
  });

  test("by the error of its task, and as a divergence if its tool was changed", async () => {
    const { ends, lines } = observed();
    await ends({ type: "finished", status: "failed", code: "REPLAY_DIVERGED" });
    await ends({ type: "finished", status: "failed", code: "POISONED" });
    await ends({ type: "finished", status: "completed" });
    expect((await lines("parley_tasks_failed_total")).toSorted()).toEqual([
      'parley_tasks_failed_total{tool="subject",code="POISONED"} 1',
      'parley_tasks_failed_total{tool="subject",code="REPLAY_DIVERGED"} 1',
    ]);
    expect(await lines("parley_divergences_total")).toEqual(['parley_divergences_total{tool="subject"} 1']);
  });

  test("as a compensation that was given up", async () => {
    const { ends, lines } = observed();
    await ends({ type: "compensated" });
    expect(await lines("parley_compensations_given_up_total")).toEqual([]);
    await ends({ type: "given-up" });
    expect(await lines("parley_compensations_given_up_total")).toEqual(['parley_compensations_given_up_total{tool="subject"} 1']);
  });
});
