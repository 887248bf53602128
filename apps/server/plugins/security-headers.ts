import type { FastifyInstance } from "fastify";

/** For replies that are data: nothing in them may be rendered, guessed at, framed, embedded or kept. */
export const DATA_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

const OWN_FILES_ONLY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...DATA_HEADERS,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** For a page without script. */
export const PLAIN_PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  "content-security-policy": `${OWN_FILES_ONLY}; img-src data:`,
};

/**
 * For a page with a script of its own, which calls this server alone. Neither markup nor script is ever made from text: what tools and people say
 * stays text also where the page has a fault. Pictures may come with a result, and from nowhere else.
 */
export const SCRIPTED_PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  "content-security-policy": `${OWN_FILES_ONLY}; script-src 'self'; connect-src 'self'; img-src 'self' data:; require-trusted-types-for 'script'; trusted-types 'none'`,
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
