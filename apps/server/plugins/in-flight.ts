import type { FastifyInstance } from "fastify";

export interface InFlight {
  /** Resolves once no request is being answered. */
  none(): Promise<void>;
}

/**
 * Counts requests until their response ends. The HTTP server's own `close` would wait for every connection, including those that clients
 * open in advance and have not used yet.
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
