/**
 * The MCP endpoint: maps MCP to HTTP and passes each request to its family. It knows nothing else about MCP.
 *
 *   method ─▶ Accept ─▶ body ─▶ limits of depth and values ─▶ JSON ─▶ names a revision without sessions ─▶ stateless
 *                                                                 └─▶ any other ────────────────────────▶ sessions
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ParleyError, type SessionStore } from "@parley/core";
import { errorMessage, internalError, INVALID_PARAMS, invalidRequest, parseError, type Reply, shapeOf } from "@parley/protocol";
import { statelessDialect } from "@parley/protocol/stateless";
import { acceptJsonOnly, Encoded, Inexact, InvalidJson, TooLarge } from "../../json-only.ts";
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
    /** The JSON-RPC method, `response` or `batch`: for log, metrics and traces. */
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
  acceptMethods(app);
  acceptJsonOnly(app, limits);

  app.post("/", { ...AT_MCP, bodyLimit: limits.bodyBytesMax }, async (request, reply) => {
    await familyOf(request, request.body).post(request, reply);
    return reply;
  });

  app.get("/", AT_MCP, async (request, reply) => {
    await familyOf(request, undefined).get(request, reply);
    return reply;
  });

  app.delete("/", { ...AT_MCP, bodyLimit: limits.bodyBytesMax }, async (request, reply) => {
    await familyOf(request, undefined).delete(request, reply);
    return reply;
  });

  // The scope's own handler, so that the hooks of the scope run for every method and path below it.
  app.setNotFoundHandler((_request, reply) => sendJson(reply, 404, invalidRequest("not found: the endpoint is /mcp").message));

  app.setErrorHandler((error: RaisedError, _request, reply) => {
    const { httpStatus, message } = refusalOf(error, limits.bodyBytesMax) ?? internalError(reportDefect(rest.frontEnd, error));
    sendJson(reply, httpStatus, message);
  });
}

interface RaisedError extends Error {
  readonly statusCode?: number;
  readonly code?: string;
}

/** The refusal of a request that never became a message. Undefined if the error is not the caller's fault. */
function refusalOf(error: RaisedError, bodyBytesMax: number): Reply | undefined {
  if (error instanceof InvalidJson) return parseError();
  if (error instanceof ParleyError) return refusalReply(error);
  if (error instanceof Encoded) return { ...invalidRequest(error.message), httpStatus: 415 };
  if (error instanceof Inexact) return inexactReply(error);
  if (error instanceof TooLarge) return invalidRequest(`the body ${error.message}`);
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

/** Before anything is done. With HTTP 200, because some clients take no message from another status, and would wait on. */
function inexactReply({ message: what, body }: Inexact): Reply {
  const shape = shapeOf(body);
  if (shape.type !== "request") return invalidRequest(`the body ${what}`);
  return { httpStatus: 200, message: errorMessage(shape.id, { code: INVALID_PARAMS, message: `the request ${what}` }) };
}

/** Matches the path of the scope without a trailing slash only. */
const AT_MCP = { prefixTrailingSlash: "no-slash" } as const;

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "DELETE", "OPTIONS"]);

/** The methods whose response has content. DELETE has none, and the Accept header of its clients is just the default of their library. */
const ANSWERED_WITH_CONTENT: ReadonlySet<string> = new Set(["GET", "POST"]);

/** Matches every Accept header that covers JSON or event streams. A client that accepts neither would wait for an answer in vain. */
const ACCEPTABLE = /(?:^|,)\s*(?:\*\/\*|application\/(?:\*|json)|text\/(?:\*|event-stream))\s*(?:[;,]|$)/i;

/** Checks method and Accept before anything is done: a HEAD request, which Fastify routes to the GET handler, must not touch a session. */
function acceptMethods(app: FastifyInstance): void {
  app.addHook("onRequest", ({ method, headers: { accept } }, reply, done) => {
    if (!METHODS.has(method)) {
      void reply.header("allow", [...METHODS].join(", "));
      sendJson(reply, 405, invalidRequest("this endpoint accepts POST, GET and DELETE").message);
    } else if (accept !== undefined && ANSWERED_WITH_CONTENT.has(method) && !ACCEPTABLE.test(accept)) {
      sendJson(reply, 406, invalidRequest("the response is JSON or a stream: accept application/json and text/event-stream").message);
    } else done();
  });
}
