/** Tasks that a worker cannot run: it has no key to their content, lacks their tool, or has another version of it. */
import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Settings } from "../settings.ts";
import { answerTask } from "./answer-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { getSettledTask, getTask } from "./get-task.ts";
import { deployment, type Given, size, text } from "./run-task.fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("a task whose content cannot be read", () => {
  const parked = async (given: Given) => {
    const subject = deployment(async ({ ask }) => text((await ask("size", size, { timeoutMs: 3 * HOUR })).action), given);
    const taskId = await subject.create();
    await subject.work();
    return { subject, taskId };
  };

  test("for lack of its key is left as it is, is retried after a while, and continues when the key is back", async () => {
    let isMissing = false;
    const { subject, taskId } = await parked({
      store: (memory) => ({
        begin: async (request) => (isMissing ? { type: "refused", reason: "key_missing" } : await memory.begin(request)),
      }),
    });
    await subject.answer(taskId, "size");
    const before = await subject.task(taskId);
    isMissing = true;
    // The run that the answer added was lost: it becomes due.
    expect(await subject.work()).toEqual(["refused"]);
    subject.skip(2_000);
    expect(await subject.sweep()).toBe(1);
    expect(await subject.work()).toEqual(["refused"]);
    subject.skip(10_000);
    expect(await subject.sweep()).toBe(0);
    expect(await subject.task(taskId)).toEqual(before);
    expect(subject.saying("no key for the task's content, run delayed")).toStrictEqual(
      [1, 2].map(() => ({ level: "warn", message: "no key for the task's content, run delayed", fields: { taskId, run: 2 } })),
    );

    isMissing = false;
    subject.skip(10_000);
    expect(await subject.sweep()).toBe(1);
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed" });
  });

  test.each([
    [0, 11_250],
    [0.25, 13_125],
    [0.250001, 13_126],
    [0.5, 15_000],
  ])("for lack of its key is delayed with jitter: if %d is drawn, by %d ms", async (random, ms) => {
    const postponed: unknown[] = [];
    const subject = deployment(async () => text("never"), {
      random,
      store: () => ({
        begin: async () => ({ type: "refused", reason: "key_missing" }),
        postpone: async (request) => void postponed.push(request),
      }),
    });
    subject.stopClock();
    const taskId = await subject.create();
    const nowMs = subject.services.clock.now();
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "refused", reason: "key_missing" });
    expect(postponed).toStrictEqual([{ taskId, nowMs, dueAtMs: nowMs + ms }]);
    expect(subject.saying("run refused")).toStrictEqual([]);
  });

  test.each([
    ["settled", { type: "given-up" }],
    ["refused", { type: "fenced" }],
  ] as const)(
    "has no compensation that could be done: what it is owed is given up, or left to who has it (%s)",
    async (settled, report) => {
      const subject = deployment(async ({ ask }) => text((await ask("size", size)).action), {
        store: (memory) => ({
          async begin(request) {
            const begun = await memory.begin(request);
            return begun.type === "begun" && request.run === 2 ? { type: "unreadable", task: begun.task, reason: "erased" } : begun;
          },
          settle: async (request) => (settled === "settled" ? await memory.settle(request) : "refused"),
        }),
      });
      const taskId = await subject.create({}, undefined, { ...subject.tool, compensate: async () => undefined });
      await subject.work();
      await cancelTask(subject.services, { taskId, caller: callerNamed("alice") });
      expect(await subject.run(taskId, 2)).toStrictEqual(report);
      const line = {
        level: "error",
        message: "compensation given up",
        fields: { taskId, run: 2, tool: "subject", problem: "the content of the task cannot be read" },
      };
      expect(subject.saying("compensation given up")).toStrictEqual(settled === "settled" ? [line] : []);
      // No run was attempted, and the task's end is untouched.
      expect(await subject.task(taskId)).toMatchObject({ status: "cancelled" });
    },
  );

  test.each([
    ["erased", "CONTENT_ERASED"],
    ["damaged", "CONTENT_DAMAGED"],
  ] as const)("since it is %s ends with its own error, at once and once", async (reason, code) => {
    const { subject, taskId } = await parked({
      store: (memory) => ({
        async begin(request) {
          const begun = await memory.begin(request);
          return begun.type === "begun" && request.run === 2 ? { type: "unreadable", task: begun.task, reason } : begun;
        },
      }),
    });
    await subject.answer(taskId, "size");
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "failed", outcome: { error: { data: { code } } } });
    subject.skip(HOUR);
    expect(await subject.sweep()).toBe(0);
  });

  test.each([
    ["key_missing", "CONTENT_KEY_MISSING"],
    ["erased", "CONTENT_ERASED"],
    ["damaged", "CONTENT_DAMAGED"],
  ] as const)("(%s) says so to its owner alone, who can still cancel it", async (unreadable, code) => {
    const { subject, taskId } = await parked({
      store: (memory) => ({
        async load(id) {
          const task = await memory.load(id);
          return task && { ...task, asks: [], unreadable };
        },
      }),
    });
    const { services } = subject;
    const seenBy = (principal: string) => [
      getTask(services, { taskId, caller: callerNamed(principal) }),
      getSettledTask(services, { taskId, caller: callerNamed(principal) }),
      answerTask(services, { taskId, caller: callerNamed(principal), replies: { size: { action: "decline" } } }),
    ];
    const everybodyIsTold = async () => {
      for (const seen of seenBy("alice")) await expect(seen).rejects.toMatchObject({ code });
      for (const seen of [...seenBy("mallory"), cancelTask(services, { taskId, caller: callerNamed("mallory") })]) {
        await expect(seen).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
      }
    };
    await everybodyIsTold();
    // A task that this process already watches is read in a different way.
    const stop = await services.wakeUps.watch(taskId, () => undefined);
    await everybodyIsTold();
    stop();
    expect(await cancelTask(services, { taskId, caller: callerNamed("alice") })).toBe("cancelled");
  });
});

