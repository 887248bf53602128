/** Reads that front ends leave to workers, at a real server over HTTP. Here they communicate in memory; packages/redis tests the real channel. */
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createMcpHandler, inputRequired, Server as NewServer } from "@modelcontextprotocol/server";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CompleteRequestSchema, ElicitResultSchema, McpError, ReadResourceRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { followPassedOn, type JsonObject } from "@parley/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createSessionServer } from "../../../test/support/session-server.ts";
import { until } from "../../../test/support/until.ts";
import { type Asking, createReadThrough, READ_CHARS_MAX, READS_MAX, READS_WAITING_MAX, serveReads } from "./reads.ts";
import { gatewayEvent } from "./gateway-event.ts";
import { createUpstreamFetch } from "../connection/upstream-fetch.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { parseUpstreams } from "../config/upstreams.ts";

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const closers: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closers.splice(0).toReversed()) await close();
});

/** The channel between processes, in memory. */
function hub() {
  const bus = new EventEmitter({ captureRejections: false }).setMaxListeners(1_000);
  const claimed = new Map<string, number>();
  let lost = 0;
  let lostReplies = 0;
  const listen = (channel: string, listener: (text: string) => void) => {
    bus.on(channel, listener);
    return () => void bus.off(channel, listener);
  };
  return {
    asked: () => bus.listenerCount("asked"),
    lose: (count: number) => void (lost = count),
    loseReplies: (count: number) => void (lostReplies = count),
    /** `isDead`: whether the process has died since, so that it renews and replies no more. */
    asking({ isDead = () => false }: { readonly isDead?: () => boolean } = {}): Asking {
      const id = randomUUID();
      return {
        id,
        async ask(text) {
          if (lost > 0) lost -= 1;
          else bus.emit("asked", text);
        },
        onAsked: async (listener) => listen("asked", listener),
        async claimAsked(asked, ttlMs) {
          if ((claimed.get(asked) ?? 0) > Date.now()) return false;
          claimed.set(asked, Date.now() + ttlMs);
          return true;
        },
        async renewAsked(asked, ttlMs) {
          if (!isDead() && (claimed.get(asked) ?? 0) > Date.now()) claimed.set(asked, Date.now() + ttlMs);
        },
        async post(box, process, text) {
          if (isDead()) return false;
          if (lostReplies === 0) return bus.emit(`${box} ${process}`, text);
          lostReplies -= 1;
          return true;
        },
        onPost: async (box, listener) => listen(`${box} ${id}`, listener),
      };
    },
  };
}

const NEEDS_INPUT = { code: -32_000, message: expect.stringContaining("offer it as a tool"), data: { reason: "input_required" } };

interface Behaviour {
  readonly read?: (uri: string) => object | Promise<object>;
  readonly poll?: () => object | Promise<object>;
}

/** A server with sessions, and the number of its reads. */
async function serving({ read = (uri) => ({ contents: [{ uri, text: `content of ${uri}` }] }), poll }: Behaviour = {}) {
  let reads = 0;
  let polls = 0;
  const build = () => {
    const server = new Server({ name: "test", version: "1" }, { capabilities: { resources: {}, completions: {} } });
    server.setRequestHandler(ReadResourceRequestSchema, async ({ params }) => {
      reads += 1;
      return (await read(params.uri)) as never;
    });
    if (poll) {
      const asked = z.looseObject({ method: z.literal("events/poll") });
      server.setRequestHandler(asked as never, (() => ((polls += 1), poll())) as never);
    }
    server.setRequestHandler(CompleteRequestSchema, ({ params }) => ({
      completion: { values: [`${JSON.stringify(params.ref)} ${params.argument.value}`], total: 1, hasMore: false },
    }));
    return server;
  };
  const http = createServer((request, response) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    void build()
      .connect(transport as never)
      .then(() => transport.handleRequest(request, response));
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, reads: () => reads, polls: () => polls };
}

