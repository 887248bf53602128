/** One client sends the largest possible requests: other clients of the front end hardly notice. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { IN_TIME } from "../support/in-time.ts";
import { until } from "../support/until.ts";

const AT_ONCE = 16;
/**
 * What is wanted is 100 ms. It took 54 ms on the machine of bench/RESULTS.md, and 105 to 145 ms on one that takes twice as long for everything: this says
 * that one client cannot block a front end, which it once did for four seconds, and not how fast the machine is.
 */
const WITHIN_MS = 250;
/** It is about 340 MB after the last test, more where tests are repeated. An attack that was found took 1.3 GB. */
const RESIDENT_MAX = 800 * 1_024 * 1_024;
const REPLY_MAX = 64 * 1_024;

let deployment: Deployment;
let client: Client;

beforeAll(async () => {
  deployment = await startDeployment({ frontEnds: 1, workers: 1 });
  client = createClient(`${frontEnd().url}/mcp`, 1);
});

afterAll(async () => {
  client.close();
  await deployment.close();
});

function frontEnd() {
  const [only] = deployment.frontEnds;
  if (!only) throw new Error("no front end");
  return only;
}

/** The most that it ever had, in bytes. */
function residentAtMost(pid: number): number {
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
}

/** How long a process was ready to run and others ran in its place, in milliseconds: what a busy machine adds to everything. */
function waitedFor(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}

/** How long /healthz takes, each time until `over`, less what either process had to wait for a processor. */
async function watchHealth(over: Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  const processes = [frontEnd().pid, process.pid];
  let isOver = false;
  void over.finally(() => (isOver = true));
  while (!isOver) {
    const before = processes.map(waitedFor);
    const startedAtMs = performance.now();
    expect((await fetch(`${frontEnd().url}/healthz`)).status).toBe(200);
    const ms = performance.now() - startedAtMs;
    // Not the sum: the one may work while the other waits.
    took.push(ms - Math.max(...processes.map((pid, index) => waitedFor(pid) - (before[index] ?? 0))));
    await sleep(2);
  }
  return took;
}

interface Reply {
  readonly status: number;
  readonly bytes: number;
  readonly body: string;
}

/** All of a request as bytes, made once: what this process does to make sixteen of them would count as the front end's. */
function requestOf(method: string, name: string, params: object): Buffer {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
          elicitation: { form: {} },
          extensions: { "io.modelcontextprotocol/tasks": {} },
        },
      },
    },
  });
  const headers = {
    host: "localhost",
    connection: "close",
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    "mcp-name": name,
  };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  return Buffer.from(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
}

/** Sends a request and takes nothing of the reply until `mayRead`. */
async function send(request: Buffer, mayRead: Promise<unknown>): Promise<Reply> {
  const socket: Socket = connect(Number(new URL(frontEnd().url).port), "127.0.0.1").pause();
  await once(socket, "connect");
  socket.write(request);
  await mayRead;
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await once(socket, "close");
  const text = Buffer.concat(chunks).toString();
  const [head = "", answer = ""] = text.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), bytes: text.length, body: answer };
}

/** A list that fits in a request and holds as many values as one may, beside those of the request itself. */
const MANY = Array<number>(24_900).fill(0);

const answers = [
  // Found by attack: 149 MB of reply, 3.9 s of work, 1.3 GB.
  ["480,000 values", { projects: Array<number>(480_000).fill(0) }],
  ["as many values as may be", { projects: MANY }],
  ["as many fields as may be", Object.fromEntries(MANY.map((zero, index) => [`field ${index}`, zero]))],
  ["one long text", { purpose: "\u2028".repeat(160_000) + "x".repeat(480_000) }],
] as const;

const calls = [
  ["480,000 values", { junk: Array<number>(480_000).fill(0) }],
  ["as many values as may be", { junk: MANY }],
  ["as many arguments as may be", Object.fromEntries(MANY.map((zero, index) => [`argument ${index}`, zero]))],
] as const;

// Both figures come from the kernel's own books.
describe.skipIf(process.platform !== "linux")(
  "while sixteen of the largest requests are answered at once, and no client reads the answers",
  IN_TIME,
  () => {
    async function attack(request: Buffer): Promise<readonly Reply[]> {
      const read = Promise.withResolvers<void>();
      const replies = Promise.all(Array.from({ length: AT_ONCE }, () => send(request, read.promise)));
      const over = sleep(1_500)
        .then(read.resolve)
        .then(() => replies);
      const took = await watchHealth(over);
      expect(took.length).toBeGreaterThan(2);
      expect(Math.max(...took)).toBeLessThan(WITHIN_MS);
      expect(residentAtMost(frontEnd().pid)).toBeLessThan(RESIDENT_MAX);
      return await replies;
    }

    test.each(answers)("answers with %s", async (_what, content) => {
      const { taskId } = await client.call("expense_report", {});
      await until(async () => (await client.get(taskId)).status === "input_required");
      const params = { taskId, inputResponses: { expense: { action: "accept", content } } };
      for (const { status, bytes, body } of await attack(requestOf("tasks/update", taskId, params))) {
        expect([200, 400], body).toContain(status);
        expect(JSON.parse(body)).toHaveProperty("error");
        expect(bytes).toBeLessThan(REPLY_MAX);
      }
      expect((await client.get(taskId)).status).toBe("input_required");
    });

    test.each(calls)("calls with %s", async (_what, args) => {
      const params = { name: "expense_report", arguments: args };
      for (const { status, bytes, body } of await attack(requestOf("tools/call", "expense_report", params))) {
        expect([200, 400], body).toContain(status);
        expect(JSON.stringify(JSON.parse(body))).toMatch(/"error":|"isError":true/);
        expect(bytes).toBeLessThan(REPLY_MAX);
      }
    });
  },
);
