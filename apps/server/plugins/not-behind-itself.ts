import { GATEWAY_HEADER } from "@parley/gateway/every-process";
import type { FastifyInstance } from "fastify";

/**
 * Refuses what this deployment's own gateway sends: a gateway behind itself would list its own tools under ever longer names, and a call of one
 * would go round until all its calls are taken. HTTP 508, which the gateway tells as an upstream that cannot be reached.
 */
export function notBehindItself(scope: FastifyInstance, deployment: string): void {
  scope.addHook("onRequest", async ({ headers }, reply) => {
    const via = headers[GATEWAY_HEADER];
    if (typeof via !== "string" || via.split("/")[0] !== deployment) return;
    await reply.code(508).send({
      error: `this gateway is its own upstream, ${via.split("/")[1]?.slice(0, 40)}: remove it from PARLEY_UPSTREAMS`,
    });
  });
}
