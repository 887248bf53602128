/** One POST whose answer may be a stream: passes on every JSON-RPC message as it arrives, in a body or in an event. */
import { type Agent, request } from "node:http";
import type { Message } from "./client.ts";

export interface Incoming {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown; readonly taskId?: string; readonly status?: string };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export interface Exchange {
  /** The headers of the answer, once it has ended. Rejects on a status of 400 or more. */
  readonly ended: Promise<Readonly<Record<string, string | string[] | undefined>>>;
  /** Leaves a stream that does not end by itself. */
  close(): void;
}

export interface ExchangeOptions extends Message {
  readonly url: string;
  readonly agent: Agent;
}

export function exchange({ url, agent, headers, body }: ExchangeOptions, onMessage: (message: Incoming) => void): Exchange {
  const { hostname, port, pathname } = new URL(url);
  const outgoing = request({
    agent,
    hostname,
    port,
    path: pathname,
    method: "POST",
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
  });
  let left = false;
  const ended = new Promise<Readonly<Record<string, string | string[] | undefined>>>((resolve, reject) => {
    outgoing.on("error", (error) => (left ? resolve({}) : reject(error)));
    outgoing.on("response", (incoming) => {
      const streamed = incoming.headers["content-type"]?.startsWith("text/event-stream") ?? false;
      let unread = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => {
        unread += chunk;
        if (!streamed) return;
        const blocks = unread.split("\n\n");
        unread = blocks.pop() ?? "";
        for (const block of blocks) readEvent(block, onMessage);
      });
      incoming.on("error", (error) => (left ? resolve({}) : reject(error)));
      incoming.on("end", () => {
        if ((incoming.statusCode ?? 500) >= 400) return reject(new Error(`HTTP ${incoming.statusCode}: ${unread}`));
        if (!streamed && unread !== "") onMessage(JSON.parse(unread) as Incoming);
        resolve(incoming.headers);
      });
    });
  });
  outgoing.end(body);
  return {
    ended,
    close() {
      left = true;
      ended.catch(() => undefined);
      outgoing.destroy();
    },
  };
}

function readEvent(block: string, onMessage: (message: Incoming) => void): void {
  for (const line of block.split("\n")) {
    if (line.startsWith("data: ") && line.length > 6) onMessage(JSON.parse(line.slice(6)) as Incoming);
  }
}
