/** A front end reads a task whose client holds its call open once for each change that it has not seen. */
import { ParleyError } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { deploy, type Front, holdNext } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

async function counting() {
  const { fronts, services, sessions } = await deploy({ catalogue: offered });
  const [front] = fronts as [Front];
  const client = await openSession(front);
  const [load, feed] = [vi.spyOn(services.store, "load"), vi.spyOn(services.store, "feed")];
  return { front, client, services, sessions, reads: () => ({ load: load.mock.calls.length, feed: feed.mock.calls.length }) };
}

test("a call that ends at once is read once, at its end", async () => {
  const { front, client, reads } = await counting();
  const { messages } = await client.request(front, "tools/call", { name: "echo", arguments: { text: "hello" } });
  expect(messages).toMatchObject([{ result: { content: [{ text: "hello" }] } }]);
  expect(reads()).toEqual({ load: 1, feed: 1 });
});

test("a call that asks is read when it asks, at its answer, after it and at its end", async () => {
  const { front, client, reads } = await counting();
  const stream = await client.stream(front, "tools/call", { name: "greet", arguments: {} });
  const asked = await stream.next();
  expect(reads()).toEqual({ load: 1, feed: 1 });
  await client.reply(front, asked.id, { action: "accept", content: { name: "Ann" } });
  expect(await stream.next()).toMatchObject({ result: { content: [{ text: "Hello, Ann!" }] } });
  // The answer and the end may be seen in one read.
  const { load, feed } = reads();
  expect([load, feed]).toEqual(feed === 2 ? [3, 2] : [4, 3]);
});

test("a reply is read beside its session, and one from a session that ended changes nothing", async () => {
  const { front, client, services, sessions } = await counting();
  const stream = await client.stream(front, "tools/call", { name: "greet", arguments: {} });
  const asked = await stream.next();
  const load = vi.mocked(services.store.load);
  const taskId = load.mock.calls[0]?.[0] ?? "";
  await sessions.close(client.sessionId);
  const before = load.mock.calls.length;
  const reply = await client.reply(front, asked.id, { action: "accept", content: { name: "Ann" } });
  expect([reply.status, load.mock.calls.length]).toEqual([404, before + 1]);
  const foreign = await client.reply(front, `${String(asked.id).slice(0, -1)}!`, { action: "accept", content: { name: "Ann" } });
  expect([foreign.status, load.mock.calls.length]).toEqual([404, before + 1]);
  expect((await services.store.load(taskId))?.status).toBe("input_required");
});

test("a call of 2026-07-28 that ends at once is read once, at its end", async () => {
  const { front, reads } = await counting();
  const { result } = await rpc(front, "tools/call", { name: "echo", arguments: { text: "hello" } }, { tasks: false });
  expect(result).toMatchObject({ content: [{ text: "hello" }] });
  expect(reads().load).toBe(1);
});

test("a call is created and run while its subscription is not confirmed, and is read and answered as soon as it is", async () => {
  const { front, client, services, reads } = await counting();
  const finish = vi.spyOn(services.store, "finish");
  const subscription = holdNext(services.wakeUps, "watch");
  const answered = client.request(front, "tools/call", { name: "echo", arguments: { text: "hello" } });
  await expect.poll(() => finish.mock.results.map(({ type }) => type)).toEqual(["return"]);
  expect(reads().load).toBe(0);
  subscription.resolve();
  expect((await answered).messages).toMatchObject([{ result: { content: [{ text: "hello" }] } }]);
  expect(reads().load).toBe(1);
});

test("a call whose subscription fails is answered when it has been repeated", async () => {
  const { front, client, services } = await counting();
  const watch = vi.spyOn(services.wakeUps, "watch").mockRejectedValueOnce(new Error("not confirmed"));
  const { messages } = await client.request(front, "tools/call", { name: "echo", arguments: { text: "hello" } });
  expect(messages).toMatchObject([{ result: { content: [{ text: "hello" }] } }]);
  expect(watch).toHaveBeenCalledTimes(2);
});

