/** A deployment of Parley as an upstream of another one, both in this process, over real sockets, in either era. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Catalogue } from "@parley/core";
import { catalogue, definePrompt, defineTool, ToolError } from "@parley/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type Message, rpc } from "../../apps/server/client.fixture.ts";
import { type Deploy, deploy, type Front } from "../../apps/server/deployment.fixture.ts";
import { openSession } from "../../apps/server/session-client.fixture.ts";
import { createCalls } from "../../packages/gateway/call/calls.ts";
import { parseUpstreams } from "../../packages/gateway/config/upstreams.ts";
import { prepareSessions } from "../../packages/gateway/connection/prepared-sessions.ts";
import { createUpstreamFetch } from "../../packages/gateway/connection/upstream-fetch.ts";
import { createConnector } from "../../packages/gateway/connection/upstream-session.ts";
import { LISTING_CAPABILITIES, readListing } from "../../packages/gateway/lists/listing.ts";
import { createMemoryShares } from "../../packages/gateway/memory/shared-state.ts";
import { createOffer } from "../../packages/gateway/offer/offer.ts";
import { ELICITATION, someDeps } from "../../packages/gateway/upstream.fixture.ts";
import { until } from "../support/until.ts";

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

const OF_BOB = { message: "Pay?", schema: z.object({ yes: z.boolean() }), to: { people: ["bob"] } } as const;

/** Every kind of field that a tool's author can write. */
const order = z.object({
  name: z.string().min(1).max(40),
  code: z.string().regex(/^[A-Z]{2}-\d+$/),
  mail: z.email().optional(),
  day: z.iso.date(),
  count: z.int().min(1).max(20).multipleOf(2),
  price: z.number().gt(0).lt(100),
  kind: z.enum(["small", "large"]),
  extras: z.array(z.enum(["wine", "bread"])).max(2),
  note: z.string().nullable(),
  gift: z.boolean().default(false),
});

const own = catalogue(
  defineTool({
    name: "order",
    async run(_args, ctx) {
      const first = await ctx.elicit("order", { message: "What shall it be?", schema: order });
      const { sure } = await ctx.elicit("sure", { message: `${first.count} of ${first.code}?`, schema: z.object({ sure: z.boolean() }) });
      return JSON.stringify({ ...first, sure });
    },
  }),
  defineTool({ name: "fails", run: () => Promise.reject(new ToolError("no such table")) }),
  defineTool({ name: "pay", run: async (_args, ctx) => `paid: ${(await ctx.elicit("yes", OF_BOB)).yes}` }),
  definePrompt({ name: "bill", run: async (_args, ctx) => `paid: ${(await ctx.elicit("yes", OF_BOB)).yes}` }),
);

interface Behind {
  readonly inner?: Partial<Deploy>;
  readonly outer?: Partial<Deploy>;
  readonly entry?: object;
  /** What the gateway offers itself. */
  readonly own?: Catalogue;
}

async function behind(revisions: "sessions" | "newest" | "auto", more: Behind = {}) {
  const inner = await deploy({ catalogue: own, fronts: 1, ...more.inner });
  const { fetch, close } = createUpstreamFetch();
  const prepared = prepareSessions(createConnector({ fetch, version: "1", deployment: "outer" }));
  onTestFinished(async () => {
    await prepared.close();
    await close();
  });
  const file = { upstreams: [{ name: "inner", url: inner.fronts[0]?.url, revisions, connectTimeout: "60s", ...more.entry }] };
  const upstreams = parseUpstreams("up.json", JSON.stringify(file));
  const session = await prepared.open(upstreams[0]!, { capabilities: LISTING_CAPABILITIES });
  const listing = await readListing(session, upstreams[0]!, { deployment: "outer" });
  await session.close();
  const calls = createCalls({
    call: someDeps(prepared, { elicitation: { ...ELICITATION, timeoutMs: 600_000 } }),
    holders: createMemoryShares(Date.now)(),
    callsMax: 100,
    onAbandoned: () => undefined,
    log: quiet,
  });
  const offer = await createOffer({
    own: more.own ?? catalogue(),
    upstreams,
    deployment: "outer",
    listings: { read: async () => new Map([["inner", { revision: "1", text: JSON.stringify(listing) }]]), write: async () => undefined },
    calls,
    // The longest time of a test's question to a caller that holds its call.
    elicitation: { timeoutMs: 600_000, blockingTimeoutMs: more.entry ? 300 : 60_000 },
    onAnnouncement: async () => () => undefined,
    log: quiet,
  });
  onTestFinished(offer.close);
  const outer = await deploy({ catalogue: offer, fronts: 1, ...more.outer });
  return Object.assign(outer.fronts[0]!, { upstream: inner.fronts[0]! });
}

