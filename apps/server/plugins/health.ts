import type { Log } from "@parley/core";
import type { FastifyInstance } from "fastify";
import type { Lifecycle } from "../front-end/lifecycle.ts";

export interface Health {
  readonly lifecycle: Lifecycle;
  /** Resolves if Redis can be written to, otherwise rejects. */
  readonly reachable: () => Promise<void>;
  readonly log: Log;
  readonly version: string;
}

/**
 * `/healthz`: the process is alive, with its version. `/readyz`: the process can serve requests; 503 if it cannot.
 *
 * Load balancers probe by IP address, so every Host is served, including one that a web page has rebound. The response therefore never
 * contains the reason; the log and the operator's port do.
 */
export function health(app: FastifyInstance, { lifecycle, reachable, log, version }: Health): void {
  let wasReady = true;

  app.get("/healthz", () => ({ status: "ok", version }));

  app.get("/readyz", async (_request, reply) => {
    if (lifecycle.draining.aborted) return await reply.code(503).send({ status: "draining" });
    try {
      await reachable();
      if (!wasReady) log.info({}, "front end ready again");
      wasReady = true;
      return { status: "ok" };
    } catch (error) {
      if (wasReady) log.warn({ err: error }, "front end not ready");
      wasReady = false;
      return await reply.code(503).send({ status: "unavailable" });
    }
  });
}
