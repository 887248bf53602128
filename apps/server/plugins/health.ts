import type { FastifyInstance } from "fastify";
import type { Lifecycle } from "../front-end/lifecycle.ts";

export interface Health {
  readonly lifecycle: Lifecycle;
  /** Resolves if what the server depends on answers; rejects if not. */
  readonly reachable: () => Promise<void>;
}

/** `/healthz`: the process lives. `/readyz`: it can serve, so send it requests; 503 with the reason when it cannot. */
export function health(app: FastifyInstance, { lifecycle, reachable }: Health): void {
  app.get("/healthz", () => ({ status: "ok" }));

  app.get("/readyz", async (_request, reply) => {
    if (lifecycle.draining.aborted) return await reply.code(503).send({ status: "draining" });
    try {
      await reachable();
      return { status: "ok" };
    } catch (error) {
      return await reply.code(503).send({ status: "unavailable", problem: error instanceof Error ? error.message : String(error) });
    }
  });
}
