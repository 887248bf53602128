/** What was given up is posted again on command, to a real receiver. */
import type { KeyObject } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Webhook as Verifier } from "standardwebhooks";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { type DeadLetter, type Replayed, replayDead, type ReplayEnd, type Webhook } from "./index.ts";
import { keyOfSecret } from "./sign.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const LETTERS: readonly DeadLetter[] = ["a", "b", "c"].map((id, at) => ({
  id,
  type: "task.ended",
  atMs: at,
  data: { taskId: id },
  why: "http_500",
}));

let redis: OpenRedis;
let receiver: Server;
let received: { readonly id: string; readonly body: unknown }[];
let statusOf: (id: string) => number;

beforeEach(async () => {
  redis = await openRedis();
  received = [];
  statusOf = () => 204;
  receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const id = String(request.headers["webhook-id"]);
      received.push({ id, body: new Verifier(SECRET).verify(Buffer.concat(parts).toString(), request.headers as Record<string, string>) });
      response.writeHead(statusOf(id), { location: "http://127.0.0.1/elsewhere" }).end();
    });
  });
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  // oxlint-disable-next-line no-await-in-loop -- in their order
  for (const letter of LETTERS) await redis.webhooks.bury("one", letter);
});
afterEach(async () => {
  await new Promise((closed) => receiver.close(closed));
  await redis.close();
});

async function replay({
  ids,
  limit = 100,
  signal = new AbortController().signal,
}: { ids?: string[]; limit?: number; signal?: AbortSignal } = {}) {
  const webhook: Webhook = {
    name: "one",
    url: new URL(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`),
    keys: [keyOfSecret(SECRET) as KeyObject],
    isPrivate: true,
    events: ["task.ended"],
  };
  const steps = replayDead({ webhook, states: redis.webhooks, limit, now: Date.now, signal, ...(ids && { ids: new Set(ids) }) });
  const replayed: Replayed[] = [];
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const step: IteratorResult<Replayed, ReplayEnd> = await steps.next();
    if (step.done) return { replayed, ...step.value };
    replayed.push(step.value);
  }
}
const dead = async () => ((await redis.webhooks.dead("one")) as readonly DeadLetter[]).map(({ id }) => id);

test("the oldest comes first, with its own id and time, and what is taken is given up no longer", async () => {
  expect(await replay()).toMatchObject({
    left: 0,
    replayed: [
      { id: "a", taken: true },
      { id: "b", taken: true },
      { id: "c", taken: true },
    ],
  });
  expect(received.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(received[2]?.body).toEqual({ type: "task.ended", timestamp: "1970-01-01T00:00:00.002Z", data: { taskId: "c" } });
  expect(await dead()).toEqual([]);
  expect(await replay()).toEqual({ left: 0, replayed: [] });
});

test.each([400, 500, 302, 410])("what a receiver answers with %i stays, and the next one follows", async (status) => {
  statusOf = (id) => (id === "b" ? status : 204);
  expect((await replay()).replayed).toMatchObject([{ taken: true }, { id: "b", taken: false, why: `http_${status}` }, { taken: true }]);
  expect(await dead()).toEqual(["b"]);
});

test("only those that are named are posted, and no more than the limit", async () => {
  expect(await replay({ ids: ["b", "unknown"] })).toMatchObject({ left: 0, replayed: [{ id: "b" }] });
  expect(await replay({ limit: 1 })).toMatchObject({ left: 1, replayed: [{ id: "a" }] });
  expect(await dead()).toEqual(["c"]);
});

test("it ends where nobody answers, and nothing is lost", async () => {
  const { port } = receiver.address() as AddressInfo;
  receiver.closeAllConnections();
  await new Promise((closed) => receiver.close(closed));
  receiver.address = () => ({ port, address: "127.0.0.1", family: "IPv4" });
  expect(await replay()).toEqual({ left: 2, replayed: [{ id: "a", type: "task.ended", taken: false, why: "connection_refused" }] });
  expect(await dead()).toEqual(["c", "b", "a"]);
});

test("one that was posted twice at once is forgotten once, and another of the same id stays", async () => {
  await redis.webhooks.bury("one", { ...LETTERS[0], why: "http_503" });
  await Promise.all([replay({ ids: ["b"] }), replay({ ids: ["b"] })]);
  expect(await dead()).toEqual(["a", "c", "a"]);
});