async function between(url: string, { workers = 1, rest = {}, errorStatus = 200 } = {}) {
  const given = { name: "up", url, revisions: "sessions", connectTimeout: "60s", ...rest };
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [given] }));
  const redis = hub();
  const { fetch, close } = createUpstreamFetch();
  const withStatus: typeof fetch = async (at, init) => {
    const response = await fetch(at, init);
    if (init?.method !== "POST") return response;
    const body = await response.text();
    return body.includes('"error"') ? new Response(body, { status: errorStatus }) : response;
  };
  const connector = createConnector({ fetch: errorStatus === 200 ? fetch : withStatus, version: "1", deployment: "d" });
  closers.push(close);
  for (let worker = 0; worker < workers; worker += 1) {
    closers.push(await serveReads({ asking: redis.asking(), connector, upstreams: () => [upstream!], log }));
  }
  const reads = await createReadThrough(redis.asking());
  closers.push(reads.close);
  return { upstream: upstream!, redis, reads, connector };
}

describe("a resource", () => {
  test("is read by one of several workers, unchanged", async () => {
    const server = await serving();
    const { reads, upstream } = await between(server.url, { workers: 3 });
    for (const uri of ["x:a", "x:b", "x:c", "x:d"]) expect(await reads.read(upstream, uri)).toEqual([{ uri, text: `content of ${uri}` }]);
    expect(server.reads()).toBe(4);
  });

  test("is asked for again when no worker received the request", async () => {
    const server = await serving();
    const { reads, upstream, redis } = await between(server.url);
    redis.lose(1);
    expect(await reads.read(upstream, "x:a")).toHaveLength(1);
    expect(server.reads()).toBe(1);
  });

  test("is read again when the reply was lost", async () => {
    const server = await serving();
    const { reads, upstream, redis } = await between(server.url, { workers: 2 });
    redis.loseReplies(1);
    expect(await reads.read(upstream, "x:a")).toHaveLength(1);
    expect(server.reads()).toBe(2);
  });

  test("is read by another worker within a few seconds when the one that reads it dies", async () => {
    let reads = 0;
    const server = await serving({
      // The first read is the dead worker's.
      read: (uri) => (++reads === 1 ? new Promise(() => undefined) : { contents: [{ uri, text: "" }] }),
    });
    const { reads: through, upstream, connector, redis } = await between(server.url, { workers: 0 });
    const serve = { connector, upstreams: () => [upstream], log };
    let hasDied = false;
    const stopListening = await serveReads({ ...serve, asking: redis.asking({ isDead: () => hasDied }) });
    const startedMs = Date.now();
    const read = through.read(upstream, "x:a");
    await until(() => reads === 1);
    hasDied = true;
    stopListening();
    closers.push(await serveReads({ ...serve, asking: redis.asking() }));
    expect(await read).toHaveLength(1);
    const tookMs = Date.now() - startedMs;
    expect([reads, tookMs > 2_500, tookMs < 10_000]).toEqual([2, true, true]);
  });

  test("that takes longer than a claim is read once, because its worker renews the claim", async () => {
    const server = await serving({
      read: async (uri) => {
        await new Promise((resolve) => void setTimeout(resolve, 4_500));
        return { contents: [{ uri, text: "" }] };
      },
    });
    const { reads, upstream } = await between(server.url, { workers: 2 });
    expect(await reads.read(upstream, "x:a")).toHaveLength(1);
    expect(server.reads()).toBe(1);
  });

  test("that does not exist is reported with each revision's code; another error is the upstream's own", async () => {
    for (const [code, data, told] of [
      [-32002, { uri: "x:a" }, { code: "RESOURCE_NOT_FOUND" }],
      [-32602, { uri: "x:a" }, { code: "RESOURCE_NOT_FOUND" }],
      [-32602, { other: 1 }, { code: -32602, data: { other: 1 } }],
      [-32050, undefined, { code: -32050 }],
    ] as const) {
      const server = await serving({
        read: () => {
          throw new McpError(code, "no", data);
        },
      });
      for (const errorStatus of [200, 500]) {
        const { reads, upstream } = await between(server.url, { errorStatus });
        await expect(reads.read(upstream, "x:a")).rejects.toMatchObject(told);
      }
    }
  });

  test("may have up to the limit of characters, and one more is refused", async () => {
    const empty = JSON.stringify({ type: "read", contents: [{ uri: "x:a", text: "" }] }).length;
    for (const [chars, fits] of [
      [READ_CHARS_MAX - empty, true],
      [READ_CHARS_MAX - empty + 1, false],
    ] as const) {
      const server = await serving({ read: (uri) => ({ contents: [{ uri, text: "x".repeat(chars) }] }) });
      const { reads, upstream } = await between(server.url);
      const read = reads.read(upstream, "x:a");
      if (fits) expect(await read).toHaveLength(1);
      else await expect(read).rejects.toMatchObject({ code: "TOO_LARGE" });
    }
  });

  test("of an upstream that is unreachable, slow or invalid is refused with the problem", async () => {
    const away = await between("http://127.0.0.1:1");
    await expect(away.reads.read(away.upstream, "x:a")).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
    const never = await serving({ read: () => new Promise(() => undefined) });
    // The time includes connecting, which takes long while the machine is busy.
    let refusal: unknown;
    for (const callTimeout of ["50ms", "500ms", "10s"]) {
      const slow = await between(never.url, { rest: { callTimeout } });
      refusal = await slow.reads.read(slow.upstream, "x:a").catch((error: unknown) => error);
      if (never.reads() > 0) break;
    }
    expect(refusal).toMatchObject({ code: "UPSTREAM_TIMEOUT" });
    const wrong = await serving({ read: () => ({ contents: "none" }) });
    const invalid = await between(wrong.url);
    await expect(invalid.reads.read(invalid.upstream, "x:a")).rejects.toMatchObject({ code: "UPSTREAM_INVALID" });
  });

  test.each([
    ["by input_required", "newest", false, NEEDS_INPUT],
    ["by input_required, and heeds that nobody can be asked", "newest", true, NEEDS_INPUT],
    ["by a question in its session, although nobody can be asked there", "sessions", false, { code: -32_601 }],
  ] as const)("of an upstream that asks first, %s, is refused at once", async (_how, revisions, heeds, refusal) => {
    const params = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } } as const;
    const newest = createMcpHandler(() => {
      const server = new NewServer({ name: "test", version: "1" }, { capabilities: { resources: {} } });
      server.setRequestHandler("resources/read", () => inputRequired({ inputRequests: { who: inputRequired.elicit(params) } }));
      return server;
    });
    const classic = createSessionServer(() => {
      const server = new Server({ name: "test", version: "1" }, { capabilities: { resources: {} } });
      server.setRequestHandler(ReadResourceRequestSchema, async (_request, { sendRequest }) => {
        const { action } = await sendRequest({ method: "elicitation/create", params }, ElicitResultSchema);
        return { contents: [{ uri: "x:a", text: action }] };
      });
      return server;
    });
    const http = createServer((request, response) => {
      if (revisions === "sessions") return void classic.serve(request, response);
      void text(request).then(async (body) => {
        if (!heeds && body.includes('"resources/read"')) {
          const { id } = JSON.parse(body) as { id: number };
          const result = { resultType: "input_required", inputRequests: { who: { method: "elicitation/create", params } } };
          return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
        }
        const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
        const reply = await newest.fetch(new Request("http://localhost/", { method: request.method!, headers, ...(body && { body }) }));
        return response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
      });
    }).listen(0, "127.0.0.1");
    await once(http, "listening");
    closers.push(() => {
      http.closeAllConnections();
      http.close();
    });
    const { reads, upstream } = await between(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, { rest: { revisions } });
    await expect(reads.read(upstream, "x:a")).rejects.toMatchObject(refusal);
  });

  test("that no worker reads is given up after a while", async () => {
    const { reads, upstream } = await between("http://127.0.0.1:1", { workers: 0 });
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval"] });
    const read = reads.read(upstream, "x:a");
    const refused = read.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(31_000);
    expect(await refused).toMatchObject({ code: "UPSTREAM_UNAVAILABLE", message: expect.stringContaining("no worker") });
  });
});

