/** Calls with an idempotency key: the same call twice is one task, for one caller, in every dialect. */
import { randomUUID } from "node:crypto";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { type Options, rpc } from "./client.fixture.ts";
import { deploy, type Front } from "./deployment.fixture.ts";
import type { Times } from "./front-end/limits.ts";
import { openSession } from "./session-client.fixture.ts";

const KEY = "parley/idempotencyKey";

async function deployed(times: Partial<Times> = {}) {
  const orders: string[] = [];
  const release = Promise.withResolvers<void>();
  const shop = catalogue([
    defineTool({
      name: "order",
      input: z.object({ item: z.string() }),
      async run({ item }, ctx) {
        await ctx.step("order", () => void orders.push(item));
        await ctx.step("wait", () => release.promise);
        return `ordered ${item}`;
      },
    }),
    defineTool({
      name: "draw",
      input: z.object({ id: z.string().default(() => randomUUID()) }),
      async run({ id }, ctx) {
        await ctx.number("size", { message: "How many?" });
        return id;
      },
    }),
    defineTool({
      name: "ask",
      async run(_args, ctx) {
        return `size ${await ctx.number("size", { message: "How many?" })}`;
      },
    }),
  ]);
  const deployment = await deploy({ catalogue: shop, fronts: 2, times });
  const [here, there] = deployment.fronts as [Front, Front];
  return { ...deployment, here, there, orders, release: release.resolve };
}

const keyed = (key: string, more: Options = {}): Options => ({ principal: "ann", ...more, meta: { [KEY]: key } });
const order = (item = "lamp") => ({ name: "order", arguments: { item } });

describe("a call with a key", () => {
  test("is one task, repeated at any front end, while it works and when it is done", async () => {
    const { here, there, orders, release } = await deployed();
    const first = await rpc(here, "tools/call", order(), keyed("k1"));
    const again = await rpc(there, "tools/call", order(), keyed("k1"));
    expect(first.result).toMatchObject({ resultType: "task", taskId: expect.any(String) });
    expect(again.result!["taskId"]).toBe(first.result!["taskId"]);
    release();
    const taskId = first.result!["taskId"];
    await until(async () => (await rpc(here, "tasks/get", { taskId }, { principal: "ann" })).result!["status"] === "completed");
    const late = await rpc(there, "tools/call", order(), keyed("k1"));
    expect(late.result).toMatchObject({ taskId, status: "completed" });
    expect(orders).toEqual(["lamp"]);
  });

  test("is one task when its schema draws a default for each call", async () => {
    const { here, there } = await deployed();
    const calls = [here, there, here].map((front) => rpc(front, "tools/call", { name: "draw", arguments: {} }, keyed("k1")));
    const made = (await Promise.all(calls)).map(({ result }) => result!["taskId"]);
    expect(made).toEqual([expect.any(String), made[0], made[0]]);
    const other = await rpc(here, "tools/call", { name: "draw", arguments: { id: "mine" } }, keyed("k1"));
    expect(other.error).toMatchObject({ data: { code: "IDEMPOTENCY_KEY_REUSED" } });
  });

  test("that is made twenty times at once is one task", async () => {
    const { here, there, orders, release } = await deployed();
    release();
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => rpc(n % 2 ? here : there, "tools/call", order(), keyed("k1"))));
    expect(new Set(all.map(({ result }) => result!["taskId"])).size).toBe(1);
    expect(orders).toEqual(["lamp"]);
  });

  test("of another tool, or with other arguments, is refused and starts nothing", async () => {
    const { here, orders, release } = await deployed();
    release();
    await rpc(here, "tools/call", order(), keyed("k1"));
    for (const other of [order("chair"), { name: "ask", arguments: {} }]) {
      expect(await rpc(here, "tools/call", other, keyed("k1"))).toMatchObject({
        error: { code: -32602, message: expect.stringContaining("idempotency key"), data: { code: "IDEMPOTENCY_KEY_REUSED" } },
      });
    }
    await until(() => orders.length > 0);
    expect(orders).toEqual(["lamp"]);
    // The order of members does not matter.
    expect((await rpc(here, "tools/call", { arguments: { item: "lamp" }, name: "order" }, keyed("k1"))).error).toBeUndefined();
  });

  test("of another caller, with another key, or without a key, is another call", async () => {
    const { here, orders, release } = await deployed();
    release();
    const calls = await Promise.all([
      rpc(here, "tools/call", order(), keyed("k1")),
      rpc(here, "tools/call", order(), keyed("k1", { principal: "bob" })),
      rpc(here, "tools/call", order(), keyed("k2")),
      rpc(here, "tools/call", order(), { principal: "ann" }),
      rpc(here, "tools/call", order(), { principal: "ann" }),
    ]);
    expect(new Set(calls.map(({ result }) => result!["taskId"])).size).toBe(5);
    await until(() => orders.length === 5);
  });

  test("may reuse the key once its task has expired", async () => {
    const { here, release, skip } = await deployed();
    release();
    const first = await rpc(here, "tools/call", order(), keyed("k1"));
    const taskId = first.result!["taskId"];
    await until(async () => (await rpc(here, "tasks/get", { taskId }, { principal: "ann" })).result!["status"] === "completed");
    skip(2 * 24 * 60 * 60 * 1_000);
    const again = await rpc(here, "tools/call", order("chair"), keyed("k1"));
    expect(again.result!["taskId"]).not.toBe(taskId);
  });

  test.each([
    ["", "an empty one"],
    ["x".repeat(256), "one that is too long"],
    ["two words", "a space"],
    ["käse", "a letter beyond ASCII"],
    [7, "a number"],
  ])("that is %j is refused: %s", async (key, _what) => {
    const { here, orders } = await deployed();
    const refused = await rpc(here, "tools/call", order(), { principal: "ann", meta: { [KEY]: key } });
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining(KEY) });
    expect(orders).toEqual([]);
  });

  test("may have 255 characters", async () => {
    const { here, release } = await deployed();
    release();
    expect((await rpc(here, "tools/call", order(), keyed("x".repeat(255)))).result).toMatchObject({ resultType: "task" });
  });
});

