/**
 * Everything at once, by a seed: a receiver that fails, stalls, redirects, breaks off and lies, workers that die with their claim, and a Redis that is not
 * there for a moment. The model:
 *
 *   none is lost · each is the same however often it comes · those of one task come in their order
 *
 * For a long run: `WEBHOOK_EVENTS=4000 npx vitest run --project redis packages/webhooks/faults.redis.test.ts`. It prints what was done to it.
 */
import { followOccurrences, ParleyError } from "@parley/core";
import type { KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Webhook as Verifier } from "standardwebhooks";
import { aLife, anAsk } from "../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { type Delivery, deliverTo, targetOf } from "./index.ts";
import { keyOfSecret } from "./sign.ts";

const EVENTS = Number(process.env["WEBHOOK_EVENTS"] ?? 400);
const SEED = Number(process.env["WEBHOOK_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const DAY_MS = 86_400_000;
const PATIENCE_MS = 60_000 + EVENTS * 100;
/** Tasks that live at the same time. */
const TOGETHER = 16;
const EVENTS_PER_DEATH = Math.max(40, EVENTS / 200);

let redis: OpenRedis;
let receiver: Server;

beforeEach(async () => {
  redis = await openRedis({ outbox: { lengthMax: EVENTS + 1_000, ageMs: DAY_MS }, partitions: 2 });
});
afterEach(async () => {
  receiver.closeAllConnections();
  await new Promise((closed) => receiver.close(closed));
  await redis.close();
});

/** mulberry32: the same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Heard {
  readonly id: string;
  readonly text: string;
  readonly name: string;
}

test(`none of ${EVENTS} events is lost or changed, and none overtakes another of its task`, { timeout: PATIENCE_MS + 30_000 }, async () => {
  const chance = random(SEED);
  const heard = new Map<string, Heard>();
  const firsts: Heard[] = [];
  const problems: string[] = [];
  const counts = { posts: 0, again: 0, deaths: 0, outages: 0 };

  /** The receiver has it, whatever it answers. */
  function take(id: string, text: string): void {
    const { type, data } = JSON.parse(text) as { readonly type: string; readonly data: { readonly taskId: string } };
    const known = heard.get(id);
    if (known !== undefined && known.text !== text) problems.push(`${id} came again as ${text}`);
    if (known !== undefined) return void (counts.again += 1);
    const first = { id, text, name: `${data.taskId} ${type}` };
    heard.set(id, first);
    firsts.push(first);
  }

  function react(response: ServerResponse, taken: () => void): void {
    const what = chance();
    if (what < 0.06) return void response.writeHead(503).end("x".repeat(100_000));
    if (what < 0.1) return void response.writeHead(302, { location: "http://127.0.0.1/elsewhere" }).end();
    if (what < 0.14) return void response.writeHead(429, { "retry-after": "99999999999" }).end();
    if (what < 0.16) return void response.destroy();
    // It stalls: before its answer, or within it.
    if (what < 0.17) return;
    if (what < 0.18) return void response.writeHead(200).write("…");
    taken();
    // It lies: it has it, and says that it has not.
    if (what < 0.22) return void response.writeHead(500).end();
    if (what < 0.25) return void response.destroy();
    response.writeHead(204).end();
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    counts.posts += 1;
    const headers = request.headers as Record<string, string>;
    new Verifier(SECRET).verify(text, headers);
    react(response, () => take(headers["webhook-id"] ?? "", text));
  }
  receiver = createServer((request, response) => void receive(request, response).catch((error: unknown) => problems.push(String(error))));
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));

  /** Redis that is not there for a moment. */
  const shaky =
    <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      if (chance() < 0.02) {
        counts.outages += 1;
        throw new ParleyError("UNAVAILABLE", "Redis does not respond");
      }
      return await work(...args);
    };
  const { outbox } = redis;
  if (outbox === undefined) throw new Error("there is no outbox");
  const key = keyOfSecret(SECRET) as KeyObject;
  const url = new URL(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
  const clock = {
    now: redis.now,
    after: (ms: number, callback: () => void) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
    // Pauses of minutes are as good as short ones: what matters is what happened meanwhile.
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(ms, 100));
        signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
      }),
  };
  const quiet = () => undefined;
  const worker = (): Delivery => {
    const log = { info: quiet, warn: quiet, error: quiet };
    const shakyOutbox = { ...outbox, read: shaky(outbox.read) };
    const services = { store: redis.store, outbox: shakyOutbox, digest: (text: string) => text, clock, log } as never;
    const feed = followOccurrences(services, { readEveryMs: 10 });
    const delivery = deliverTo({
      target: targetOf({ name: "ops", url, keys: [key], events: ["ask.opened", "ask.settled"], isPrivate: true }),
      services,
      feed,
      deliveries: { ...redis.webhooks, load: shaky(redis.webhooks.load), save: shaky(redis.webhooks.save) },
      // Who is killed releases nothing.
      claims: { ...redis.claims, take: shaky(redis.claims.take), release: async () => undefined },
      log,
      pace: { retryMs: [10, 20, 40], timeoutMs: 150, claimMs: 400 },
    });
    return {
      async stop() {
        await delivery.stop();
        feed.close();
      },
    };
  };

  const workers = [worker(), worker()];
  await expect.poll(async () => ((await redis.webhooks.load("ops")) as { place?: string }).place).toBeDefined();
  const life = aLife(redis.store, () => redis.newTaskId());
  const expected = new Set<string>();
  const startedAtMs = Date.now();
  const lives = Array.from({ length: TOGETHER }, async (_, lane) => {
    // oxlint-disable no-await-in-loop -- one task after the other, in each lane
    for (let made = lane; made < EVENTS / 2; made += TOGETHER) {
      const taskId = await life.parked([anAsk("size")]);
      await life.answer(taskId, "size", "4");
      for (const type of ["ask.opened", "ask.settled"]) expected.add(`${taskId} ${type}`);
    }
    // oxlint-enable no-await-in-loop
  });
  try {
    const deadline = Date.now() + PATIENCE_MS;
    while (heard.size < EVENTS && Date.now() < deadline) {
      const until = Math.min(EVENTS, heard.size + EVENTS_PER_DEATH);
      // oxlint-disable no-await-in-loop -- death after death
      while (heard.size < until && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
      await workers.shift()?.stop();
      workers.push(worker());
      // oxlint-enable no-await-in-loop
      counts.deaths += 1;
    }
    await Promise.all(lives);
  } finally {
    await Promise.all(workers.map((each) => each.stop()));
  }
  const about = `WEBHOOK_SEED=${SEED}`;
  expect(problems, about).toEqual([]);
  const names = new Set(firsts.map(({ name }) => name));
  expect([...expected].filter((name) => !names.has(name)).slice(0, 10), `${about}, in ${PATIENCE_MS} ms`).toEqual([]);
  expect(firsts, about).toHaveLength(EVENTS);
  const opened = new Set<string>();
  const early = firsts.filter(({ name }) => {
    const [taskId = "", type] = name.split(" ");
    if (type === "ask.opened") opened.add(taskId);
    return type === "ask.settled" && !opened.has(taskId);
  });
  expect(early, about).toEqual([]);
  // What was done to it was done: otherwise this shows nothing.
  expect(counts.again, about).toBeGreaterThan(0);
  expect(counts.outages, about).toBeGreaterThan(0);
  if (process.env["WEBHOOK_EVENTS"] !== undefined)
    process.stdout.write(`${JSON.stringify({ events: EVENTS, seconds: (Date.now() - startedAtMs) / 1_000, ...counts, seed: SEED })}\n`);
});
