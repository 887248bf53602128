/** The calls of a process: who may make one, and how often (G1 to G3). */
import { describe, expect, test } from "vitest";
import { createCalls } from "./calls.ts";
import { parseUpstreams } from "../config/upstreams.ts";
import { aRequest, type Behaviour, connectorTo, leading, someDeps } from "../upstream.fixture.ts";

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function process(
  behave: Behaviour,
  { callsMax = 10, claims = Promise.resolve(), putOff = undefined as (() => unknown)[] | undefined } = {},
) {
  const connector = connectorTo(behave);
  const claimed: string[] = [];
  const holders = {
    claim(taskId: string, { isFinal }: { isFinal: boolean }) {
      claimed.push(`${taskId} ${isFinal ? "final" : "repeatable"}`);
      return claims;
    },
    release: async (taskId: string) => void claimed.push(`${taskId} released`),
  };
  const { onAbandoned: _, ...deps } = someDeps(connector);
  const call = { ...deps, ...(putOff && { whenQuiet: (work: () => unknown) => void putOff.push(work) }) };
  const abandoned: string[] = [];
  const calls = createCalls({ call, holders, callsMax, log, onAbandoned: (taskId) => void abandoned.push(taskId) });
  return { calls, connector, claimed, abandoned };
}

const lead = (taskId: string, callId: string, mayRepeat = false) => ({
  taskId,
  callId,
  mayRepeat,
  request: aRequest(),
  given: [],
  ...leading(),
});

describe("a permit", () => {
  test("makes one call, which every later leader finds again (G3)", async () => {
    const { calls, connector } = process(async () => "done");
    const callId = calls.permit("task");
    const event = await calls.lead(lead("task", callId));
    expect(event.type).toBe("result");
    expect(await calls.lead(lead("task", callId))).toEqual(event);
    expect(connector.calls()).toBe(1);
    await calls.drop("task");
    expect(calls.counts()).toEqual({ waiting: 0, all: 0 });
  });

  test("of another process makes none, unless the tool may be repeated (G1)", async () => {
    const { calls, connector } = process(async () => "done");
    expect(await calls.lead(lead("task", "another's"))).toMatchObject({ type: "lost" });
    expect(connector.calls()).toBe(0);
    expect((await calls.lead(lead("task", "another's", true))).type).toBe("result");
    expect(connector.calls()).toBe(1);
  });

  test("of a run that was stopped before its call is kept until 10,000 others were drawn", async () => {
    const { calls } = process(async () => "done");
    const [kept, forgotten] = [calls.permit("kept"), calls.permit("forgotten")];
    for (let task = 0; task < 9_998; task += 1) calls.permit(`task ${task}`);
    expect((await calls.lead(lead("kept", kept))).type).toBe("result");
    for (const task of ["one", "two"]) calls.permit(task);
    expect(await calls.lead(lead("forgotten", forgotten))).toMatchObject({ type: "lost" });
  });

  test.each([
    ["is used up by its call: one that was dropped is not made again (G1)", 1],
    ["that was not used yet is gone with its task: another process may have drawn one by then (G1)", 0],
  ])("%s", async (_what, made) => {
    const { calls, connector } = process(async () => "done");
    const callId = calls.permit("task");
    if (made > 0) await calls.lead(lead("task", callId));
    await calls.drop("task");
    expect(await calls.lead(lead("task", callId))).toMatchObject({ type: "lost" });
    expect(connector.calls()).toBe(made);
  });

  test("for another round ends the one before it, and is there still", async () => {
    const { calls, connector } = process(async () => "done");
    await calls.lead(lead("task", calls.permit("task")));
    expect((await calls.lead(lead("task", calls.permit("task")))).type).toBe("result");
    expect(connector.calls()).toBe(2);
  });
});

test("a question is returned only after its process is named as the holder (G2), and the name ends with the call", async () => {
  // The run does not wait until the holder is named.
  const { calls, claimed } = process(async ({ ask }) => await ask("?"), { claims: new Promise(() => undefined) });
  const event = await calls.lead(lead("task", calls.permit("task")));
  expect(event.type).toBe("asked");
  expect(claimed).toEqual(["task final"]);
  expect(calls.counts()).toEqual({ waiting: 1, all: 1 });
  await calls.drop("task");
  expect(claimed).toEqual(["task final", "task released"]);
});

