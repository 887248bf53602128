/** A line of `parley tasks`: the tool, what it asks and since when, or what it says that it is doing. */
import { stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ApiClient, Task } from "../client/api-client.ts";
import { printTasks } from "./list.ts";

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const ask = (message: string, askedMsAgo = 0) => ({ message, askedAt: ago(askedMsAgo) }) as Task["asks"][number];

const TASK = {
  taskId: "0-a",
  tool: "pay",
  toolTitle: "Pay a bill",
  status: "input_required",
  createdAt: ago(7_205_000),
  updatedAt: ago(0),
  asks: [],
  asksOfOthers: 0,
} as unknown as Task;

/** What the command prints of these tasks. */
async function printed(...tasks: readonly Partial<Task>[]): Promise<string> {
  const written: string[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => (written.push(String(text)), true));
  onTestFinished(() => write.mockRestore());
  const get = async () => ({ tasks: tasks.map((task) => ({ ...TASK, ...task })) });
  await printTasks({ api: { get } as unknown as ApiClient }, { limit: 10 });
  write.mockRestore();
  return stripVTControlCharacters(written.join(""));
}

const CALLED = "Pay a bill (pay)  called 2 hours ago";

test.each<[string, Partial<Task>, string]>([
  ["a question", { asks: [ask("How much?")] }, `0-a  input_required  ${CALLED}  asks you: How much?\n`],
  [
    "several, the oldest first, on one line",
    { asks: [ask("Now?", 1_000), ask("First\nof all?", 60_000), ask("Then?", 5_000)] },
    `0-a  input_required  ${CALLED}  asks you: First of all?, and 2 more questions\n`,
  ],
  [
    "one more",
    { asks: [ask("Now?", 1_000), ask("First?", 60_000)] },
    `0-a  input_required  ${CALLED}  asks you: First?, and 1 more question\n`,
  ],
  [
    "those of others beside one's own, and not what the status says of them",
    { asks: [ask("Now?")], asksOfOthers: 2, statusMessage: "Waiting for an answer" },
    `0-a  input_required  ${CALLED}  asks you: Now?  asks others 2 questions\n`,
  ],
  ["one of others", { asksOfOthers: 1 }, `0-a  input_required  ${CALLED}  asks others 1 question\n`],
  [
    "what it is doing",
    { status: "working", statusMessage: "the dough\u001b[2J rises" },
    `0-a  working         ${CALLED}  the dough rises\n`,
  ],
  ["nothing", { status: "completed", toolTitle: "pay" }, "0-a  completed       pay  called 2 hours ago\n"],
  ["no half of a character", { asks: [ask(`${"x".repeat(199)}🎉🎉`)] }, `0-a  input_required  ${CALLED}  asks you: ${"x".repeat(199)}…\n`],
  ["a long question", { asks: [ask("x".repeat(300))] }, `0-a  input_required  ${CALLED}  asks you: ${"x".repeat(200)}…\n`],
])("shows %s", async (_what, task, line) => {
  expect(await printed(task)).toBe(line);
});

test("there is none, and that is said", async () => {
  expect(await printed()).toBe("no tasks\n");
});
