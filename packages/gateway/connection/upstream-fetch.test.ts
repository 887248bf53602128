/** Responses of upstreams over real HTTP: which of them the client reads as a stream, and up to which size. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

type Serve = (request: IncomingMessage, response: ServerResponse) => unknown;

async function listening(serve: Serve): Promise<string> {
  const http = createServer((request, response) => void serve(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(
    () => new Promise((resolve) => http.close(resolve)),
    () => http.closeAllConnections(),
  );
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

async function served(serve: Serve, bounds: Parameters<typeof createUpstreamFetch>[0] = {}) {
  const url = await listening((request, response) => {
    request.resume();
    return serve(request, response);
  });
  const { fetch, close } = createUpstreamFetch(bounds);
  closers.push(close);
  /** As the client sends it. */
  const post = (body: object = { method: "tools/call", jsonrpc: "2.0", id: 7 }) =>
    fetch(url, { method: "POST", body: JSON.stringify(body), redirect: "manual" });
  return { post };
}

const RESULT = { result: { content: [{ type: "text", text: "line one\nligne deux é" }] }, jsonrpc: "2.0", id: 7 };
const ERROR = { jsonrpc: "2.0", id: 7, error: { code: -32000, message: "no" } };
const event = (message: unknown, head = "event: message\n") => `${head}data: ${JSON.stringify(message)}\n\n`;

function events(response: ServerResponse, ...texts: string[]) {
  response.writeHead(200, { "content-type": "text/event-stream", "mcp-session-id": "s" });
  for (const text of texts) response.write(text);
  return response;
}

const typeOf = (response: Response) => response.headers.get("content-type");

describe("a stream that begins with the response to its request", () => {
  test.each([
    ["a result", event(RESULT), RESULT],
    ["an error", event(ERROR), ERROR],
    ["without a name, with an id, lines ended by CRLF", `id: 1\r\ndata:${JSON.stringify(RESULT)}\r\n\r\n`, RESULT],
  ])("comes as JSON, with all other headers: %s", async (_what, text, message) => {
    const { post } = await served((_request, response) => events(response, text).end());
    const response = await post();
    expect([response.status, typeOf(response), response.headers.get("mcp-session-id")]).toEqual([200, "application/json", "s"]);
    expect(await response.json()).toEqual(message);
    expect(JSON.parse(await response.text())).toEqual(message);
  });

  test("is recognised by its media type, whose case means nothing", async () => {
    const { post } = await served((_request, response) => {
      response.writeHead(200, { "content-type": "Text/Event-Stream; charset=UTF-8" }).end(event(RESULT));
    });
    expect(await (await post()).json()).toEqual(RESULT);
  });

  test("is passed on before it ends, and its connection serves another request afterwards", async () => {
    let open: ServerResponse | undefined;
    const ports: (number | undefined)[] = [];
    const { post } = await served(({ socket }, response) => {
      ports.push(socket.remotePort);
      events(response, event(RESULT));
      if (open) response.end();
      open ??= response;
    });
    expect(typeOf(await post())).toBe("application/json");
    open?.end(event({ method: "notifications/message", jsonrpc: "2.0", params: { level: "info", data: "x".repeat(300_000) } }));
    // A request that is sent before the end was read gets a connection of its own.
    await until(async () => typeOf(await post()) === "application/json" && ports.lastIndexOf(ports[0]) > 0);
  });

  test("and that never ends is closed soon after, so that connections do not accumulate", async () => {
    let isClosed = false;
    const { post } = await served((_request, response) => {
      response.on("close", () => void (isClosed = true));
      events(response, event(RESULT));
    });
    expect(await (await post()).json()).toEqual(RESULT);
    await until(() => isClosed);
  });

  test("and that continues without end is cut off at the bound of a response", async () => {
    let isClosed = false;
    let goOn = (): unknown => undefined;
    const { post } = await served(
      (_request, response) => {
        events(response, event(RESULT));
        response.on("close", () => void (isClosed = true));
        // After the response was read.
        goOn = () => !isClosed && response.write(event({ method: "notifications/message", jsonrpc: "2.0" }));
      },
      { responseBytesMax: 2_000 },
    );
    expect(typeOf(await post())).toBe("application/json");
    await until(() => {
      goOn();
      return isClosed;
    });
  });
});

