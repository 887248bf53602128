/** Webhooks with a real receiver: it verifies with the library of Standard Webhooks, fails, stalls, redirects and lies. */
import type { KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { followOccurrences, type OccurrenceFeed } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Webhook as Verifier } from "standardwebhooks";
import { aLife, anAsk } from "../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { type Delivery, type DeliveryState, deliverTo, type DeliverTo, targetOf, type Webhook } from "./index.ts";
import { keyOfSecret } from "./sign.ts";
import type { Posting } from "./source.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const DAY_MS = 86_400_000;

interface Received {
  readonly id: string;
  readonly body: { readonly type: string; readonly data: Record<string, unknown> };
  readonly isVerified: boolean;
}

let redis: OpenRedis;
let receiver: Server;
let received: Received[];
let attempts: number;
/** What the receiver does; by default it takes everything. */
let react: (response: ServerResponse, id: string) => void;
const running: Delivery[] = [];
const feeds: OccurrenceFeed[] = [];
const counted: string[] = [];

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  attempts += 1;
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = request.headers as Record<string, string>;
  const headers = { "webhook-id": id ?? "", "webhook-timestamp": timestamp ?? "", "webhook-signature": signature ?? "" };
  response.on("finish", () => {
    if (response.statusCode < 300) received.push({ id: id ?? "", body: JSON.parse(text) as Received["body"], isVerified });
  });
  let isVerified = true;
  try {
    new Verifier(SECRET).verify(text, headers);
  } catch {
    isVerified = false;
  }
  react(response, id ?? "");
}

beforeEach(async () => {
  redis = await openRedis({ outbox: { lengthMax: 1_000, ageMs: DAY_MS }, partitions: 2 });
  [received, attempts, counted.length] = [[], 0, 0];
  react = (response) => response.writeHead(204).end();
  receiver = createServer((request, response) => void receive(request, response));
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
  for (const feed of feeds.splice(0)) feed.close();
  receiver.closeAllConnections();
  await new Promise((closed) => receiver.close(closed));
  await redis.close();
});

const life = () => aLife(redis.store, () => redis.newTaskId());
const base = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

function webhook(more: Partial<Webhook> = {}): Webhook {
  const key = keyOfSecret(SECRET) as KeyObject;
  return {
    name: "ops",
    url: new URL(`${base()}/hook`),
    keys: [key],
    events: ["ask.opened", "ask.settled", "task.ended"],
    isPrivate: true,
    ...more,
  };
}

async function deliver(more: Partial<Webhook> = {}, options: Partial<DeliverTo> = {}): Promise<Delivery> {
  const clock = {
    now: redis.now,
    after: (ms: number, callback: () => void) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()));
      }),
  };
  const hook = webhook(more);
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const services = { store: redis.store, outbox: redis.outbox, digest: (text: string) => text, clock, log } as never;
  const feed = followOccurrences(services, { readEveryMs: 20 });
  feeds.push(feed);
  const delivery = deliverTo({
    target: targetOf(hook),
    services,
    feed,
    deliveries: redis.webhooks,
    claims: redis.claims,
    log,
    urlOf: (taskId, key) => `https://parley.example/asks/${taskId}/${key}`,
    count: (result) => void counted.push(result),
    pace: { retryMs: [30], timeoutMs: 500 },
    ...options,
  });
  running.push(delivery);
  await expect.poll(async () => ((await redis.webhooks.load(hook.name)) as { place?: string }).place).toBeDefined();
  return delivery;
}

async function ended(taskId: string, run = 2): Promise<void> {
  await life().finish(taskId, await life().begin({ taskId, run }));
}

