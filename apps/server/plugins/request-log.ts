import { cut, type Log } from "@parley/core";
import type { FastifyInstance } from "fastify";

const METHOD_CHARS = 100;

/**
 * Logs one line per request when it is over, without its content. Fastify's own logging creates a child logger and two lines per request,
 * which is a large part of the cost of a short request. Probes of load balancers are not logged.
 *
 * Listens to the response itself, because Fastify does not call `onResponse` if the client disconnects.
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
        // Notifications with any name are accepted, so the name may be as long as the sender likes.
        const named = rpcMethod === undefined ? {} : { rpcMethod: cut(rpcMethod, METHOD_CHARS) };
        log.info({ requestId, ...trace, method, ...named, status: raw.statusCode, ms, ...gone }, "request answered");
      });
    }
    done();
  });
}
