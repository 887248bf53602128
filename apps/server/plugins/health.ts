import type { Log } from "@parley/core";
import type { FastifyInstance } from "fastify";
import type { Lifecycle } from "../front-end/lifecycle.ts";

export interface Health {
  readonly lifecycle: Lifecycle;
  /** Resolves if what the server depends on answers; rejects if not. */
  readonly reachable: () => Promise<void>;
  readonly log: Log;
  readonly version: string;
}

/**
 * `/healthz`: the process lives, and which version it is. `/readyz`: it can serve, so send it requests; 503 when it cannot.
 *
 * Load balancers ask by address, so any Host is answered, and so is a page that rebound its name: what is wrong is only said in the log and on the
 * operator's port, never here.
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
