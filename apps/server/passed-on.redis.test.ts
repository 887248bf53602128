/** Events of upstreams at a front end: those of a Parley behind another one, whichever family the gateway speaks, and those that end. test/e2e/gateway-events.e2e.test.ts kills what it can. */
import { type PassedOnType, RpcFailure } from "@parley/core";
import { createConnector, createOffer, createReadThrough, createUpstreamFetch, parseUpstreams, readListing } from "@parley/gateway";
import { createMemoryShares } from "@parley/gateway/memory";
import { systemClock } from "@parley/node";
import { catalogue, defineTool } from "@parley/sdk";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { serveReads } from "../../packages/gateway/lists/reads.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { type Message, rpc, stream } from "./client.fixture.ts";
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
  vi.restoreAllMocks();
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

/** An event type of an upstream that answers its first poll with a place, and the others so. */
function offeredAs(poll: PassedOnType["poll"]): PassedOnType {
  let polls = 0;
  return {
    name: "far_note",
    inputSchema: {},
    payloadSchema: {},
    async poll(wanted) {
      polls += 1;
      return polls === 1 ? { events: [], cursor: "u.0", isTruncated: false, isMore: false, nextPollMs: 1_000 } : await poll(wanted);
    },
  };
}

// "notifications/events/terminated … indicates the subscription has ended, not just a per-event failure."
test.each([
  ["vanishes", undefined, { code: -32011, message: "the event type far_note is not offered any more", data: { kind: "event" } }],
  [
    "is refused by its upstream",
    new RpcFailure(-32012, "no access", { reason: "revoked" }),
    { code: -32012, message: "no access", data: { reason: "revoked" } },
  ],
])("a stream of an event type that %s says so once, and after a while that it has ended", async (_what, refused, error) => {
  const { sleep } = systemClock;
  vi.spyOn(systemClock, "sleep").mockImplementation((ms, signal) => sleep(ms / 1_000, signal));
  let isOffered = true;
  const type = offeredAs(() => Promise.reject(refused ?? new Error("it is not polled")));
  const own = catalogue();
  const { fronts } = await deploy({
    catalogue: { current: () => ({ ...own, passedOn: new Map(isOffered ? [[type.name, type]] : []) }), runnable: () => own },
    stored: redis,
    sessions: redis.sessions,
  });
  const opened = await stream(fronts[0] as Front, "events/stream", { name: type.name, cursor: null }, { principal: "ada" });
  expect(await opened.next()).toMatchObject({ method: "notifications/events/active", params: { cursor: "u.0" } });
  isOffered = refused !== undefined;
  const others: Message[] = [];
  // oxlint-disable-next-line no-await-in-loop -- message after message
  while (others.at(-1)?.result === undefined) others.push(await opened.next());
  const subscription = { _meta: { "io.modelcontextprotocol/subscriptionId": expect.anything() } };
  expect(others.filter(({ method }) => method !== "notifications/events/heartbeat")).toMatchObject([
    { method: "notifications/events/error", params: subscription },
    { method: "notifications/events/terminated", params: { error, ...subscription } },
    { result: { resultType: "complete", ...subscription } },
  ]);
});
