import { RETRY_AFTER_MS } from "@parley/core";
import type { FastifyInstance } from "fastify";

/** A 429 always says when to come back. A route that knows when has said so; the others get the time of quotas that time does not refill. */
export function retryAfter(server: FastifyInstance): void {
  server.addHook("onSend", (_request, reply, _payload, done) => {
    if (reply.statusCode === 429 && !reply.hasHeader("retry-after")) void reply.header("retry-after", RETRY_AFTER_MS / 1_000);
    done();
  });
}
