/** A task keeps the version of its tool, and waits for it within bounds. */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Catalogue, Tool } from "../catalogue.ts";
import type { Effects } from "../effects.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { RunRef } from "../ports.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import type { JsonObject } from "../task.ts";
import { compareVersions } from "./versions.ts";
import { toolNamed } from "../tool.fixture.ts";
import { answerTask } from "./answer-task.ts";
import { createTask } from "./create-task.ts";
import { getTask } from "./get-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";
import { sweep } from "./sweep.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const form = { type: "form", message: "Go?", schema: { type: "object", properties: {} } } as const;

type Run = (effects: Effects, args: JsonObject) => Promise<JsonObject>;

function version(number: string | undefined, run?: Run): Tool {
  const asking: Run = async ({ ask }) => {
    await ask("go", form, { timeoutMs: 30 * DAY });
    return { by: number ?? "none" };
  };
  return toolNamed("subject", run ?? asking, {
    ...(number !== undefined && { version: number }),
    readArguments: (args) => ("refused" in args ? { ok: false, violations: [] } : { ok: true, args }),
  });
}

/** Newest first. */
function served(...versions: readonly Tool[]): Catalogue {
  const [newest, ...older] = versions;
  const tools = new Map(newest ? [[newest.name, { ...newest, ...(older.length > 0 && { older }) }]] : []);
  return { tools, prompts: new Map(), resources: new Map(), templates: [] };
}

function deployment(settings: Partial<Settings> = {}) {
  let skippedMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + skippedMs };
  const runs: RunRef[] = [];
  const logged: string[] = [];
  const log = (_fields: object, message: string) => void logged.push(message);
  let drawn = 0;
  const elsewhere = new Set<string>();
  const services: Services = {
    store: createMemoryStore({ clock, wakeUps: createMemoryWakeUps() }),
    queue: { add: async (run) => void runs.push(run) },
    wakeUps: createMemoryWakeUps(),
    clock,
    scope: createScope(),
    ids: {
      taskId: () => `0-task-${(drawn += 1)}`,
      token: () => `token-${(drawn += 1)}`,
      uuid: () => `uuid-${(drawn += 1)}`,
      random: () => 0.5,
    },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: log, info: log, warn: log, error: log },
    settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 1, ...settings },
    serving: { isServed: async (tool, which) => elsewhere.has(`${tool} ${which}`) },
  };
  async function work(catalogue: Catalogue): Promise<string[]> {
    const reports: string[] = [];
    for (let run = runs.shift(); run; run = runs.shift()) reports.push((await runTask(services, catalogue, run)).type);
    return reports;
  }
  return {
    elsewhere,
    logged,
    skip: (ms: number) => (skippedMs += ms),
    async call(tool: Tool) {
      return (await createTask(services, tool, { caller: callerNamed("alice"), arguments: {}, capabilities: {}, hidden: false })).id;
    },
    work,
    async later(ms: number, catalogue: Catalogue) {
      skippedMs += ms;
      await sweep(services, { partition: 0 });
      return await work(catalogue);
    },
    async answer(taskId: string) {
      await answerTask(services, { taskId, caller: callerNamed("alice"), replies: { go: { action: "decline" } } });
    },
    get: (taskId: string) => getTask(services, { taskId, caller: callerNamed("alice") }),
    dueWithin: async (ms: number) =>
      (await services.store.overdue({ partition: 0, nowMs: clock.now() + ms, limit: 10 })).map(({ taskId }) => taskId),
  };
}

describe("a task", () => {
  test("keeps the version that it was created with, while calls go to the newest", async () => {
    const { call, work, answer, get } = deployment();
    const old = await call(version("1"));
    const both = served(version("2"), version("1"));
    await work(served(version("1")));
    const young = await call([...both.tools.values()][0] as Tool);
    await work(both);
    await answer(old);
    await answer(young);
    await work(both);
    expect(await get(old)).toMatchObject({ call: { version: "1" }, outcome: { result: { by: "1" } } });
    expect(await get(young)).toMatchObject({ call: { version: "2" }, outcome: { result: { by: "2" } } });
  });

  test("of a tool that had no versions runs on the tool without one, or else on the oldest", async () => {
    const { call, work, answer, get } = deployment();
    const [first, second] = [await call(version(undefined)), await call(version(undefined))];
    await work(served(version(undefined)));
    await answer(first);
    await work(served(version("2"), version("1")));
    await answer(second);
    await work(served(version("2"), version("1"), version(undefined)));
    expect(await get(first)).toMatchObject({ outcome: { result: { by: "1" } } });
    expect(await get(second)).toMatchObject({ outcome: { result: { by: "none" } } });
  });

  test("whose version another worker serves is passed on within a second or two, silently", async () => {
    const { call, work, answer, get, later, elsewhere, dueWithin } = deployment();
    elsewhere.add("subject 1");
    const taskId = await call(version("1"));
    await work(served(version("1")));
    await answer(taskId);
    expect(await work(served(version("2")))).toEqual(["passed_on"]);
    expect((await get(taskId)).message).toBeUndefined();
    expect(await dueWithin(400)).toEqual([]);
    expect(await dueWithin(1_600)).toEqual([taskId]);
    expect(await later(2_000, served(version("1")))).toEqual(["finished"]);
  });
});

