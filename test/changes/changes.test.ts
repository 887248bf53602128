/**
 * Edits of the gallery's handlers under waiting tasks, at each point where they wait. An edit that would do something new before recorded
 * work is caught before it does, and no other edit is refused.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entryKey, type Entry, type Tool } from "@parley/core";
import { type RecordedTask, replayRecorded } from "@parley/sdk/replay";
import { startTool, type TestTask } from "@parley/sdk/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { compile, edited } from "./compile.ts";
import { type Edit, EDITS } from "./edits.ts";
import { type Action, FILES, type Scenario, SCENARIOS } from "./scenarios.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-changes-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", dir);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true });
});

/** Each task with a directory of its own: the tools keep what they did. */
let tasks = 0;
function newDirectory(): void {
  tasks += 1;
  vi.stubEnv("PARLEY_GALLERY_DIR", join(dir, String(tasks)));
}

async function act(running: TestTask, action: Action): Promise<void> {
  await ("answer" in action ? running.answer(action.answer) : running.advance(action.advance));
}

interface Point {
  /** As it waits, and as it is when what it waits for has just come, which no run has seen. */
  readonly states: readonly RecordedTask[];
  readonly before: readonly Action[];
  readonly next: readonly Action[];
}

async function pointsOf({ args, actions }: Scenario, tool: Tool): Promise<readonly Point[]> {
  newDirectory();
  const running = await startTool(tool, args);
  const points: Point[] = [];
  for (const [index, action] of actions.entries()) {
    const waiting = await running.exported();
    await act(running, action);
    const arrived = comeAbout(waiting, action, await running.exported());
    points.push({ states: [waiting, arrived], before: actions.slice(0, index), next: actions.slice(index) });
  }
  return points;
}

/** The answers, or the time, of the action, and nothing that came of them. */
function comeAbout(waiting: RecordedTask, action: Action, after: RecordedTask): RecordedTask {
  if ("advance" in action) return { ...waiting, atMs: after.atMs };
  const answered = Object.keys(action.answer);
  const entries = answered.flatMap((key): [string, Entry][] => {
    const { place: _, ...entry } = after.journal[entryKey("ask", key)] ?? {};
    return "outcome" in entry ? [[entryKey("ask", key), { ...(entry as Entry), arrived: { atMs: waiting.atMs, revision: 99 } }]] : [];
  });
  return {
    ...waiting,
    asks: waiting.asks.filter(({ key }) => !answered.includes(key)),
    journal: { ...waiting.journal, ...Object.fromEntries(entries) },
  };
}

/** What the kit makes of it when the edited tool is deployed at that point and everything continues. */
async function end({ args }: Scenario, { before, next }: Point, original: Tool, changed: Tool): Promise<TestTask> {
  newDirectory();
  const running = await startTool(original, args);
  for (const action of before) await act(running, action);
  running.redeploy(changed);
  for (const action of next) {
    // Behind the change it may ask something else.
    const asked = running.task.asks.map(({ key }) => key);
    if ("answer" in action && !Object.keys(action.answer).every((key) => asked.includes(key))) break;
    await act(running, action);
  }
  return running;
}

describe.each(SCENARIOS)("tasks of $tool that wait", (scenario) => {
  let original: Tool;
  let points: readonly Point[];
  beforeAll(async () => {
    original = await compile(edited(FILES[scenario.tool], []));
    points = await pointsOf(scenario, original);
  });

  test("continue when nothing is changed", async () => {
    for (const { states } of points) {
      for (const state of states) expect(await replayRecorded(original, state)).toMatchObject({ verdict: "continues" });
    }
  });

  test.each(EDITS[scenario.tool])("$kind: $what: $expected", async ({ changes, expected }: Edit) => {
    expect(expected).toHaveLength(points.length);
    const changed = await compile(edited(FILES[scenario.tool], changes));
    for (const [index, point] of points.entries()) {
      const wanted = expected[index] === "c" ? "continues" : "diverges";
      for (const [which, state] of point.states.entries()) {
        const { verdict, reason, found } = await replayRecorded(changed, state);
        expect([verdict, wanted === "continues" ? reason : undefined], `point ${index}, state ${which}, found ${found.join(", ")}`).toEqual(
          [wanted, undefined],
        );
      }
      if (wanted === "continues") {
        const { error } = await end(scenario, point, original, changed);
        expect(error).toBeUndefined();
      }
    }
  });
});

test("there are enough of them, of every kind", () => {
  const all = Object.values(EDITS).flat();
  expect(all.length).toBeGreaterThanOrEqual(150);
  expect(all.filter(({ expected }) => expected.includes("d")).length).toBeGreaterThanOrEqual(80);
  expect(all.filter(({ expected }) => !expected.includes("d")).length).toBeGreaterThanOrEqual(60);
  expect(new Set(all.map(({ kind }) => kind)).size).toBe(16);
});
