/** Events, as other systems report them: over HTTP, with nothing but the address that a tool handed out. */
import { eventKey, ParleyError, sweep } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { type Deploy, deploy, type Front } from "./deployment.fixture.ts";

const BODY = z.object({ amount: z.number(), note: z.string().optional() });

const waiting = catalogue([
  defineTool({
    name: "wait",
    input: z.object({ timeout: z.string().default("1 hour") }),
    async run({ timeout }, ctx) {
      const paid = await ctx.branch("order", async () => ctx.event("paid", { schema: BODY, timeout: timeout as "1 hour" }));
      const { amount } = await paid.received();
      return `paid ${amount}`;
    },
  }),
]);

async function startWaiting(request: Partial<Deploy> = {}, args: object = {}) {
  const deployment = await deploy({ catalogue: waiting, fronts: 2, ...request });
  const [here, there] = deployment.fronts as [Front, Front];
  const options = { principal: "ann" };
  const created = await rpc(here, "tools/call", { name: "wait", arguments: args }, options);
  const taskId = String(created.result!["taskId"]);
  const get = async () => (await rpc(there, "tasks/get", { taskId }, options)).result!;
  await until(async () => ((await deployment.services.store.load(taskId))?.events ?? []).length > 0);
  const { token } = deployment.services.eventTokens!.tokenOf(taskId, eventKey("order/paid"));
  const at = (front: Front, path = `/events/${token}`) => new URL(path, front.url).href;
  return { ...deployment, here, there, taskId, get, token, at };
}

async function send(url: string, body: unknown, headers: Record<string, string> = { "content-type": "application/json" }) {
  const response = await fetch(url, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown>, headers: response.headers };
}

describe("an event", () => {
  test("is received at any front end, once, and the tool continues", async () => {
    const { here, there, at, get } = await startWaiting();
    expect(await get()).toMatchObject({ status: "working" });
    expect(await send(at(there), { amount: 3 })).toMatchObject({ status: 200, body: { received: "accepted" } });
    await until(async () => (await get())["status"] === "completed");
    expect(await get()).toMatchObject({ result: { content: [{ text: "paid 3" }] } });
    expect(await send(at(here), { amount: 3 })).toMatchObject({ status: 200, body: { received: "duplicate" } });
    expect(await send(at(here), { amount: 4 })).toMatchObject({ status: 409, body: { error: { code: "EVENT_LATE" } } });
  });

  test("of twenty that arrive at once at both front ends, exactly one is accepted, and every other sender is notified", async () => {
    const { here, there, at } = await startWaiting();
    const responses = await Promise.all(Array.from({ length: 20 }, (_, n) => send(at(n % 2 === 0 ? here : there), { amount: n })));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
  });

  test("that does not fit is refused with the field, and is still waited for", async () => {
    const { here, at } = await startWaiting();
    expect(await send(at(here), { amount: "3" })).toMatchObject({
      status: 422,
      body: { error: { code: "INVALID_EVENT", violations: [{ path: "/amount", message: "must be a number" }] } },
    });
    expect(await send(at(here), [])).toMatchObject({ status: 422 });
    expect(await send(at(here), "null")).toMatchObject({ status: 422, body: { error: { violations: [{ path: "" }] } } });
    expect(await send(at(here), "")).toMatchObject({ status: 400 });
    expect(await send(at(here), "{")).toMatchObject({ status: 400, body: { error: { message: "the body is not valid JSON" } } });
    expect(await send(at(here), "amount=3", { "content-type": "application/x-www-form-urlencoded" })).toMatchObject({ status: 415 });
    expect(await send(at(here), "{}", { "content-type": "application/json", "content-encoding": "gzip" })).toMatchObject({
      status: 415,
      body: { error: { message: 'the Content-Encoding "gzip" is not supported: send the body as it is' } },
    });
    expect(await send(at(here), { amount: 3 })).toMatchObject({ status: 200 });
  });

  test("beyond the rate of its task is refused with the time to wait, and is still waited for", async () => {
    let isBeyond = true;
    const take = async (_sender: unknown, counts: object) => {
      if (!isBeyond || !("answers" in counts)) return;
      throw new ParleyError("QUOTA_EXCEEDED", "too many", { data: { retryAfterMs: 1_200 } });
    };
    const { here, at } = await startWaiting({ rates: { take } });
    const refused = await send(at(here), { amount: 3 });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(refused.body).toMatchObject({ error: { code: "QUOTA_EXCEEDED" } });
    isBeyond = false;
    expect(await send(at(here), { amount: 3 })).toMatchObject({ status: 200 });
  });

  test("that is reported with a bare POST is an empty object", async () => {
    const { here, at } = await startWaiting();
    const response = await fetch(at(here), { method: "POST" });
    expect([response.status, await response.json()]).toMatchObject([422, { error: { violations: [{ path: "/amount" }] } }]);
  });

  test("may be as large as a body and as a stored value, and no larger", async () => {
    const { here, at } = await startWaiting({ settings: { storedValueMax: 1_000 }, limits: { bodyBytesMax: 5_000 } });
    const sized = (chars: number) => {
      // As it is stored: {"action":"accept","content":{"body":…}}
      const around = JSON.stringify({ action: "accept", content: { body: { amount: 3, note: "" } } }).length;
      return { amount: 3, note: "x".repeat(chars - around) };
    };
    expect(await send(at(here), sized(1_001))).toMatchObject({ status: 413, body: { error: { code: "TOO_LARGE" } } });
    expect(await send(at(here), { amount: 3, note: "x".repeat(5_000) })).toMatchObject({ status: 413 });
    const deep = `${'{"a":'.repeat(65)}1${"}".repeat(65)}`;
    expect(await send(at(here), deep)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining("PARLEY_BODY_DEPTH_MAX") } },
    });
    expect(await send(at(here), sized(1_000))).toMatchObject({ status: 200 });
  });

  test("whose deadline has passed or whose task was cancelled is late", async () => {
    const timed = await startWaiting({}, { timeout: "1 hour" });
    timed.skip(60 * 60 * 1_000);
    await sweep(timed.services, { partition: 0 });
    await until(async () => (await timed.get())["status"] === "completed");
    expect(await send(timed.at(timed.here), { amount: 3 })).toMatchObject({ status: 409 });
    const cancelled = await startWaiting();
    await rpc(cancelled.here, "tasks/cancel", { taskId: cancelled.taskId }, { principal: "ann" });
    expect(await send(cancelled.at(cancelled.here), { amount: 3 })).toMatchObject({ status: 409, body: { error: { code: "EVENT_LATE" } } });
  });

  test("may be reported from within the step that hands out its address", async () => {
    const fronts: Front[] = [];
    const fast = catalogue([
      defineTool({
        name: "wait",
        async run(_args, ctx) {
          const paid = ctx.event("paid", { schema: BODY });
          const { status } = await ctx.step("checkout", async () => {
            const { status: http } = await send(new URL(new URL(paid.url).pathname, fronts[0]?.url).href, { amount: 5 });
            return { status: http };
          });
          return `${status} paid ${(await paid.received()).amount}`;
        },
      }),
    ]);
    fronts.push(...(await deploy({ catalogue: fast, fronts: 1 })).fronts);
    const called = await rpc(fronts[0]!, "tools/call", { name: "wait", arguments: {} }, { tasks: false });
    expect(called.result).toMatchObject({ content: [{ text: "200 paid 5" }] });
  });
});

