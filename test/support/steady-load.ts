/**
 * Clients that keep working while a deployment is rolled or dies in parts, and count every request that was not answered as it should be. A patient
 * one sends such a request again; the others give up what they were at: what a client would have to repair counts.
 *
 *   tasks   book_dinner from call to result, polled, answered
 *   calls   a tool that works for some seconds, by a client without tasks: each call is held, and handed over when its front end ends
 */
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { message } from "../../bench/client.ts";

export interface LoadReport {
  readonly requests: number;
  readonly tasks: number;
  readonly calls: number;
  /** Calls whose front end ended under them: answered with a requestState that another front end took. */
  readonly handedOver: number;
  /** Requests that failed, each time that they were sent. */
  readonly failures: readonly string[];
  /** Tasks and calls that were given up: a request failed once too often, or the answer was wrong. */
  readonly givenUp: readonly string[];
  /** The longest that any one request but a held call took. */
  readonly slowestMs: number;
}

export interface SteadyLoad {
  readonly report: LoadReport;
  /** Lets what was begun come to its end. */
  stop(): Promise<LoadReport>;
}

interface Result {
  readonly taskId?: string;
  readonly status?: string;
  readonly resultType?: string;
  readonly requestState?: string;
  readonly result?: { readonly isError?: boolean };
  readonly isError?: boolean;
}

export interface LoadOptions {
  readonly tasks: number;
  readonly calls: number;
  /** What is called and held; `research` by default. */
  readonly held?: { readonly name: string; readonly arguments: object };
  /** How often a request is sent again; 0 by default. */
  readonly patience?: number;
}

const RESEARCH = { name: "research", arguments: { word: "elicit" } };

export function startLoad(url: string, { tasks, calls, held: call = RESEARCH, patience = 0 }: LoadOptions): SteadyLoad {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port, pathname } = new URL(url);
  const failures: string[] = [];
  const givenUp: string[] = [];
  const counts = { requests: 0, tasks: 0, calls: 0, handedOver: 0, slowestMs: 0 };
  let running = true;
  let dinners = 0;
  // Each load books on days of its own.
  const firstDay = Date.UTC(2030, 0, 1) + Math.floor(Math.random() * 1_000_000) * 86_400_000;

  async function send(method: string, params: Readonly<Record<string, unknown>>, name: string, held = false): Promise<Result> {
    for (let left = patience; ; left -= 1) {
      try {
        return await sendOnce(method, params, name, held);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
        if (left <= 0) throw error;
        await sleep(500);
      }
    }
  }

  function sendOnce(method: string, params: Readonly<Record<string, unknown>>, name: string, held: boolean): Promise<Result> {
    const { headers, body } = message(method, params, name);
    const text = held ? body.replace('"extensions":{"io.modelcontextprotocol/tasks":{}}', '"extensions":{}') : body;
    const startedAtMs = performance.now();
    counts.requests += 1;
    return new Promise((resolve, reject) => {
      const failed = (why: string) => reject(new Error(`${method}: ${why} after ${Math.round(performance.now() - startedAtMs)} ms`));
      const outgoing = request({
        agent,
        hostname,
        port,
        path: pathname,
        method: "POST",
        headers: { ...headers, "content-length": Buffer.byteLength(text) },
      });
      outgoing.on("error", (error) => failed(error.message));
      outgoing.on("response", (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", (error) => failed(error.message));
        incoming.on("end", () => {
          const reply = Buffer.concat(chunks).toString();
          if (!held) counts.slowestMs = Math.max(counts.slowestMs, performance.now() - startedAtMs);
          if (incoming.statusCode !== 200) return failed(`HTTP ${incoming.statusCode}`);
          const json = incoming.headers["content-type"]?.startsWith("text/event-stream") ? lastMessage(reply) : reply;
          const { result, error } = JSON.parse(json) as { result?: Result; error?: { message: string } };
          if (result === undefined) return failed(error?.message ?? "no result");
          resolve(result);
        });
      });
      outgoing.end(text);
    });
  }

  async function dine(): Promise<void> {
    dinners += 1;
    const date = new Date(firstDay + dinners * 86_400_000).toISOString().slice(0, 10);
    const { taskId = "" } = await send("tools/call", { name: "book_dinner", arguments: { date, time: "19:00" } }, "book_dinner");
    for (;;) {
      const task = await send("tasks/get", { taskId }, taskId);
      if (task.status === "completed") {
        if (task.result?.isError) throw new Error(`task ${taskId} has failed: ${JSON.stringify(task.result).slice(0, 300)}`);
        break;
      }
      if (task.status === "input_required") {
        const inputResponses = { "party-size": { action: "accept", content: { partySize: 4 } } };
        await send("tasks/update", { taskId, inputResponses }, taskId);
      } else if (task.status !== "working") throw new Error(`task ${taskId} is ${task.status}`);
      await sleep(50);
    }
    counts.tasks += 1;
  }

  async function hold(): Promise<void> {
    let result = await send("tools/call", call, call.name, true);
    while (result.resultType === "input_required") {
      counts.handedOver += 1;
      result = await send("tools/call", { ...call, requestState: result.requestState }, call.name, true);
    }
    if (result.isError) throw new Error(`${call.name} failed: ${JSON.stringify(result).slice(0, 300)}`);
    counts.calls += 1;
  }

  async function again(work: () => Promise<void>): Promise<void> {
    while (running) {
      try {
        await work();
      } catch (error) {
        givenUp.push(error instanceof Error ? error.message : String(error));
        await sleep(100);
      }
    }
  }

  const clients = [...Array.from({ length: tasks }, () => again(dine)), ...Array.from({ length: calls }, () => again(hold))];
  const report = () => ({ ...counts, slowestMs: Math.round(counts.slowestMs), failures: [...failures], givenUp: [...givenUp] });
  return {
    get report() {
      return report();
    },
    async stop() {
      running = false;
      await Promise.all(clients);
      agent.destroy();
      return report();
    },
  };
}

/** Of a stream of events: its end is the answer. */
function lastMessage(stream: string): string {
  const events = stream.split("\n\n").flatMap((event) => event.split("\n").filter((line) => line.startsWith("data: {")));
  return events.at(-1)?.slice("data: ".length) ?? "{}";
}
