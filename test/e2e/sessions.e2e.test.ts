/** Sessions in hard cases: a front end that dies while it holds a hundred calls, and one that holds thousands of streams. */
import { readFile } from "node:fs/promises";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { liveHeapBytes } from "../../bench/heap.ts";
import { toldBy } from "../dialects/dialect.ts";
import { openStored, type Stored } from "../dialects/end-state.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type FrontEnd, startFrontEnd } from "../support/processes.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { until } from "../support/until.ts";

const TOOLS = join(import.meta.dirname, "../dialects/tools.ts");

let deployment: Deployment;
let stored: Stored;

beforeAll(async () => {
  deployment = await startDeployment({ tools: [TOOLS], env: { PARLEY_RETRY: "200ms" } });
  stored = await openStored(deployment.redis);
});

afterAll(async () => {
  await stored?.close();
  await deployment?.close();
});

describe("a front end that is killed while it holds 100 blocking calls", () => {
  const CALLS = 100;

  interface Caller {
    readonly marker: string;
    /** Questions as they came. */
    readonly asked: string[];
    readonly ended: Promise<unknown>;
    close(): Promise<void>;
  }

  /** An early client has answered the first question before the front end dies, and has the second one open. */
  const isEarly = (number: number) => number % 2 === 0;
  const NAMES = ["Ann", "Bob", "Cy"];

  test("lets them all continue at the other one: no one is asked twice, nothing is lost", async () => {
    const [dying, other] = deployment.frontEnds;
    if (!dying || !other) throw new Error("two front ends are needed");
    const targets = [dying.url];
    const proxy = await startProxy(targets);
    const killed = Promise.withResolvers<void>();
    const callers = await Promise.all(Array.from({ length: CALLS }, (_, number) => call(proxy, number, killed.promise)));
    try {
      await until(() => callers.every(({ asked }, number) => asked.length === (isEarly(number) ? 2 : 1)));
      const tasks = await Promise.all(callers.map(({ marker }) => stored.taskOf(marker)));
      expect(tasks.map((task) => task?.status)).toEqual(callers.map(() => "input_required"));

      targets[0] = other.url;
      await dying.kill();
      // Answers are sent when the other front end is reached: what a client sent into a dead connection is its own loss.
      await until(() => proxy.gets >= 3 * CALLS);
      killed.resolve();

      const told = await Promise.all(callers.map(({ ended }) => ended));
      expect(told).toEqual(callers.map(() => ({ text: "Ann and Bob and Cy", isError: false })));
      expect(callers.map(({ asked }) => asked)).toEqual(callers.map(() => ["Member 1?", "Member 2?", "Member 3?"]));
      const ends = await Promise.all(
        callers.map(async ({ marker }) => {
          const task = await stored.taskOf(marker);
          return (
            task &&
            (await stored.endOf(
              task,
              NAMES.map((name) => ({ action: "accept", content: { name } })),
            ))
          );
        }),
      );
      const answer = (index: number) => ({ type: "answer", answer: { action: "accept", content: { name: NAMES[index] } } });
      expect(ends).toEqual(
        callers.map(() => ({
          status: "completed",
          outcome: { text: "Ann and Bob and Cy", isError: false },
          answers: { member: answer(0), "member#2": answer(1), "member#3": answer(2) },
          openAsks: [],
        })),
      );
    } finally {
      await Promise.all(callers.map((caller) => caller.close()));
      await proxy.close();
    }
  });

  async function call(proxy: Proxy, number: number, killed: Promise<void>): Promise<Caller> {
    const marker = `caller ${number}`;
    const asked: string[] = [];
    const client = new Client({ name: marker, version: "1" }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler(ElicitRequestSchema, async ({ params: { message } }) => {
      asked.push(message);
      if (message !== "Member 1?" || !isEarly(number)) await killed;
      return { action: "accept", content: { name: NAMES[Number(/\d/.exec(message)?.[0]) - 1] ?? "Nobody" } };
    });
    // The SDK's own types do not agree with exactOptionalPropertyTypes.
    await client.connect(new StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`)) as never);
    const ended = client.callTool({ name: "interview", arguments: { marker } }).then(toldBy);
    ended.catch(() => undefined);
    return { marker, asked, ended, close: () => client.close() };
  }
});

describe("a front end with 2,000 sessions that listen", () => {
  const SESSIONS = 2_000;
  const TOGETHER = 50;
  /** Of JavaScript's heap, and of the process as a whole: sockets and their buffers count there. */
  const HEAP_PER_STREAM_MAX = 40_000;
  const RESIDENT_PER_STREAM_MAX = 120_000;

  interface Listener {
    readonly sessionId: string;
    stream: Stream;
  }

  interface Stream {
    readonly ended: boolean;
    readonly text: string;
    close(): void;
  }

  let front: FrontEnd;
  let inspector: number;
  let listeners: Listener[];

  beforeAll(async () => {
    const { url, prefix } = deployment.redis;
    front = await startFrontEnd({
      REDIS_URL: url,
      PARLEY_PREFIX: prefix,
      PARLEY_TOOLS: TOOLS,
      NODE_OPTIONS: "--inspect=127.0.0.1:0",
    });
    const listening = front.logs.find(({ msg }) => msg?.startsWith("Debugger listening on"));
    inspector = Number(new URL(listening?.msg?.split(" ").at(-1) ?? "").port);
  });

  afterAll(async () => {
    for (const { stream } of listeners ?? []) stream.close();
    await front?.stop();
  });

  test("needs little memory for each", async () => {
    // What the first requests of a process cost is no stream's.
    for (const { stream } of await openAll(TOGETHER)) stream.close();
    const before = await memory();

    listeners = await openAll(SESSIONS);

    const after = await memory();
    const perStream = {
      heap: Math.round((after.heapBytes - before.heapBytes) / SESSIONS),
      resident: Math.round((after.residentBytes - before.residentBytes) / SESSIONS),
    };
    process.stderr.write(
      `${SESSIONS} sessions with an open stream: ${perStream.heap} bytes of live heap and ${perStream.resident} of resident memory each\n`,
    );
    expect(listeners.filter(({ stream }) => stream.ended)).toEqual([]);
    expect(perStream.heap).toBeLessThan(HEAP_PER_STREAM_MAX);
    expect(perStream.resident).toBeLessThan(RESIDENT_PER_STREAM_MAX);
  });

  test("still hands a stream over to a second one of its session", async () => {
    for (const listener of listeners.slice(0, 20)) {
      const first = listener.stream;
      listener.stream = await listen(listener.sessionId);
      await until(() => first.ended);
      expect(listener.stream.ended).toBe(false);
    }
  });

  test("still ends a session by DELETE, and its stream with it", async () => {
    for (const { sessionId, stream } of listeners.slice(20, 40)) {
      const headers = { "mcp-session-id": sessionId };
      expect((await fetch(`${front.url}/mcp`, { method: "DELETE", headers })).status).toBe(204);
      await until(() => stream.ended);
    }
  });

  test("still puts a question on the one stream that it belongs to", async () => {
    const asked = listeners.at(-1);
    if (!asked) throw new Error("no stream listens");
    const params = { name: "greet", arguments: { marker: "among thousands" }, task: {} };
    await post("tools/call", params, asked.sessionId);
    await until(() => asked.stream.text.includes('"method":"elicitation/create"'));
    expect(listeners.filter(({ stream }) => stream.text.includes("elicitation/create"))).toEqual([asked]);
  });

  async function memory(): Promise<{ heapBytes: number; residentBytes: number }> {
    const heapBytes = await liveHeapBytes(inspector);
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${front.pid}/status`, "utf8"))?.[1];
    return { heapBytes, residentBytes: Number(kilobytes) * 1_024 };
  }

  async function openAll(count: number): Promise<Listener[]> {
    const opened: Listener[] = [];
    while (opened.length < count) {
      const together = Array.from({ length: Math.min(TOGETHER, count - opened.length) }, async () => {
        const sessionId = await openSession();
        return { sessionId, stream: await listen(sessionId) };
      });
      opened.push(...(await Promise.all(together)));
    }
    return opened;
  }

  async function openSession(): Promise<string> {
    const capabilities = { elicitation: { form: {} } };
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "listener", version: "1" } };
    const response = await post("initialize", params);
    return response.headers.get("mcp-session-id") ?? "";
  }

  async function post(method: string, params: object, sessionId?: string): Promise<Response> {
    const response = await fetch(`${front.url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(sessionId !== undefined && { "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    await response.text();
    return response;
  }

  /** By node:http, since two thousand of fetch's streams would weigh more on the test than on the front end. */
  async function listen(sessionId: string): Promise<Stream> {
    const { hostname, port } = new URL(front.url);
    const outgoing: ClientRequest = request({
      hostname,
      port,
      path: "/mcp",
      agent: false,
      headers: { accept: "text/event-stream", "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" },
    });
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve);
      outgoing.once("error", reject);
      outgoing.end();
    });
    if (incoming.statusCode !== 200) throw new Error(`the stream was refused: ${incoming.statusCode}`);
    let text = "";
    let ended = false;
    incoming.setEncoding("utf8");
    incoming.on("data", (chunk: string) => (text += chunk));
    incoming.on("error", () => (ended = true));
    incoming.on("end", () => (ended = true));
    // The priming event says that the stream is held.
    await until(() => text.startsWith("id: "));
    return {
      get ended() {
        return ended;
      },
      get text() {
        return text;
      },
      close: () => void outgoing.destroy(),
    };
  }
});