describe("a token", () => {
  test("that was never issued, or was changed, is not found, even if it names a task", async () => {
    const { here, at, token, taskId } = await startWaiting();
    const [id, key, signature = ""] = token.split(".");
    const forged = [
      "x",
      taskId,
      `${id}.${key}`,
      `${id}.${key}.${"A".repeat(43)}`,
      `${id}.${Buffer.from("event:other").toString("base64url")}.${signature}`,
      `${token}.`,
      `${token}/x`,
      encodeURIComponent("../../mcp"),
      "x".repeat(9_000),
    ];
    for (const other of forged) {
      expect([other.slice(0, 80), await send(at(here, `/events/${other}`), { amount: 1 })]).toMatchObject([
        other.slice(0, 80),
        { status: 404, body: { error: { code: "EVENT_NOT_FOUND" } } },
      ]);
    }
  });

  test("of a task that has expired is not found", async () => {
    const { here, at, get, skip } = await startWaiting();
    await send(at(here), { amount: 1 });
    await until(async () => (await get())["status"] === "completed");
    skip(31 * 24 * 60 * 60 * 1_000);
    expect(await send(at(here), { amount: 1 })).toMatchObject({ status: 404 });
  });

  test("is used only by POST", async () => {
    const { here, at } = await startWaiting();
    for (const method of ["GET", "HEAD", "PUT", "DELETE"]) {
      const response = await fetch(at(here), { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "POST"]);
    }
  });

  test("reaches no client and no log", async () => {
    const { here, at, get, token, logged, taskId } = await startWaiting();
    const before = JSON.stringify(await get());
    await send(at(here), { amount: "secret of the sender" });
    await send(at(here), { amount: 3 });
    await until(async () => (await get())["status"] === "completed");
    const signature = token.split(".")[2]!;
    const timeline = JSON.stringify(await get());
    for (const text of [before, timeline, JSON.stringify(logged)]) {
      expect(text).not.toContain(signature);
      expect(text).not.toContain("secret of the sender");
    }
    expect(JSON.stringify(logged)).toContain(taskId);
  });

  test("does not belong to a client: an answer to its key answers no question", async () => {
    const { here, taskId, get } = await startWaiting();
    const answered = await rpc(
      here,
      "tasks/update",
      { taskId, inputResponses: { "event:order/paid": { action: "accept", content: { body: { amount: 1_000 } } } } },
      { principal: "ann" },
    );
    expect(JSON.stringify(answered)).not.toContain("accepted");
    expect(await get()).toMatchObject({ status: "working" });
  });

  test("is counted for its own task before anything is read", async () => {
    const taken: unknown[] = [];
    const { here, at, taskId } = await startWaiting({
      rates: { take: async (caller, counts) => void taken.push([caller.principal, counts]) },
    });
    taken.length = 0;
    await send(at(here), { amount: 3 });
    await send(at(here, "/events/forged"), { amount: 3 });
    expect(taken).toEqual([[`event ${taskId}`, { answers: 1 }]]);
  });
});