describe("a client that holds its call open", () => {
  const blocking = (key: string, more: Options = {}) => keyed(key, { tasks: false, ...more });

  test("gets both calls answered by one task", async () => {
    const { here, there, orders, release } = await deployed();
    const first = rpc(here, "tools/call", order(), blocking("k1"));
    await until(() => orders.length === 1);
    const again = rpc(there, "tools/call", order(), blocking("k1"));
    await until(() => here.waiting + there.waiting === 2);
    release();
    const texts = (await Promise.all([first, again])).map(({ result }) => result!["content"]![0]!["text"]);
    expect([texts, orders]).toEqual([["ordered lamp", "ordered lamp"], ["lamp"]]);
    expect((await rpc(here, "tools/call", order(), blocking("k1"))).result).toMatchObject({ content: [{ text: "ordered lamp" }] });
  });

  test("may lose a call: its task remains, and the next call finds it", async () => {
    const { here, there, orders, release } = await deployed();
    const gone = new AbortController();
    const dropped = rpc(here, "tools/call", order(), blocking("k1", { signal: gone.signal })).catch(() => "gone");
    await until(() => orders.length === 1);
    gone.abort();
    expect(await dropped).toBe("gone");
    await until(() => here.waiting === 0);
    const again = rpc(there, "tools/call", order(), blocking("k1"));
    await until(() => there.waiting === 1);
    release();
    expect((await again).result).toMatchObject({ content: [{ text: "ordered lamp" }] });
    expect(orders).toEqual(["lamp"]);
  });

  test("is asked again if it repeats the call", async () => {
    const { here, there } = await deployed();
    const call = { name: "ask", arguments: {} };
    const first = await rpc(here, "tools/call", call, blocking("k1"));
    expect(first.result).toMatchObject({ resultType: "input_required", inputRequests: { size: {} } });
    const again = await rpc(there, "tools/call", call, blocking("k1"));
    expect(again.result).toMatchObject({ resultType: "input_required", inputRequests: { size: {} } });
    const inputResponses = { size: { action: "accept", content: { value: 4 } } };
    const { requestState } = again.result as unknown as { requestState: string };
    const done = await rpc(there, "tools/call", { ...call, inputResponses, requestState }, blocking("k1"));
    expect(done.result).toMatchObject({ content: [{ text: "size 4" }] });
  });
});