describe("a task whose tool no worker has", () => {
  test("waits longer each time, says so, keeps its deadlines and its attempts, and continues when the tool is back", async () => {
    const subject = deployment(async ({ ask }) => text((await ask("size", size, { timeoutMs: 3 * HOUR })).action));
    const taskId = await subject.create();
    await subject.work();
    await subject.answer(taskId, "nothing");
    const { store } = subject.services;
    subject.tools.clear();
    subject.skip(3 * HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["unserved"]);
    // The question is closed at its deadline although no worker can run the tool.
    expect(await subject.task(taskId)).toMatchObject({ asks: [], message: "Waiting for a worker that serves the tool subject." });
    const waits: number[] = [];
    for (let tries = 0; tries < 70; tries += 1) {
      let waitedMs = 0;
      while ((await store.overdue({ partition: 0, nowMs: subject.services.clock.now(), limit: 1 })).length === 0) {
        subject.skip(30_000);
        waitedMs += 30_000;
      }
      waits.push(waitedMs);
      await subject.sweep();
      expect(await subject.work()).toEqual(["unserved"]);
    }
    expect(waits[0]).toBeLessThanOrEqual(MINUTE);
    expect(Math.max(...waits)).toBeGreaterThan(50 * MINUTE);
    expect(Math.max(...waits)).toBeLessThanOrEqual(HOUR + MINUTE);
    subject.tools.set("subject", subject.tool);
    subject.skip(HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed", outcome: { result: { content: [{ text: "timeout" }] } } });
  });

  test("is retried after an eighth of its wait so far, to the millisecond: half a minute at least, an hour at most", async () => {
    const subject = deployment(async () => text("never"));
    subject.stopClock();
    subject.tools.clear();
    const taskId = await subject.create();
    const waits: [passedMs: number, dueInMs: number][] = [];
    for (const [run, passedMs] of [0, 4 * MINUTE, 1, 8 * HOUR - 4 * MINUTE - 9, 8, 1].entries()) {
      subject.skip(passedMs);
      expect(await subject.run(taskId, run + 1)).toStrictEqual({ type: "unserved" });
      waits.push([passedMs, subject.dueInMs()]);
    }
    expect(waits).toStrictEqual([
      [0, 30_000],
      [4 * MINUTE, 30_000],
      [1, 30_001],
      [8 * HOUR - 4 * MINUTE - 9, HOUR - 1],
      [8, HOUR],
      [1, HOUR],
    ]);
    // It says so once, and its wait counts from there.
    expect(subject.parked.map(({ message }) => message)).toStrictEqual([
      "Waiting for a worker that serves the tool subject.",
      ...Array.from({ length: 5 }, () => undefined),
    ]);
    expect(subject.saying("no such tool on this worker, task put back")[0]).toStrictEqual({
      level: "warn",
      message: "no such tool on this worker, task put back",
      fields: { taskId, tool: "subject" },
    });
  });

  test("runs at the deadline of its question if that is earlier, and keeps its attempt", async () => {
    const subject = deployment(
      async ({ ask, sleep }) => {
        const asked = ask("size", size, { timeoutMs: 10 * MINUTE });
        await sleep("pause", MINUTE);
        await asked;
        throw new Error("network");
      },
      { tool: { attempts: 3, backoffMs: 1 } },
    );
    subject.stopClock();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    subject.tools.clear();
    subject.skip(MINUTE);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "unserved" });
    expect(subject.dueInMs()).toBe(30_000);
    subject.skip(9 * MINUTE - 20_000);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "unserved" });
    expect(subject.dueInMs()).toBe(20_000);
    subject.tools.set("subject", subject.tool);
    subject.skip(20_000);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "retrying" });
    subject.tools.clear();
    expect(await subject.run(taskId, 5)).toStrictEqual({ type: "unserved" });
    expect(subject.parked.map(({ attempt, asks }) => [attempt, asks.length])).toStrictEqual([
      [0, 1],
      [0, 0],
      [0, 0],
      [1, 0],
      [1, 0],
    ]);
  });

  test.each([
    ["tool", "subject", "TOOL_NOT_FOUND"],
    ["prompt", "greeting", "PROMPT_NOT_FOUND"],
  ] as const)("fails when it has waited as long as it may, and not a millisecond before (%s)", async (kind, name, code) => {
    const subject = deployment(async () => text("never"), { settings: { missingToolTimeoutMs: DAY } });
    subject.stopClock();
    const taskId = await subject.create({}, undefined, subject[kind]);
    subject.tools.clear();
    subject.prompts.clear();
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "unserved" });
    subject.skip(DAY);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "unserved" });
    expect(await subject.task(taskId)).toMatchObject({ message: `Waiting for a worker that serves the ${kind} ${name}.` });
    subject.skip(1);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "finished", status: "failed", code });
    expect(await subject.task(taskId)).toMatchObject({
      status: "failed",
      outcome: { error: { message: `no worker has served the ${kind} ${name} for ${DAY + 1} ms`, data: { code } } },
    });
  });

  test("reports that it runs again; one that did not wait for a worker keeps its message", async () => {
    const subject = deployment(async ({ ask, status }) => {
      status("At the door.");
      await ask("size", size);
      await ask("sure", size);
      return text("done");
    });
    const said = async (taskId: string) => (await subject.task(taskId)).message;
    const reported: unknown[] = [];
    const { report } = subject.services.store;
    Object.assign(subject.services.store, {
      report: (request: Parameters<typeof report>[0]) => (reported.push([request.message, request.items]), report(request)),
    });
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    await subject.answer(taskId, "size");
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "parked" });
    expect(await said(taskId)).toBe("At the door.");
    await subject.answer(taskId, "sure");
    subject.tools.clear();
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "unserved" });
    expect(await said(taskId)).toBe("Waiting for a worker that serves the tool subject.");
    subject.tools.set("subject", subject.tool);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "finished", status: "completed" });
    // What it said ends with it.
    expect(await said(taskId)).toBeUndefined();
    expect(reported).toStrictEqual([
      ["At the door.", []],
      ["Running again.", []],
    ]);
  });
});

