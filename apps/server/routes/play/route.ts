/**
 * The playground: a page that is an MCP client of this server's own endpoint, and a read-only route for what clients do not receive, the
 * timeline of a task. The page is the same for everyone and contains no one's data, so it is served without credentials; its calls bring
 * their own.
 */
import fastifyStatic from "@fastify/static";
import { isCounted, ParleyError } from "@parley/core";
import { isBuilt, PLAYGROUND_DIRECTORY } from "@parley/web";
import type { FastifyInstance } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import { refusalOf } from "../../front-end/refusal.ts";
import { sendJson } from "../../streams/outlet.ts";
import { getTimeline } from "../../front-end/timeline.ts";

const IMMUTABLE = "public, max-age=31536000, immutable";
/** For the page itself, which browsers revalidate by its ETag, because it names the files of its build. */
const REVALIDATED = "no-cache";

const PLAY = "/play";

/** Serves the files of the page. */
export async function playPages(scope: FastifyInstance): Promise<void> {
  // Relative, so that a proxy may serve this server below a path. Browsers keep the fragment, which names a task.
  scope.get(PLAY, (_request, reply) => reply.header("location", "play/").code(308).send());
  if (!isBuilt()) {
    scope.get(`${PLAY}/`, (_request, reply) => reply.code(503).type("text/plain; charset=utf-8").send(NOT_BUILT));
    return;
  }
  await scope.register(fastifyStatic, {
    root: PLAYGROUND_DIRECTORY,
    prefix: `${PLAY}/`,
    // Registers exactly the files that exist when the server starts, so that no requested path reaches the file system.
    wildcard: false,
    preCompressed: true,
    cacheControl: false,
    decorateReply: false,
    setHeaders: (reply, path) => void reply.header("cache-control", path.includes("/assets/") ? IMMUTABLE : REVALIDATED),
  });
}

const NOT_BUILT = "The playground is not built. In a clone of the repository `npm run build` builds it, and so does `npm start`.\n";

interface TimelineRequest {
  readonly Params: { readonly taskId: string };
  readonly Querystring: { readonly after?: string | string[] };
}

/** Serves the timeline of a task, in an authenticated scope. Served even if the page is not: earlier versions of the command line read it. */
export function playApi(scope: FastifyInstance, frontEnd: FrontEnd, titleOf: TitleOf): void {
  scope.get<TimelineRequest>(`${PLAY}/api/tasks/:taskId/timeline`, async (request, reply) => {
    const { caller, params, query } = request;
    if (Array.isArray(query.after)) throw new ParleyError("INVALID_CURSOR", "the address has several cursors: send one `after`");
    if (isCounted(caller)) await frontEnd.rates.take(caller, { reads: 1 });
    const of = { caller, taskId: params.taskId, after: query.after, door: "playground timeline" };
    sendJson(reply, 200, await getTimeline(frontEnd, of, titleOf));
    return reply;
  });

  scope.setErrorHandler((error, request, reply) => {
    const { resource, log } = frontEnd;
    if (resource && error instanceof ParleyError && error.code === "SCOPE_INSUFFICIENT") {
      log.info({ requestId: request.id, code: error.code, problem: error.message }, "request refused");
      void reply.header("www-authenticate", resource.challenge(request, error));
    }
    const { httpStatus, body, retryAfterSeconds } = refusalOf(frontEnd, error);
    if (retryAfterSeconds !== undefined) void reply.header("retry-after", retryAfterSeconds);
    sendJson(reply, httpStatus, body);
  });
}