test("a front end has a limit of waiting reads; one more is told when to retry", async () => {
  const { reads, upstream } = await between("http://127.0.0.1:1", { workers: 0 });
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval"] });
  const waiting = Array.from({ length: READS_WAITING_MAX }, () => reads.read(upstream, "x:a").catch(() => "given up"));
  await expect(reads.read(upstream, "x:a")).rejects.toMatchObject({ code: "UPSTREAM_BUSY", data: { retryAfterMs: 1_000 } });
  await vi.advanceTimersByTimeAsync(31_000);
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["given up"]));
  // There is room again: it waits for a worker, too.
  const again = reads.read(upstream, "x:a").catch(({ code }: { code: string }) => code);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(await again).toBe("UPSTREAM_UNAVAILABLE");
});

const of = (tenant: string, caller = 0) => ({ share: `tenant:${tenant}`, principal: `${caller} of ${tenant}` });

test("four callers of one tenant take their share of the reads that wait; one more is refused, and another tenant's is asked for", async () => {
  const { reads, upstream, redis } = await between("http://127.0.0.1:1", { workers: 0 });
  const asked: string[] = [];
  closers.push(await redis.asking().onAsked((text) => void asked.push(text)));
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval"] });
  const refused: unknown[] = [];
  const noisy = Array.from({ length: READS_WAITING_MAX }, (_, read) =>
    reads.read(upstream, "x:a", of("noisy", read % 4)).catch((error: unknown) => refused.push(error)),
  );
  const quiet = reads.read(upstream, "x:b", of("quiet")).catch(() => "given up");
  await vi.advanceTimersByTimeAsync(1);
  expect(asked.length).toBeGreaterThan(READS_WAITING_MAX * 0.86);
  expect(asked.at(-1)).toContain("x:b");
  expect(asked.join("")).not.toMatch(/noisy|quiet/);
  expect(refused).toHaveLength(READS_WAITING_MAX + 1 - asked.length);
  expect(refused[0]).toMatchObject({ code: "UPSTREAM_BUSY", data: { retryAfterMs: 1_000 } });
  await vi.advanceTimersByTimeAsync(31_000);
  await Promise.all([...noisy, quiet]);
});

