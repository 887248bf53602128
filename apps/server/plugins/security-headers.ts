import type { FastifyInstance } from "fastify";

/** For replies that are data: browsers must not render, sniff, frame, embed or cache them. */
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

/** For a page without scripts. */
export const PLAIN_PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  "content-security-policy": `${OWN_FILES_ONLY}; img-src data:`,
};

/**
 * For a page whose own script calls only this server. Trusted types forbid creating markup or script from strings, so that the words of
 * tools and people remain text even if the page has a defect. Images may come with a result, and from nowhere else.
 */
export const SCRIPTED_PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  "content-security-policy": `${OWN_FILES_ONLY}; script-src 'self'; connect-src 'self'; img-src 'self' data:; require-trusted-types-for 'script'; trusted-types 'none'`,
};

/**
 * Sends `headers` with every reply of a scope. The default is the strictest, so a scope that forgets to set its own is safe. A scope that
 * sends pages calls this again with the headers that pages need.
 */
export function securityHeaders(scope: FastifyInstance, headers = DATA_HEADERS): void {
  scope.addHook("onRequest", (_request, reply, done) => {
    void reply.headers(headers);
    done();
  });
}
