/** Clients have events posted to an address of their own, with the AI SDK's client and receiver, and with requests by hand (SEP-3415). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMCPClient, experimental_createMCPEventWebhook as createEventWebhook } from "@ai-sdk/mcp";
import type { Experimental_MCPEventStore as EventStore, Experimental_MCPEventSubscription as EventSubscription } from "@ai-sdk/mcp";
import {
  type AuditFact,
  followOccurrences,
  GONE_AFTER_MS,
  OCCURRENCE_TYPES,
  RpcFailure,
  type Subscription,
  subscriptionState,
} from "@parley/core";
import { depositSeal, subscriptionSeal } from "@parley/node";
import { catalogue, defineTool } from "@parley/sdk";
import { type Delivery, type ServeSubscriptions, serveSubscriptions } from "@parley/webhooks";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { type Received, rpc } from "./client.fixture.ts";
import { callerNamed, deploy, type Front } from "./deployment.fixture.ts";

const DAY_MS = 86_400_000;
const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;

const sealing = subscriptionSeal(depositSeal(["a secret of at least thirty-two characters"]));

const subscriptions = () => redis.subscriptions.sealedBy(sealing);

let redis: OpenRedis;
let fronts: readonly Front[];
let posting: Delivery;
let receiver: Server;
let receive: (request: IncomingMessage & { text: string }, response: ServerResponse) => void | Promise<void>;
let warned: [string, object][];
let facts: AuditFact[];
let bodies: { readonly headers: IncomingMessage["headers"]; readonly body: Record<string, unknown> }[];

const ask = defineTool({
  name: "ask",
  input: z.object({ to: z.string().optional() }),
  async run({ to }, ctx) {
    const audience = to === undefined ? {} : { to: { people: [to] } };
    await ctx.ask("size", { message: "How many?", schema: z.object({ n: z.number() }), ...audience });
    return "done";
  },
});

const auditing = { note: async (fact: AuditFact) => void facts.push(fact) };

/** Repeats challenges, and takes everything else. */
function takeAll({ text }: { readonly text: string }, response: ServerResponse): void {
  const { challenge } = JSON.parse(text) as { challenge?: string };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(challenge === undefined ? {} : { challenge }));
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  bodies.push({ headers: request.headers, body: JSON.parse(text) as Record<string, unknown> });
  await receive(Object.assign(request, { text }), response);
}

beforeEach(async () => {
  redis = await openRedis({ outbox: { lengthMax: 1_000, ageMs: DAY_MS }, partitions: 2 });
  [bodies, warned, facts, receive] = [[], [], [], takeAll];
  receiver = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  await serve({});
  posting = servedTo(30);
});
afterEach(async () => {
  await posting.stop();
  receiver.closeAllConnections();
  await new Promise((closed) => receiver.close(closed));
  await redis.close();
});

/** A worker that posts to subscribers. `passedOn`: the event types of upstreams; then it waits a thousandth of the time that upstreams have. */
function servedTo(lookEveryMs: number, passedOn?: ServeSubscriptions["passedOn"]): Delivery {
  const clock = {
    now: redis.now,
    after: (ms: number, callback: () => void) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, passedOn && ms >= 1_000 ? ms / 1_000 : ms);
        signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()));
      }),
  };
  const quiet = () => undefined;
  const log = { info: quiet, warn: (fields: object, message: string) => void warned.push([message, fields]), error: quiet };
  const services = { store: redis.store, outbox: redis.outbox, digest: (text: string) => text, clock, log } as never;
  const feed = followOccurrences(services, { readEveryMs: 30 });
  const served = serveSubscriptions({
    services,
    feed,
    subscriptions: redis.subscriptions.sealedBy(sealing),
    deliveries: redis.webhooks,
    claims: redis.claims,
    log,
    open: (_id, sealed) => Buffer.from(sealed, "base64url").toString(),
    isPrivate: true,
    ...(passedOn && { passedOn }),
    audit: auditing,
    lookEveryMs,
    pace: { retryMs: [50], timeoutMs: 1_000 },
  });
  return {
    async stop() {
      await served.stop();
      feed.close();
    },
  };
}