test("a worker that reads all that a tenant may have reads another tenant's at once", async () => {
  const { promise: opens, resolve: letRead } = Promise.withResolvers<void>();
  const server = await serving({
    async read(uri) {
      if (uri === "x:noisy") await opens;
      return { contents: [{ uri, text: "" }] };
    },
  });
  const { reads, upstream } = await between(server.url);
  const noisy = Array.from({ length: READS_MAX }, (_, read) => reads.read(upstream, "x:noisy", of("noisy", read % 4)));
  await until(() => server.reads() >= READS_MAX * 0.86);
  expect(await reads.read(upstream, "x:quiet", of("quiet"))).toHaveLength(1);
  expect(server.reads()).toBeLessThan(READS_MAX);
  letRead();
  await Promise.all(noisy);
});

test("a worker reads up to the limit at once; one more is requested again, and read when there is room", async () => {
  const { promise: opens, resolve: letRead } = Promise.withResolvers<void>();
  const server = await serving({
    async read(uri) {
      await opens;
      return { contents: [{ uri, text: "" }] };
    },
  });
  const { reads, upstream } = await between(server.url);
  const all = Array.from({ length: READS_MAX + 1 }, () => reads.read(upstream, "x:a"));
  await until(() => server.reads() === READS_MAX);
  letRead();
  await Promise.all(all);
  expect(server.reads()).toBe(READS_MAX + 1);
});

