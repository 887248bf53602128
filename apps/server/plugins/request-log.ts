import { cut, type Log } from "@parley/core";
import type { FastifyInstance } from "fastify";

const METHOD_CHARS = 100;

/**
 * One line per request when it is over, never what was in it. Fastify's own logging makes a child logger and two lines for each, which is a
 * good part of the cost of a short request. Probes of a load balancer are left out.
 *
 * Listens to the end of the response itself: Fastify's onResponse is not called for clients that went away.
 */
export function requestLog(app: FastifyInstance, log: Log): void {
  app.addHook("onRequest", (request, reply, done) => {
    const { method, url } = request;
    if (url !== "/healthz" && url !== "/readyz") {
      const startedAtMs = performance.now();
      const { raw } = reply;
      raw.on("close", () => {
        const ms = Math.round((performance.now() - startedAtMs) * 10) / 10;
        const gone = raw.writableFinished ? {} : { gone: true };
        const trace = request.traceId === undefined ? {} : { traceId: request.traceId };
        const { id: requestId, rpcMethod } = request;
        // A notification of any name is taken, and its name is its sender's.
        const named = rpcMethod === undefined ? {} : { rpcMethod: cut(rpcMethod, METHOD_CHARS) };
        log.info({ requestId, ...trace, method, ...named, status: raw.statusCode, ms, ...gone }, "request answered");
      });
    }
    done();
  });
}
