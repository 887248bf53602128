import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { AskOptions } from "../effects.ts";
import type { ThreadRequest } from "../ports.ts";
import type { AskAbout } from "../task.ts";
import { answerTask } from "./answer-task.ts";
import { commentOnAsk } from "./join-thread.ts";
import { listAsks } from "./list-asks.ts";
import { readAsk } from "./read-ask.ts";
import { deployment, type Given, size, text } from "./run-task.fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const alice = callerNamed("alice");
const frida = callerNamed("frida", { groups: ["finance"] });
const lea = callerNamed("lea", { groups: ["leads"] });
const leads = { groups: ["leads"] };
const FOR_FINANCE = { to: { groups: ["finance"] } };

/** A task that asks `size`, parked. Its clock stands still. */
async function asking(about: AskAbout, options: AskOptions = { audience: FOR_FINANCE }, given: Given = {}) {
  const written: ThreadRequest[] = [];
  const deployed = deployment(
    async (effects) => {
      const { action } = await effects.ask("size", { ...size, about }, { timeoutMs: 10 * HOUR, ...options });
      return text(action);
    },
    {
      ...given,
      store: (memory) => ({
        writeThread: (request) => (written.push(request), memory.writeThread(request)),
        ...given.store?.(memory),
      }),
    },
  );
  deployed.stopClock();
  const taskId = await deployed.create();
  await deployed.work();
  const { services, sweep, work, skip } = deployed;
  return {
    ...deployed,
    taskId,
    written,
    /** Lets time pass, and whatever is due then be done. */
    async after(ms: number) {
      skip(ms);
      await sweep();
      return await work();
    },
    read: (caller = frida) => readAsk(services, { caller, taskId, key: "size" }),
    happened: async (caller = frida) => (await readAsk(services, { caller, taskId, key: "size" })).history.map(({ what }) => what),
    isListed: async (caller = lea) => (await listAsks(services, { caller, limit: 10 })).asks.length === 1,
    answer: async (caller = lea) => {
      const { receipts } = await answerTask(services, { taskId, caller, replies: { size: { action: "decline" } } });
      return receipts.get("size")?.type;
    },
  };
}