async function serve({
  isPrivate = true,
  own = 3,
  all = 4,
}: {
  readonly isPrivate?: boolean;
  readonly own?: number;
  readonly all?: number;
}): Promise<void> {
  const desk = {
    subscriptions: redis.subscriptions.sealedBy(sealing),
    load: (subscription: Subscription) => redis.webhooks.load(subscriptionState(subscription)),
    seal: (_id: string, text: string) => Buffer.from(text).toString("base64url"),
    isPrivate,
    limits: { own, all },
  };
  ({ fronts } = await deploy({ catalogue: catalogue([ask]), stored: redis, sessions: redis.sessions, desk, audit: auditing }));
}

const at = (index: number) => fronts[index] as Front;
const hook = (path = "/hook") => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

async function call(principal: string, args: object = {}): Promise<string> {
  const { result } = await rpc(at(0), "tools/call", { name: "ask", arguments: args }, { principal });
  return result?.["taskId"] as unknown as string;
}

function subscribe(params: object = {}, principal = "ada", front = at(0)): Promise<Received> {
  const given = { name: "ask.opened", arguments: {}, delivery: { mode: "webhook", url: hook(), secret: SECRET }, ...params };
  return rpc(front, "events/subscribe", given, { principal });
}

const events = () => bodies.flatMap(({ body }) => ("eventId" in body ? [body] : []));

test("the AI SDK's client subscribes, verifies, receives, renews and unsubscribes", async () => {
  const kept = new Map<string, EventSubscription>();
  const store: EventStore = {
    get: async (key) => kept.get(key),
    getById: async (id) => [...kept.values()].find((each) => each.id === id),
    set: async (subscription) => void kept.set(subscription.key, subscription),
    async update(key, patch) {
      const known = kept.get(key);
      if (known) kept.set(key, { ...known, ...patch });
    },
    delete: async (key) => void kept.delete(key),
  };
  const heard: unknown[] = [];
  const webhook = createEventWebhook({
    store,
    validatePayload: () => undefined,
    onEvent: async ({ event }: { readonly event: unknown }) => void heard.push(event),
  } as never);
  receive = async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const reply = await webhook(new Request(new URL(request.url ?? "", hook()), { method: "POST", headers, body: request.text }));
    response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
  };
  const client = await createMCPClient({
    transport: { type: "http", url: at(0).url, headers: { "x-principal": "ada" } },
    experimental_events: { store },
  });
  const { events: listed } = await client.experimental_events.list();
  expect(listed).toMatchObject(OCCURRENCE_TYPES.map((name) => ({ name, delivery: ["poll", "push", "webhook"] })));
  const delivery = { mode: "webhook", url: hook(), allowInsecureLocalhost: true } as const;
  const subscribed = await client.experimental_events.subscribe({ name: "ask.opened", arguments: { tool: "ask" }, delivery });
  const taskId = await call("ada");
  await expect.poll(() => heard).toMatchObject([{ name: "ask.opened", data: { taskId, key: "size" } }]);
  const [key = ""] = kept.keys();
  await client.experimental_events.refresh({ key });
  await client.experimental_events.unsubscribe({ key });
  expect(await subscriptions().list(redis.now())).toEqual([]);
  expect(subscribed).toBeDefined();
  await client.close();
});

