import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { DATA_HEADERS } from "./security-headers.ts";

/**
 * Answers requests whose address never reaches a route or its hooks: broken percent-encoding, and segments that are longer than any id. The
 * response does not repeat the address.
 */
export function unroutable(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  const isBroken = error.code === "FST_ERR_BAD_URL";
  const text = isBroken ? "the path is not percent-encoded correctly\n" : "not found\n";
  void reply
    .code(isBroken ? 400 : 404)
    .headers(DATA_HEADERS)
    .type("text/plain; charset=utf-8")
    .send(text);
}