describe("a question that nobody answers", () => {
  test("is reminded of at its times, once each, and holds nothing in between", async () => {
    const { after, dueInMs, happened, read, written, taskId } = await asking({ remindMs: [HOUR, 4 * HOUR] });
    expect(dueInMs()).toBe(HOUR);
    expect(await after(HOUR - 1)).toEqual([]);
    expect(await read()).toMatchObject({ upcoming: [{ what: "reminded" }, { what: "reminded" }] });
    expect(await after(1)).toEqual(["parked"]);
    expect(await happened()).toEqual(["asked", "reminded"]);
    expect(await read()).toMatchObject({ remindedAtMs: expect.any(Number), upcoming: [{ what: "reminded" }] });
    expect(dueInMs()).toBe(3 * HOUR);
    await after(3 * HOUR);
    expect(await happened()).toEqual(["asked", "reminded", "reminded"]);
    expect(await read()).not.toHaveProperty("upcoming");
    // Then only the deadline is left.
    expect(dueInMs()).toBe(6 * HOUR);
    expect(written.map(({ tells, handedTo }) => ({ tells, handedTo }))).toEqual([{ tells: ["reminded"] }, { tells: ["reminded"] }]);
    await after(6 * HOUR);
    expect(await read()).toMatchObject({ state: "settled", end: "timed_out", taskId });
  });

  test("is put to others as well, step by step, who find it and may answer; the first ones still may", async () => {
    const { after, isListed, answer, happened, read, dueInMs } = await asking({
      escalate: [
        { afterMs: HOUR, to: leads },
        { afterMs: 2 * HOUR, to: { people: ["carol"] } },
      ],
    });
    expect([await isListed(), await isListed(frida)]).toEqual([false, true]);
    await expect(answer()).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    await after(HOUR);
    expect([await isListed(), await isListed(frida), await isListed(callerNamed("carol"))]).toEqual([true, true, false]);
    expect(dueInMs()).toBe(HOUR);
    await after(HOUR);
    expect(await isListed(callerNamed("carol"))).toBe(true);
    expect(await read()).toMatchObject({
      state: "open",
      escalatedTo: [leads, { people: ["carol"] }],
      history: [{ what: "asked" }, { what: "escalated", to: leads }, { what: "escalated" }],
    });
    expect(await answer()).toBe("accepted");
    expect(await read(frida)).toMatchObject({ state: "settled", end: "declined", by: { principal: "lea" } });
    expect(await read(lea)).toMatchObject({ state: "settled", by: { isCaller: true } });
    expect((await happened()).at(-1)).toBe("declined");
  });

  test("that only its owner was asked stays the owner's, and is put to others", async () => {
    const { after, isListed, answer, read } = await asking({ escalate: [{ afterMs: HOUR, to: leads }] }, {});
    await after(HOUR);
    expect([await isListed(), await isListed(alice)]).toEqual([true, true]);
    expect(await read(alice)).toMatchObject({ state: "open", escalatedTo: [leads] });
    expect(await answer()).toBe("accepted");
    expect(await read(alice)).toMatchObject({ by: { principal: "lea" } });
  });

  test("excludes the caller from what others are asked, also where it is escalated to them", async () => {
    const caller = callerNamed("alice", { groups: ["leads"] });
    const { after, isListed, answer } = await asking(
      { escalate: [{ afterMs: HOUR, to: leads }] },
      { audience: { ...FOR_FINANCE, not: "caller" } },
    );
    await after(HOUR);
    expect([await isListed(caller), await answer(caller)]).toEqual([false, "forbidden"]);
    expect(await answer()).toBe("accepted");
  });

  test("has one reminder for all times that are over while no worker ran, and every step of the escalation", async () => {
    const { after, happened, written, isListed, dueInMs } = await asking({
      remindMs: [HOUR, 2 * HOUR, 3 * HOUR, 9 * HOUR],
      escalate: [
        { afterMs: HOUR, to: { people: ["bob"] } },
        { afterMs: 3 * HOUR, to: leads },
      ],
    });
    await after(4 * HOUR);
    expect(await happened()).toEqual(["asked", "reminded", "escalated", "escalated"]);
    expect(written).toMatchObject([{ tells: ["reminded", "escalated"], handedTo: ["person bob", "group leads"] }]);
    expect(await isListed()).toBe(true);
    expect(dueInMs()).toBe(5 * HOUR);
  });

  test("is withdrawn from all of this once it is settled", async () => {
    const { after, answer, read, written } = await asking({ remindMs: [HOUR], escalate: [{ afterMs: HOUR, to: leads }] });
    expect(await answer(frida)).toBe("accepted");
    await after(2 * HOUR);
    expect(written).toEqual([]);
    expect((await read()).history.map(({ what }) => what)).toEqual(["declined"]);
  });

  test("is told with what people did, and one who comments at the same moment is not overwritten", async () => {
    let meanwhile: (() => Promise<unknown>) | undefined;
    const { after, services, taskId, read } = await asking({ remindMs: [HOUR] }, undefined, {
      store: (memory) => ({
        async writeThread(request) {
          const first = meanwhile;
          meanwhile = undefined;
          await first?.();
          return await memory.writeThread(request);
        },
      }),
    });
    meanwhile = () => commentOnAsk(services, { caller: frida, taskId, key: "size", text: "I am looking into it" });
    await after(HOUR);
    expect(await read()).toMatchObject({
      commentCount: 1,
      remindedAtMs: expect.any(Number),
      history: [{ what: "asked" }, { what: "commented" }, { what: "reminded" }],
    });
  });

  test("is reminded of once by two workers, and by one that takes over from a worker that died after it", async () => {
    let dies = false;
    const { after, run, skip, services, happened, written, taskId, dueInMs } = await asking({ remindMs: [HOUR, 9 * HOUR] }, undefined, {
      store: (memory) => ({
        async park(request) {
          if (dies) throw new Error("the worker is gone");
          return await memory.park(request);
        },
      }),
    });
    dies = true;
    skip(HOUR);
    await expect(run(taskId, 2)).rejects.toThrow("the worker is gone");
    expect(await happened()).toEqual(["asked", "reminded"]);
    dies = false;
    skip(services.settings.leaseMs + 1);
    expect(await run(taskId, 2, true)).toMatchObject({ type: "parked" });
    expect(await happened()).toEqual(["asked", "reminded"]);
    expect(written).toHaveLength(1);
    expect(dueInMs()).toBe(8 * HOUR - services.settings.leaseMs - 1);
    expect(await after(0)).toEqual([]);
  });

  test("is audited as done by nobody, with what was added", async () => {
    const { after, written } = await asking({ remindMs: [HOUR], escalate: [{ afterMs: 2 * HOUR, to: leads }] }, undefined, {
      services: { audit: { note: async () => undefined } },
    });
    await after(HOUR);
    await after(HOUR);
    expect(written.map(({ audit }) => audit)).toMatchObject([
      { action: "remind", door: "schedule", ask: "size" },
      { action: "escalate", door: "schedule", ask: "size", escalatedTo: [leads] },
    ]);
    for (const { audit } of written) expect(audit).not.toHaveProperty("principal");
  });

  test("keeps the times with which it was asked while the code changes", async () => {
    const { after, tools, tool, dueInMs, happened } = await asking({ remindMs: [HOUR, 3 * HOUR] });
    tools.set(tool.name, {
      ...tool,
      run: async (_args, effects) => {
        await effects.ask("size", { ...size, about: { remindMs: [9 * HOUR] } }, { timeoutMs: 10 * HOUR, audience: FOR_FINANCE });
        return text("done");
      },
    });
    await after(HOUR);
    expect(await happened()).toEqual(["asked", "reminded"]);
    expect(dueInMs()).toBe(2 * HOUR);
  });
});