describe("a task whose version no worker serves", () => {
  async function waiting(settings: Partial<Settings> = {}) {
    const all = deployment({ missingVersionTimeoutMs: DAY, ...settings });
    const taskId = await all.call(version("1"));
    await all.work(served(version("1")));
    await all.answer(taskId);
    expect(await all.work(served(version("2")))).toEqual(["version_unserved"]);
    return { ...all, taskId };
  }

  test("waits and says so, without a hot loop, and runs when its version is back", async () => {
    const { taskId, get, later, dueWithin } = await waiting();
    expect(await get(taskId)).toMatchObject({
      status: "working",
      message: "Waiting for a worker that serves version 1 of the tool subject.",
    });
    expect(await dueWithin(29_000)).toEqual([]);
    expect(await later(31_000, served(version("2")))).toEqual(["version_unserved"]);
    expect(await later(HOUR, served(version("2"), version("1")))).toEqual(["finished"]);
    expect(await get(taskId)).toMatchObject({ outcome: { result: { by: "1" } } });
  });

  test("waits up to the limit, and beyond it moves to the newest version, for good", async () => {
    const { taskId, get, later, logged } = await waiting();
    const asksAgain = version("2", async ({ ask }) => {
      await ask("go", form);
      await ask("sure", form);
      return { by: "2" };
    });
    expect(await later(DAY - 60_000, served(asksAgain))).toEqual(["version_unserved"]);
    expect(await later(HOUR, served(asksAgain))).toEqual(["parked"]);
    expect(logged).toContain("no worker serves the task's version, task moves to the newest");
    expect(await get(taskId)).toMatchObject({ call: { version: "2" }, asks: [{ key: "sure" }] });
  });

  test("fails with its own error if the deployment wants that", async () => {
    const { taskId, get, later } = await waiting({ missingVersion: "fail" });
    expect(await later(DAY - 60_000, served(version("2")))).toEqual(["version_unserved"]);
    expect(await later(HOUR, served(version("2")))).toEqual(["finished"]);
    expect(await get(taskId)).toMatchObject({ status: "failed", outcome: { error: { data: { code: "VERSION_NOT_FOUND" } } } });
  });

  test("can be created by a newer front end, and waits for a newer worker", async () => {
    const { call, work, later, answer } = deployment();
    const taskId = await call(version("2"));
    expect(await work(served(version("1")))).toEqual(["version_unserved"]);
    expect(await later(HOUR, served(version("2")))).toEqual(["parked"]);
    await answer(taskId);
    expect(await work(served(version("2")))).toEqual(["finished"]);
  });
});

describe("a restarted task", () => {
  const looping = (number: string) =>
    version(number, async ({ ask, restart }, { round = 0 }) => {
      await ask("go", form);
      if (round === 1) return { by: number };
      return restart({ round: 1 });
    });

  test("moves to the newest version, and keeps its own if that refuses its arguments", async () => {
    for (const takes of [true, false]) {
      const { call, work, answer, get } = deployment();
      const taskId = await call(looping("1"));
      await work(served(looping("1")));
      const newest = { ...looping("2"), ...(!takes && { readArguments: () => ({ ok: false, violations: [] }) as const }) };
      await answer(taskId);
      await work(served(newest, looping("1")));
      expect((await get(taskId)).call.version).toBe(takes ? "2" : "1");
    }
  });
});

test.each<[string | undefined, string | undefined, number]>([
  ["2", "1", 1],
  ["10", "9", 1],
  ["1.10", "1.9", 1],
  ["2026-11-22", "2026-02-01", 1],
  ["1", undefined, 1],
  [undefined, "1", -1],
  [undefined, undefined, 0],
  ["a", "a", 0],
  ["B", "b", 1],
])("of the versions %j and %j the order is %d", (a, b, order) => {
  expect(Math.sign(compareVersions(a, b))).toBe(order);
  expect(Math.sign(compareVersions(b, a))).toBe(order === 0 ? 0 : -order);
});
