/**
 * The MCP endpoint. It knows how MCP comes over HTTP and which family a request belongs to, and nothing else:
 *
 *   body ─▶ JSON ─▶ not too deep ─▶ names a revision without sessions ─▶ stateless
 *                               └─▶ any other ────────────────────────▶ sessions
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ParleyError, type SessionStore } from "@parley/core";
import { internalError, invalidRequest, jsonDepthExceeds, parseError, type Reply } from "@parley/protocol";
import { statelessDialect } from "@parley/protocol/stateless";
import { sendJson } from "../../streams/outlet.ts";
import { sessionFamily } from "./sessions/family.ts";
import { reportDefect } from "./shared/defects.ts";
import type { Family, FamilyDeps } from "./shared/family.ts";
import { refusalReply } from "./shared/refusals.ts";
import { statelessFamily } from "./stateless/family.ts";

export interface McpRoute extends Omit<FamilyDeps, "outletOptions"> {
  readonly sessions: SessionStore;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The JSON-RPC method, for the log. */
    rpcMethod: string | undefined;
  }
}

export function mcpRoute(app: FastifyInstance, { sessions, ...rest }: McpRoute): void {
  const { limits, times, heartbeat } = rest.frontEnd;
  const deps: FamilyDeps = { ...rest, outletOptions: { heartbeat, stallTimeoutMs: times.stallTimeoutMs } };
  const stateless = statelessFamily(deps);
  const withSessions = sessionFamily(deps, sessions);
  const familyOf = ({ headers }: FastifyRequest, body: unknown): Family => (statelessDialect({ headers, body }) ? stateless : withSessions);

  app.decorateRequest("rpcMethod", undefined);
  acceptJsonOnly(app);

  app.post("/mcp", { bodyLimit: limits.bodyBytesMax }, async (request, reply) => {
    const { body } = request;
    if (jsonDepthExceeds(body, limits.bodyDepthMax)) {
      const tooDeep = invalidRequest(`the body nests deeper than ${limits.bodyDepthMax} levels (PARLEY_BODY_DEPTH_MAX)`);
      sendJson(reply, tooDeep.httpStatus, tooDeep.message);
    } else await familyOf(request, body).post(request, reply);
    return reply;
  });

  app.get("/mcp", async (request, reply) => {
    await familyOf(request, undefined).get(request, reply);
    return reply;
  });

  app.delete("/mcp", async (request, reply) => {
    await familyOf(request, undefined).delete(request, reply);
    return reply;
  });

  app.setErrorHandler((error: RaisedError, _request, reply) => {
    const { httpStatus, message } = refusalOf(error, limits.bodyBytesMax) ?? internalError(reportDefect(rest.frontEnd, error));
    sendJson(reply, httpStatus, message);
  });
}

interface RaisedError extends Error {
  readonly statusCode?: number;
  readonly code?: string;
}

/** What is wrong with a request that never became a message. Undefined for what is not the caller's fault. */
function refusalOf(error: RaisedError, bodyBytesMax: number): Reply | undefined {
  if (error instanceof InvalidJson) return parseError();
  if (error instanceof ParleyError) return refusalReply(error);
  const { statusCode = 500 } = error;
  if (statusCode >= 500) return undefined;
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return { ...invalidRequest(`the body is larger than ${bodyBytesMax} bytes (PARLEY_BODY_BYTES_MAX)`), httpStatus: 413 };
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return { ...invalidRequest("the Content-Type must be application/json"), httpStatus: 415 };
    default:
      return { ...invalidRequest(error.message), httpStatus: statusCode };
  }
}

function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => {
    try {
      done(null, JSON.parse(text as string));
    } catch {
      done(new InvalidJson());
    }
  });
}

class InvalidJson extends Error {}
