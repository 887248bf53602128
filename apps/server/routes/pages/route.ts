/** The script of the pages that front ends write. It is the same for everyone, so it is served without credentials. */
import fastifyStatic from "@fastify/static";
import { PAGES_SCRIPT, SCRIPT_DIRECTORY } from "@parley/web";
import type { FastifyInstance } from "fastify";
import { SCRIPT_PATH } from "../asks/html.ts";

export async function pagesScript(scope: FastifyInstance): Promise<void> {
  if (PAGES_SCRIPT === undefined) return;
  await scope.register(fastifyStatic, {
    root: SCRIPT_DIRECTORY,
    prefix: `${SCRIPT_PATH}/`,
    // Registers exactly the files that exist when the server starts, so that no requested path reaches the file system.
    wildcard: false,
    preCompressed: true,
    cacheControl: false,
    decorateReply: false,
    // Its name has a digest.
    setHeaders: (reply) => void reply.header("cache-control", "public, max-age=31536000, immutable"),
  });
}
