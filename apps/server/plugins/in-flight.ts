import type { FastifyInstance } from "fastify";

export interface InFlight {
  /** Resolves when no request is being answered. */
  none(): Promise<void>;
}

/**
 * Counts requests from their first byte to the end of their response. The HTTP server's own close waits for every connection, also for those
 * that browsers and clients open ahead of need and on which nothing was ever asked.
 */
export function inFlight(app: FastifyInstance): InFlight {
  let open = 0;
  let resolveNone: () => void = () => undefined;
  app.addHook("onRequest", (_request, reply, done) => {
    open += 1;
    reply.raw.on("close", () => {
      open -= 1;
      if (open === 0) resolveNone();
    });
    done();
  });
  return {
    async none() {
      if (open > 0) await new Promise<void>((resolve) => (resolveNone = resolve));
    },
  };
}