test("a call whose task cannot be read while Redis is away stays open, and gets its result when Redis is back", async () => {
  const { front, client, services } = await counting();
  const stream = await client.stream(front, "tools/call", { name: "greet", arguments: {} });
  const asked = await stream.next();
  const away = new ParleyError("UNAVAILABLE", "Redis did not answer in time");
  const feed = vi.mocked(services.store.feed).mockRejectedValueOnce(away);
  const before = feed.mock.calls.length;
  await client.reply(front, asked.id, { action: "accept", content: { name: "Ann" } });
  expect(await stream.next()).toMatchObject({ result: { content: [{ text: "Hello, Ann!" }] } });
  expect(feed.mock.settledResults[before]).toEqual({ type: "rejected", value: away });
});

test("so does a call of 2026-07-28, and no report is missing", async () => {
  const { front, services } = await counting();
  const away = new ParleyError("UNAVAILABLE", "Redis did not answer in time");
  const feed = vi.mocked(services.store.feed).mockRejectedValueOnce(away);
  const { result, notifications } = await rpc(
    front,
    "tools/call",
    { name: "report", arguments: {} },
    { tasks: false, meta: { progressToken: "p" } },
  );
  expect(result).toMatchObject({ content: [{ text: "reported" }] });
  expect(notifications.map(({ params }) => params?.["progress"])).toEqual([1, 3]);
  expect(feed.mock.settledResults[0]).toEqual({ type: "rejected", value: away });
});

test("a call that comes back after it was handed over hears that the people have answered meanwhile, and that it goes on", async () => {
  const isDone = Promise.withResolvers<void>();
  const pay = defineTool({
    name: "pay",
    async run(_args, ctx) {
      await ctx.elicit("yes", { message: "Pay?", schema: z.object({ yes: z.boolean() }), to: { people: ["bob"] } });
      await ctx.step("pay", () => isDone.promise);
      return "paid";
    },
  });
  const { fronts, services } = await deploy({ catalogue: catalogue([pay]), fronts: 1, times: { callTimeoutMs: 100 } });
  const [front] = fronts as [Front];
  const call = (more: object = {}) =>
    rpc(front, "tools/call", { name: "pay", arguments: {}, ...more }, { tasks: false, principal: "ann", meta: { progressToken: "p" } });
  const waits = (told: readonly { readonly params?: object }[]) =>
    told.map(({ params }) => (params as { readonly _meta?: { readonly "parley/waits"?: boolean } })._meta?.["parley/waits"]);
  const first = await call();
  expect(waits(first.notifications)).toContain(true);
  const headers = { "x-principal": "bob", "content-type": "application/json" };
  const { asks } = (await (await fetch(new URL("/api/v1/asks", front.url), { headers })).json()) as { asks: { taskId: string }[] };
  const { taskId = "" } = asks[0] ?? {};
  const body = JSON.stringify({ action: "accept", content: { yes: true } });
  expect((await fetch(new URL(`/api/v1/asks/${taskId}/yes`, front.url), { method: "POST", headers, body })).status).toBe(200);
  await until(async () => (await services.store.load(taskId))?.status === "working");
  const second = call({ requestState: first.result?.["requestState"] });
  setTimeout(isDone.resolve, 50);
  const { notifications, result } = await second;
  expect(waits(notifications)).toEqual([false]);
  expect(result).toMatchObject({ content: [{ text: "paid" }] });
});

test("a call that waits for people at an upstream may come back as late as a gateway in front of it does", async () => {
  const isDone = Promise.withResolvers<void>();
  const behind = defineTool({
    name: "behind",
    async run(_args, ctx) {
      ctx.status("Waiting for people at crm.");
      await ctx.step("wait", () => isDone.promise);
      return "done";
    },
  });
  const { fronts, skip } = await deploy({ catalogue: catalogue([behind]), fronts: 1, times: { callTimeoutMs: 100 } });
  const [front] = fronts as [Front];
  const call = (more: object = {}) => rpc(front, "tools/call", { name: "behind", arguments: {}, ...more }, { tasks: false });
  const first = await call();
  expect(first.result).toMatchObject({ resultType: "input_required", _meta: { "parley/waits": true } });
  // It looks at most an hour later.
  skip(61 * 60_000);
  const second = await call({ requestState: first.result?.["requestState"] });
  expect(second.result).toMatchObject({ resultType: "input_required" });
  isDone.resolve();
  expect((await call({ requestState: second.result?.["requestState"] })).result).toMatchObject({ content: [{ text: "done" }] });
});
