/**
 * The MCP endpoint: one request = one parse, one decoding, one dispatch, one encoding. Everything about MCP is packages/protocol's and the
 * handlers'; this file only moves messages between them and HTTP. A request that does not claim 2026-07-28 goes to routes/sessions.
 */
import type { FastifyInstance } from "fastify";
import { errorMessage, INTERNAL_ERROR, invalidRequest, jsonDepthExceeds, parseError, type Reply, resultMessage } from "@parley/protocol";
import { rev20260728 } from "@parley/protocol/stateless";
import { Outlet, sendJson } from "../../streams/outlet.ts";
import type { Authenticate } from "../../front-end/principal.ts";
import { answerFailure } from "./stateless/answer-failure.ts";
import { dispatch } from "./stateless/dispatch.ts";
import type { Door } from "./sessions/door.ts";
import { sessionHandlers } from "./sessions/route.ts";
import { type Mcp, STREAMING } from "./stateless/mcp.ts";

export interface McpRoute {
  readonly mcp: Mcp;
  readonly door: Door;
  readonly authenticate: Authenticate;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The JSON-RPC method, for the log. */
    rpcMethod: string | undefined;
  }
}

export function mcpRoute(app: FastifyInstance, { mcp, door, authenticate }: McpRoute): void {
  const { catalogue, limits, times, services, log, heartbeat } = mcp;
  const tool = (name: string) => catalogue.tools.get(name);
  const outletOptions = { heartbeat, stallTimeoutMs: times.stallTimeoutMs };
  const sessions = sessionHandlers({ door, authenticate, outletOptions });

  app.decorateRequest("rpcMethod", undefined);
  acceptJsonOnly(app);

  app.post("/mcp", { bodyLimit: limits.bodyBytesMax }, async (request, reply) => {
    const { body } = request;
    if (jsonDepthExceeds(body, limits.bodyDepthMax)) {
      const tooDeep = invalidRequest(`the body nests deeper than ${limits.bodyDepthMax} levels (PARLEY_BODY_DEPTH_MAX)`);
      sendJson(reply, tooDeep.httpStatus, tooDeep.message);
      return reply;
    }
    if (!rev20260728.claims({ headers: request.headers, body })) {
      await sessions.post(request, reply);
      return reply;
    }
    const decoded = rev20260728.decode({ headers: request.headers, body, tool });
    if (decoded.type === "rejected") {
      sendJson(reply, decoded.httpStatus, decoded.message);
      return reply;
    }
    request.rpcMethod = decoded.method;
    // What it said is decoded, and a stream may be open for days.
    request.body = undefined;
    if (decoded.type === "notification") return reply.code(202).send();

    const { id, intent } = decoded;
    const outlet = new Outlet(request, reply, outletOptions);
    try {
      const principal = await authenticate(request);
      const result = await dispatch(mcp, intent, { id, principal, outlet });
      if (result === undefined) outlet.abandon();
      else if (result !== STREAMING) outlet.end({ httpStatus: 200, message: resultMessage(id, result) });
    } catch (error) {
      answerFailure(mcp, outlet, { id, method: decoded.method, intent, error });
    }
    return reply;
  });

  app.route({
    method: ["GET", "DELETE"],
    url: "/mcp",
    handler: async (request, reply) => {
      // 2026-07-28 has no sessions: nothing to get, nothing to end.
      if (rev20260728.claims({ headers: request.headers, body: undefined })) {
        void reply.header("allow", "POST, OPTIONS");
        sendJson(reply, 405, invalidRequest("this endpoint takes POST only").message);
      } else if (request.method === "GET") await sessions.get(request, reply);
      else await sessions.delete(request, reply);
      return reply;
    },
  });

  app.setErrorHandler((error: RaisedError, _request, reply) => {
    const refusal = refusalOf(error, limits.bodyBytesMax);
    if (refusal) {
      sendJson(reply, refusal.httpStatus, refusal.message);
      return;
    }
    const defectId = services.ids.uuid();
    log.error({ defectId, err: error }, "request failed");
    sendJson(reply, 500, errorMessage(undefined, { code: INTERNAL_ERROR, message: "Internal error", data: { defectId } }));
  });
}

interface RaisedError extends Error {
  readonly statusCode?: number;
  readonly code?: string;
}

/** What is wrong with a request that never became a message. Undefined for what is not the caller's fault. */
function refusalOf(error: RaisedError, bodyBytesMax: number): Reply | undefined {
  if (error instanceof InvalidJson) return parseError();
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
