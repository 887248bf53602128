/** A Parley behind another one: its events are polled there, whichever family the gateway speaks. test/e2e/gateway-events.e2e.test.ts kills what it can. */
import type { PassedOnType } from "@parley/core";
import { createConnector, createOffer, createReadThrough, createUpstreamFetch, parseUpstreams, readListing } from "@parley/gateway";
import { createMemoryShares } from "@parley/gateway/memory";
import { catalogue, defineTool } from "@parley/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serveReads } from "../../packages/gateway/lists/reads.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy, type Front } from "./deployment.fixture.ts";

const DAY_MS = 86_400_000;
const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
let redis: OpenRedis;
let upstreamFront: Front;
const closers: (() => unknown)[] = [];

beforeEach(async () => {
  redis = await openRedis({ outbox: { lengthMax: 1_000, ageMs: DAY_MS } });
  const { fronts } = await deploy({ catalogue: catalogue([defineTool({ name: "greet", run: () => "hello" })]), stored: redis });
  upstreamFront = fronts[0] as Front;
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  await redis.close();
});

test.each(["sessions", "newest"] as const)(
  "events of a Parley are listed and polled by %s, and say which gateways they came through",
  async (revisions) => {
    const headers = { "x-principal": "gateway" };
    const [upstream] = parseUpstreams(
      "up.json",
      JSON.stringify({ upstreams: [{ name: "far", url: upstreamFront.url, headers, revisions }] }),
    );
    const { fetch, close } = createUpstreamFetch();
    const connector = createConnector({ fetch, version: "1", deployment: "near" });
    const share = createMemoryShares(Date.now);
    const [worker, front] = [share(), share()];
    const session = await connector.open(upstream!, { capabilities: {}, signal: AbortSignal.timeout(20_000) });
    await worker.writeList("far", JSON.stringify(await readListing(session, upstream!)));
    await session.close();
    const reads = await createReadThrough(front);
    const stopServing = await serveReads({ asking: worker, connector, upstreams: () => [upstream!], log });
    const offer = await createOffer({
      own: catalogue(),
      upstreams: [upstream!],
      deployment: "near",
      listings: { read: front.readLists, write: front.writeList },
      onAnnouncement: async () => quiet,
      log,
      reads,
    });
    closers.push(close, reads.close, stopServing, offer.close);

    const { passedOn } = await offer.current(callerNamed("ada"));
    expect([...(passedOn?.keys() ?? [])]).toContain("far_ask.opened");
    const ended = passedOn?.get("far_task.ended") as PassedOnType;
    expect(ended.meta).toEqual({ "parley/via": ["near"] });
    const { cursor } = await ended.poll({ arguments: {}, limit: 10 });
    const { result } = await rpc(upstreamFront, "tools/call", { name: "greet", arguments: {} }, { principal: "gateway" });
    await expect
      .poll(async () => (await ended.poll({ arguments: {}, limit: 10, cursor: cursor ?? "" })).events, { timeout: 20_000 })
      .toMatchObject([{ id: expect.stringMatching(/^far:/), data: { taskId: result?.["taskId"], status: "completed" } }]);
    await expect(ended.poll({ arguments: { tool: 1 }, limit: 10 })).rejects.toMatchObject({ code: -32602 });
  },
);