describe("a stream that begins with anything else is read as a stream, from its first byte", () => {
  const NOTIFIED = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 7, progress: 1 } };
  const ASKED = { jsonrpc: "2.0", id: 7, method: "elicitation/create", params: {}, result: {} };
  test.each([
    ["a notification before the response", event(NOTIFIED) + event(RESULT)],
    ["a request of the upstream's own, under the same id", event(ASKED)],
    ["the response to another request", event({ ...RESULT, id: 8 })],
    ["a response whose id is another one as a text", event({ ...RESULT, id: "7" })],
    ["a priming event", `id: 1\nretry: 500\ndata:\n\n${event(RESULT)}`],
    ["an event of another name", event(RESULT, "event: other\n")],
    ["two events in one", `data: {"jsonrpc":"2.0",\ndata: "id":7,"result":{}}\n\n`],
    ["half an event", event(RESULT).slice(0, -1)],
    ["what is not JSON", "data: {nothing}\n\n"],
    ["a result that is none", event({ jsonrpc: "2.0", id: 7, result: "text" })],
    ["an error that is none", event({ jsonrpc: "2.0", id: 7, error: { message: "no code" } })],
    ["a comment", `: hello\n\n${event(RESULT)}`],
    ["nothing", ""],
  ])("%s", async (_what, text) => {
    const { post } = await served((_request, response) => events(response, text).end());
    const response = await post();
    expect(typeOf(response)).toBe("text/event-stream");
    expect(await response.text()).toBe(text);
  });

  test("one that comes in pieces", async () => {
    const text = event(NOTIFIED) + event(RESULT);
    const { post } = await served(async (_request, response) => {
      events(response);
      for (const piece of text.match(/[^]{1,7}/g) ?? []) {
        response.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      response.end();
    });
    expect(await (await post()).text()).toBe(text);
  });

  test("and so is the answer to a message that is not a request", async () => {
    const { post } = await served((_request, response) => events(response, event(RESULT)).end());
    expect(typeOf(await post({ method: "notifications/initialized", jsonrpc: "2.0" }))).toBe("text/event-stream");
  });

  test("one that breaks is reported as broken", async () => {
    const { post } = await served((_request, response) => {
      events(response, event(RESULT).slice(0, 10));
      setTimeout(() => response.destroy(), 5);
    });
    await expect((await post()).text()).rejects.toThrow();
  });

  test("one that breaks before its first byte", async () => {
    const { post } = await served((_request, response) => {
      events(response).flushHeaders();
      setTimeout(() => response.destroy(), 20);
    });
    await expect((await post()).text()).rejects.toThrow();
  });
});

describe("the events of a stream, read as the client reads them,", () => {
  const read = (response: Response, onRetry?: (retryMs: number) => void) =>
    response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream({ onRetry })).getReader();
  const ASKED = { jsonrpc: "2.0", id: 1, method: "elicitation/create", params: { message: "é 漢 😀" } };

  test("arrive as they were sent, wherever the network divides them", async () => {
    const bytes = Buffer.from(event(ASKED) + event(RESULT));
    const { post } = await served(async (_request, response) => {
      events(response);
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const reader = read(await post());
    const messages: unknown[] = [];
    for (let next = await reader.read(); !next.done; next = await reader.read()) messages.push(JSON.parse(next.value.data));
    expect(messages).toEqual([ASKED, RESULT]);
  });

  test.each([
    ["breaks", (response: ServerResponse) => void response.destroy()],
    ["exceeds its limit", (response: ServerResponse) => void response.write(`: ${"x".repeat(2_000)}\n\n`)],
  ])("end with an error when the stream %s", async (_what, spoil) => {
    let spoilIt: () => void = () => undefined;
    const { post } = await served(
      (_request, response) => {
        spoilIt = () => spoil(response);
        events(response, event(ASKED));
      },
      { responseBytesMax: 1_000 },
    );
    const reader = read(await post());
    expect(JSON.parse((await reader.read()).value?.data ?? "")).toEqual(ASKED);
    spoilIt();
    await expect(reader.read()).rejects.toThrow();
  });

  test.each([
    [
      "as events",
      (body: ReadableStream<Uint8Array>) => body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()),
    ],
    ["as bytes", (body: ReadableStream<Uint8Array>) => body],
  ])("leave a turn for other work, however many come at once: %s", async (_read, readable) => {
    const { post } = await served((_request, response) => events(response, event({}).repeat(20_000)).end());
    const { body } = await post({});
    let turns = 0;
    let isRead = false;
    const count = (): unknown =>
      isRead ||
      setImmediate(() => {
        turns += 1;
        count();
      });
    // Everything has arrived before the first event is read.
    await new Promise((resolve) => setTimeout(resolve, 200));
    let first = true;
    for await (const _ of readable(body!)) {
      if (first) count();
      first = false;
    }
    isRead = true;
    expect(turns).toBeGreaterThan(20);
  });

  test("say when the client may connect again, each time that they do", async () => {
    const { post } = await served((_request, response) =>
      events(response, `retry: 20\n\n${event(ASKED)}retry: 30\n\n${event(RESULT)}`).end(),
    );
    const retries: number[] = [];
    const reader = read(await post(), (retryMs) => retries.push(retryMs));
    const messages: unknown[] = [];
    for (let next = await reader.read(); !next.done; next = await reader.read()) messages.push(JSON.parse(next.value.data));
    expect(messages).toEqual([ASKED, RESULT]);
    await until(() => retries.length === 2);
    expect(retries).toEqual([20, 30]);
  });

  test.each([
    [
      "the client cancels them",
      async (response: Response) => {
        const reader = read(response);
        await reader.read();
        await reader.cancel();
      },
    ],
    [
      "their loop is left",
      async (response: Response) => {
        const events = response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
        for await (const { data } of events) if (data !== "") break;
      },
    ],
  ])("are read no further when %s, and their connection is closed", async (_how, leave) => {
    const closed = Promise.withResolvers<void>();
    const { post } = await served((_request, response) => {
      events(response, event(ASKED)).on("close", closed.resolve);
    });
    await leave(await post());
    await closed.promise;
  });
});

