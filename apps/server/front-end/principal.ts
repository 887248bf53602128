import type { FastifyRequest } from "fastify";

/**
 * Says who a request comes from: the owner of the tasks that it creates, and the only one who may see them. The one place where that is
 * decided; every dialect and door passes through it.
 */
export type Authenticate = (request: FastifyRequest) => string | Promise<string>;

/** Everybody is the same one: for a server that only its own machine, or a gateway that authenticates, can reach. */
export const anonymous: Authenticate = () => "anonymous";
