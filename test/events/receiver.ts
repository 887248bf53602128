/** A receiver of events on loopback: it verifies, writes down what came first and what came again, and troubles who posts, by a seed. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook as Verifier } from "standardwebhooks";
import { createRandom, type Random } from "../chaos/random.ts";

/** What is done to who posts. With the last three the receiver has the event all the same. */
const TROUBLES = ["fails", "is busy", "redirects", "stalls", "breaks off", "lies", "is lost"] as const;
type Trouble = (typeof TROUBLES)[number];

/** Of all posts: one that fails several times in a row is tried again after minutes. */
const TROUBLES_MOST = 0.08;

export interface Told {
  readonly id: string;
  readonly type: string;
  readonly taskId: string;
  /** Of the question; absent at the end of a task. */
  readonly key?: string;
}

export interface Receiver {
  readonly url: string;
  /** What came first, in order. */
  readonly told: readonly Told[];
  readonly counts: { posts: number; again: number; gaps: number; readonly troubles: Map<Trouble, number> };
  /** What must not be. */
  readonly problems: readonly string[];
  /** How many events it knew when it was told first that some are missing. */
  readonly knownAtGap: number | undefined;
  /** From now on it takes what comes, or nothing at all. */
  refuses: boolean;
  close(): Promise<void>;
}

export interface ReceiverOptions {
  readonly secret: string;
  readonly seed: string;
  /** About how many times it troubles who posts. */
  readonly troubles: number;
  /** Of how many events. */
  readonly of: number;
}

export async function startReceiver({ secret, seed, troubles, of }: ReceiverOptions): Promise<Receiver> {
  const random: Random = createRandom(seed);
  const verifier = new Verifier(secret);
  const told: Told[] = [];
  const bodies = new Map<string, string>();
  const problems: string[] = [];
  const counts = { posts: 0, again: 0, gaps: 0, troubles: new Map<Trouble, number>() };
  let knownAtGap: number | undefined;
  let refuses = false;

  function take(id: string, text: string): void {
    const body = JSON.parse(text) as { type?: string; name?: string; timestamp?: string; data?: { taskId: string; key?: string } };
    // Whether a question is open is said as of when it is posted.
    const says = JSON.stringify([body.type ?? body.name, body.timestamp, body.data?.taskId, body.data?.key]);
    const known = bodies.get(id);
    if (known !== undefined) {
      counts.again += 1;
      if (known !== says) problems.push(`${id} came again, and says something else`);
      return;
    }
    bodies.set(id, says);
    // Of an operator's webhook, and of a subscription.
    const type = body.type ?? body.name ?? "";
    if (type === "gap") {
      counts.gaps += 1;
      knownAtGap ??= told.length;
      return;
    }
    if (!body.data) return void problems.push(`${id} says nothing`);
    told.push({ id, type, taskId: body.data.taskId, ...(body.data.key !== undefined && { key: body.data.key }) });
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    if (request.url === "/elsewhere") problems.push("a redirect was followed");
    const headers = request.headers as Record<string, string>;
    verifier.verify(text, headers);
    const { type, challenge } = JSON.parse(text) as { type?: string; challenge?: string };
    if (type === "verification") return void response.end(JSON.stringify({ challenge }));
    counts.posts += 1;
    if (refuses) return void response.writeHead(503).end();
    const id = headers["webhook-id"] ?? "";
    if (!random.chance(Math.min(troubles / of, TROUBLES_MOST))) {
      take(id, text);
      return void response.writeHead(204).end();
    }
    // Stalls last as long as a worker waits, so there are few.
    const trouble = random.weighted({ fails: 6, "is busy": 4, redirects: 4, stalls: 1, "breaks off": 4, lies: 5, "is lost": 5 });
    counts.troubles.set(trouble, (counts.troubles.get(trouble) ?? 0) + 1);
    switch (trouble) {
      case "fails":
        return void response.writeHead(500).end("x".repeat(1_000_000));
      case "is busy":
        return void response.writeHead(429, { "retry-after": "1" }).end();
      case "redirects":
        return void response.writeHead(307, { location: "/elsewhere" }).end();
      case "stalls":
        return;
      case "breaks off":
        return void response.destroy();
      case "lies":
        take(id, text);
        return void response.writeHead(500).end();
      case "is lost":
        take(id, text);
        return void response.destroy();
    }
  }

  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => {
      problems.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    told,
    counts,
    problems,
    get knownAtGap() {
      return knownAtGap;
    },
    get refuses() {
      return refuses;
    },
    set refuses(value) {
      refuses = value;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
