/** A deployment of Parley as an upstream of another one, both in this process, over real sockets, in either era. */
import { catalogue, defineTool, ToolError } from "@parley/sdk";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { rpc } from "../../apps/server/client.fixture.ts";
import { deploy } from "../../apps/server/deployment.fixture.ts";
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
);

async function behind(revisions: "sessions" | "newest" | "auto") {
  const inner = await deploy({ catalogue: own, fronts: 1 });
  const { fetch, close } = createUpstreamFetch();
  const prepared = prepareSessions(createConnector({ fetch, version: "1", deployment: "outer" }));
  onTestFinished(async () => {
    await prepared.close();
    await close();
  });
  const file = { upstreams: [{ name: "inner", url: inner.fronts[0]?.url, revisions, connectTimeout: "60s" }] };
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
    own: catalogue(),
    upstreams,
    deployment: "outer",
    listings: { read: async () => new Map([["inner", { revision: "1", text: JSON.stringify(listing) }]]), write: async () => undefined },
    calls,
    elicitation: { timeoutMs: 600_000, blockingTimeoutMs: 60_000 },
    onAnnouncement: async () => () => undefined,
    log: quiet,
  });
  onTestFinished(offer.close);
  const outer = await deploy({ catalogue: offer, fronts: 1 });
  return outer.fronts[0]!;
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
