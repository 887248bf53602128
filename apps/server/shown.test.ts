/** Which questions the audit records as shown: those that were sent to a client, at every door that sends them, and no others. */
import type { AnswerRequest, AuditFact } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test } from "vitest";
import { rpc, stream } from "./client.fixture.ts";
import { type Deploy, deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const sure = defineTool({
  name: "sure",
  async run(_args, ctx) {
    await Promise.all([ctx.confirm("first", { message: "Sure?" }), ctx.confirm("second", { message: "Really?" })]);
    return "done";
  },
});

const as = { principal: "ann" };
const call = { name: "sure", arguments: {} };

async function audited(options: Partial<Deploy> = {}) {
  const facts: AuditFact[] = [];
  const audit = { note: async (fact: AuditFact) => void facts.push(fact) };
  const { fronts, services } = await deploy({ catalogue: catalogue([sure]), fronts: 1, audit, ...options });
  const shown = () => facts.filter(({ action }) => action === "shown").map(({ door, ask }) => `${door}: ${ask}`);
  return { here: fronts[0]!, shown, services };
}

const created = async (here: Parameters<typeof rpc>[0]) => String((await rpc(here, "tools/call", call, as)).result!["taskId"]);
const both = (door: string) => [`${door}: first`, `${door}: second`];

test("a question that a client of 2026-07-28 receives on a stream is recorded as shown there", async () => {
  const { here, shown } = await audited();
  const taskIds = [await created(here)];
  const listening = await stream(here, "subscriptions/listen", { notifications: { taskIds } }, as);
  for (;;) if ((await listening.next()).params?.["inputRequests"]) break;
  expect(shown()).toStrictEqual(both("2026-07-28 subscriptions/listen"));
  listening.close();
});

test("a question that a client cannot be asked is not sent to it, and not recorded as shown", async () => {
  const { here, shown } = await audited();
  const taskId = await created(here);
  const get = async (capabilities: object) => (await rpc(here, "tasks/get", { taskId }, { ...as, capabilities })).result;
  expect(await get({})).toMatchObject({ status: "working", statusMessage: expect.stringContaining("This client cannot ask it") });
  expect(shown()).toStrictEqual([]);
  expect(Object.keys((await get({ elicitation: {} }))!["inputRequests"]!)).toStrictEqual(["first", "second"]);
  expect(shown()).toStrictEqual(both("2026-07-28 tasks/get"));
});

test("a question in an answer of a session is recorded as shown by it", async () => {
  const { here, shown } = await audited();
  const client = await openSession(here, { ...as, capabilities: {} });
  const { messages } = await client.request(here, "tools/call", { ...call, task: {} });
  const taskId = String(messages.at(-1)?.result?.["taskId"]);
  expect(shown()).toStrictEqual(both("2025-11-25 tools/call"));
  await client.request(here, "tasks/get", { taskId });
  expect(shown().slice(2)).toStrictEqual(both("2025-11-25 tasks/get"));
  const answer = { taskId, elicitationId: `${taskId}:first`, action: "accept", content: { value: true } };
  await client.request(here, "tasks/sendInput", answer);
  expect(shown().slice(4)).toStrictEqual(["2025-11-25 tasks/sendInput: second"]);
});

test("a notification about a task has its first question, which is recorded as shown by it", async () => {
  const { here, shown } = await audited();
  const client = await openSession(here, { ...as, capabilities: {} });
  await client.request(here, "tools/call", { ...call, task: {} });
  const listening = await client.listen(here);
  expect((await listening.next()).method).toBe("notifications/tasks/status");
  expect(shown().slice(2)).toStrictEqual(["2025-11-25 GET: first"]);
  listening.close();
});

test("that a client cannot be asked is recorded with the door by which it called", async () => {
  const { here, shown, services } = await audited({ ladder: { rungs: new Set(["task", "held"] as const) } });
  const { answer } = services.store;
  const answers: (AuditFact | undefined)[] = [];
  Object.assign(services.store, { answer: (request: AnswerRequest) => (answers.push(request.audit), answer(request)) });
  const client = await openSession(here, { ...as, capabilities: {} });
  await client.request(here, "tools/call", call);
  expect(shown()).toStrictEqual([]);
  const door = "2025-11-25 tools/call";
  expect(answers).toMatchObject(["first", "second"].map((ask) => ({ principal: "ann", door, ask, did: "unavailable" })));
});

test("a question that the result of a call tells in words is recorded as shown by it", async () => {
  const { here, shown } = await audited();
  await rpc(here, "tools/call", call, { ...as, tasks: false, capabilities: {} });
  const client = await openSession(here, { ...as, capabilities: {} });
  await client.request(here, "tools/call", call);
  expect(shown()).toStrictEqual([...both("2026-07-28 tools/call"), ...both("2025-11-25 tools/call")]);
});
