import cors from "@fastify/cors";
import type { FastifyInstance } from "fastify";
import type { ProtectedResource } from "../front-end/protected-resource.ts";
import { sendJson } from "../streams/outlet.ts";
import { servedHost, type TrustedCallers } from "./trusted-callers.ts";

/** How long clients and proxies may cache the metadata. It changes only with the settings. */
const MAX_AGE_SECONDS = 3_600;

/**
 * Serves the metadata from which clients learn who issues tokens for this server. Every login begins here, and it contains no secret, so it
 * needs no credentials and any web page may read it. A Host that is not served is refused, because the response repeats the name.
 */
export async function resourceMetadata(scope: FastifyInstance, resource: ProtectedResource, trusted: TrustedCallers): Promise<void> {
  servedHost(scope, trusted);
  await scope.register(cors, { origin: "*", methods: ["GET"], maxAge: 600 });
  for (const path of resource.paths) {
    scope.get(path, { prefixTrailingSlash: "no-slash" }, (request, reply) => {
      void reply.headers({
        "cache-control": `public, max-age=${MAX_AGE_SECONDS}`,
        vary: "Host",
        "cross-origin-resource-policy": "cross-origin",
      });
      sendJson(reply, 200, resource.metadata(request));
      return reply;
    });
  }
}
