/**
 * The inbox: everything that is asked of a person, in whoever's task, with the chosen question beside the list.
 *
 *   GET, HEAD  /inbox?tool=…&order=…&cursor=…&ask=<task>/<key>. They change nothing.
 *
 * Answers go to the page of the question (routes/asks). The index of open asks narrows, and the policy decides about each question as it is
 * read: a question that is not for this person is left out of the list and, named in the address, does not exist.
 */
import { countAsks, listAsks, noteShown, ParleyError, visitPage } from "@parley/core";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { INBOX_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { readerOf } from "../../texts/texts.ts";
import { DOOR, permit, sendPage, showErrors, withFormToken } from "../asks/every-page.ts";
import { markup } from "../asks/html.ts";
import { questionView } from "../asks/question-view.ts";
import { loggedInAs, noticeOf } from "../asks/views.ts";
import { inboxPage, type InboxView, type ListAddress } from "./view.ts";

export interface InboxRoute {
  readonly frontEnd: FrontEnd;
  readonly addresses: PageAddresses;
  readonly signatures: Signatures;
  readonly visitors: Visitors;
}

/** Questions per page. */
export const INBOX_PAGE = 50;

export function inboxRoute(scope: FastifyInstance, { frontEnd, addresses, signatures, visitors }: InboxRoute): void {
  const { services } = frontEnd;

  scope.get(INBOX_PATH, async (request, reply) => {
    await permit(frontEnd, request, "reads");
    const { caller } = request;
    const address = addressIn(request);
    const filter = address.tool === undefined ? {} : { called: address.tool };
    const { order, cursor } = address;
    const [list, count, chosen] = await Promise.all([
      listAsks(services, { caller, filter, order, limit: INBOX_PAGE, ...(cursor !== undefined && { cursor }) }),
      countAsks(services, { caller, filter }),
      choose(request),
    ]);
    const reader = readerOf(request);
    const account = loggedInAs(reader.texts, caller, request.account);
    return sendPage(reply, 200, inboxPage({ reader, address, list, count, chosen, account, nowMs: services.clock.now() }));
  });

  /** The question in the address, or the sentence that says why it is not shown. */
  async function choose(request: FastifyRequest): Promise<InboxView["chosen"]> {
    const given = textIn(request, "ask");
    const [, taskId, key] = /^([^/]{1,200})\/(.{1,1000})$/.exec(given ?? "") ?? [];
    if (given === undefined || taskId === undefined || key === undefined) return undefined;
    const { caller } = request;
    const ref = { taskId, key, caller, door: DOOR };
    const reader = readerOf(request);
    const visit = await visitPage(services, ref).catch((error: unknown) => {
      if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return { type: "unknown" as const };
      throw error;
    });
    if (visit.type !== "open") {
      const { title, sentence } = noticeOf(reader.texts, visit.type);
      return { id: given, body: markup`<h2>${title}</h2><p>${sentence}</p>` };
    }
    const { page } = visit;
    // HEAD shows nothing.
    if (request.method === "GET" && (page.page.kind === "form" || page.page.kind === "link"))
      noteShown(services, ref, { id: taskId, call: page.call }, [page.ask]);
    const { token } = withFormToken(signatures, { request, taskId, page });
    return { id: given, body: questionView({ page, caller, reader, token, nowMs: services.clock.now(), action: pathOf(taskId, key) }) };
  }

  /** Without the origin: the inbox may be open at another name of this server than that of its public address. */
  function pathOf(taskId: string, key: string): string {
    const { pathname, search } = new URL(addresses.urlOf(taskId, key));
    return `${pathname}${search}`;
  }

  showErrors(scope, frontEnd, visitors);
}

function addressIn(request: FastifyRequest): ListAddress {
  const [tool, cursor, ticket] = [textIn(request, "tool"), textIn(request, "cursor"), textIn(request, "k")];
  return { tool, cursor, ticket, order: textIn(request, "order") === "oldest" ? "oldest" : "deadline" };
}

/** Of several with one name, none: such an address does not come from this page. */
function textIn({ query }: FastifyRequest, name: string): string | undefined {
  const given = (query as Readonly<Record<string, unknown>>)[name];
  return typeof given === "string" && given !== "" ? given : undefined;
}
