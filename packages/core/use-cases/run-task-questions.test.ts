/** Questions of a task between its runs: how long they wait, what their deadline does, which answers they take. */
import { describe, expect, test } from "vitest";
import type { AuditFact } from "../callers/audit.ts";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Effects } from "../effects.ts";
import type { JsonObject } from "../task.ts";
import { answerTask } from "./answer-task.ts";
import { createTask } from "./create-task.ts";
import { deployment, type Given, size, text } from "./run-task.fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("a waiting task does not expire (I7)", () => {
  test("after a week without a worker, 1,000 waiting and 1,000 new tasks are still there and continue, with any ttl", async () => {
    const subject = deployment(async ({ ask }) => text((await ask("size", size)).action));
    const waiting = await Promise.all(Array.from({ length: 1_000 }, () => subject.create({}, MINUTE)));
    await subject.work();
    const fresh = await Promise.all(Array.from({ length: 1_000 }, () => subject.create({}, MINUTE)));
    subject.runs.clear(); // the queue is lost as well
    subject.skip(7 * DAY - MINUTE);
    for (const taskId of waiting) expect(await subject.answer(taskId, "size")).toEqual({ type: "accepted" });
    subject.runs.clear();
    subject.skip(MINUTE);
    while ((await subject.sweep()) > 0) await subject.work();
    for (const taskId of waiting) expect(await subject.task(taskId)).toMatchObject({ status: "completed" });
    for (const taskId of fresh) expect(await subject.task(taskId)).toMatchObject({ status: "input_required" });
    subject.skip(MINUTE + 1);
    await expect(subject.task(waiting[0] ?? "")).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });
});

describe("questions whose deadline has passed", () => {
  const twice = (handler: (effects: Effects, first: string) => Promise<JsonObject>, given: Given = {}) => {
    const subject = deployment(async (effects) => {
      const { ask } = effects;
      const first = await Promise.race(
        ["z", "a"].map((name) => ask(name, size, { timeoutMs: MINUTE }).then(({ action }) => `${name} ${action}`)),
      );
      return await handler(effects, first);
    }, given);
    subject.stopClock();
    return subject;
  };

  test("time out at their deadline, and not a millisecond before", async () => {
    const subject = twice(async (_, first) => text(first));
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE - 1);
    expect(await subject.run(taskId, 2)).toEqual({ type: "parked" });
    subject.skip(1);
    expect(await subject.run(taskId, 3)).toEqual({ type: "finished", status: "completed" });
  });

  test("time out in the order in which they were asked, if they have the same deadline", async () => {
    const subject = twice(async (_, first) => text(first));
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    await subject.run(taskId, 2);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "z timeout" }] } } });
  });

  test("time out after an answer of the same millisecond, but before later ones", async () => {
    const subject = twice(async (_, first) => text(first));
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    expect(await subject.answer(taskId, "a")).toEqual({ type: "accepted" });
    await subject.run(taskId, 2);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "a decline" }] } } });
  });

  test("do not bring the next attempt forward", async () => {
    const subject = twice(() => Promise.reject(new Error("network")), { tool: { attempts: 2, backoffMs: HOUR } });
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    expect(await subject.run(taskId, 2)).toEqual({ type: "retrying" });
    const due = () => subject.services.store.overdue({ partition: 0, nowMs: subject.services.clock.now(), limit: 10 });
    subject.skip(HOUR - 1);
    expect(await due()).toEqual([]);
    subject.skip(1);
    expect(await due()).toMatchObject([{ taskId, run: 3 }]);
  });

  test("are closed by the holder of the task alone, once, however often that is sent", async () => {
    const closed: unknown[] = [];
    const subject = twice(async (_, first) => text(first), {
      store: (memory) => ({
        async answer(request) {
          closed.push({ key: request.key, token: request.token });
          await memory.answer(request);
          return await memory.answer(request); // the first reply was lost
        },
      }),
    });
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    let token = "";
    const begin = subject.services.store.begin.bind(subject.services.store);
    Object.assign(subject.services.store, {
      begin: (request: Parameters<typeof begin>[0]) => begin({ ...request, token: (token = request.token) }),
    });
    expect(await subject.run(taskId, 2)).toEqual({ type: "finished", status: "completed" });
    expect(closed).toEqual(["z", "a"].map((key) => ({ key, token })));
  });

  test("are answered by a person who answered a moment earlier", async () => {
    const subject = twice(async (_, first) => text(first), {
      store: (memory) => ({
        async answer({ token, ...request }) {
          if (token !== undefined) await memory.answer({ ...request, answer: { action: "decline" } });
          return await memory.answer({ ...request, ...(token !== undefined && { token }) });
        },
      }),
    });
    const taskId = await subject.create();
    await subject.work();
    subject.skip(MINUTE);
    await subject.run(taskId, 2);
    await subject.run(taskId, 3);
    expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: "z decline" }] } } });
  });
});

