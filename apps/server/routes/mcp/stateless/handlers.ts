/**
 * The MCP endpoint for 2026-07-28: one request = one parse, one decoding, one dispatch, one encoding. Everything about MCP is
 * packages/protocol's and the handlers'; this file only moves messages between them and HTTP.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { invalidRequest, resultMessage } from "@parley/protocol";
import { rev20260728 } from "@parley/protocol/stateless";
import { requestStates } from "../../../seals/request-state.ts";
import { Outlet, sendJson } from "../../../streams/outlet.ts";
import type { Family, FamilyDeps } from "../shared/family.ts";
import { answerFailure } from "./answer-failure.ts";
import { dispatch } from "./dispatch.ts";
import { type Mcp, STREAMING } from "./mcp.ts";

export function statelessFamily({ frontEnd, facts, keys, authenticate, outletOptions }: FamilyDeps): Family {
  const mcp: Mcp = { ...frontEnd, encode: rev20260728.encoder(facts), states: requestStates(keys) };
  const tool = (name: string) => frontEnd.catalogue.tools.get(name);

  async function post(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const decoded = rev20260728.decode({ headers: request.headers, body: request.body, tool });
    if (decoded.type === "rejected") return sendJson(reply, decoded.httpStatus, decoded.message);
    const { method } = decoded;
    request.rpcMethod = method;
    // What it said is decoded, and a stream may be open for days.
    request.body = undefined;
    if (decoded.type === "notification") return void reply.code(202).send();

    const { id, intent } = decoded;
    const outlet = new Outlet(request, reply, outletOptions);
    try {
      const principal = await authenticate(request);
      const result = await dispatch(mcp, intent, { id, principal, outlet });
      if (result === undefined) outlet.abandon();
      else if (result !== STREAMING) outlet.end({ httpStatus: 200, message: resultMessage(id, result) });
    } catch (error) {
      answerFailure(mcp, outlet, { id, method, intent, error });
    }
  }

  /** Without sessions there is nothing to get and nothing to end. */
  async function refuse(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
    void reply.header("allow", "POST, OPTIONS");
    sendJson(reply, 405, invalidRequest("this endpoint takes POST only").message);
  }

  return { post, get: refuse, delete: refuse };
}
