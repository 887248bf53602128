/** What the log shows of a run: its tool's messages, and how it ended. */
import { describe, expect, test } from "vitest";
import type { Effects } from "../effects.ts";
import { ToolError } from "../errors.ts";
import { deployment, size, text } from "./run-task.fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("what a tool logs", () => {
  const logging = async ({ report, status }: Effects) => {
    status("busy");
    report({ type: "log", level: "notice", data: { seat: "12A" }, logger: "seats" });
    report({ type: "log", level: "alert", data: "on fire" });
    report({ type: "progress", progress: 1 });
    return text("done");
  };

  test("is in the operator's log if the deployment wants it, at its level, and otherwise not", async () => {
    for (const logTools of [true, false]) {
      const { create, run, logged } = deployment(logging, { settings: { logTools } });
      const taskId = await create();
      await run(taskId, 1);
      const about = { taskId, run: 1, tool: "subject" };
      expect(logged.filter(({ message }) => message === "tool log").map(({ fields }) => fields)).toEqual(
        logTools
          ? [
              { ...about, level: "notice", logger: "seats", data: { seat: "12A" } },
              { ...about, level: "alert", data: "on fire" },
            ]
          : [],
      );
      expect(JSON.stringify(logged).includes("12A")).toBe(logTools);
    }
  });

  test.each([
    ["debug", "debug"],
    ["info", "info"],
    ["notice", "info"],
    ["warning", "warn"],
    ["error", "error"],
    ["critical", "error"],
    ["alert", "error"],
    ["emergency", "error"],
  ] as const)("as %s is %s for the operator", async (level, logged) => {
    const subject = deployment(
      async ({ report }) => {
        report({ type: "log", level, data: 1 });
        return text("done");
      },
      { settings: { logTools: true } },
    );
    const taskId = await subject.create();
    await subject.work();
    expect(subject.saying("tool log")).toStrictEqual([
      { level: logged, message: "tool log", fields: { taskId, run: 1, tool: "subject", level, data: 1 } },
    ]);
  });
});

describe("the log of a run", () => {
  const lines = ({ logged }: ReturnType<typeof deployment>) =>
    logged.map(({ level, message, fields }) => [level, message, fields] as const);
  const stack: unknown = expect.any(Array);

  test("reports that it parked, with how many questions, that another one is refused, and how the task ended", async () => {
    const subject = deployment(async ({ ask }) => {
      await Promise.all([ask("size", size), ask("sure", size)]);
      return text("done");
    });
    const taskId = await subject.create();
    subject.logged.length = 0;
    await subject.run(taskId, 1);
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "refused", reason: "stale" });
    await subject.answer(taskId, "size");
    await subject.answer(taskId, "sure");
    subject.logged.splice(2);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    expect(lines(subject)).toStrictEqual([
      ["info", "task parked", { taskId, run: 1, asks: 2 }],
      ["debug", "run refused", { taskId, run: 1, reason: "stale" }],
      ["info", "task finished", { taskId, run: 2, status: "completed" }],
    ]);
  });

  test("reports an error of each attempt, and of the last one with the id that the caller receives", async () => {
    const subject = deployment(() => Promise.reject(new TypeError("network")), { tool: { attempts: 2, backoffMs: HOUR } });
    subject.stopClock();
    const taskId = await subject.create();
    subject.logged.length = 0;
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "retrying" });
    expect(subject.dueInMs()).toBe(HOUR);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    const of = { taskId, tool: "subject" };
    const error = { error: "TypeError", detail: "network", stack };
    expect(lines(subject)).toStrictEqual([
      ["warn", "run failed, will be retried", { ...of, run: 1, attempt: 1, ...error }],
      ["info", "task parked", { taskId, run: 1, asks: 0 }],
      ["warn", "task finished with an error", { ...of, run: 2, status: "completed", defectId: "uuid", ...error }],
    ]);
  });

  test("reports whether a failed step is retried, and warns unless the tool meant it", async () => {
    const subject = deployment(async ({ step }) => {
      await step("flaky", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("network")) : 1), { attempts: 2, backoffMs: 1 });
      await step("closed", () => Promise.reject(new ToolError("closed on Mondays"))).catch(() => undefined);
      await step("broken", () => Promise.reject(new Error("no such host"))).catch(() => undefined);
      return text("done");
    });
    const taskId = await subject.create();
    await subject.work();
    const of = { taskId, run: 1, tool: "subject", attempt: 1, defectId: expect.stringMatching(/^[0-9a-f-]{36}$/), stack };
    expect(lines(subject).filter(([, message]) => message.startsWith("step"))).toStrictEqual([
      ["info", "step failed, will be retried", { ...of, step: "flaky", error: "Error", detail: "network" }],
      ["info", "step failed", { ...of, step: "closed", error: "ToolError" }],
      ["warn", "step failed", { ...of, step: "broken", error: "Error", detail: "no such host" }],
    ]);
    // Each under an id of its own.
    expect(new Set(lines(subject).flatMap(([, , fields]) => ("defectId" in fields ? [fields.defectId] : []))).size).toBe(3);
  });

  test("reports code that has diverged", async () => {
    let isChanged = false;
    const subject = deployment(
      async ({ ask }) => {
        await ask("size", isChanged ? { ...size, message: "How few?" } : size);
        return text("done");
      },
      { settings: { divergenceWaitMs: 1 } },
    );
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    isChanged = true;
    await subject.answer(taskId, "size");
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "failed", code: "REPLAY_DIVERGED" });
    expect(subject.saying("replay diverged")).toMatchObject([
      { level: "error", fields: { taskId, run: 2, tool: "subject", code: "REPLAY_DIVERGED" } },
    ]);
  });

  test("contains no event token, and neither does what the caller receives", async () => {
    const secret = "s".repeat(43);
    const subject = deployment(
      async ({ event, step }) => {
        const { url } = event("paid", { type: "event", schema: {} });
        await step("hand-over", () => Promise.reject(new Error(`POST ${url} failed`))).catch(() => undefined);
        throw new Error(`POST ${url} failed`);
      },
      {
        tool: { attempts: 2 },
        settings: { showErrors: true },
        services: {
          eventTokens: {
            tokenOf: (taskId) => ({ token: `${taskId}.paid.${secret}`, url: `https://parley.test/${taskId}.paid.${secret}` }),
            read: () => undefined,
          },
        },
      },
    );
    const taskId = await subject.create();
    expect(await subject.run(taskId, 1)).toStrictEqual({ type: "retrying" });
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    const message = "POST https://parley.test/[event token] failed";
    for (const line of ["step failed", "run failed, will be retried", "task finished with an error"]) {
      expect(subject.saying(line)).toMatchObject([{ level: "warn", fields: { detail: message } }]);
    }
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: message }] } } });
    expect(JSON.stringify(subject.logged)).not.toContain(secret);
  });
});
