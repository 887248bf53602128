/**
 * The MCP endpoint for revisions without sessions. Each request is parsed, decoded, dispatched and encoded once. `packages/protocol` and
 * the handlers know MCP; this file only moves messages between them and HTTP.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { invalidRequest } from "@parley/protocol";
import { STATELESS_DIALECTS, statelessDialect } from "@parley/protocol/stateless";
import { withFormPages } from "../../../front-end/form-pages.ts";
import { requestStates } from "../../../seals/request-state.ts";
import { Outlet, sendJson } from "../../../streams/outlet.ts";
import { answer } from "../shared/answer.ts";
import type { Family, FamilyDeps } from "../shared/family.ts";
import { permitted } from "../shared/permitted.ts";
import { offeredOn } from "../shared/offered-on.ts";
import { dispatch } from "./dispatch.ts";
import { stepOfRequest } from "./rung.ts";
import type { StatelessExchange, StatelessRoute } from "./stateless-route.ts";

export function statelessFamily({ frontEnd, facts, keys, outletOptions }: FamilyDeps): Family {
  const route: StatelessRoute = { ...frontEnd, states: requestStates(keys) };
  const pagesRoute: StatelessRoute = { ...route, services: withFormPages(route.services, route.ladder) };
  const encoders = new Map(STATELESS_DIALECTS.map((dialect) => [dialect.version, dialect.encoder(facts)]));

  async function post(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { headers, body, caller, catalogue } = request;
    const dialect = statelessDialect({ headers, body });
    const encode = dialect && encoders.get(dialect.version);
    if (!encode) throw new Error("the request does not belong to a revision without sessions");
    const message = dialect.decode({ headers, body, tool: (name) => catalogue.tools.get(name) });
    if (message.type === "rejected") return sendJson(reply, message.httpStatus, message.message);
    request.rpcMethod = message.method;
    // The body is decoded, and a stream may stay open for days: free its memory.
    request.body = undefined;
    if (message.type === "notification") return void reply.code(202).send();

    const { id, method, intent, client, wants } = message;
    if (!(await permitted(frontEnd, request, reply, { actions: [intent], id }))) return;
    const channel = new Outlet(request, reply, outletOptions);
    const step = stepOfRequest(route, client, { takesTask: client.speaksTasks, calls: "tool" });
    const exchange: StatelessExchange = {
      id,
      method,
      caller,
      door: `${dialect.version} ${method}`,
      catalogue: offeredOn(step, { catalogue, intent, ladder: route.ladder }),
      client,
      wants,
      encode,
      channel,
    };
    const asking = step.formsByPage ? pagesRoute : route;
    await answer(asking, exchange, { intent, handle: () => dispatch(asking, intent, exchange) });
  }

  /** Without sessions, there is no stream to open with GET and no session to end with DELETE. */
  async function refuse(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
    void reply.header("allow", "POST, OPTIONS");
    sendJson(reply, 405, invalidRequest("this endpoint accepts only POST").message);
  }

  return { post, get: refuse, delete: refuse };
}