describe("a subscription", () => {
  test("begins with a challenge, and then posts what its caller may hear, with a cursor to go on from", async () => {
    const { result } = await subscribe();
    expect(result).toMatchObject({
      resultType: "complete",
      id: expect.stringMatching(/^sub_/),
      refreshBefore: expect.stringMatching(/Z$/),
      truncated: false,
    });
    expect(bodies).toMatchObject([{ body: { type: "verification", challenge: expect.any(String) } }]);
    expect(bodies[0]?.headers["webhook-id"]).toMatch(/^msg_verification_/);
    await call("bob");
    const taskId = await call("bob", { to: "ada" });
    await expect.poll(() => events()).toMatchObject([{ name: "ask.opened", data: { taskId, from: "others" }, cursor: expect.any(String) }]);
    const { headers, body } = bodies.at(-1) as (typeof bodies)[number];
    expect(headers).toMatchObject({
      "webhook-id": body["eventId"],
      "x-mcp-subscription-id": result?.["id"],
      "content-type": "application/json",
    });
    expect(JSON.stringify(body)).not.toContain("How many");
    const next = await rpc(at(1), "events/poll", { name: "ask.opened", cursor: body["cursor"] }, { principal: "ada" });
    expect(next.result).toMatchObject({ events: [], truncated: false });
  });

  test("is posted to with a few others of its caller at a time, and another caller's does not wait for them", async () => {
    await serve({ own: 40, all: 50 });
    const slow: ServerResponse[] = [];
    receive = (request, response) => {
      if (request.url?.startsWith("/slow") && request.text.includes("eventId")) slow.push(response);
      else takeAll(request, response);
    };
    const paths = Array.from({ length: 20 }, (_, number) => `/slow/${number}`);
    for (const path of paths) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await subscribe({ delivery: { mode: "webhook", url: hook(path), secret: SECRET } })).error).toBeUndefined();
    }
    await subscribe({}, "bob");
    await call("ada");
    await expect.poll(() => slow).toHaveLength(16);
    await call("bob");
    await expect.poll(() => events().filter(({ data }) => JSON.stringify(data).includes('"from":"me"')).length).toBe(17);
    expect(slow).toHaveLength(16);
    for (const response of slow.splice(0)) response.writeHead(204).end();
    await expect.poll(() => slow).toHaveLength(4);
    for (const response of slow) response.writeHead(204).end();
  });

  test("is one, however often and wherever it is made; its secret is replaced, and both sign for a while", async () => {
    const first = await subscribe();
    const secret = `whsec_${Buffer.alloc(32, 4).toString("base64")}`;
    const again = await subscribe({ delivery: { url: hook(), secret }, ttlMs: 5_000 }, "ada", at(1));
    expect(again.result).toMatchObject({ id: first.result?.["id"], deliveryStatus: { active: true, lastError: null } });
    expect(bodies).toHaveLength(1);
    // At least a minute.
    expect(Date.parse(again.result?.["refreshBefore"] as unknown as string) - redis.now()).toBeGreaterThan(50_000);
    expect(await subscriptions().list(redis.now())).toHaveLength(1);
    await call("ada");
    await expect.poll(() => events()).toHaveLength(1);
    expect(String(bodies.at(-1)?.headers["webhook-signature"]).split(" ")).toHaveLength(2);
  });

  test.each([
    ["nothing", {}, 60],
    ["no end", { ttlMs: null }, 60],
    ["no time", { ttlMs: 0 }, 1],
    ["less than a minute", { ttlMs: 59_999 }, 1],
    ["a day", { ttlMs: DAY_MS }, 24 * 60],
    ["a week", { ttlMs: 7 * DAY_MS }, 7 * 24 * 60],
    ["years", { ttlMs: 900 * DAY_MS }, 7 * 24 * 60],
    ["for ever", { ttlMs: 1e308 }, 7 * 24 * 60],
  ])("that is to last for %s is granted what is reasonable", async (_what, wanted, minutes) => {
    const beforeMs = redis.now();
    const { result } = await subscribe(wanted);
    const grantedMs = Date.parse(result?.["refreshBefore"] as unknown as string) - minutes * 60_000;
    expect(grantedMs).toBeGreaterThanOrEqual(beforeMs - 1);
    expect(grantedMs).toBeLessThanOrEqual(redis.now());
    expect(await subscriptions().list(redis.now())).toMatchObject([{ url: hook() }]);
  });

  test("is recorded for auditors when it is made and when its owner ends it, with the origin of its address alone", async () => {
    const url = `${hook()}?key=as-good-as-a-password`;
    const delivery = { mode: "webhook", url, secret: SECRET };
    const { result } = await subscribe({ delivery });
    await subscribe({ delivery });
    expect((await subscribe({ arguments: { tool: 1 } })).error).toBeDefined();
    for (let times = 0; times < 2; times += 1)
      await rpc(at(1), "events/unsubscribe", { name: "ask.opened", arguments: {}, delivery: { url } }, { principal: "ada" });
    const subscription = { id: result?.["id"], event: "ask.opened", origin: new URL(url).origin };
    const about = { principal: "ada", door: expect.stringMatching(/^2026-07-28 /), subscription };
    expect(facts.filter(({ action }) => action.endsWith("subscribe"))).toEqual([
      { action: "subscribe", ...about },
      { action: "unsubscribe", ...about },
    ]);
  });

  test("ends, and another person's does not", async () => {
    await subscribe();
    const params = { name: "ask.opened", arguments: {}, delivery: { url: hook() } };
    const foreign = await rpc(at(1), "events/unsubscribe", params, { principal: "bob" });
    expect(foreign.error).toMatchObject({ code: -32011, data: { kind: "subscription" } });
    expect((await rpc(at(1), "events/unsubscribe", params, { principal: "ada" })).error).toBeUndefined();
    expect((await rpc(at(1), "events/unsubscribe", params, { principal: "ada" })).error).toMatchObject({ code: -32011 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await call("ada");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(events()).toEqual([]);
  });

  test("goes on from a cursor, as far as it is kept", async () => {
    const { result } = await rpc(at(0), "events/poll", { name: "ask.opened", cursor: null }, { principal: "ada" });
    const taskId = await call("ada");
    await expect.poll(async () => (await redis.store.load(taskId))?.status).toBe("input_required");
    await subscribe({ cursor: result?.["cursor"] });
    await expect.poll(() => events()).toMatchObject([{ data: { taskId } }]);
    const old = `1.${Date.now() - 2 * DAY_MS}-0.${Date.now() - 2 * DAY_MS}-0`;
    expect((await subscribe({ cursor: old, arguments: { tool: "ask" } })).result).toMatchObject({ truncated: true });
  });

  test("leaves nothing behind after its end", async () => {
    await subscribe();
    await call("ada");
    await expect.poll(() => events()).toHaveLength(1);
    const states = () => redis.redis.keys(`${redis.prefix}:webhook:*`);
    await expect.poll(states).toHaveLength(1);
    await rpc(at(0), "events/unsubscribe", { name: "ask.opened", arguments: {}, delivery: { url: hook() } }, { principal: "ada" });
    await expect.poll(states).toEqual([]);
  });

  test("that is made again after its end begins where it says, and not where the last one was", async () => {
    await subscribe();
    await call("ada");
    await expect.poll(() => events()).toHaveLength(1);
    await rpc(at(0), "events/unsubscribe", { name: "ask.opened", arguments: {}, delivery: { url: hook() } }, { principal: "ada" });
    // The worker has noticed.
    await expect.poll(() => redis.redis.keys(`${redis.prefix}:webhook:*`)).toEqual([]);
    const between = await call("ada");
    await expect.poll(async () => (await redis.store.load(between))?.status).toBe("input_required");
    await subscribe();
    const after = await call("ada");
    await expect.poll(() => events().map(({ data }) => (data as { taskId: string }).taskId)).toContain(after);
    expect(events()).toHaveLength(2);
  });

  // "MUST treat 410 as a non-retryable failure for that delivery (like 413), without affecting the subscription itself."
  test.each([410, 413])("whose receiver refuses one event with %i goes on with the next one, and fails for nobody", async (status) => {
    await subscribe();
    let refusals = 0;
    receive = (request, response) => {
      if (refusals > 0) return takeAll(request, response);
      refusals += 1;
      response.writeHead(status).end();
    };
    await call("ada");
    await expect.poll(() => events()).toHaveLength(1);
    await call("ada");
    await expect.poll(() => events()).toHaveLength(2);
    expect(new Set(events().map(({ eventId }) => eventId)).size).toBe(2);
    expect((await subscribe()).result?.["deliveryStatus"]).toMatchObject({ active: true, lastError: null });
    expect(await redis.redis.keys(`${redis.prefix}:*dead*`)).toEqual([]);
  });

  test("that is not renewed ends, and its receiver is told so once, signed, by one of the workers", async () => {
    const { result } = await subscribe();
    const other = servedTo(60);
    await call("ada");
    await expect.poll(() => events()).toHaveLength(1);
    const [made] = await subscriptions().list(redis.now());
    if (made === undefined) throw new Error("there is no subscription");
    await subscriptions().put({ ...made, expiresAtMs: redis.now() + 300 }, { own: 9, all: 9 }, redis.now());
    const ends = () => bodies.filter(({ body }) => body["type"] === "terminated");
    await expect.poll(ends).toHaveLength(1);
    expect(ends()[0]).toMatchObject({
      headers: {
        "webhook-id": expect.stringMatching(/^msg_terminated_/),
        "webhook-signature": expect.stringMatching(/^v1,/),
        "x-mcp-subscription-id": result?.["id"],
      },
      body: { error: { code: -32011, data: { kind: "subscription", reason: "expired" } } },
    });
    const subscription = { id: result?.["id"], event: "ask.opened", origin: new URL(hook()).origin };
    expect(facts.filter(({ action }) => action === "unsubscribe")).toEqual([
      { action: "unsubscribe", door: "deadline", verdict: "expired", subscription },
    ]);
    // Both workers have forgotten it.
    await expect.poll(() => redis.redis.keys(`${redis.prefix}:webhook:*`)).toEqual([]);
    await other.stop();
    expect(ends()).toHaveLength(1);
  });

  /** By `ada` of `acme`, to an event type of an upstream. Returns its id. */
  async function subscribeToNotes(): Promise<string> {
    const id = `sub_${"x".repeat(22)}`;
    const nowMs = redis.now();
    const about = { type: "up_note", arguments: {}, url: hook(), from: "u.WyIxIl0", madeAtMs: nowMs, expiresAtMs: nowMs + DAY_MS };
    const secrets = [{ sealed: Buffer.from(SECRET).toString("base64url") }];
    await subscriptions().put({ id, caller: callerNamed("ada", { tenant: "acme" }), ...about, secrets }, { own: 9, all: 9 }, nowMs);
    return id;
  }

  test("to an event type that only one of two workers is offered is posted by that one, and ends when none is", async () => {
    await posting.stop();
    let polls = 0;
    const poll = async () => {
      polls += 1;
      const cursor = `u.${polls}`;
      return { events: [{ id: `up:${polls}`, atMs: 0, data: {}, cursor }], cursor, isTruncated: false, isMore: false, nextPollMs: 1_000 };
    };
    const type = { name: "up_note", inputSchema: {}, payloadSchema: {}, poll };
    let isOfferedToFirst = true;
    let looks = 0;
    await subscribeToNotes();
    posting = servedTo(30, async () => ((looks += 1), isOfferedToFirst ? type : undefined));
    await expect.poll(() => events().length).toBeGreaterThan(1);
    // Its file is older again: the rollout has stopped, or was taken back there.
    isOfferedToFirst = false;
    let isOfferedToOther = true;
    const other = servedTo(30, async () => (isOfferedToOther ? type : undefined));
    const enough = looks + 2 * (GONE_AFTER_MS / 5_000);
    await expect.poll(() => looks, { timeout: 20_000 }).toBeGreaterThan(enough);
    const heard = events().length;
    await expect.poll(() => events().length).toBeGreaterThan(heard);
    expect(bodies.filter(({ body }) => "type" in body)).toEqual([]);

    isOfferedToOther = false;
    await expect.poll(() => bodies.filter(({ body }) => body["type"] === "terminated"), { timeout: 20_000 }).toHaveLength(1);
    expect(await subscriptions().list(redis.now())).toEqual([]);
    await other.stop();
  });

  // "The subscription has ended (e.g., authorization revoked). The subscription no longer exists server-side."
  test.each([
    ["is offered no more", undefined, { code: -32011, data: { kind: "event" } }],
    ["is refused by its upstream", new RpcFailure(-32012, "no access", { reason: "revoked" }), { code: -32012, message: "no access" }],
  ])("to an event type that %s ends, and its receiver is told so once, by one of the workers", async (_what, refused, error) => {
    await posting.stop();
    const poll = () => Promise.reject(refused ?? new Error("it is not polled"));
    const passedOn = async () => refused && { name: "up_note", inputSchema: {}, payloadSchema: {}, poll };
    const id = await subscribeToNotes();
    posting = servedTo(30, passedOn);
    const other = servedTo(40, passedOn);
    await expect.poll(() => bodies).toHaveLength(1);
    expect(bodies[0]).toMatchObject({ headers: { "x-mcp-subscription-id": id }, body: { type: "terminated", error } });
    expect(await subscriptions().list(redis.now())).toEqual([]);
    await expect.poll(() => redis.redis.keys(`${redis.prefix}:webhook:*`)).toEqual([]);
    await other.stop();
    expect(bodies).toHaveLength(1);
    const subscription = { id, event: "up_note", origin: new URL(hook()).origin };
    expect(facts).toEqual([{ action: "unsubscribe", tenant: "acme", door: "gateway", verdict: String(error.code), subscription }]);
    const said = warned.map(([message]) => message);
    expect(said.filter((message) => message.startsWith("a subscription to an upstream's events was ended"))).toHaveLength(1);
    // The other worker may have begun before it heard of the end.
    const troubles = said.filter((message) => message === "events of an upstream cannot be polled; it is tried again").length;
    expect([1, 2]).toContain(troubles);
  });

  test("that its owner ends says nothing to its receiver", async () => {
    await subscribe();
    await call("ada");
    await expect.poll(() => events()).toHaveLength(1);
    await rpc(at(0), "events/unsubscribe", { name: "ask.opened", arguments: {}, delivery: { url: hook() } }, { principal: "ada" });
    await expect.poll(() => redis.redis.keys(`${redis.prefix}:webhook:*`)).toEqual([]);
    expect(bodies.some(({ body }) => body["type"] === "terminated")).toBe(false);
  });

  test("that fails says so when it is renewed, in the extension's words", async () => {
    await subscribe();
    receive = (_request, response) => void response.writeHead(503).end("internal: db-7 is down");
    await call("ada");
    await expect.poll(async () => (await subscribe()).result?.["deliveryStatus"]).toMatchObject({ active: true, lastError: "http_5xx" });
    expect(JSON.stringify((await subscribe()).result)).not.toContain("db-7");
  });

  test("shows who reads Redis neither who made it nor where it is posted, and opens for no other id", async () => {
    await subscribe();
    await subscribe({ arguments: { from: "others" } }, "bob");
    const [all] = [`${redis.prefix}:{subscriptions}`];
    const stored = await redis.redis.hgetall(all);
    for (const said of ["ada", "bob", "127.0.0.1", "hook", "ask.opened", "others"])
      expect(Object.values(stored).join()).not.toContain(said);
    const listed = await subscriptions().list(redis.now());
    expect(listed.map(({ caller }) => caller.principal).toSorted()).toEqual(["ada", "bob"]);

    // Whoever can write to Redis puts one in the place of another's, to hear what that one hears.
    const [ada, bob] = ["ada", "bob"].map((name) => listed.find(({ caller }) => caller.principal === name)?.id ?? "") as [string, string];
    await redis.redis.hset(all, ada, stored[bob] ?? "");
    expect((await subscriptions().list(redis.now())).map(({ id }) => id)).toEqual([bob]);
    expect(await subscriptions().get(ada, redis.now())).toBeUndefined();
    const elsewhere = redis.subscriptions.sealedBy(subscriptionSeal(depositSeal(["another secret of more than thirty-two characters"])));
    expect(await elsewhere.list(redis.now())).toEqual([]);
    // It is made again by its owner.
    await subscribe();
    expect(await subscriptions().list(redis.now())).toHaveLength(2);
  });

  test("that an older version wrote in the clear is served until it ends", async () => {
    await subscribe();
    const all = `${redis.prefix}:{subscriptions}`;
    const [[id, text] = ["", ""]] = Object.entries(await redis.redis.hgetall(all));
    const [made] = await subscriptions().list(redis.now());
    await redis.redis.hset(all, id, `${text.split("\n")[0]}\n${JSON.stringify(made)}`);
    expect(await subscriptions().get(id, redis.now())).toEqual(made);
    await call("ada");
    await expect.poll(() => events()).toHaveLength(1);
  });

  test("is refused without a receiver that wants it", async () => {
    await serve({ own: 5 });
    const refused = async (params: object, reason: string) => {
      expect((await subscribe(params)).error).toMatchObject({ code: -32015, data: { reason } });
      expect(await subscriptions().list(redis.now())).toEqual([]);
    };
    receive = (_request, response) => void response.writeHead(200).end("ok");
    await refused({}, "challenge_failed");
    receive = (_request, response) => void response.writeHead(200).end(JSON.stringify({ challenge: "another" }));
    await refused({}, "challenge_failed");
    receive = (_request, response) => void response.writeHead(302, { location: hook("/elsewhere") }).end();
    await refused({}, "http_4xx");
    receive = (_request, response) => void response.writeHead(500).end();
    await refused({}, "http_5xx");
    await refused({ delivery: { url: "http://127.0.0.1:9/", secret: SECRET } }, "connection_refused");

    // As many as one may have subscriptions: then nothing is posted for this caller for a while, wherever it is wanted.
    const posted = bodies.length;
    receive = takeAll;
    const data = { limit: "challenges", max: 5, retryAfterMs: expect.any(Number) };
    expect((await subscribe()).error).toMatchObject({ code: -32013, data });
    expect(bodies).toHaveLength(posted);
    expect((await subscribe({}, "bob")).error).toBeUndefined();
  });

  test.each([
    ["a short secret", { delivery: { url: "https://a.example/", secret: "whsec_AAAA" } }, -32602, "delivery.secret"],
    ["no secret", { delivery: { url: "https://a.example/" } }, -32602, "delivery.secret"],
    ["no address", { delivery: { url: "here", secret: SECRET } }, -32602, "delivery.url"],
    ["another scheme", { delivery: { url: "ftp://a.example/", secret: SECRET } }, -32602, "https://"],
    ["a password in it", { delivery: { url: "https://u:p@a.example/", secret: SECRET } }, -32602, "password"],
    ["a long address", { delivery: { url: `https://a.example/${"a".repeat(2_048)}`, secret: SECRET } }, -32602, "2048"],
    ["another way", { delivery: { mode: "carrier-pigeon", url: "https://a.example/", secret: SECRET } }, -32602, "delivery.mode"],
    ["no delivery", { delivery: undefined }, -32602, "delivery is required"],
    ["an unknown event", { name: "nothing" }, -32011, "no event type"],
    ["unknown arguments", { arguments: { colour: "red" } }, -32602, "arguments"],
    ["a forged cursor", { cursor: "1.x" }, -32602, "cursor"],
    ["a negative time", { ttlMs: -1 }, -32602, "ttlMs"],
  ])("with %s is refused with what is wrong", async (_name, params, code, message) => {
    const { error } = await subscribe(params);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(bodies).toEqual([]);
  });

  test("to an address of the deployment's own network is refused unless that is allowed", async () => {
    await serve({ isPrivate: false });
    const addresses = [
      "https://127.0.0.1/",
      "https://localhost/",
      "https://169.254.169.254/latest",
      "https://[::1]/",
      "https://[::ffff:10.0.0.1]/",
      "https://0x7f000001/",
    ];
    for (const url of addresses) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await subscribe({ delivery: { url, secret: SECRET } })).error, url).toMatchObject({
        code: -32602,
        message: expect.stringContaining("public"),
      });
    }
    expect((await subscribe()).error).toMatchObject({ code: -32602, message: expect.stringContaining("https://") });
  });

  test("is refused beyond the number that one may have, and that a deployment takes; at the limit it is taken and renewed", async () => {
    const of = (tool: string, principal: string) => subscribe({ arguments: { tool } }, principal);
    for (const tool of ["a", "b", "c"]) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      expect((await of(tool, "ada")).error).toBeUndefined();
    }
    expect((await of("d", "ada")).error).toMatchObject({ code: -32013, data: { limit: "subscriptions", max: 3 } });
    expect((await of("a", "ada")).error).toBeUndefined();
    expect((await of("a", "bob")).error).toBeUndefined();
    expect((await of("b", "bob")).error).toMatchObject({ code: -32013, data: { limit: "subscriptions", max: 4 } });
  });
});
