import { GATEWAY_HEADER } from "@parley/gateway/every-process";
import type { FastifyInstance } from "fastify";

/**
 * Refuses requests from this deployment's own gateway with HTTP 508, which the gateway reports as an unreachable upstream. A gateway that
 * is its own upstream would list its tools again under ever longer names, and a call of one would loop until the limit of calls is reached.
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
