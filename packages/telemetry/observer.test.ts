import type { Observer } from "@parley/core";
import { describe, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
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
  const { running: observe, refresh } = createObserver({ metrics, tracing: undefined, withLogFields: (_fields, work) => work() });
  const ends = async (report: object) => void (await observe(running, async () => report as Report));
  const lines = async (name: string) =>
    (await metrics.registry.getSingleMetricAsString(name)).split("\n").filter((line) => !line.startsWith("#"));
  return { observe, refresh, ends, lines };
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

  test("by its tool, with the age of the oldest, while it is at work", async () => {
    const { observe, refresh, lines } = observed();
    const other = { ...running, task: { ...running.task, call: { kind: "tool", name: "other" } } } as Running;
    const ends = Array.from({ length: 3 }, () => Promise.withResolvers<Report>());
    const begin = async (index: number, run: Running) => await observe(run, () => ends[index]!.promise);
    const first = begin(0, running);
    const beganMs = performance.now();
    await until(() => performance.now() - beganMs > 100);
    const [second, third] = [begin(1, running), begin(2, other)];
    refresh();
    expect((await lines("parley_tool_runs_active")).toSorted()).toEqual([
      'parley_tool_runs_active{tool="other"} 1',
      'parley_tool_runs_active{tool="subject"} 2',
    ]);
    const age = async (tool: string) =>
      Number((await lines("parley_tool_oldest_run_seconds")).find((line) => line.includes(`"${tool}"`))?.split(" ")[1]);
    expect(await age("subject")).toBeGreaterThanOrEqual(0.1);
    expect(await age("other")).toBeLessThan(await age("subject"));
    for (const end of ends) end.resolve({ type: "parked" } as Report);
    await Promise.all([first, second, third]);
    refresh();
    expect([await lines("parley_tool_runs_active"), await lines("parley_tool_oldest_run_seconds")]).toEqual([[], []]);
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
