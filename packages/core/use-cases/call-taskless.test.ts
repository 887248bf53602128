import { expect, test } from "vitest";
import type { TasklessCall } from "../catalogue.ts";
import type { Observer } from "../ports.ts";
import { toolNamed } from "../tool.fixture.ts";
import { callTaskless } from "./call-taskless.ts";
import { alice, inMemory } from "./in-memory.fixture.ts";

const made = { result: { content: [] }, reports: [] };
const request = {
  caller: alice,
  arguments: { n: 1 },
  capabilities: { elicitation: { form: true, url: false } },
  hidden: true,
  signal: new AbortController().signal,
};

function calling({ storedValueMax = 1_000, audited = false, traceparent = undefined as string | undefined } = {}) {
  const calls: TasklessCall[] = [];
  const { services, requests } = inMemory();
  const { audit, ...rest } = services;
  const tool = {
    ...toolNamed("subject", async () => ({})),
    async callTaskless(call: TasklessCall) {
      calls.push(call);
      return made;
    },
  };
  const observer = { traceparent: () => traceparent } as unknown as Observer;
  const used = { ...rest, observer, settings: { ...services.settings, storedValueMax }, ...(audited && audit && { audit }) };
  return { services: used, tool, calls, requests };
}

test("a call without a task is made with what its caller sent, and nothing is written", async () => {
  const { services, tool, calls, requests } = calling({ traceparent: "00-trace" });
  expect(await callTaskless(services, tool, request)).toBe(made);
  const { caller: _, ...sent } = request;
  expect(calls).toStrictEqual([{ ...sent, principal: "alice", traceparent: "00-trace" }]);
  expect(requests).toEqual([]);
});

test("it belongs to no trace if nothing observes it, or the observer follows none", async () => {
  const { services, tool, calls } = calling();
  const { observer: _, ...unobserved } = services;
  for (const each of [services, unobserved]) await callTaskless(each, tool, request);
  expect(calls.map((call) => "traceparent" in call)).toStrictEqual([false, false]);
});

test("a call needs a task if the tool has no other way, and if there is an audit, whose record of the call could be lost", async () => {
  const { services, calls } = calling();
  expect(
    await callTaskless(
      services,
      toolNamed("subject", async () => ({})),
      request,
    ),
  ).toBeUndefined();
  const { services: audited, tool } = calling({ audited: true });
  expect(await callTaskless(audited, tool, request)).toBeUndefined();
  expect(calls).toEqual([]);
});

test("its arguments may have as many characters as a task's, and one more is refused", async () => {
  const { services, tool, calls } = calling({ storedValueMax: JSON.stringify(request.arguments).length });
  await callTaskless(services, tool, request);
  expect(calls).toHaveLength(1);
  await expect(callTaskless(services, tool, { ...request, arguments: { n: 10 } })).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(calls).toHaveLength(1);
});

test("its arguments are validated first", async () => {
  const { services, tool, calls } = calling();
  const strict = { ...tool, readArguments: () => ({ ok: false, violations: [{ path: "/n", message: "must be a string" }] }) as const };
  await expect(callTaskless(services, strict, request)).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
  expect(calls).toEqual([]);
});
