import type { Log } from "@parley/core";
import type { FastifyInstance } from "fastify";

/**
 * One line per request when it is over, never what was in it. Fastify's own logging makes a child logger and two lines for each, which is a
 * good part of the cost of a short request. Probes of a load balancer are left out.
 */
export function requestLog(app: FastifyInstance, log: Log): void {
  app.addHook("onResponse", (request, reply, done) => {
    if (request.url !== "/healthz" && request.url !== "/readyz") {
      const { method, rpcMethod } = request;
      log.info({ method, rpcMethod, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 }, "request answered");
    }
    done();
  });
}
