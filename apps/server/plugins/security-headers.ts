import type { FastifyInstance } from "fastify";

/** This server sends data, never pages: nothing in its replies may be rendered, guessed at, framed or kept. */
const HEADERS = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export function securityHeaders(app: FastifyInstance): void {
  app.addHook("onRequest", (_request, reply, done) => {
    void reply.headers(HEADERS);
    done();
  });
}
