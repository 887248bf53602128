import type { RecordedTask } from "@parley/sdk/replay";
import { describe, expect, test } from "vitest";
import type { Told } from "../changes/replay-thread.ts";
import { outcomes, TASKS_MAX } from "./tell-waiting.ts";

async function* waiting(count: number): AsyncGenerator<RecordedTask> {
  for (let at = 1; at <= count; at += 1) yield { taskId: `0-${at}`, call: { kind: "tool", name: "greet" } } as RecordedTask;
}

/** The second of them does not continue. */
async function replay({ taskId }: RecordedTask): Promise<Told> {
  if (taskId === "0-2") return { verdict: "diverges", reason: "it asks something else", recorded: [], found: [] };
  return { verdict: "continues", recorded: [], found: [] };
}

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

describe("what becomes of waiting tasks", () => {
  test("is told of those that do not continue, and in counts", async () => {
    expect(await linesOf(outcomes(waiting(3), replay))).toEqual([
      "✗ 0-2  greet  diverges: it asks something else",
      "2 of 3 waiting tasks continue with the changed tools",
    ]);
    expect(await linesOf(outcomes(waiting(0), replay))).toEqual([]);
  });

  test("is found out of so many, and of none beyond", async () => {
    expect((await linesOf(outcomes(waiting(TASKS_MAX), replay))).at(-1)).toBe("99 of 100 waiting tasks continue with the changed tools");
    expect((await linesOf(outcomes(waiting(TASKS_MAX + 1), replay))).slice(1)).toEqual([
      "More than 100 tasks wait; the others were not replayed. `parley export` and `parley replay` do all.",
      "99 of 100 waiting tasks continue with the changed tools",
    ]);
  });
});