test("a message may have the maximum size and not one byte more, as JSON and in a stream", async () => {
  for (const [type, text] of [
    ["application/json", JSON.stringify(RESULT)],
    ["text/event-stream", `: ${"x".repeat(300)}`],
  ] as const) {
    const bytes = Buffer.byteLength(text);
    for (const [messageBytesMax, fits] of [
      [bytes, true],
      [bytes - 1, false],
    ] as const) {
      const { post } = await served((_request, response) => response.writeHead(200, { "content-type": type }).end(text), {
        messageBytesMax,
      });
      const read = post().then((response) => response.text());
      if (fits) await expect(read).resolves.toBe(text);
      else await expect(read).rejects.toThrow();
    }
  }
});

describe("a redirect", () => {
  const seen: { readonly at: string; readonly key: unknown; readonly body: string }[] = [];

  /** Sends a call to a server that redirects it. Returns the last response. */
  async function redirected(status: number, location: (origin: string, elsewhere: string) => string): Promise<Response> {
    seen.length = 0;
    const see = async (request: IncomingMessage) => {
      seen.push({ at: String(request.url), key: request.headers["x-api-key"], body: await text(request) });
    };
    const elsewhere = await listening(async (request, response) => {
      await see(request);
      response.end();
    });
    const origin = await listening(async (request, response) => {
      await see(request);
      if (request.url === "/mcp/") return void response.end("{}");
      response.writeHead(status, { location: location(`http://${request.headers.host}`, elsewhere) }).end();
    });
    const { fetch, close } = createUpstreamFetch();
    closers.push(close);
    return await fetch(`${origin}/mcp`, { method: "POST", headers: { "x-api-key": "key" }, body: "call" });
  }

  test.each([307, 308])("of the same origin is followed with the same request: %i", async (status) => {
    const response = await redirected(status, () => "/mcp/");
    expect(response.status).toBe(200);
    expect(seen).toEqual(["/mcp", "/mcp/"].map((at) => ({ at, key: "key", body: "call" })));
  });

  test.each([
    ["to another origin", 307, (_origin: string, elsewhere: string) => `${elsewhere}/mcp/`],
    ["that makes the call a GET", 302, () => "/mcp/"],
    ["with credentials", 308, (origin: string) => `${origin.replace("//", "//user:pass@")}/mcp/`],
    ["to no address", 307, () => "http://"],
  ])("%s is not followed", async (_what, status, location) => {
    const response = await redirected(status, location);
    expect(response.status).toBe(status);
    expect(seen.map(({ at }) => at)).toEqual(["/mcp"]);
  });

  test("in a circle ends", async () => {
    const response = await redirected(307, () => "/mcp");
    expect(response.status).toBe(307);
    expect(seen).toHaveLength(6);
  });
});