describe("reminders and escalations that make no sense are refused before anything is asked", () => {
  const after = (afterMs: number, to: unknown) => ({ escalate: [{ afterMs, to }] }) as AskAbout;
  test.each<[string, AskAbout, string, AskOptions?]>([
    ["too many reminders", { remindMs: Array.from({ length: 11 }, (_, at) => (at + 1) * MINUTE) }, "/remind must have at most 10 times"],
    ["too soon", { remindMs: [59_999] }, "/remind/0 must be at least a minute after the question"],
    ["not a number", { remindMs: [Number.NaN] }, "/remind/0 must be at least a minute"],
    ["out of order", { remindMs: [2 * HOUR, HOUR] }, "/remind/1 must be later than the time before it"],
    ["twice the same", { remindMs: [HOUR, HOUR] }, "/remind/1 must be later than the time before it"],
    [
      "at the deadline",
      { remindMs: [10 * HOUR] },
      "/remind/0 is 36000000 ms after the question, and must come before its deadline, 36000000 ms (timeout)",
    ],
    ["an escalation behind the deadline", after(11 * HOUR, leads), "/escalate/0/after is 39600000 ms"],
    ["to nobody", after(HOUR, { groups: [] }), "/escalate/0/to must name at least one of people, groups, roles"],
    ["to nothing", after(HOUR, null), '/escalate/0/to must be "tenant", or an object with people, groups, roles'],
    ["to the caller", after(HOUR, "caller"), '/escalate/0/to must be "tenant", or an object'],
    ["to a misspelt kind", after(HOUR, { group: ["leads"] }), "/escalate/0/to/group is not one of people, groups, roles"],
    ["to those who are asked", after(HOUR, { groups: ["finance"] }), "/escalate/0/to must name somebody who is not asked already"],
    [
      "of what everyone is asked",
      after(HOUR, leads),
      "/escalate/0/to must name somebody who is not asked already",
      { audience: { to: "tenant" } },
    ],
    [
      "in a circle",
      {
        escalate: [
          { afterMs: HOUR, to: leads },
          { afterMs: 2 * HOUR, to: { groups: ["leads", "finance"] } },
        ],
      },
      "/escalate/1/to must name somebody who is not asked already",
    ],
    [
      "too many steps",
      { escalate: Array.from({ length: 6 }, (_, at) => ({ afterMs: (at + 1) * HOUR, to: { people: [`p${at}`] } })) },
      "/escalate must have at most 5 steps",
    ],
  ])("%s", async (_what, about, problem, options) => {
    const { task, taskId } = await asking(about, options);
    const { outcome } = await task(taskId);
    expect(JSON.stringify(outcome)).toContain(JSON.stringify(problem).slice(1, -1));
  });

  test("and those that do are asked", async () => {
    const { task, taskId } = await asking({
      remindMs: Array.from({ length: 10 }, (_, at) => (at + 1) * MINUTE),
      escalate: [
        { afterMs: MINUTE, to: { groups: ["finance", "leads"] } },
        { afterMs: 2 * MINUTE, to: "tenant" },
      ],
    });
    expect((await task(taskId)).status).toBe("input_required");
  });
});
