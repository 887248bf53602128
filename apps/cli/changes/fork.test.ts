import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { provide, startTool } from "@parley/sdk/testing";
import type { RecordedTask } from "@parley/sdk/replay";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { cutAt } from "./cut-journal.ts";
import { book, rates, tax } from "./fork.fixture.ts";
import { forkTask } from "./fork.ts";

const TOOLS = [join(import.meta.dirname, "fork.fixture.ts")];

let dir: string;
let exitCode: typeof process.exitCode;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-fork-"));
  vi.stubEnv("FORK_TEST_FILE", join(dir, "did"));
  await writeFile(join(dir, "did"), "");
  exitCode = process.exitCode;
});
afterEach(async () => {
  process.exitCode = exitCode;
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await rm(dir, { recursive: true });
});

/** An exported task that waits for the answer to its last question. */
async function waiting(): Promise<RecordedTask> {
  const takeBack = provide(rates, { of: (amount) => amount / 10 });
  const running = await startTool(book, { day: "friday" }, { tools: [tax] });
  await running.answer({ size: 4 });
  await running.advance("2 days");
  takeBack();
  expect(running.task.asks.map(({ key }) => key)).toEqual(["sure"]);
  await writeFile(join(dir, "did"), "");
  return await running.exported();
}

async function forked(task: object, forkAt: string, answers: object, more: object = {}) {
  const [file, given] = [join(dir, "tasks.jsonl"), join(dir, "answers.json")];
  await Promise.all([writeFile(file, `${JSON.stringify(task)}\n`), writeFile(given, JSON.stringify(answers))]);
  const stdout: string[] = [];
  const stderr: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => stdout.push(String(text)) > 0);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => stderr.push(String(text)) > 0);
  await forkTask(file, { tools: TOOLS, timeout: "10s", forkAt, answers: given, ...more });
  return { stdout: stdout.join(""), stderr: stderr.join(""), did: (await readFile(join(dir, "did"), "utf8")).split("\n").filter(Boolean) };
}

describe("a fork", () => {
  test("replays what settled before the effect, and runs the rest for real, with idempotency keys of its own", async () => {
    const { stdout, stderr, did } = await forked(await waiting(), "charge", { sure: { value: true } });

    expect(stdout).toBe("completed\nhold friday recorded, charge 4 forked, 0.4, true\n");
    expect(did).toEqual(["charge 4 forked", "rate"]);
    expect(stderr).toMatch(/^forked at step:charge: 4 entries are replayed.*\n→ charge\n→ rate\n/);
  });

  test("asks the question at which it is forked again, and skips sleeps", async () => {
    const { stdout, stderr, did } = await forked(await waiting(), "ask:size", { size: { size: 2 }, sure: { value: true } });

    expect(stdout).toContain("hold friday recorded, charge 2 forked, 0.2");
    expect(did).toEqual(["charge 2 forked", "rate"]);
    expect(stderr).toMatch(/sleep until .*, skipped/);
  });

  test("at a question that is still open repeats nothing", async () => {
    const { stdout, did } = await forked(await waiting(), "sure", { sure: { value: true } }, { json: true });

    expect([JSON.parse(stdout), did]).toMatchObject([{ at: "ask:sure", status: "completed" }, []]);
  });

  test("at the first effect runs everything", async () => {
    const { did } = await forked(await waiting(), "step:hold", { size: { size: 1 }, sure: { value: true } });

    expect(did).toEqual(["hold friday forked", "charge 1 forked", "rate"]);
  });

  test("of a task that has restarted continues in its generation", async () => {
    const task = await waiting();
    const anew = Object.fromEntries(Object.entries(task.journal).map(([key, entry]) => [`${key}@1`, entry]));
    const { did } = await forked({ ...task, generation: 1, journal: anew, asks: [] }, "step:hold@1", {
      "size@1": { size: 1 },
      "sure@1": { value: true },
    });

    expect(did).toEqual(["hold friday forked", "charge 1 forked", "rate"]);
  });

  test("is refused at a name that is not in the journal, and the error lists the effects", async () => {
    await expect(forked(await waiting(), "step:hodl", {})).rejects.toThrow(
      "--fork-at step:hodl is not an effect in the journal; its effects: step:hold, ask:size, sleep:pause, step:charge, ask:call:tax, ask:sure",
    );
  });

  test("is refused if two effects have the name", async () => {
    const task = await waiting();
    const twice = { ...task, journal: { ...task.journal, "ask:hold": { ...task.journal["ask:size"], place: 9 } } };
    await expect(forked(twice, "hold", {})).rejects.toThrow("--fork-at hold is ambiguous: use step:hold or ask:hold");
  });

  test("without a terminal, says what to do about an invalid or missing answer", async () => {
    const task = await waiting();
    await expect(forked(task, "size", { size: { size: 9 } })).rejects.toThrow(
      /the task asks size: \/size must be at most 8, and there is no terminal.*--answers/,
    );
    await expect(forked(task, "size", {})).rejects.toThrow(
      "the task asks size, and there is no terminal to ask on: pass its content with --answers",
    );
  });

  test.each([
    [
      "redacted",
      { call: { kind: "tool", name: "book", arguments: {}, principal: "p", capabilities: {}, createdAtMs: 0 } },
      {},
      /--with-content/,
    ],
    [
      "of another tool",
      { call: { kind: "tool", name: "cook", arguments: {}, principal: "p", capabilities: {}, createdAtMs: 0, seed: "s" } },
      {},
      /the modules have no tool cook/,
    ],
    ["not in the file", {}, { task: "0-other" }, /contains no task 0-other/],
  ])("of a task that is %s is refused", async (_what, change, options, message) => {
    await expect(forked({ ...(await waiting()), ...change }, "size", {}, options)).rejects.toThrow(message);
  });

  test("of a file with several tasks requires --task", async () => {
    const task = await waiting();
    await writeFile(join(dir, "two.jsonl"), `${JSON.stringify(task)}\n${JSON.stringify({ ...task, taskId: "0-second" })}\n`);
    await expect(forkTask(join(dir, "two.jsonl"), { tools: TOOLS, timeout: "10s", forkAt: "size" })).rejects.toThrow(
      "contains several tasks: select the one to fork with --task",
    );
  });

  test("of a sealed export assumes that the recorded questions are those that the code asks", async () => {
    const task = await waiting();
    const journal = Object.fromEntries(
      Object.entries(task.journal).map(([key, entry]) => [key, key.startsWith("ask:size") ? { ...entry, digest: "" } : entry]),
    );
    const { did } = await forked({ ...task, journal, isSealed: true }, "charge", { sure: { value: true } });

    expect(did).toEqual(["charge 4 forked", "rate"]);
  });
});

test("a journal is cut where the effect settled, without what settled or was read later", async () => {
  const { entries } = cutAt(await waiting(), "sleep:pause");
  expect(entries.map(({ key }) => key).toSorted()).toEqual(["ask:size", "now:now", "step:hold"]);
});
