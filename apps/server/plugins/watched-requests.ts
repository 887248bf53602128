/**
 * Gives each request an id and, if telemetry is on, counts it in the metrics and traces it. Log lines that are written while it is answered
 * carry the ids of request and trace.
 *
 * The span continues the traceparent in `_meta`, which the client itself wrote. Without one it continues that of the HTTP header, which any
 * proxy may have written.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { withLogFields } from "@parley/node";
import { dialectLabel, methodLabel, type Telemetry } from "@parley/telemetry";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { isOffered } from "./offered.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The code of the JSON-RPC error in the reply, if there was one. */
    rpcError: number | undefined;
    /** The reply is an error because the client cancelled its request or ended its session. */
    isCancelled: boolean;
    /** The protocol revision of the request's session. */
    rpcVersion: string | undefined;
    traceId: string | undefined;
  }
}

const PROBES: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);
const INTERNAL_ERROR = -32_603;

export function watchedRequests(app: FastifyInstance, { metrics, tracing }: Partial<Pick<Telemetry, "metrics" | "tracing">> = {}): void {
  app.decorateRequest("rpcError", undefined);
  app.decorateRequest("isCancelled", false);
  app.decorateRequest("rpcVersion", undefined);
  app.decorateRequest("traceId", undefined);

  if (metrics) {
    app.addHook("onRequest", (request, reply, done) => {
      if (!PROBES.has(request.url)) {
        const startedAtMs = performance.now();
        const { raw } = reply;
        raw.on("close", () => {
          const labels = {
            method: methodLabel(request.rpcMethod),
            dialect: dialectLabel(versionOf(request)),
            outcome: outcomeOf(request, raw),
          };
          metrics.requests.observe(labels, (performance.now() - startedAtMs) / 1_000);
        });
      }
      done();
    });
  }

  // Only after the body is read, because callbacks of its events would lose the context.
  app.addHook("preHandler", (request, reply, done) => {
    if (!tracing) {
      withLogFields({ requestId: request.id }, done);
      return;
    }
    const { name: target } = paramsOf(request.body);
    tracing.serve(carrierOf(request), (end) => {
      const ids = tracing.ids();
      request.traceId = ids?.traceId;
      reply.raw.on("close", () => {
        const outcome = outcomeOf(request, reply.raw);
        // Only names of the catalogue may enter a trace.
        const { name, attributes } = described(request, typeof target === "string" && isOffered(request, target) ? target : undefined);
        end(name, { ...attributes, "parley.outcome": outcome }, outcome === "failed");
      });
      withLogFields({ requestId: request.id, ...(ids && { traceId: ids.traceId }) }, done);
    });
  });
}

type Outcome = "ok" | "refused" | "failed" | "gone";

function outcomeOf(
  { rpcError, isCancelled }: FastifyRequest,
  raw: { readonly statusCode: number; readonly writableFinished: boolean },
): Outcome {
  if (!raw.writableFinished || isCancelled) return "gone";
  if (raw.statusCode >= 500 || rpcError === INTERNAL_ERROR) return "failed";
  return raw.statusCode >= 400 || rpcError !== undefined ? "refused" : "ok";
}

function described(request: FastifyRequest, tool: string | undefined): { name: string; attributes: Record<string, string> } {
  const method = methodLabel(request.rpcMethod);
  return {
    name: tool === undefined ? method : `${method} ${tool}`,
    attributes: {
      "mcp.method.name": method,
      "mcp.protocol.version": dialectLabel(versionOf(request)),
      "parley.request.id": request.id,
      ...(tool !== undefined && { "gen_ai.tool.name": tool }),
    },
  };
}

function carrierOf({ body, headers }: FastifyRequest): { readonly traceparent?: unknown; readonly tracestate?: unknown } {
  const { _meta: meta } = paramsOf(body);
  if (typeof meta === "object" && meta !== null && "traceparent" in meta) return meta;
  return { traceparent: headers["traceparent"], tracestate: headers["tracestate"] };
}

function paramsOf(body: unknown): { readonly name?: unknown; readonly _meta?: unknown } {
  if (typeof body !== "object" || body === null || !("params" in body)) return {};
  const { params } = body;
  return typeof params === "object" && params !== null ? params : {};
}

/** Of a session, that of its initialize: clients of 2025-03-26 send no header. */
function versionOf({ headers, rpcVersion }: FastifyRequest): string | undefined {
  if (rpcVersion !== undefined) return rpcVersion;
  const version = headers["mcp-protocol-version"];
  return typeof version === "string" ? version : undefined;
}

const GIVEN_ID = /^[\w.:-]{1,64}$/;
const process = randomBytes(4).toString("hex");
let count = 0;

/** The id from a proxy (X-Request-Id), otherwise a new one. */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && GIVEN_ID.test(given) ? given : `${process}-${(count += 1).toString(36)}`;
}