test("the name of a finished task's holder is removed in a quiet moment, its call is closed at once", async () => {
  const putOff: (() => unknown)[] = [];
  const { calls, claimed } = process(async ({ ask }) => await ask("?"), { putOff });
  await calls.lead(lead("task", calls.permit("task")));
  await calls.drop("task", "finished");
  expect([claimed, calls.counts()]).toEqual([["task final"], { waiting: 0, all: 0 }]);
  for (const work of putOff) await work();
  expect(claimed).toEqual(["task final", "task released"]);
});

test("the name of a lost call stays, for the process that follows up on it", async () => {
  const { calls, claimed } = process(async ({ ask }) => await ask("?"));
  await calls.lead(lead("task", calls.permit("task")));
  await calls.drop("task", "lost");
  expect([claimed, calls.counts()]).toEqual([["task final"], { waiting: 0, all: 0 }]);
});

test("outcomes are kept for twice as many calls as may be open; the oldest are forgotten, with their holders' names", async () => {
  const { calls, claimed } = process(async ({ ask }) => await ask("?"), { callsMax: 1 });
  const permits: string[] = [];
  for (let task = 0; task < 3; task += 1) {
    const callId = (permits[task] = calls.permit(`task ${task}`));
    const asked = await calls.lead(lead(`task ${task}`, callId));
    const questions = asked.type === "asked" ? asked.questions : [];
    const given = questions.map((question) => ({ question, answer: { action: "accept", content: {} } as const }));
    await calls.lead({ ...lead(`task ${task}`, callId), given });
    expect(calls.has("task 0")).toBe(task < 2);
  }
  expect(claimed).toEqual(["task 0 final", "task 1 final", "task 2 final", "task 0 released"]);
  expect(["task 1", "task 2"].map((taskId) => calls.has(taskId))).toEqual([true, true]);
});

test("a question whose holder could not be named is abandoned, and its call ends: its answer would find no holder", async () => {
  const claim = Promise.withResolvers<void>();
  const { calls, connector, abandoned } = process(async ({ ask }) => await ask("?"), { claims: claim.promise });
  const callId = calls.permit("task");
  await calls.lead(lead("task", callId));
  claim.reject(new Error("Redis does not answer"));
  await expect.poll(() => abandoned).toEqual(["task"]);
  expect([...calls.abandoned("task")]).toEqual(["question-1"]);
  expect(await calls.lead(lead("task", callId))).toMatchObject({ type: "lost" });
  expect(connector.calls()).toBe(1);
});

test("a call that finds no place in its worker takes none of its upstream's", async () => {
  const { calls } = process(async ({ ask }) => await ask("?"), { callsMax: 1 });
  const [upstream] = parseUpstreams(
    "up.json",
    JSON.stringify({ upstreams: [{ name: "small", url: "https://small.example.com", concurrency: 1 }] }),
  );
  const small = (task: string) => ({ ...lead(task, calls.permit(task)), request: aRequest({ upstream: upstream! }) });
  await calls.lead(lead("1", calls.permit("1")));
  for (const task of ["2", "3"]) expect(await calls.lead(small(task))).toMatchObject({ type: "busy" });
  await calls.drop("1");
  expect((await calls.lead(small("4"))).type).toBe("asked");
  await calls.drop("4");
});

test("an open call is not forgotten, however many have ended since", async () => {
  let made = 0;
  const { calls } = process(async ({ ask }) => (made++ === 0 ? await ask("?") : "done"), { callsMax: 2 });
  const callId = calls.permit("open");
  await calls.lead(lead("open", callId));
  for (let task = 0; task < 6; task += 1) await calls.lead(lead(`task ${task}`, calls.permit(`task ${task}`)));
  expect([calls.has("task 0"), calls.has("open")]).toEqual([false, true]);
  await calls.drop("open");
});

test("calls at once are limited; one more is told to come back, and one that is dropped makes room", async () => {
  const { calls } = process(async ({ ask }) => await ask("?"), { callsMax: 2 });
  for (const task of ["1", "2"]) await calls.lead(lead(task, calls.permit(task)));
  expect(await calls.lead(lead("3", calls.permit("3")))).toMatchObject({ type: "busy" });
  await calls.drop("1");
  expect((await calls.lead(lead("3", calls.permit("3")))).type).toBe("asked");
  await Promise.all(["2", "3"].map((taskId) => calls.drop(taskId)));
});