describe("a task whose version this worker lacks", () => {
  async function asking(given: Given & { readonly elsewhere?: boolean; readonly newest?: string; readonly timeoutMs?: number } = {}) {
    const { elsewhere, newest = "2", timeoutMs = 30 * DAY } = given;
    const told: unknown[] = [];
    const subject = deployment(async ({ ask }) => text((await ask("size", size, { timeoutMs })).action), {
      ...given,
      services: { ...(elsewhere !== undefined && { serving: { isServed: async () => elsewhere } }) },
      store: (memory) => ({
        report: (request) => {
          told.push({ items: request.items, version: request.version, message: request.message });
          return memory.report(request);
        },
        ...given.store?.(memory),
      }),
    });
    subject.stopClock();
    const { version: _, ...unversioned } = subject.tool;
    subject.tools.set("subject", { ...unversioned, version: "1" });
    const taskId = await subject.create({}, undefined, { ...subject.tool, version: "1" });
    await subject.run(taskId, 1);
    subject.tools.set("subject", newest === "" ? unversioned : { ...unversioned, version: newest });
    subject.logged.length = 0;
    return { subject, taskId, told };
  }

  test.each([
    [0, 500],
    [0.25, 750],
    [0.2501, 751],
    [0.5, 1_000],
  ])("is passed on to a worker that has it with jitter: if %d is drawn, after %d ms", async (random, ms) => {
    const { subject, taskId } = await asking({ random, elsewhere: true });
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "passed_on" });
    expect(subject.dueInMs()).toBe(ms);
    expect(subject.parked.at(-1)).toMatchObject({ entries: [], asks: [], attempt: 0 });
    expect(subject.parked.at(-1)?.message).toBeUndefined();
    expect(subject.logged).toStrictEqual([
      {
        level: "debug",
        message: "another worker serves the task's version, run passed on",
        fields: { taskId, tool: "subject", version: "1" },
      },
    ]);
  });

  test("is passed on by the deadline of its question, and not by a worker that has lost it", async () => {
    const { subject, taskId } = await asking({ elsewhere: true, timeoutMs: 600 });
    await subject.run(taskId, 2);
    expect(subject.dueInMs()).toBe(600);
    Object.assign(subject.services.store, { park: async () => ({ type: "refused" }) });
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "fenced" });
  });

  test.each([
    ["2", false],
    ["", undefined],
  ])("waits as long as it may, and moves to the newest (%j) a millisecond later", async (newest, elsewhere) => {
    const { subject, taskId, told } = await asking({
      newest,
      ...(elsewhere !== undefined && { elsewhere }),
      settings: { missingVersionTimeoutMs: DAY },
    });
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "version_unserved" });
    subject.skip(DAY);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "version_unserved" });
    subject.skip(1);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "parked" });
    const of = { taskId, tool: "subject", version: "1" };
    const putBack = { level: "warn", message: "no worker serves the task's version, task put back", fields: of };
    expect(subject.logged.slice(0, 3).map(({ level, message, fields }) => ({ level, message, fields }))).toStrictEqual([
      { ...putBack, fields: { taskId, tool: "subject", version: "1" } },
      { ...putBack, fields: { taskId, tool: "subject", version: "1" } },
      {
        level: "warn",
        message: "no worker serves the task's version, task moves to the newest",
        fields: { ...of, to: newest, waitedMs: DAY + 1 },
      },
    ]);
    expect(told[0]).toStrictEqual({ items: [], version: newest, message: undefined });
  });

  test("fails with how long it was not served, if the deployment wants that", async () => {
    const { subject, taskId } = await asking({ settings: { missingVersionTimeoutMs: DAY, missingVersion: "fail" } });
    await subject.run(taskId, 2);
    subject.skip(DAY);
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "version_unserved" });
    subject.skip(1);
    expect(await subject.run(taskId, 4)).toStrictEqual({ type: "finished", status: "failed", code: "VERSION_NOT_FOUND" });
    expect(await subject.task(taskId)).toMatchObject({
      outcome: { error: { message: `no worker has served version 1 of the tool subject for ${DAY + 1} ms` } },
    });
  });
});

