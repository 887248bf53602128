/**
 * A load balancer without affinity: every request goes to the next front end in turn, from every sender. It streams both ways, passes `Host`
 * through, and retries nothing, so that tests see what a front end did. A front end that cannot be reached is answered with 502.
 */
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Proxy {
  /** Without a path. */
  readonly url: string;
  /** Requests that each front end was given, in the order of `targets`. */
  readonly counts: readonly number[];
  /** How often a stream was opened or taken up again. */
  readonly gets: number;
  /** Breaks every connection that is open, and resolves when somebody has come back to listen. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

export interface ProxyOptions {
  /** A health check: a front end that it does not vouch for is passed over, unless it vouches for none. Without it each has its turn. */
  readonly serves?: (index: number) => boolean;
  /** Added to every request, such as the token of a client that knows none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sees what a front end answers, as it passes. */
  readonly onChunk?: (index: number, chunk: Buffer) => void;
}

export async function startProxy(
  targets: readonly string[],
  { serves = () => true, headers = {}, onChunk }: ProxyOptions = {},
): Promise<Proxy> {
  const agent = new Agent({ keepAlive: true });
  const counts = targets.map(() => 0);
  let turn = 0;
  let gets = 0;

  function next(): number {
    const inTurn = targets.map((_, i) => (turn + i) % targets.length);
    const index = inTurn.find(serves) ?? turn % targets.length;
    turn = index + 1;
    return index;
  }

  const server = createServer((incoming, outgoing) => {
    const index = next();
    counts[index]! += 1;
    if (incoming.method === "GET") gets += 1;
    forward(incoming, outgoing, { target: new URL(targets[index]!), agent, added: headers, onChunk: (chunk) => onChunk?.(index, chunk) });
  });
  // Streams of clients may be silent for as long as they like.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(0, "127.0.0.1", done);
  });
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    counts,
    get gets() {
      return gets;
    },
    async cut() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.on("request", function onRequest({ method }: IncomingMessage) {
          if (method !== "GET") return;
          server.off("request", onRequest);
          resolve();
        });
      });
    },
    async close() {
      server.closeAllConnections();
      agent.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

interface Forwarding {
  readonly target: URL;
  readonly agent: Agent;
  readonly added: Readonly<Record<string, string>>;
  readonly onChunk: (chunk: Buffer) => void;
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, { target, agent, added, onChunk }: Forwarding): void {
  const { method, url: path } = incoming;
  const headers = { ...incoming.headers, ...added };
  const onward = request({ agent, hostname: target.hostname, port: target.port, method, path, headers });
  onward.on("response", (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    outgoing.flushHeaders();
    response.on("data", onChunk).pipe(outgoing);
    // A front end that dies in the middle must look like it to the client.
    response.on("error", () => outgoing.destroy());
    response.on("aborted", () => outgoing.destroy());
  });
  onward.on("error", () => {
    // What is still to come of a body that was refused unread stands ahead of the connection's next request.
    incoming.unpipe(onward).resume();
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end();
  });
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) onward.destroy();
  });
  incoming.pipe(onward);
}
