/** A classic upstream in this process, by the official server, whose tools are functions of a test. And upstreams over HTTP. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import { CallToolRequestSchema, ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { DEFAULT_SETTINGS } from "@parley/core";
import type { CallRequest } from "./wire/call-request.ts";
import { gate, gates } from "./gate.ts";
import type { CallDeps, Leading } from "./call/upstream-call.ts";
import { createUpstreamFetch } from "./connection/upstream-fetch.ts";
import type { OpenSession, UpstreamConnector } from "./connection/upstream-session.ts";
import { parseUpstreams, type Upstream } from "./config/upstreams.ts";

export const FORM = { type: "object", properties: { ok: { type: "boolean" } } } as const;

export interface Asking {
  /** The outcome of a question: its answer, or the error that refuses it. */
  ask(message: string, options?: RequestOptions): Promise<object>;
  /** The same for any parameters. */
  request(params: object, options?: RequestOptions): Promise<object>;
  log(data: object): Promise<void>;
  /** `more`: further params. */
  progress(progress: number, more?: object): Promise<void>;
  /** The capabilities that the client declared. */
  readonly capabilities: object | undefined;
  readonly signal: AbortSignal;
}

export type Behaviour = (asking: Asking) => Promise<unknown>;

/** Connects to a server that does `behave` in each call, and counts its calls. */
export function connectorTo(behave: Behaviour): UpstreamConnector & { readonly calls: () => number } {
  let calls = 0;
  return {
    calls: () => calls,
    forget: () => undefined,
    sessionTasks() {
      throw new Error("the fixture has no tasks");
    },
    async open(_upstream: Upstream, { capabilities, prepare }: OpenSession) {
      const [theirs, ours] = InMemoryTransport.createLinkedPair();
      const server = new Server({ name: "fixture", version: "1" }, { capabilities: { tools: {}, logging: {} } });
      server.setRequestHandler(CallToolRequestSchema, async ({ params: { _meta } }, { signal, sendNotification }) => {
        calls += 1;
        const request: Asking["request"] = async (params, options = {}) => {
          try {
            return await server.request({ method: "elicitation/create", params: params as never }, ElicitResultSchema, options);
          } catch (error) {
            const { code, message: refused, data } = error as { code: number; message: string; data?: object };
            return { code, refused, ...data };
          }
        };
        const said = await behave({
          signal,
          log: (data) => server.sendLoggingMessage({ level: "info", data }),
          progress: (progress, more) =>
            sendNotification({
              method: "notifications/progress",
              params: { progressToken: _meta?.progressToken ?? "", progress, ...more },
            }),
          capabilities: server.getClientCapabilities(),
          ask: (message, options) => request({ mode: "form", message, requestedSchema: FORM }, options),
          request,
        });
        return { content: [{ type: "text", text: JSON.stringify(said) ?? "null" }] };
      });
      await server.connect(theirs);
      const client = new Client({ name: "gateway", version: "1" }, { capabilities } satisfies ClientOptions);
      prepare?.(client, false);
      await client.connect(ours as never);
      return { client, isStateless: false, begin: () => undefined, close: () => client.close() };
    },
  };
}

/** Serves on a free port, and reads an upstream file with this entry and that address. What it opens is closed by `closers`. */
export async function upstreamOverHttp(
  serve: RequestListener,
  entry: object,
  { closers, path = "/mcp" }: { readonly closers: (() => unknown)[]; readonly path?: string },
) {
  const http = createServer(serve).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(() => {
    http.closeAllConnections();
    http.close();
  });
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}${path}`;
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url, ...entry }] }));
  if (!upstream) throw new Error("the file has one upstream");
  return { http, fetch, upstream };
}

const [UPSTREAM] = parseUpstreams(
  "test",
  JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", callTimeout: "200ms" }] }),
);

export function aRequest(given: Partial<CallRequest> = {}): CallRequest {
  if (!UPSTREAM) throw new Error("the fixture has an upstream");
  return {
    upstream: UPSTREAM,
    kind: "tool",
    tool: "tool",
    args: {},
    principal: "ann",
    capabilities: { elicitation: { form: true, url: true } },
    questionTimeoutMs: 1_000,
    peopleTimeoutMs: 10 * 60_000,
    askedBefore: 0,
    given: [],
    ...given,
  };
}

export const ELICITATION = {
  isEnabled: true,
  timeoutMs: 1_000,
  blockingTimeoutMs: 1_000,
  openMax: 100,
  principalMax: 100,
  sessionMax: 100,
  callMax: 100,
  perMinute: 0,
};

export function someDeps(connector: UpstreamConnector, given: Partial<CallDeps> = {}): CallDeps {
  return {
    connector,
    elicitation: ELICITATION,
    settings: DEFAULT_SETTINGS,
    open: gate(100),
    openOf: gates(100),
    openOfSession: gates(100),
    count: () => undefined,
    onAbandoned: () => undefined,
    ...given,
  };
}

export const leading = (): Leading => ({ signal: new AbortController().signal, report: () => undefined });
