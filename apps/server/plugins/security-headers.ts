import type { FastifyInstance } from "fastify";

/** For replies that are data: nothing in them may be rendered, guessed at, framed, embedded or kept. */
export const DATA_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/**
 * Sends `headers` with every reply of a scope. The server's own are the strictest, so that a scope which forgets to say what it sends is
 * safe; a scope that sends something else than data, such as pages, calls this again with what differs.
 */
export function securityHeaders(scope: FastifyInstance, headers = DATA_HEADERS): void {
  scope.addHook("onRequest", (_request, reply, done) => {
    void reply.headers(headers);
    done();
  });
}
