import { expect, test } from "vitest";
import { anAsk, anEvent, HOUR, inMemory, NOW_MS } from "./in-memory.fixture.ts";
import { closeOverdueAsks } from "./overdue-asks.ts";
import type { RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";

const SCHEMA = '<{"properties":{"n":{"maximum":20,"type":"integer"}},"type":"object"} of 0-put-1>';

/** The requests that close what is overdue of the task, an hour later. */
async function closed(subject: ReturnType<typeof inMemory>, services: Services, taskId: string) {
  await subject.pass(HOUR);
  const token = "the next run";
  const begun = await subject.real.begin({ taskId, run: 2, token, nowMs: services.clock.now(), leaseMs: HOUR });
  if (begun.type !== "begun") throw new Error(`the run was not begun: ${begun.type}`);
  await closeOverdueAsks(services, begun, { token } as RunLease);
  return subject.requestsOf("answer") as readonly { readonly key: string; readonly audit?: object }[];
}

test.each([
  ["", undefined, {}],
  [", with its tenant", "acme", { tenant: "acme" }],
])("a question or an event that nobody answered in time has an audit record of nobody%s", async (_, tenant, more) => {
  const subject = inMemory();
  const taskId = await subject.put([anAsk("size"), anEvent("paid")], tenant === undefined ? {} : { tenant });
  const common = { action: "answer", door: "deadline", did: "timeout", taskId, tool: "tool subject", asked: NOW_MS, ...more };
  expect((await closed(subject, subject.services, taskId)).map(({ audit }) => audit)).toStrictEqual([
    { ...common, ask: "size", question: "digest of size", schema: SCHEMA, version: 2 },
    { ...common, ask: "event:paid", question: "digest of paid", schema: `<{"required":["amount"],"type":"object"} of ${taskId}>` },
  ]);
});

test("a child that did not end in time has none: what became of it is recorded for itself", async () => {
  const subject = inMemory();
  const { taskId } = await subject.putWithChild([], []);
  const requests = await closed(subject, subject.services, taskId);
  expect(requests.map(({ key, audit }) => [key, audit])).toStrictEqual([["call:book", undefined]]);
});

test("without an audit there is no record", async () => {
  const subject = inMemory();
  const taskId = await subject.put([anAsk("size")]);
  const { audit: _, ...services } = subject.services;
  expect((await closed(subject, services, taskId)).map(({ key, audit }) => [key, audit])).toStrictEqual([["size", undefined]]);
});
