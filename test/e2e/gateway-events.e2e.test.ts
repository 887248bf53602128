/** What happens at an upstream is heard through the gateway by poll, stream and webhook, while front ends, workers and the upstream are killed. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook as Verifier } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Received, rpc, stream } from "../../apps/server/client.fixture.ts";
import type { Front } from "../../apps/server/deployment.fixture.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { until } from "../support/until.ts";
import { type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

const PUBLIC_URL = "http://parley.example";
const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const NAME = "up_note.written";

let directory: string;
let upstream: RunningUpstream;
let issuer: Issuer;
let deployment: Deployment;
let receiver: Server;
let ada: Record<string, string>;
let mallory: Record<string, string>;
/** What was posted, in its order, also twice. */
const posted: { readonly id: string; readonly text: string; readonly cursor: string }[] = [];

interface Event {
  readonly eventId: string;
  readonly name: string;
  readonly data: { readonly text: string };
  readonly cursor: string;
}

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const body = new Verifier(SECRET).verify(text, request.headers as Record<string, string>) as Event & { challenge?: string };
  const { challenge } = body;
  if (challenge === undefined) posted.push({ id: String(request.headers["webhook-id"]), text: body.data.text, cursor: body.cursor });
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ challenge }));
}

const startEvents = (port = "0") => startUpstream("events.ts", [port], { EVENTS: join(directory, "events") });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-gateway-events-"));
  receiver = createServer((request, response) => void take(request, response));
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  [upstream, issuer] = await Promise.all([startEvents(), startIssuer({ audience: `${PUBLIC_URL}/mcp` })]);
  const { url } = upstream;
  const file = await writeUpstreams(directory, [
    { name: "up", url, refresh: "1s" },
    { name: "closed", url, access: [{ people: ["ada"] }] },
  ]);
  deployment = await startDeployment({
    frontEnds: 2,
    workers: 2,
    env: { PARLEY_UPSTREAMS: file, PARLEY_OUTBOX: "true", PARLEY_SUBSCRIPTIONS_PRIVATE: "true", PARLEY_SECRET: "x".repeat(40) },
    frontEndEnv: { PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuer.url, PARLEY_PUBLIC_URL: PUBLIC_URL },
  });
  const headersOf = async (sub: string) => ({ authorization: `Bearer ${await issuer.token({ sub })}` });
  [ada, mallory] = await Promise.all([headersOf("ada"), headersOf("mallory")]);
  await until(async () => (await Promise.all([0, 1].map((index) => listed(ada, index)))).every((names) => names.includes(NAME)), {
    timeoutMs: 60_000,
  });
});
afterAll(async () => {
  await deployment?.close();
  await Promise.all([upstream?.kill(), issuer?.close()]);
  receiver.closeAllConnections();
  await new Promise((closed) => receiver.close(closed));
  await rm(directory, { recursive: true, force: true });
});

const at = (index: number) => ({ url: `${deployment.frontEnds[index]?.url}/mcp` }) as Front;
const anywhere = () => ({ url: deployment.url }) as Front;

async function listed(headers: Record<string, string>, index = 0): Promise<readonly string[]> {
  const { result } = await rpc(at(index), "events/list", {}, { headers });
  return ((result?.["events"] ?? []) as unknown as { name: string }[]).map(({ name }) => name);
}

async function emit(...texts: readonly string[]): Promise<void> {
  const query = texts.map((text) => `text=${text}`).join("&");
  await fetch(`${new URL(upstream.url).origin}/emit?${query}`, { method: "POST" });
}

function poll(cursor: string | null, more: object = {}, front = anywhere()): Promise<Received> {
  return rpc(front, "events/poll", { name: NAME, arguments: {}, cursor, ...more }, { headers: ada });
}

const cursorOf = ({ result }: Received) => result?.["cursor"] as unknown as string;
const textsOf = ({ result }: Received) => ((result?.["events"] ?? []) as unknown as readonly Event[]).map(({ data }) => data.text);

test("event types of an upstream are listed to who may use it, if they can be polled", async () => {
  const names = (all: readonly string[]) => all.filter((name) => !/^(ask|task|approval)\./.test(name)).toSorted();
  expect(names(await listed(ada))).toEqual(["closed_clock.ticked", "closed_note.written", "up_clock.ticked", "up_note.written"]);
  expect(names(await listed(mallory))).toEqual(["up_clock.ticked", "up_note.written"]);
  const refused = await rpc(anywhere(), "events/poll", { name: "closed_note.written", cursor: null }, { headers: mallory });
  expect(refused.error).toMatchObject({ code: -32011, data: { kind: "event" } });
});

