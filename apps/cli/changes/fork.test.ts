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

/** A task that waits for its last question, as it would be exported. */
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
  const said: string[] = [];
  const told: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => said.push(String(text)) > 0);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => told.push(String(text)) > 0);
  await forkTask(file, { tools: TOOLS, timeout: "10s", forkAt, answers: given, ...more });
  return { said: said.join(""), told: told.join(""), did: (await readFile(join(dir, "did"), "utf8")).split("\n").filter(Boolean) };
}

describe("a fork", () => {
  test("replays what had settled before the effect, and does the rest for real, under keys of its own", async () => {
    const { said, told, did } = await forked(await waiting(), "charge", { sure: { value: true } });

    expect(said).toBe("completed\nhold friday recorded, charge 4 forked, 0.4, true\n");
    expect(did).toEqual(["charge 4 forked", "rate"]);
    expect(told).toMatch(/^forked at step:charge: 4 entries are replayed.*\n→ charge\n→ rate\n/);
  });

  test("asks again what it is forked at, and sleeps pass at once", async () => {
    const { said, told, did } = await forked(await waiting(), "ask:size", { size: { size: 2 }, sure: { value: true } });

    expect(said).toContain("hold friday recorded, charge 2 forked, 0.2");
    expect(did).toEqual(["charge 2 forked", "rate"]);
    expect(told).toMatch(/sleeps until .*, passed at once/);
  });

  test("at a question that is still open does nothing again", async () => {
    const { said, did } = await forked(await waiting(), "sure", { sure: { value: true } }, { json: true });

    expect([JSON.parse(said), did]).toMatchObject([{ at: "ask:sure", status: "completed" }, []]);
  });

  test("at the first effect does all of it", async () => {
    const { did } = await forked(await waiting(), "step:hold", { size: { size: 1 }, sure: { value: true } });

    expect(did).toEqual(["hold friday forked", "charge 1 forked", "rate"]);
  });

  test("of a task that has begun anew continues in its round", async () => {
    const task = await waiting();
    const anew = Object.fromEntries(Object.entries(task.journal).map(([key, entry]) => [`${key}@1`, entry]));
    const { did } = await forked({ ...task, generation: 1, journal: anew, asks: [] }, "step:hold@1", {
      "size@1": { size: 1 },
      "sure@1": { value: true },
    });

    expect(did).toEqual(["hold friday forked", "charge 1 forked", "rate"]);
  });

  test("is refused at what is not an effect in the journal, with those that are", async () => {
    await expect(forked(await waiting(), "step:hodl", {})).rejects.toThrow(
      "--fork-at step:hodl is not an effect in the journal; these are: step:hold, ask:size, sleep:pause, step:charge, ask:call:tax, ask:sure",
    );
  });

  test("is refused where a name is that of two effects", async () => {
    const task = await waiting();
    const twice = { ...task, journal: { ...task.journal, "ask:hold": { ...task.journal["ask:size"], place: 9 } } };
    await expect(forked(twice, "hold", {})).rejects.toThrow("--fork-at hold may be step:hold or ask:hold: say which");
  });

  test("says what to do about an answer that does not fit, or is missing, without a terminal", async () => {
    const task = await waiting();
    await expect(forked(task, "size", { size: { size: 9 } })).rejects.toThrow(
      /the task asks size: \/size must be <= 8, and there is no terminal.*--answers/,
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
    ["not in the file", {}, { task: "0-other" }, /holds no task 0-other/],
  ])("of a task that is %s is refused", async (_what, change, options, message) => {
    await expect(forked({ ...(await waiting()), ...change }, "size", {}, options)).rejects.toThrow(message);
  });

  test("of several tasks wants to know which", async () => {
    const task = await waiting();
    await writeFile(join(dir, "two.jsonl"), `${JSON.stringify(task)}\n${JSON.stringify({ ...task, taskId: "0-second" })}\n`);
    await expect(forkTask(join(dir, "two.jsonl"), { tools: TOOLS, timeout: "10s", forkAt: "size" })).rejects.toThrow(
      "holds several tasks: say which one to fork, by --task",
    );
  });

  test("of a sealed deployment takes the questions to be those that the code asks", async () => {
    const task = await waiting();
    const journal = Object.fromEntries(
      Object.entries(task.journal).map(([key, entry]) => [key, key.startsWith("ask:size") ? { ...entry, digest: "" } : entry]),
    );
    const { did } = await forked({ ...task, journal, isSealed: true }, "charge", { sure: { value: true } });

    expect(did).toEqual(["charge 4 forked", "rate"]);
  });
});

test("a journal is cut where the effect settled: what settled later, and what was read behind it, is left out", async () => {
  const { entries } = cutAt(await waiting(), "sleep:pause");
  expect(entries.map(({ key }) => key).toSorted()).toEqual(["ask:size", "now:now", "step:hold"]);
});