test.each(["sessions", "newest", "auto"] as const)(
  "asks what its tools ask, takes the answers, and returns their results (%s)",
  async (revisions) => {
    const front = await behind(revisions);
    const { result } = await rpc(front, "tools/call", { name: "inner_order", arguments: {} });
    const taskId = String(result?.["taskId"]);
    const asked = async (message: string) =>
      await until(async () => {
        const { result: task } = await rpc(front, "tasks/get", { taskId });
        if (["completed", "failed"].includes(String(task?.["status"]))) throw new Error(JSON.stringify(task));
        const [[key, request] = []] = Object.entries(
          (task?.["inputRequests"] ?? {}) as Record<string, { params: { message: string; requestedSchema: object } }>,
        );
        return key !== undefined && request?.params.message === message ? { key, schema: request.params.requestedSchema } : undefined;
      });
    const answer = (key: string, content: object) =>
      rpc(front, "tasks/update", { taskId, inputResponses: { [key]: { action: "accept", content } } });

    const first = await asked("inner asks: What shall it be?");
    expect(Object.keys((first.schema as { properties: object }).properties)).toEqual(Object.keys(order.shape));
    const content = { name: "Ann", code: "AB-12", day: "2026-12-24", count: 4, price: 9.5, kind: "large", extras: ["wine"], gift: true };
    await answer(first.key, content);
    const second = await asked("inner asks: 4 of AB-12?");
    await answer(second.key, { sure: true });
    const ended = await until(async () => {
      const { result: task } = await rpc(front, "tasks/get", { taskId });
      return task?.["status"] === "completed" || task?.["status"] === "failed" ? task : undefined;
    });
    expect(ended["status"]).toBe("completed");
    const text = (ended["result"] as unknown as { content: { text: string }[] }).content[0]?.text ?? "";
    expect(JSON.parse(text)).toEqual({ ...content, note: null, sure: true });
  },
);

test.each(["sessions", "newest"] as const)("fails as its tools fail (%s)", async (revisions) => {
  const front = await behind(revisions);
  const { result, error } = await rpc(front, "tools/call", { name: "inner_fails", arguments: {} }, { tasks: false });
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("no such table") }] });
});

