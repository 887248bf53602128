/**
 * A port for the operator only: /metrics for Prometheus, /healthz and /readyz for the process manager.
 *
 * It is separate from the port that serves clients, so that a load balancer does not expose it. Web pages cannot read it either: it sends no
 * CORS headers, refuses requests from pages of another origin, and accepts only Host headers that an attacker cannot own (DNS rebinding):
 * IP addresses, names without a dot, and the allowed hosts.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";

export interface OperatorPort {
  /** Base address, without a path. */
  readonly url: string;
  close(): Promise<void>;
}

export interface OperatorPortOptions {
  readonly host: string;
  readonly port: number;
  /** Accepted Host headers in addition to IP addresses and names without a dot; `*` for all. */
  readonly allowedHosts: readonly string[];
  /** Returned by /healthz. */
  readonly version: string;
  /** The body of /metrics and its content type. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Resolves if the process can do its work; rejects with the reason if not. */
  readonly ready: () => Promise<void>;
}

/** Rejects with Node's error if it cannot listen on the address. */
export async function openOperatorPort(options: OperatorPortOptions): Promise<OperatorPort> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      send(response, 500, "text/plain; charset=utf-8", `${reasonOf(error)}\n`);
    });
  });
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(options.port, options.host, listening);
  });
  // Watching a process must not keep it alive.
  server.unref();
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}

async function answer(options: OperatorPortOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, headers } = request;
  const path = (request.url ?? "/").replace(/\?.*$/, "");
  const site = headers["sec-fetch-site"];
  if (headers.origin !== undefined || (site !== undefined && site !== "none" && site !== "same-origin")) {
    sendJson(response, 403, { problem: "requests from web pages are refused here" });
  } else if (!isTrusted(headers.host, options.allowedHosts)) {
    sendJson(response, 403, { problem: "this Host header is not accepted (PARLEY_ALLOWED_HOSTS)" });
  } else if (method !== "GET" && method !== "HEAD") {
    sendJson(response, 405, { problem: "this port accepts only GET" });
  } else if (path === "/metrics") {
    const { contentType, text } = await options.metrics();
    send(response, 200, contentType, text);
  } else if (path === "/healthz") {
    sendJson(response, 200, { status: "ok", version: options.version });
  } else if (path === "/readyz") {
    await options.ready().then(
      () => sendJson(response, 200, { status: "ok" }),
      (error: unknown) => sendJson(response, 503, { status: "unavailable", problem: reasonOf(error) }),
    );
  } else {
    sendJson(response, 404, { problem: "this port serves only /metrics, /healthz and /readyz" });
  }
}

function isTrusted(host: string | undefined, allowed: readonly string[]): boolean {
  if (host === undefined) return false;
  const name = host.toLowerCase().replace(/:\d+$/, "");
  const isAllowed = () => allowed.some((item) => item === "*" || item.toLowerCase() === name || item.toLowerCase() === host.toLowerCase());
  return !name.includes(".") || isIP(name.replace(/^\[|\]$/g, "")) !== 0 || isAllowed();
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, "application/json; charset=utf-8", JSON.stringify(body));
}

function send(response: ServerResponse, status: number, contentType: string, text: string): void {
  response.writeHead(status, { "content-type": contentType, "x-content-type-options": "nosniff", "cache-control": "no-store" });
  response.end(text);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