describe("a webhook", () => {
  test("hears of questions, whom they are put to, how they ended, and of the end of tasks, signed, in order, without content", async () => {
    await deliver();
    const taskId = await life().parked([anAsk("size", { audience: { to: { groups: ["finance"] } } })], {
      principal: "ada",
      tenant: "acme",
    });
    await expect.poll(() => received).toHaveLength(1);
    await life().answer(taskId, "size", "4");
    await expect.poll(() => received).toHaveLength(2);
    await ended(taskId);
    await expect.poll(() => received).toHaveLength(3);
    expect(received.every(({ isVerified }) => isVerified)).toBe(true);
    const common = { taskId, called: { kind: "tool", name: "book_dinner" }, owner: "ada", tenant: "acme" };
    expect(received.map(({ body }) => body)).toMatchObject([
      {
        type: "ask.opened",
        timestamp: expect.any(String),
        data: { ...common, key: "size", to: { groups: ["finance"] }, url: `https://parley.example/asks/${taskId}/size` },
      },
      { type: "ask.settled", data: { ...common, key: "size", end: "accepted" } },
      { type: "task.ended", data: { ...common, status: "completed" } },
    ]);
    const text = JSON.stringify(received);
    for (const said of ["What is size", "2026-12-24", "fünf", '"4"', "done"]) expect(text).not.toContain(said);
  });

  test("hears of its tenant, its tool and its events only", async () => {
    await deliver({ tenant: "acme", tool: "book_dinner", events: ["ask.opened"] });
    await life().parked([anAsk("other-tool")], { tenant: "acme", name: "other" });
    await life().parked([anAsk("other-tenant")]);
    await life().parked([anAsk("right")], { tenant: "acme" });
    await expect.poll(() => received.map(({ body }) => body.data["key"])).toEqual(["right"]);
  });

  test("is posted again until it takes, with the same id, and nothing overtakes", async () => {
    await deliver();
    let refusals = 4;
    react = (response, id) => {
      const status = [500, 503, 302, 429][refusals - 1];
      if (refusals === 0) return response.writeHead(200).end("ok");
      refusals -= 1;
      expect(id).toContain("ask-opened");
      return response.writeHead(status ?? 500, { location: `${base()}/elsewhere` }).end("x".repeat(200_000));
    };
    const taskId = await life().parked([anAsk("size")]);
    await life().answer(taskId, "size", "4");
    await expect.poll(() => received.map(({ body }) => body.type)).toEqual(["ask.opened", "ask.settled"]);
    expect(attempts).toBe(6);
    await expect.poll(() => counted).toEqual(["failed", "failed", "failed", "failed", "delivered", "delivered"]);
  });

  test("that does not answer, or not to the end, is posted again", async () => {
    await deliver();
    let stalls = 2;
    react = (response) => {
      if (stalls === 0) return response.writeHead(204).end();
      stalls -= 1;
      if (stalls === 1) response.writeHead(200).write("…");
    };
    await life().parked([anAsk("size")]);
    await expect.poll(() => received).toHaveLength(1);
    expect(attempts).toBe(3);
  });

  test("that refuses one event five times is told the next one, and what it refused is kept", async () => {
    await deliver();
    react = (response, id) => void response.writeHead(id.includes("ask-opened") ? 422 : 204).end();
    const taskId = await life().parked([anAsk("size", { audience: { to: { people: ["eve@example.com"] } } })]);
    await life().answer(taskId, "size", "4");
    await expect.poll(() => received.map(({ body }) => body.type)).toEqual(["ask.settled"]);
    expect(attempts).toBe(6);
    const dead = await redis.webhooks.dead("ops");
    expect(dead).toMatchObject([{ type: "ask.opened", why: "http_422", data: { taskId } }]);
    // The names of an audience are sealed in Redis where content is.
    expect(JSON.stringify(dead)).not.toContain("eve@");
  });

  test("that fails for too long is given up for this event, and says since when it fails", async () => {
    await deliver({}, { pace: { retryMs: [30], timeoutMs: 500, giveUpMs: 300 } });
    react = (response) => void response.writeHead(500).end();
    await life().parked([anAsk("size")]);
    await expect.poll(() => redis.webhooks.load("ops")).toMatchObject({ failingSinceMs: expect.any(Number), lastError: "http_500" });
    await expect.poll(() => redis.webhooks.dead("ops")).toMatchObject([{ why: "http_500" }]);
  });

  test("is shown as failing since its first failure by the worker that posts, also by the next one, until it takes something", async () => {
    const shows: Record<"first" | "second", (DeliveryState | undefined)[]> = { first: [], second: [] };
    react = (response) => void response.writeHead(500).end();
    const pace = { retryMs: [30], timeoutMs: 500, claimMs: 3_000 };
    const first = await deliver({}, { pace, show: (state) => shows.first.push(state) });
    await life().parked([anAsk("size")]);
    await expect.poll(() => shows.first.at(-1)?.failingSinceMs).toBeDefined();
    const { failingSinceMs } = shows.first.at(-1) ?? {};
    await deliver({}, { pace, show: (state) => shows.second.push(state) });
    await expect.poll(() => attempts).toBeGreaterThan(4);
    // The other one waits for the claim.
    expect(shows.second).toEqual([]);
    await first.stop();
    expect(shows.first.at(-1)).toBeUndefined();
    await expect.poll(() => shows.second[0]).toMatchObject({ failingSinceMs });
    react = (response) => void response.writeHead(204).end();
    await expect.poll(() => shows.second.at(-1)?.deliveredAtMs).toBeDefined();
    expect(shows.second.at(-1)).not.toHaveProperty("failingSinceMs");
  });

  test("is shown with the last time that something was given up, also once it takes something again", async () => {
    const shown: (DeliveryState | undefined)[] = [];
    await deliver({}, { show: (state) => shown.push(state) });
    react = (response, id) => void response.writeHead(id.includes("ask-opened") ? 422 : 204).end();
    const taskId = await life().parked([anAsk("size")]);
    await expect.poll(() => shown.at(-1)?.gaveUpAtMs).toBeDefined();
    await life().answer(taskId, "size", "4");
    await expect.poll(() => shown.at(-1)).toMatchObject({ deliveredAtMs: expect.any(Number), gaveUpAtMs: expect.any(Number) });
    expect(shown.at(-1)).not.toHaveProperty("failingSinceMs");
  });

  test("that says it is gone is left alone, and shown as failing", async () => {
    const shown: (DeliveryState | undefined)[] = [];
    const delivery = await deliver({}, { show: (state) => shown.push(state) });
    react = (response) => void response.writeHead(410).end();
    await life().parked([anAsk("size")]);
    await expect.poll(() => shown.at(-1)).toMatchObject({ failingSinceMs: expect.any(Number), lastError: "http_410" });
    await delivery.stop();
    expect(attempts).toBe(1);
  });

  test("has one worker at a time, and another goes on where it stopped", async () => {
    const first = await deliver();
    await deliver();
    const taskId = await life().parked([anAsk("size")]);
    await expect.poll(() => received).toHaveLength(1);
    await first.stop();
    await life().answer(taskId, "size", "4");
    await expect.poll(() => received.map(({ body }) => body.type)).toEqual(["ask.opened", "ask.settled"]);
    expect(attempts).toBe(2);
  });

  test("that takes its time for each of many events is posted to by one worker all the same", async () => {
    const pace = { retryMs: [30], timeoutMs: 5_000, claimMs: 600, saveMs: 60_000 };
    await deliver({ events: ["ask.opened"] }, { pace });
    await deliver({ events: ["ask.opened"] }, { pace });
    react = (response) => void setTimeout(() => response.writeHead(204).end(), 300);
    await Promise.all(Array.from({ length: 6 }, () => life().parked([anAsk("size")])));
    await expect.poll(() => received).toHaveLength(6);
    await expect.poll(() => counted).toHaveLength(6);
    expect(attempts).toBe(6);
  });

  test("that hears nothing keeps a place that does not grow old", async () => {
    await deliver({}, { pace: { saveMs: 50, claimMs: 300 } });
    const place = async () => ((await redis.webhooks.load("ops")) as { place?: string }).place;
    const before = await place();
    await expect.poll(place).not.toBe(before);
    expect(attempts).toBe(0);
  });

  test("that missed something is told so", async () => {
    await redis.webhooks.save("ops", { place: `1.${Date.now() - 2 * DAY_MS}-0.${Date.now() - 2 * DAY_MS}-0` });
    await deliver();
    await expect.poll(() => received.map(({ body }) => body.type)).toEqual(["gap"]);
  });

  test("that missed something is told from where to go on without missing what follows", async () => {
    const place = `1.${Date.now() - 2 * DAY_MS}-0.${Date.now() - 2 * DAY_MS}-0`;
    await redis.webhooks.save("ops", { place });
    await life().parked([anAsk("size")]);
    const target = { ...targetOf(webhook()), message: ({ id, type, cursor }: Posting) => ({ id, body: { type, data: { cursor } } }) };
    await deliver({}, { target });
    await expect.poll(() => received.map(({ body }) => body.type)).toEqual(["gap", "ask.opened"]);
    const [gap, opened] = received.map(({ body }) => (body.data as { readonly cursor: string }).cursor);
    expect(gap).toBe(place);
    expect(opened).not.toBe(place);
  });

  test("is signed with the new and the old secret while one is replaced", async () => {
    const other = keyOfSecret(`whsec_${Buffer.alloc(24, 9).toString("base64")}`) as KeyObject;
    await deliver({ keys: [other, keyOfSecret(SECRET) as KeyObject] });
    await life().parked([anAsk("size")]);
    await expect.poll(() => received.map(({ isVerified }) => isVerified)).toEqual([true]);
  });

  test("in a private network is not posted to unless the file says so, whatever its name resolves to", async () => {
    await deliver({ url: new URL(base()), isPrivate: false });
    await life().parked([anAsk("size")]);
    await expect.poll(() => redis.webhooks.load("ops")).toMatchObject({ lastError: "address_refused" });
    expect(attempts).toBe(0);
  });
});
