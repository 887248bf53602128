/**
 * The playground: a page that is an MCP client of this server's own endpoint, and one read-only route for what no client is told, the course of a
 * task. The page is the same for everybody and holds nothing of anybody, so it is served without credentials; its calls bring their own.
 */
import fastifyStatic from "@fastify/static";
import { isCounted, ParleyError } from "@parley/core";
import { isBuilt, PAGES_DIRECTORY } from "@parley/web";
import type { FastifyInstance } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { refusalOf } from "../../front-end/refusal.ts";
import { sendJson } from "../../streams/outlet.ts";
import { getTimeline } from "./timeline.ts";

const IMMUTABLE = "public, max-age=31536000, immutable";
/** Looked at again each time, by its ETag: it names the files of its own build. */
const CHECKED = "no-cache";

/** Where the page is. */
const PLAY = "/play";

/** The files of the page. */
export async function playPages(scope: FastifyInstance): Promise<void> {
  // Relative, so that a proxy may put the server below a path. A fragment, which names a task, survives it.
  scope.get(PLAY, (_request, reply) => reply.header("location", "play/").code(308).send());
  if (!isBuilt()) {
    scope.get(`${PLAY}/`, (_request, reply) => reply.code(503).type("text/plain; charset=utf-8").send(NOT_BUILT));
    return;
  }
  await scope.register(fastifyStatic, {
    root: PAGES_DIRECTORY,
    prefix: `${PLAY}/`,
    // Exactly the files that are there when the server starts: no path of a request ever reaches the file system.
    wildcard: false,
    preCompressed: true,
    cacheControl: false,
    decorateReply: false,
    setHeaders: (reply, path) => void reply.header("cache-control", path.includes("/assets/") ? IMMUTABLE : CHECKED),
  });
}

const NOT_BUILT = "The playground is not built. In a clone of the repository `npm run build` builds it, and so does `npm start`.\n";

interface TimelineRequest {
  readonly Params: { readonly taskId: string };
  readonly Querystring: { readonly after?: string | string[] };
}

/** The route beside them, in a scope that knows its callers. Served without the page too: the command line reads it. */
export function playApi(scope: FastifyInstance, frontEnd: FrontEnd): void {
  scope.get<TimelineRequest>(`${PLAY}/api/tasks/:taskId/timeline`, async (request, reply) => {
    const { caller, params, query } = request;
    if (Array.isArray(query.after)) throw new ParleyError("INVALID_CURSOR", "the address has several cursors: send one `after`");
    if (isCounted(caller)) await frontEnd.rates.take(caller, "reads", 1);
    sendJson(reply, 200, await getTimeline(frontEnd, { caller, taskId: params.taskId, after: query.after }));
    return reply;
  });

  scope.setErrorHandler((error, _request, reply) => {
    const { httpStatus, body, retryAfterSeconds } = refusalOf(frontEnd, error);
    if (retryAfterSeconds !== undefined) void reply.header("retry-after", retryAfterSeconds);
    sendJson(reply, httpStatus, body);
  });
}
