import cors from "@fastify/cors";
import type { FastifyInstance } from "fastify";
import type { ProtectedResource } from "../front-end/protected-resource.ts";
import { sendJson } from "../streams/outlet.ts";
import { servedHost, type TrustedCallers } from "./trusted-callers.ts";

/** How long clients and proxies may keep the metadata. It changes with the settings alone. */
const MAX_AGE_SECONDS = 3_600;

/**
 * Where clients learn who issues tokens for this server. For everybody, with no credentials and from any web page: that is where each login
 * begins, and nothing in it is a secret. A Host that is not served gets none of it, since the answer repeats the name.
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
