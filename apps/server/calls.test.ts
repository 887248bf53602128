/** A tool that calls a tool, as clients see it: they know only the parent, and answer the child's questions there. */
import type { Caller } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const NIGHTS = z.object({ nights: z.int().max(14) });

const hotel = defineTool({
  name: "hotel",
  output: z.object({ nights: z.number() }),
  run: async (_args, ctx) => ({ nights: (await ctx.elicit("nights", { message: "How many nights?", schema: NIGHTS })).nights }),
});
const approval = defineTool({
  name: "approval",
  async run(_args, ctx) {
    await ctx.elicit("ok", { message: "Pay?", schema: z.object({ ok: z.boolean() }), to: { groups: ["finance"] }, not: "caller" });
    return `approved by ${ctx.answeredBy("ok")?.principal}`;
  },
});
const vault = defineTool({
  name: "vault",
  async run(_args, ctx) {
    const secret = await ctx.secret("password", { message: "Your password?" });
    return await ctx.step("length", async () => String((await secret.reveal()).length));
  },
});
const tools = catalogue([
  hotel,
  approval,
  vault,
  defineTool({ name: "trip", run: async (_args, ctx) => `${(await ctx.call(hotel, {}, { key: "stay" })).nights} nights` }),
  defineTool({ name: "deep", run: async (_args, ctx) => String(await ctx.call("trip", {})) }),
  defineTool({ name: "pay", run: (_args, ctx) => ctx.call(approval, {}) }),
  defineTool({ name: "open", run: (_args, ctx) => ctx.call(vault, {}) }),
]);

const ADA = { principal: "ada" };

async function called(name: string, request: Partial<Deploy> = {}) {
  const deployment = await deploy({ catalogue: tools, fronts: 2, ...request });
  const [here, there] = deployment.fronts as [Front, Front];
  const created = await rpc(here, "tools/call", { name, arguments: {} }, ADA);
  const taskId = String(created.result!["taskId"]);
  const get = async (principal = "ada") => (await rpc(there, "tasks/get", { taskId }, { principal })).result!;
  const update = (inputResponses: object, principal = "ada") => rpc(there, "tasks/update", { taskId, inputResponses }, { principal });
  await until(async () => ((await deployment.services.store.load(taskId))?.asks.length ?? 0) > 0);
  return { ...deployment, here, there, taskId, get, update };
}

const accept = (content: object) => ({ action: "accept", content });

