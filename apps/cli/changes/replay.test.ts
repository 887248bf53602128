import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LINE_MAX, tasksOf } from "./replay.ts";
import { callsDiff, showReplayed } from "./show.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-replay-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("a line at the limit is read, and one character more is refused", async () => {
  const file = join(folder, "long.jsonl");
  const read = async (length: number) => {
    await writeFile(file, "x".repeat(length));
    await tasksOf(file).next();
  };
  await expect(read(LINE_MAX)).rejects.toThrow(`${file}:1: is not JSON`);
  await expect(read(LINE_MAX + 1)).rejects.toThrow(`${file}:1: has ${LINE_MAX + 1} characters`);
});

test("a text may contain the separators of lines and paragraphs, and a line may end as on Windows", async () => {
  const file = join(folder, "separators.jsonl");
  const tasks = ["one\u2028two", "three\u2029four"].map((unreadable) => ({ format: 1, taskId: "0-a", unreadable }));
  await writeFile(file, tasks.map((task) => `${JSON.stringify(task)}\r\n`).join(""));
  const read: unknown[] = [];
  for await (const task of tasksOf(file)) read.push(task);
  expect(read).toEqual(tasks);
});

test("a difference is shown with its context, and a long one is cut", () => {
  const steps = Array.from({ length: 10 }, (_, index) => `step:s${index}`);
  expect(callsDiff({ recorded: steps, found: steps.with(5, "step:new") })).toEqual([
    "    - recorded, + found",
    "      step:s3",
    "      step:s4",
    "    - step:s5",
    "    + step:new",
    "      step:s6",
    "      step:s7",
  ]);
  const many = Array.from({ length: 100 }, (_, index) => `step:s${index}`);
  expect(callsDiff({ recorded: many, found: [] }).at(-1)).toBe("    … 40 lines more");
});

test("text from an export cannot move the cursor", () => {
  const report = { verdict: "diverges", reason: "\u001B[2Jgone", recorded: ["step:\u001B[31ma"], found: [] } as const;
  const shown = showReplayed({ taskId: "0-\u001B[1A", tool: "t\u0007" }, report);
  expect(shown.split("").filter((letter) => letter < " " && letter !== "\n")).toEqual([]);
});