describe("a question that the upstream puts to its own people", () => {
  const WITHOUT_TASKS: Partial<Deploy> = { ladder: { rungs: new Set(["input_required", "held", "apps", "text"]) } };
  const SAYS = 'Waiting for people at inner: Waiting for an answer to "Pay?" from bob.';
  const meta = { progressToken: "p" };

  /** Answers what a person finds at the upstream, some time after it is all there. */
  async function answerAsBob({ url }: Front, count: number): Promise<number> {
    const at = (path: string) => new URL(`/api/v1/asks${path}`, url);
    const headers = { "x-principal": "bob", "content-type": "application/json" };
    const asks = await until(async () => {
      const found = (await (await fetch(at(""), { headers })).json()) as { asks: { taskId: string; key: string }[] };
      return found.asks.length === count && found.asks;
    });
    await sleep(3_200);
    const body = JSON.stringify({ action: "accept", content: { yes: true } });
    const answers = asks.map(async ({ taskId, key }) => (await fetch(at(`/${taskId}/${key}`), { method: "POST", headers, body })).status);
    return (await Promise.all(answers)).filter((status) => status === 200).length;
  }

  const messagesOf = (messages: readonly Message[]) => messages.map(({ params }) => params?.["message"]);

  interface Seen {
    /** What the caller was told meanwhile. */
    readonly told: unknown;
    readonly result: unknown;
  }
  type Calls = (front: Front, method: string, params: object) => Promise<Seen>;

  const withTasks: Calls = async (front, method, params) => {
    const { result } = await rpc(front, method, params);
    const get = async () => (await rpc(front, "tasks/get", { taskId: result?.["taskId"] })).result!;
    const told = await until(async () => {
      const { status, statusMessage, _meta } = await get();
      return String(status) === "working" && (_meta as object | undefined)?.["parley/waits" as never] === true && [statusMessage];
    });
    const ended = await until(async () => {
      const task = await get();
      return String(task["status"]) !== "working" && task;
    });
    return { told, result: ended["result"] };
  };

  const withoutTasks: Calls = async (front, method, params) => {
    const told: unknown[] = [];
    for (let more: object = {}; ;) {
      // oxlint-disable-next-line no-await-in-loop -- it comes back as often as it is told to
      const { result, error, notifications } = await rpc(front, method, { ...params, ...more }, { tasks: false, meta });
      told.push(...messagesOf(notifications));
      if (String(result?.["resultType"]) !== "input_required") return { told, result: result ?? error };
      expect(result).toMatchObject({ _meta: { "parley/waits": true } });
      more = { requestState: result?.["requestState"] };
    }
  };

  const inSession: Calls = async (front, method, params) => {
    const { messages } = await (await openSession(front)).request(front, method, { ...params, _meta: meta });
    const last = messages.at(-1);
    return { told: messagesOf(messages.slice(0, -1)), result: last?.result ?? last?.error };
  };

  const pay = ["tools/call", { name: "inner_pay", arguments: {} }] as const;
  const bill = ["prompts/get", { name: "inner_bill" }] as const;
  const buy = ["tools/call", { name: "buy", arguments: {} }] as const;
  const EACH = [
    [withTasks, pay],
    [withoutTasks, pay],
    [inSession, pay],
    [withoutTasks, bill],
    [inSession, bill],
    [withTasks, buy],
    [withoutTasks, buy],
    [inSession, buy],
  ] as const;

  test.each([
    ["newest", "with tasks", {}, {}, EACH],
    ["sessions", "with tasks", {}, {}, EACH],
    ["newest", "without tasks", WITHOUT_TASKS, {}, EACH],
    ["sessions", "without tasks", WITHOUT_TASKS, {}, EACH],
    // Calls in one session take turns.
    ["sessions", "with state", {}, { reuseSessions: true }, EACH.slice(1, 3)],
  ] as const)(
    "is waited for longer than the upstream may work, and each caller is told, also that of a tool that calls the one which asks (%s, %s)",
    async (revisions, _how, inner, entry, each) => {
      const front = await behind(revisions, {
        // Both hand held calls over more than once meanwhile.
        inner: { ...inner, times: { callTimeoutMs: 1_000 } },
        outer: { times: { callTimeoutMs: 1_500 } },
        entry: { callTimeout: "1s", ...entry },
        own: catalogue(defineTool({ name: "buy", run: async (_args, ctx) => `bought, ${String(await ctx.call("inner_pay", {}))}` })),
      });
      const calls = each.map(async ([call, [method, params]]) => await call(front, method, params));
      expect(await answerAsBob(front.upstream, each.length)).toBe(each.length);
      const paid = (text: string) => ({ content: [{ text }] });
      for (const [index, { told, result }] of (await Promise.all(calls)).entries()) {
        expect(told, `${index}`).toContain(SAYS);
        const [, called] = each[index]!;
        expect(result).toMatchObject(
          called === bill
            ? { messages: [{ content: { text: "paid: true" } }] }
            : paid(called === buy ? "bought, paid: true" : "paid: true"),
        );
      }
    },
  );
});
