/**
 * Stands between a client and the server on this machine, passes everything on unchanged, and shows it to the recorder. It cuts a connection once for each
 * client, when the recorder says so.
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createParser } from "eventsource-parser";
import type { Exchange, Recorder } from "./record.ts";

const HOST = "127.0.0.1";
/** What is larger passes unrecorded. */
const RECORDED_BYTES_MAX = 1_048_576;
const CONNECTIONS_MAX = 500;

export interface Wire {
  /** Of the server as clients reach it, without a path. */
  readonly url: string;
  /** Where to pass everything on to, once that is known. */
  lead(to: string): void;
  close(): Promise<void>;
}

export async function openWire(port: number, recorder: Recorder): Promise<Wire> {
  const agent = new Agent({ keepAlive: true });
  let target: URL | undefined;
  const server = createServer((incoming, outgoing) => {
    // A client that is quicker than the server.
    if (target === undefined) return void outgoing.writeHead(503, { "retry-after": "1" }).end();
    if (new URL(incoming.url ?? "/", target).pathname !== "/mcp") return forward({ incoming, outgoing, target, agent });
    const parts: Buffer[] = [];
    let bytes = 0;
    incoming.on("data", (part: Buffer) => void ((bytes += part.length) <= RECORDED_BYTES_MAX && parts.push(part)));
    // Only the recorder waits for the whole body.
    const exchange = new Promise<Exchange>((resolve) => {
      incoming.once("end", () =>
        resolve(
          recorder.request({
            httpMethod: incoming.method ?? "",
            sessionId: one(incoming.headers["mcp-session-id"]),
            lastEventId: one(incoming.headers["last-event-id"]),
            body: bytes <= RECORDED_BYTES_MAX ? parsed(Buffer.concat(parts).toString()) : undefined,
          }),
        ),
      );
    });
    forward({ incoming, outgoing, target, agent, exchange });
  });
  // Streams may be silent for as long as they like.
  server.requestTimeout = 0;
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(port, HOST, done);
  });
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    lead: (to) => void (target = new URL(to)),
    async close() {
      server.closeAllConnections();
      agent.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

interface Passage {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly target: URL;
  readonly agent: Agent;
  readonly exchange?: Promise<Exchange>;
}

function forward({ incoming, outgoing, target, agent, exchange }: Passage): void {
  const { method, url: path } = incoming;
  // What is compressed could not be read on the way.
  const { "accept-encoding": _, ...headers } = incoming.headers;
  const onward = request({ agent, hostname: target.hostname, port: target.port, method, path, headers });
  let isCut = false;
  onward.on("response", (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    outgoing.flushHeaders();
    // A server that dies in the middle must look like it to the client.
    response.on("error", () => outgoing.destroy());
    response.on("aborted", () => outgoing.destroy());
    if (exchange === undefined) return void response.pipe(outgoing);
    void record(response, outgoing, exchange, () => (isCut = true));
  });
  onward.on("error", () => {
    // What is still to come of a body that was refused unread stands ahead of the connection's next request.
    incoming.unpipe(onward).resume();
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end();
  });
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) onward.destroy();
    void exchange?.then(({ closed }) => closed(isCut ? "probe" : outgoing.writableFinished ? "server" : "client"));
  });
  incoming.pipe(onward);
}

async function record(response: IncomingMessage, outgoing: ServerResponse, pending: Promise<Exchange>, onCut: () => void): Promise<void> {
  const exchange = await pending;
  exchange.replied(response.statusCode ?? 0, one(response.headers["mcp-session-id"]));
  const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
  let cut = false;
  const show = (text: string) => {
    const message = parsed(text);
    for (const each of Array.isArray(message) ? (message as unknown[]) : [message]) cut = exchange.passed(each) === "cut" || cut;
  };
  const parser = createParser({ onEvent: ({ data }) => show(data), maxBufferSize: RECORDED_BYTES_MAX });
  const utf8 = new TextDecoder();
  let body = "";
  response.on("data", (chunk: Buffer) => {
    const text = utf8.decode(chunk, { stream: true });
    if (isStream) read(() => parser.feed(text));
    else if (body.length <= RECORDED_BYTES_MAX) body += text;
    const isRoom = outgoing.write(chunk, () => {
      if (!cut) return;
      onCut();
      outgoing.destroy();
    });
    if (isRoom) return;
    response.pause();
    outgoing.once("drain", () => response.resume());
  });
  response.on("end", () => {
    if (!isStream && body.length <= RECORDED_BYTES_MAX) read(() => show(body));
    outgoing.end();
  });
}

/** What cannot be recorded passes all the same. */
function read(work: () => void): void {
  try {
    work();
  } catch {
    // An event larger than the parser keeps.
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