describe("a task of newer code than its worker's", () => {
  test("names all patches that are unknown here", async () => {
    let isNew = true;
    const subject = deployment(
      async ({ ask, patched }) => {
        if (isNew) patched("one");
        if (isNew) patched("two");
        return text((await ask("go", size)).action);
      },
      { settings: { divergenceWaitMs: 1 } },
    );
    const taskId = await subject.create();
    await subject.work();
    isNew = false;
    await subject.answer(taskId, "go");
    expect(await subject.work()).toEqual(["unserved"]);
    expect((await subject.task(taskId)).message).toBe("Waiting for a worker whose tool subject knows the patch one, two.");
  });

  /** Half of a deployment knows the change, and its name. */
  function halfDeployed(settings: Partial<Settings> = {}) {
    let isNew = true;
    const subject = deployment(
      async ({ ask, patched, step }) => {
        const way = isNew && patched("other-way") ? "new" : "old";
        await ask("go", size, { timeoutMs: 30 * DAY });
        return text(JSON.stringify(await step("work", () => way)));
      },
      { settings: { divergenceWaitMs: 1, ...settings } },
    );
    return { subject, deploy: (next: boolean) => (isNew = next) };
  }

  test("is put back, unharmed, for a worker that knows the patch", async () => {
    const { subject, deploy } = halfDeployed();
    const taskId = await subject.create();
    await subject.work();
    deploy(false);
    await subject.answer(taskId, "go");
    expect(await subject.work()).toEqual(["unserved"]);
    expect(await subject.task(taskId)).toMatchObject({
      status: "working",
      message: "Waiting for a worker whose tool subject knows the patch other-way.",
    });
    expect(subject.logged).toContainEqual({
      level: "warn",
      message: "the task is of newer code than this worker's, task put back",
      fields: { taskId, tool: "subject", patches: ["other-way"] },
    });
    deploy(true);
    subject.skip(HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "completed", outcome: { result: { content: [{ text: `"new"` }] } } });
  });

  test("fails as diverged when none has come for as long as a task waits for its tool", async () => {
    const { subject, deploy } = halfDeployed({ missingToolTimeoutMs: DAY });
    const taskId = await subject.create();
    await subject.work();
    deploy(false);
    await subject.answer(taskId, "go");
    expect(await subject.work()).toEqual(["unserved"]);
    subject.skip(DAY + HOUR);
    await subject.sweep();
    expect(await subject.work()).toEqual(["finished"]);
    expect(await subject.task(taskId)).toMatchObject({ status: "failed", outcome: { error: { data: { code: "REPLAY_DIVERGED" } } } });
  });
});