describe("a question with a quorum, at its deadline", () => {
  test("is distinguished from others with the same text that are open, and is late if its task is gone", async () => {
    for (const isGone of [false, true]) {
      let answered = 0;
      const subject: ReturnType<typeof deployment> = deployment(
        async ({ ask }) => {
          const audience = { to: "tenant", quorum: 2 } as const;
          const first = await Promise.race([
            ask("other", size, { timeoutMs: HOUR, audience }),
            ask("approve", size, { timeoutMs: MINUTE, audience }),
          ]);
          return text(JSON.stringify(first.accepted?.map(({ by }) => by)));
        },
        {
          store: (memory) => ({
            load: async (id) => (isGone && answered > 0 ? undefined : await memory.load(id)),
            async answer(request) {
              if (request.token === undefined) return await memory.answer(request);
              if ((answered += 1) > 1) return await memory.answer(request);
              if (!isGone) await accepts(subject, request.taskId, "bob");
              return { receipt: "overtaken" };
            },
          }),
        },
      );
      subject.stopClock();
      const taskId = await subject.create();
      await subject.run(taskId, 1);
      await answerTask(subject.services, {
        taskId,
        caller: callerNamed("carol"),
        replies: { other: { action: "accept", content: { n: 1 } } },
      });
      subject.skip(MINUTE);
      expect(await subject.run(taskId, 2)).toStrictEqual(isGone ? { type: "parked" } : { type: "finished", status: "completed" });
      if (!isGone) expect(await subject.task(taskId)).toMatchObject({ outcome: { result: { content: [{ text: '["bob"]' }] } } });
      expect(answered).toBe(isGone ? 1 : 2);
    }
  });

  const approve = async ({ ask }: Effects) => {
    const { action, accepted } = await ask("approve", size, { timeoutMs: MINUTE, audience: { to: "tenant", quorum: 2 } });
    return text(JSON.stringify([action, accepted?.map(({ by }) => by)]));
  };
  const accepts = (subject: ReturnType<typeof deployment>, taskId: string, name: string) =>
    answerTask(subject.services, { taskId, caller: callerNamed(name), replies: { approve: { action: "accept", content: { n: 1 } } } });

  /** These people accept at the moment in which the deadline is written. The write then returns `closes`. */
  async function atTheLastMoment(names: readonly string[], closes?: "overtaken") {
    let isLast = false;
    const subject: ReturnType<typeof deployment> = deployment(approve, {
      store: (memory) => ({
        async answer(request) {
          if (request.token === undefined || isLast) return await memory.answer(request);
          isLast = true;
          for (const name of names) await accepts(subject, request.taskId, name);
          return closes ? { receipt: closes } : await memory.answer(request);
        },
      }),
    });
    subject.stopClock();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    subject.skip(MINUTE);
    return { subject, taskId };
  }
  const came = (said: string) => ({ outcome: { result: { content: [{ text: said }] } } });

  test("ends with those who had accepted, including anyone counted at the last moment", async () => {
    const { subject, taskId } = await atTheLastMoment(["carol"]);
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "finished", status: "completed" });
    expect(await subject.task(taskId)).toMatchObject(came(`["timeout",["carol"]]`));
  });

  test("is answered by the person it still needed, if that person was a moment earlier", async () => {
    const { subject, taskId } = await atTheLastMoment(["bob", "carol"], "overtaken");
    expect(await subject.run(taskId, 2)).toStrictEqual({ type: "parked" });
    expect(await subject.run(taskId, 3)).toStrictEqual({ type: "finished", status: "completed" });
    expect(await subject.task(taskId)).toMatchObject(came(`["accept",["bob","carol"]]`));
  });
});

