import type { RecordedTask } from "@parley/sdk/replay";
import { describe, expect, test } from "vitest";
import type { ReplayReport } from "../changes/replay-thread.ts";
import { outcomes, TASKS_MAX } from "./report-waiting.ts";

async function* waiting(count: number): AsyncGenerator<RecordedTask> {
  for (let at = 1; at <= count; at += 1) yield { taskId: `0-${at}`, call: { kind: "tool", name: "greet" } } as RecordedTask;
}

/** Only the second task does not continue. */
async function replay({ taskId }: RecordedTask): Promise<ReplayReport> {
  if (taskId === "0-2") return { verdict: "diverges", reason: "it asks something else", recorded: [], found: [] };
  return { verdict: "continues", recorded: [], found: [] };
}

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

describe("the report on waiting tasks", () => {
  test("has a line for each task that does not continue, and counts", async () => {
    expect(await linesOf(outcomes(waiting(3), replay))).toEqual([
      "✗ 0-2  greet  diverges: it asks something else",
      "2 of 3 waiting tasks continue with the changed tools",
    ]);
    expect(await linesOf(outcomes(waiting(0), replay))).toEqual([]);
  });

  test("covers tasks up to the limit, and none beyond it", async () => {
    expect((await linesOf(outcomes(waiting(TASKS_MAX), replay))).at(-1)).toBe("99 of 100 waiting tasks continue with the changed tools");
    expect((await linesOf(outcomes(waiting(TASKS_MAX + 1), replay))).slice(1)).toEqual([
      "More than 100 tasks wait; the others were not replayed. `parley export` and `parley replay` do all.",
      "99 of 100 waiting tasks continue with the changed tools",
    ]);
  });
});