describe("a question of a child", () => {
  test.each([
    ["trip", "stay:nights"],
    ["deep", "trip:stay:nights"],
  ])("is asked, validated and answered at the caller's task: %s", async (name, key) => {
    const { get, update } = await called(name);
    expect(await get()).toMatchObject({ status: "input_required", inputRequests: { [key]: { params: { message: "How many nights?" } } } });

    const wrong = await update({ [key]: accept({ nights: 40 }) });
    expect(wrong.error?.message).toBe("refused: Nights must be at most 14");
    expect((await update({ [key]: accept({ nights: 3 }) })).error).toBeUndefined();

    await until(async () => (await get())["status"] === "completed");
    expect(await get()).toMatchObject({ result: { content: [{ text: "3 nights" }] } });
    // The same answer again is a duplicate, and a different one is late.
    expect((await update({ [key]: accept({ nights: 3 }) })).error).toBeUndefined();
  });

  test("accepts one of twenty answers that arrive at once, at the parent and at the child", async () => {
    const { here, there, taskId, get, services } = await called("trip");
    const child = (await services.store.load(taskId))!.calls![0]!.digest;
    await Promise.all(
      Array.from({ length: 20 }, (_, nights) => {
        const at =
          nights % 2 === 0
            ? { taskId, inputResponses: { "stay:nights": accept({ nights: nights % 14 }) } }
            : { taskId: child, inputResponses: { nights: accept({ nights: nights % 14 }) } };
        return rpc(nights % 3 === 0 ? here : there, "tasks/update", at, ADA);
      }),
    );
    await until(async () => (await get())["status"] === "completed");

    const lines = await services.store.journal(child);
    expect(lines.filter(({ key }) => key === "ask:nights")).toHaveLength(1);
  });

  test("is unknown if no task called the child", async () => {
    const { update } = await called("trip");
    const refused = await update({ "elsewhere:nights": accept({ nights: 3 }), "a:b:c:d:e:f:g:h": accept({}) });
    expect(refused.status).toBeLessThan(500);
  });

  test("reaches a client that holds its call open, and is asked again after a refused answer", async () => {
    const { fronts } = await deploy({ catalogue: tools, fronts: 2 });
    const [a, b] = fronts as [Front, Front];
    const client = await openSession(a, { version: "2025-06-18" });
    const call = await client.stream(a, "tools/call", { name: "deep", arguments: {} }, 7);
    const first = await call.next();
    expect(first).toMatchObject({ method: "elicitation/create", params: { message: "How many nights?" } });

    await client.reply(b, first.id, accept({ nights: 40 }));
    const again = await call.next();
    expect(again).toMatchObject({ method: "elicitation/create", params: { message: expect.stringMatching(/nights[^]*14/) } });
    await client.reply(b, again.id, accept({ nights: 2 }));

    expect(await call.next()).toMatchObject({ id: 7, result: { content: [{ text: "2 nights" }] } });
  });

  test("reaches a client without tasks, which calls again with the answer", async () => {
    const { fronts } = await deploy({ catalogue: tools, fronts: 2 });
    const [a, b] = fronts as [Front, Front];
    const first = await rpc(a, "tools/call", { name: "trip", arguments: {} }, { tasks: false });
    const { inputRequests, requestState } = first.result!;
    expect(Object.keys(inputRequests!)).toEqual(["stay:nights"]);

    const retry = { name: "trip", arguments: {}, requestState, inputResponses: { "stay:nights": accept({ nights: 5 }) } };

    expect((await rpc(b, "tools/call", retry, { tasks: false })).result).toMatchObject({ content: [{ text: "5 nights" }] });
  });

  test("is asked of the audience that the child names, and of no one else", async () => {
    const people: Record<string, Caller> = {
      ada: callerNamed("ada", { groups: ["finance"] }),
      eve: callerNamed("eve", { groups: ["finance"] }),
      sam: callerNamed("sam"),
    };
    const authenticate: Deploy["authenticate"] = ({ headers }) => people[String(headers["x-principal"])] ?? callerNamed("nobody");
    const { fronts, services } = await deploy({ catalogue: tools, fronts: 2, authenticate });
    const [here, there] = fronts as [Front, Front];
    const created = await rpc(here, "tools/call", { name: "pay", arguments: {} }, ADA);
    const taskId = String(created.result!["taskId"]);
    await until(async () => ((await services.store.load(taskId))?.asks.length ?? 0) > 0);
    const update = (principal: string) =>
      rpc(there, "tasks/update", { taskId, inputResponses: { "approval:ok": accept({ ok: true }) } }, { principal });

    expect((await rpc(here, "tasks/get", { taskId }, ADA)).result).not.toMatchObject({ inputRequests: { "approval:ok": {} } });
    expect((await update("sam")).error).toBeDefined();
    expect((await update("ada")).error).toBeDefined();
    expect((await rpc(here, "tasks/get", { taskId }, { principal: "eve" })).result).toMatchObject({ inputRequests: { "approval:ok": {} } });
    expect((await update("eve")).error).toBeUndefined();
    // A person who repeats the answer for lack of an acknowledgement learns that it counted, although they may no longer read the task.
    expect((await update("eve")).error).toBeUndefined();

    await until(async () => (await rpc(here, "tasks/get", { taskId }, ADA)).result!["status"] === "completed");
    expect((await rpc(here, "tasks/get", { taskId }, ADA)).result).toMatchObject({ result: { content: [{ text: "approved by eve" }] } });
  });

  test("on a page leads to the child's page", async () => {
    const { fronts, services } = await deploy({ catalogue: tools, fronts: 1 });
    const created = await rpc(fronts[0]!, "tools/call", { name: "open", arguments: {} });
    const taskId = String(created.result!["taskId"]);
    await until(async () => ((await services.store.load(taskId))?.asks.length ?? 0) > 0);
    const child = (await services.store.load(taskId))!.calls![0]!.digest;
    const { inputRequests } = (await rpc(fronts[0]!, "tasks/get", { taskId })).result!;
    const { url } = inputRequests!["vault:password"]!["params"]! as unknown as { url: string };
    expect(url).toContain(`/${child}/password`);
    const shown = await fetch(url);
    expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining("Your password?")]);
  });

  test("fails the child if the client cannot be asked, and the parent receives the error", async () => {
    const { fronts } = await deploy({ catalogue: tools, fronts: 1, ladder: { rungs: new Set(["task", "held"] as const) } });
    const client = await openSession(fronts[0]!, { version: "2025-06-18", capabilities: {} });
    const { messages } = await client.request(fronts[0]!, "tools/call", { name: "trip", arguments: {} });
    expect(messages.at(-1)?.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/tool hotel failed: .*elicitation/s) }],
    });
  });
});

test("a child is in no list, and ends with its parent", async () => {
  const { here, taskId, services } = await called("deep");
  const child = (await services.store.load(taskId))!.calls![0]!.digest;
  const { tasks } = await services.store.list({ principal: "ada", limit: 100 });
  expect(tasks.map(({ id }) => id)).toEqual([taskId]);

  await rpc(here, "tasks/cancel", { taskId }, ADA);

  expect(await services.store.load(child)).toMatchObject({ status: "cancelled" });
});

test("each task of a session names it, without telling its id, and so do the tasks of the tools that it calls", async () => {
  const { fronts, services, logged } = await deploy({ catalogue: tools });
  const [front] = fronts as [Front];
  const [one, other] = [await openSession(front), await openSession(front)];
  await one.request(front, "tools/call", { name: "trip", arguments: {}, task: {} });
  void one.request(front, "tools/call", { name: "trip", arguments: {} });
  await other.request(front, "tools/call", { name: "trip", arguments: {}, task: {} });
  await rpc(front, "tools/call", { name: "trip", arguments: {} });
  const made = () => logged.filter(({ message }) => message.endsWith("task created")).map(({ fields }) => String(fields["taskId"]));
  await until(() => made().length === 8);
  const calls = await Promise.all(made().map(async (taskId) => (await services.store.load(taskId))!.call));
  const sessions = Object.values(Object.groupBy(calls, ({ session = "none" }) => session)).map((of) => of!.length);
  expect(sessions.toSorted()).toEqual([2, 2, 4]);
  expect(JSON.stringify(calls)).not.toContain(one.sessionId);
});