test("a client polls from its cursor at any front end, page by page, and hears nothing twice", async () => {
  const start = cursorOf(await poll(null, {}, at(0)));
  await emit("a", "b", "c");
  const first = await poll(start, { maxEvents: 2 }, at(1));
  expect(first.result).toMatchObject({
    events: [{ eventId: expect.stringMatching(/^up:note-\d+$/), name: NAME, data: { text: "a" } }, { data: { text: "b" } }],
    truncated: false,
    hasMore: true,
  });
  const second = await poll(cursorOf(first), {}, at(0));
  expect(textsOf(second)).toEqual(["c"]);
  expect(second.result).toMatchObject({ hasMore: false, nextPollMs: 1_000 });
  expect(textsOf(await poll(cursorOf(second)))).toEqual([]);
  expect(textsOf(await poll(start, { arguments: { contains: "b" } }))).toEqual(["b"]);
});

test("what an upstream refuses is refused in its words, and a cursor that nobody issued is none", async () => {
  expect((await poll(null, { arguments: { contains: 1 } })).error).toMatchObject({
    code: -32602,
    message: expect.stringContaining("contains"),
  });
  for (const cursor of ["1.0-0", "u.", "u.W10", `u.${"A".repeat(20_000)}`]) {
    // oxlint-disable-next-line no-await-in-loop -- each at its turn
    expect((await poll(cursor)).error, cursor).toMatchObject({ code: -32602 });
  }
  // An upstream that cannot continue anywhere says so, and nobody promises more.
  const ticks = await rpc(anywhere(), "events/poll", { name: "up_clock.ticked", cursor: null }, { headers: ada });
  expect(ticks.result).toMatchObject({ events: [{ name: "up_clock.ticked" }], cursor: null, nextPollMs: 1_000 });
});

test("who streams goes on at another front end when theirs is killed, without a loss and without a repetition", async () => {
  const heard: string[] = [];
  let cursor: string | null = null;
  async function follow(front: Front, enough: () => boolean): Promise<void> {
    const opened = await stream(front, "events/stream", { name: NAME, arguments: {}, cursor }, { headers: ada });
    // oxlint-disable no-await-in-loop -- message after message
    while (!enough()) {
      const { method, params } = await opened.next();
      if (method === "notifications/events/active" && heard.length === 0 && cursor === null) await emit("s0", "s1", "s2");
      cursor = (params as unknown as Event).cursor;
      if (method === "notifications/events/event") heard.push((params as unknown as Event).data.text);
    }
    // oxlint-enable no-await-in-loop
    opened.close();
  }
  // In the middle of a page.
  await follow(at(0), () => heard.length === 2);
  await deployment.frontEnds[0]?.kill();
  await emit("s3", "s4");
  await follow(at(1), () => heard.length === 5);
  expect(heard).toEqual(["s0", "s1", "s2", "s3", "s4"]);
});

test("a subscriber is posted everything in order, while its worker and then the upstream are killed", async () => {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const delivery = { mode: "webhook", url, secret: SECRET };
  const subscribe = () => rpc(at(1), "events/subscribe", { name: NAME, arguments: { contains: "w" }, delivery }, { headers: ada });
  const refused = await rpc(at(1), "events/subscribe", { name: NAME, arguments: { contains: 1 }, delivery }, { headers: ada });
  expect(refused.error).toMatchObject({ code: -32602 });

  const subscribed = await subscribe();
  expect(subscribed.result).toMatchObject({ id: expect.stringMatching(/^sub_/), cursor: expect.stringMatching(/^u\./), truncated: false });
  await emit("w0", "other", "w1");
  await until(() => posted.length >= 2, { timeoutMs: 30_000 });

  await deployment.workers[0]?.kill();
  await emit("w2", "w3");
  await until(() => new Set(posted.map(({ id }) => id)).size >= 4, { timeoutMs: 90_000 });

  await upstream.kill();
  // A renewal does not need the upstream.
  expect((await subscribe()).result).toMatchObject({ id: subscribed.result?.["id"], deliveryStatus: { active: true, lastError: null } });
  upstream = await startEvents(String(upstream.port));
  await emit("w4");
  await until(() => posted.some(({ text }) => text === "w4"), { timeoutMs: 90_000 });
  const once = posted.filter(({ id }, index) => posted.findIndex((each) => each.id === id) === index);
  expect(once.map(({ text }) => text)).toEqual(["w0", "w1", "w2", "w3", "w4"]);
  // What was posted can be read on by poll from the cursor that came with it.
  expect(textsOf(await poll(once[2]?.cursor ?? "", { arguments: { contains: "w" } }, at(1)))).toEqual(["w3", "w4"]);
}, 240_000);