test("an argument is completed by the upstream", async () => {
  const { reads, upstream } = await between((await serving()).url);
  const ref = { type: "ref/prompt", name: "p" } as const;
  expect(await reads.complete(upstream, { ref, argument: { name: "a", value: "v" } })).toEqual([`${JSON.stringify(ref)} v`]);
});

test("a poll that a worker of an older version takes for a completion says nothing about the upstream; one that the upstream refuses is refused in its words", async () => {
  const { reads, upstream, connector, redis } = await between((await serving()).url, { workers: 0 });
  const serve = { connector, upstreams: () => [upstream], log };
  const poll = { name: "note", arguments: {}, cursor: "1", maxEvents: 100 };
  const older = redis.asking();
  const isOlder = (text: string) => text.replace('"type":"poll"', '"type":"complete"');
  const stop = await serveReads({
    ...serve,
    asking: { ...older, onAsked: (listener) => older.onAsked((text) => listener(isOlder(text))) },
  });
  await expect(reads.poll(upstream, poll)).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  stop();
  closers.push(await serveReads({ ...serve, asking: redis.asking() }));
  await expect(reads.poll(upstream, poll)).rejects.toMatchObject({ code: -32_601 });
});

test("polls that an upstream does not answer, of however many callers, take no places of reads", async () => {
  const { promise: opens, resolve: answer } = Promise.withResolvers<void>();
  const server = await serving({ poll: () => opens.then(() => ({ events: [], cursor: "1" })) });
  const { reads, upstream } = await between(server.url);
  const of = (principal: string) => ({ share: `principal:${principal}`, principal });
  const poll = { name: "note", arguments: {}, cursor: "1", maxEvents: 100 };
  const polls = Array.from({ length: READS_MAX + 20 }, (_, caller) => reads.poll(upstream, poll, of(`caller-${caller}`)));
  await until(() => server.polls() >= READS_MAX - 2);
  const startedMs = Date.now();
  expect(await reads.read(upstream, "x:a", of("reader"))).toHaveLength(1);
  expect(Date.now() - startedMs).toBeLessThan(10_000);
  answer();
  await Promise.all(polls);
});

test("three hundred who follow the same poll their upstream about once for all of them each time, and those who ask for something else by themselves", async () => {
  const server = await serving({ poll: () => ({ events: [], cursor: "1", nextPollMs: 1 }) });
  const { reads, upstream } = await between(server.url);
  const type = gatewayEvent({ name: "note", inputSchema: {}, payloadSchema: {} }, { upstream, polls: reads });
  const rounds = new Map<number, number>();
  const follow = (at: number, args: JsonObject) =>
    followPassedOn({
      name: "up_note",
      look: () => type,
      arguments: args,
      from: "u.WyIxIl0",
      limit: 100,
      taker: { share: `tenant:${at % 20}`, principal: `${at}` },
      clock: {
        async sleep(ms, signal) {
          rounds.set(at, (rounds.get(at) ?? 0) + 1);
          await sleep(ms, undefined, { signal }).catch(() => undefined);
        },
      },
      deliver: () => undefined,
      troubled: (error) => expect.unreachable(String(error)),
      failed: (error) => expect.unreachable(String(error)),
      ended: (error) => expect.unreachable(String(error)),
    });
  const startedMs = performance.now();
  const following = Array.from({ length: 300 }, (_, at) => follow(at, {}));
  following.push(...Array.from({ length: 5 }, (_, at) => follow(1_000 + at, { of: at })));
  await until(() => rounds.size === 305 && [...rounds.values()].every((count) => count >= 3));
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const each of following) each.stop();
  // One in half a second at most for the three hundred, one in a second for each of the five.
  expect(server.polls()).toBeLessThanOrEqual(2 * (seconds + 1) + 5 * (seconds + 1));
  expect([...rounds.values()].reduce((sum, count) => sum + count)).toBeGreaterThan(900);
});