describe("in a session", () => {
  const meta = (key: string) => ({ _meta: { [KEY]: key } });

  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])(
    "a repeated call of %s is answered by the task of the first call, even in another session",
    async (version) => {
      const { here, there, orders, release } = await deployed();
      const [one, other] = [
        await openSession(here, { version, principal: "ann" }),
        await openSession(there, { version, principal: "ann" }),
      ];
      const first = one.request(here, "tools/call", { ...order(), ...meta("k1") }, "first");
      await until(() => orders.length === 1);
      const again = other.request(there, "tools/call", { ...order(), ...meta("k1") }, "again");
      await until(() => here.waiting + there.waiting === 2);
      release();
      const answers = (await Promise.all([first, again])).map(({ messages }) => messages.at(-1));
      expect(answers).toMatchObject([
        { id: "first", result: { content: [{ text: "ordered lamp" }] } },
        { id: "again", result: { content: [{ text: "ordered lamp" }] } },
      ]);
      expect(orders).toEqual(["lamp"]);
    },
  );

  test("a repeated call is asked on its own stream, and answered there", async () => {
    const { here, there } = await deployed();
    const session = await openSession(there, { principal: "ann" });
    const lost = await openSession(here, { principal: "ann" });
    const first = await lost.stream(here, "tools/call", { name: "ask", arguments: {}, ...meta("k1") }, "first");
    await until(async () => (await first.next()).method === "elicitation/create");
    first.close();

    const again = await session.stream(there, "tools/call", { name: "ask", arguments: {}, ...meta("k1") }, "again");
    let asked = await again.next();
    while (asked.method !== "elicitation/create") asked = await again.next();
    await session.reply(here, asked.id, { action: "accept", content: { value: 4 } });
    let answer = await again.next();
    while (answer.id !== "again") answer = await again.next();
    expect(answer).toMatchObject({ result: { content: [{ text: "size 4" }] } });
  });

  test("a repeated call is kept connected by comments while its task works", async () => {
    const { here, there, release } = await deployed({ streamAfterMs: 5, keepAliveMs: 5 });
    const session = await openSession(here, { principal: "ann" });
    const first = await session.stream(here, "tools/call", { ...order(), ...meta("k1") }, "first");
    first.close();
    const again = await session.stream(there, "tools/call", { ...order(), ...meta("k1") }, "again");
    const answer = again.next();
    await until(() => again.text.includes(": keep-alive\n\n"));
    release();
    expect(await answer).toMatchObject({ id: "again", result: { content: [{ text: "ordered lamp" }] } });
  });

  test("a repeated call that waits for a person ends with an error when its front end shuts down, and can be repeated again", async () => {
    const { here, there } = await deployed({ shutdownTimeoutMs: 10 });
    const session = await openSession(there, { principal: "ann" });
    const ask = { name: "ask", arguments: {}, ...meta("k1") };
    const first = await session.stream(there, "tools/call", ask, "first");
    await until(async () => (await first.next()).method === "elicitation/create");
    first.close();
    const again = await session.stream(here, "tools/call", ask, "again");
    await until(async () => (await again.next()).method === "elicitation/create");

    const closed = here.app.close();

    expect(await again.next()).toMatchObject({ id: "again", error: { message: expect.stringMatching("idempotency key") } });
    await closed;
    const third = await session.stream(there, "tools/call", ask, "third");
    await until(async () => (await third.next()).method === "elicitation/create");
    third.close();
  });

  test("a repeated call that is cancelled ends, at any front end; the first call and its task continue", async () => {
    const { here, there } = await deployed();
    const session = await openSession(here, { principal: "ann" });
    const call = { name: "ask", arguments: {}, ...meta("k1") };
    const first = await session.stream(here, "tools/call", call, "first");
    const asked = await first.next();
    const again = await session.stream(here, "tools/call", call, "again");
    expect((await again.next()).id).toBe(asked.id);

    await session.post(there, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "again" } });

    await again.ended();
    expect(again.text).not.toContain("error");
    await session.reply(there, asked.id, { action: "accept", content: { value: 4 } });
    expect(await first.next()).toMatchObject({ id: "first", result: { content: [{ text: "size 4" }] } });
  });

  test.each(["before", "after"])("a repeated call that is cancelled right %s its session knows of it ends", async (moment) => {
    const { here, there, sessions } = await deployed();
    const session = await openSession(here, { principal: "ann" });
    const call = { name: "ask", arguments: {}, ...meta("k1") };
    const first = await session.stream(here, "tools/call", call, "first");
    const asked = await first.next();
    const cancel = () => session.post(there, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "again" } });
    const note = sessions.noteCall.bind(sessions);
    vi.spyOn(sessions, "noteCall").mockImplementationOnce(async (...noting) => {
      if (moment === "before") await cancel();
      const noted = await note(...noting);
      if (moment === "after") await cancel();
      return noted;
    });

    const { messages } = await session.request(here, "tools/call", call, "again");

    expect(messages.filter(({ id }) => id === "again")).toEqual([]);
    await session.reply(there, asked.id, { action: "accept", content: { value: 4 } });
    expect(await first.next()).toMatchObject({ id: "first", result: { content: [{ text: "size 4" }] } });
    await expect.poll(async () => (await sessions.calls(session.sessionId)).size).toBe(0);
  });

  test("a repeated call for a task returns the task of the first call", async () => {
    const { here, there, orders, release } = await deployed();
    const session = await openSession(here, { principal: "ann" });
    const call = { ...order(), ...meta("k1"), task: {} };
    const [first, again] = [await session.request(here, "tools/call", call, 1), await session.request(there, "tools/call", call, 2)];
    const idOf = (answered: typeof first) => answered.messages.at(-1)?.result!["task"]!["taskId"];
    expect(idOf(first)).toEqual(expect.any(String));
    expect(idOf(again)).toBe(idOf(first));
    release();
    await until(
      async () => (await session.request(here, "tasks/get", { taskId: idOf(first) })).messages.at(-1)?.result!["status"] === "completed",
    );
    expect(orders).toEqual(["lamp"]);
  });
});
