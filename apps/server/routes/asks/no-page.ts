/** A person who follows a wrong address reads so on a page, which leads on. Programs get JSON, as from any route. */
import type { FastifyInstance } from "fastify";
import { readerOf } from "../../texts/texts.ts";
import { sendPage } from "./every-page.ts";
import { markup, PAGE_HEADERS } from "./html.ts";
import { noticeOf, noticePage } from "./views.ts";

export function noPage(server: FastifyInstance): void {
  server.setNotFoundHandler((request, reply) => {
    const { method, url, headers } = request;
    if (!headers.accept?.includes("text/html") || !["GET", "HEAD"].includes(method))
      return reply.code(404).send({ message: `Route ${method}:${url} not found`, error: "Not Found", statusCode: 404 });
    const reader = readerOf(request);
    const { status, ...said } = noticeOf(reader.texts, "no-page");
    const detail = markup`<p><a href="${reader.root || "./"}">${reader.texts.toStart}</a></p>`;
    return sendPage(reply.headers(PAGE_HEADERS), status, noticePage(said, { reader, detail }));
  });
}
