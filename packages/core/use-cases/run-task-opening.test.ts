/** The handler's first effect, written as the task is taken. */
import { describe, expect, test } from "vitest";
import type { Catalogue, Opening } from "../catalogue.ts";
import type { Journal } from "../journal.ts";
import { toolNamed } from "../tool.fixture.ts";
import { deployment, text } from "./run-task.fixture.ts";
import { runTask } from "./run-task.ts";

const OPENED = { digest: "", calledAt: "0", place: 1, outcome: { type: "value", value: "written with begin" } } as const;

/** One tool, whose first effect is a step that is known beforehand, unless it is not. */
function opening(
  services: NonNullable<Parameters<typeof deployment>[1]>["services"] = {},
  store?: NonNullable<Parameters<typeof deployment>[1]>["store"],
) {
  const begun: (readonly [string, Journal])[] = [];
  const worked: string[] = [];
  const subject = deployment(async () => text("unused"), { services, ...(store && { store }) });
  const open = (): Opening => ({
    entries: [{ key: "step:open", entry: OPENED }],
    begun: (taskId, journal) => void begun.push([taskId, journal]),
  });
  const tool = toolNamed(
    "subject",
    async ({ step }) => {
      const opened = await step("open", () => {
        worked.push("open");
        return "written by the step";
      });
      return text(await step("rest", () => opened));
    },
    { open },
  );
  const catalogue: Catalogue = { tools: new Map([[tool.name, tool]]), prompts: new Map(), resources: new Map(), templates: [] };
  return {
    ...subject,
    begun,
    worked,
    run: (taskId: string, run: number, name?: string) =>
      runTask(subject.services, catalogue, { taskId, run, ...(name !== undefined && { calls: { kind: "tool", name } }) }),
  };
}

const said = async ({ task }: ReturnType<typeof opening>, taskId: string) => (await task(taskId)).outcome;
const result = (value: string) => ({ type: "result", result: text(value) });

describe("the opening of a task", () => {
  test("is written with begin where the worker knows what the task calls, and its step is not done", async () => {
    const subject = opening();
    const taskId = await subject.create();
    expect(await subject.run(taskId, 1, "subject")).toStrictEqual({ type: "finished", status: "completed" });
    expect(await said(subject, taskId)).toEqual(result("written with begin"));
    expect(subject.worked).toEqual([]);
    expect(subject.begun.map(([id, journal]) => [id, [...journal]])).toEqual([[taskId, [["step:open", OPENED]]]]);
  });

  test.each([
    ["it does not know what the task calls", undefined],
    ["it does not have the tool of which it was told", "another"],
  ])("is not where %s", async (_, name) => {
    const subject = opening();
    const taskId = await subject.create();
    expect(await subject.run(taskId, 1, name)).toStrictEqual({ type: "finished", status: "completed" });
    expect(await said(subject, taskId)).toEqual(result("written by the step"));
    expect([subject.worked, subject.begun]).toEqual([["open"], []]);
  });

  test("is not told of where the task was refused", async () => {
    const subject = opening();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    expect(await subject.run(taskId, 1, "subject")).toStrictEqual({ type: "refused", reason: "finished" });
    expect(subject.begun).toEqual([]);
  });

  test("of a worker that stops before the handler has started is given back, and the next run does the step", async () => {
    const stop = new AbortController();
    const subject = opening({ stopping: stop.signal }, ({ begin }) => ({
      async begin(request) {
        const begun = await begin(request);
        stop.abort();
        return begun;
      },
    }));
    const taskId = await subject.create();
    expect(await subject.run(taskId, 1, "subject")).toStrictEqual({ type: "fenced" });
    expect([subject.worked, subject.parked]).toEqual([[], []]);

    const { store, clock, settings, ids } = subject.services;
    const next = await store.begin({ taskId, run: 2, token: ids.token(), nowMs: clock.now(), leaseMs: settings.leaseMs });
    expect(next).toMatchObject({ type: "begun", takeovers: 0 });
    expect(next.type === "begun" && [...next.journal]).toEqual([]);
  });
});