test("a task that asks and sleeps is due at the earlier time", async () => {
  const dues: number[] = [];
  for (const [askMs, sleepMs] of [
    [2 * HOUR, HOUR],
    [HOUR, 2 * HOUR],
  ] as const) {
    const subject = deployment(async ({ ask, sleep }) => {
      await Promise.all([ask("size", size, { timeoutMs: askMs }), sleep("pause", sleepMs)]);
      return text("done");
    });
    subject.stopClock();
    const taskId = await subject.create();
    await subject.run(taskId, 1);
    dues.push(subject.dueInMs());
  }
  expect(dues).toStrictEqual([HOUR, HOUR]);
});

test("an answer that is larger than a stored value may be is refused, and the question stays open", async () => {
  const subject = deployment(async ({ ask }) => text((await ask("size", size)).action), { settings: { storedValueMax: 200 } });
  const taskId = await subject.create();
  await subject.work();
  const reply = (length: number) => ({ size: { action: "accept", content: { note: "x".repeat(length) } } });
  const answer = async (length: number) =>
    (await answerTask(subject.services, { taskId, caller: callerNamed("alice"), replies: reply(length) })).receipts.get("size");
  const envelope = JSON.stringify({ action: "accept", content: { note: "" } }).length;
  expect(await answer(201 - envelope)).toMatchObject({
    type: "invalid",
    violations: [{ message: expect.stringContaining("200 characters") }],
  });
  expect(await answer(200 - envelope)).toEqual({ type: "accepted" });
});

test("an answer that is larger than a stored value is not examined any further", async () => {
  const subject = deployment(async ({ ask }) => text((await ask("size", size)).action), { settings: { storedValueMax: 200 } });
  const taskId = await subject.create();
  await subject.work();
  const answer = async (note: string) => {
    const replies = { size: { action: "accept", content: { n: "no number", note } } };
    return (await answerTask(subject.services, { taskId, caller: callerNamed("alice"), replies })).receipts.get("size");
  };
  const rest = JSON.stringify({ n: "no number", note: "" }).length;
  expect(await answer("x".repeat(200 - rest))).toMatchObject({ type: "invalid", violations: [{ path: "/content/n" }] });
  expect(await answer("x".repeat(201 - rest))).toEqual({
    type: "invalid",
    violations: [{ path: "/content", message: expect.stringContaining("200 characters") }],
  });
});

test("an answer that came with the call is audited when the tool asks for it, once, however often the task runs", async () => {
  const facts: AuditFact[] = [];
  const audit = { note: async (fact: AuditFact) => void facts.push(fact) };
  const subject = deployment(
    async ({ ask }) => {
      await ask("early", size);
      return text((await ask("late", size)).action);
    },
    { services: { audit } },
  );
  const { id } = await createTask(
    subject.services,
    { ...subject.tool, earlyReplies: true },
    {
      caller: callerNamed("alice", { tenant: "acme" }),
      arguments: {},
      capabilities: {},
      hidden: false,
      replies: { early: { action: "accept", content: { n: 1 } }, other: { action: "accept", content: { n: 1 } } },
    },
  );
  await subject.work();
  await answerTask(subject.services, {
    taskId: id,
    caller: callerNamed("alice", { tenant: "acme" }),
    replies: { late: { action: "decline" } },
  });
  await subject.work();
  const { call } = (await subject.services.store.load(id)) ?? {};
  expect(facts).toStrictEqual([
    {
      principal: "alice",
      tenant: "acme",
      door: "with the call",
      action: "answer",
      taskId: id,
      tool: "tool subject",
      ask: "early",
      question: expect.any(String),
      schema: expect.any(String),
      asked: expect.any(Number),
      call: call?.binding,
      did: "accept",
      verdict: "accepted",
    },
  ]);
});
