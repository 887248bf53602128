/**
 * The inbox: everything that is asked of a person, regardless of whose task asks, with the chosen question beside the list.
 *
 *   GET, HEAD  /inbox?tool=…&priority=…&from=…&closes=…&order=…&cursor=…&ask=<task>/<key>. They change nothing.
 *   GET, HEAD  /inbox/answered?cursor=…: what the person has answered.
 *   GET        /inbox/changes: a stream that tells the page when to look again (changes.ts).
 *
 * Answers go to the page of the question (routes/asks). The index of open asks narrows, and the policy decides about each question as it is
 * read: a question that is not for this person is left out of the list and, named in the address, does not exist.
 */
import {
  type AskedPage,
  type AskFilter,
  countAsks,
  listAnswered,
  listAsks,
  namesOfCaller,
  noteShown,
  ParleyError,
  type Priority,
  PRIORITIES,
  readAsk,
} from "@parley/core";
import { CLOSES_MS } from "@parley/web/times";
import { hash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { INBOX_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { readerOf } from "../../texts/texts.ts";
import { DOOR, isFromThisServer, permit, scriptedFor, sendScripted, showErrors, visitAsk, withFormToken } from "../asks/every-page.ts";
import { markup } from "../asks/html.ts";
import { questionView, settledRecord } from "../asks/question-view.ts";
import { loggedInAs, noticeOf } from "../asks/views.ts";
import { answeredPage } from "./answered-view.ts";
import { createTellChanges } from "./changes.ts";
import { type Chosen, inboxPage, isOverdue, type ListAddress } from "./view.ts";

export interface InboxRoute {
  readonly frontEnd: FrontEnd;
  readonly addresses: PageAddresses;
  readonly signatures: Signatures;
  readonly visitors: Visitors;
  readonly titleOf: TitleOf;
}

/** Below the list, so that a proxy that serves one serves both. */
const CHANGES_PATH = `${INBOX_PATH}/changes`;
const ANSWERED_PATH = `${INBOX_PATH}/answered`;
/** Questions per page. */
export const INBOX_PAGE = 50;

export function inboxRoute(scope: FastifyInstance, { frontEnd, addresses, signatures, visitors, titleOf }: InboxRoute): void {
  const { services } = frontEnd;
  const tellChanges = createTellChanges(frontEnd, visitors);
  /** Callers that cannot be told apart are asked by no name, so nothing would ever be told to them. */
  const hasChanges = ({ caller }: FastifyRequest) => namesOfCaller(caller).length > 0;

  // No HEAD: nobody would read the stream.
  scope.get(CHANGES_PATH, { exposeHeadRoute: false }, async (request, reply) => {
    // A page of another site must not use up the streams of a person.
    if (!isFromThisServer(request) || !hasChanges(request)) return await reply.code(204).send();
    await permit(frontEnd, request, "reads");
    await tellChanges(request, reply);
    return reply;
  });

  scope.get(ANSWERED_PATH, async (request, reply) => {
    await permit(frontEnd, request, "reads");
    const { caller } = request;
    const reader = readerOf(request);
    const cursor = textIn(request, "cursor");
    const list = await listAnswered(services, { caller, limit: INBOX_PAGE, ...(cursor !== undefined && { cursor }) });
    const scripted = scriptedFor(services, signatures, caller);
    const account = loggedInAs(reader.texts, caller, request.account);
    return sendScripted(reply, 200, answeredPage({ reader, list, isFirst: cursor === undefined, account, scripted, titleOf, pathOf }));
  });

  scope.get(INBOX_PATH, async (request, reply) => {
    await permit(frontEnd, request, "reads");
    const { caller } = request;
    const address = addressIn(request);
    const filter = filterOf(address, services.clock.now());
    const { order, cursor } = address;
    const [list, chosen] = await Promise.all([
      listAsks(services, { caller, filter, order, limit: INBOX_PAGE, ...(cursor !== undefined && { cursor }) }),
      choose(request),
    ]);
    const isAll = cursor === undefined && list.nextCursor === undefined;
    const count = isAll ? { count: list.asks.length, isMore: false } : await countAsks(services, { caller, filter });
    const tag = tagOf(request, list, count, chosen);
    void reply.header("etag", tag);
    if (request.headers["if-none-match"] === tag) return await reply.code(304).send();
    const reader = readerOf(request);
    const account = loggedInAs(reader.texts, caller, request.account);
    const scripted = scriptedFor(services, signatures, caller);
    return sendScripted(
      reply,
      200,
      inboxPage({
        reader,
        address,
        list,
        count,
        chosen,
        account,
        scripted,
        nowMs: scripted.nowMs,
        titleOf,
        changes: hasChanges(request) ? CHANGES_PATH.slice(1) : undefined,
      }),
    );
  });

  /** Changes with what the page shows, apart from how long ago things were: the script counts by itself, and asks every few seconds. */
  function tagOf({ url, headers, caller }: FastifyRequest, list: AskedPage, count: object, chosen: Chosen | undefined): string {
    const shown = [
      url,
      caller.principal,
      headers["accept-language"],
      headers.cookie,
      list,
      // A question becomes overdue while nothing else changes.
      list.asks.map((ask) => isOverdue(ask, services.clock.now())),
      count,
      chosen?.id,
      chosen?.digest,
      chosen?.version,
    ];
    return `"${hash("sha256", JSON.stringify(shown), "base64url").slice(0, 22)}"`;
  }

  /** The question in the address, or the sentence that says why it is not shown. */
  async function choose(request: FastifyRequest): Promise<Chosen | undefined> {
    const given = textIn(request, "ask");
    const [, taskId, key] = /^([^/]{1,200})\/(.{1,1000})$/.exec(given ?? "") ?? [];
    if (given === undefined || taskId === undefined || key === undefined) return undefined;
    const { caller } = request;
    const ref = { taskId, key, caller, door: DOOR };
    const reader = readerOf(request);
    const visit = await visitAsk(services, ref).catch((error: unknown) => {
      if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return { type: "unknown" as const };
      throw error;
    });
    if (visit.type !== "open") {
      // For those who may know.
      const read = visit.type === "unknown" || visit.type === "of-others" ? undefined : await readAsk(services, ref).catch(() => undefined);
      const record = read?.state === "settled" ? settledRecord(reader, read) : undefined;
      const { title, sentence } = noticeOf(reader.texts, visit.type === "completed" && record ? "recorded" : visit.type);
      return { id: given, digest: "", version: visit.type, body: markup`<h2>${title}</h2><p>${sentence}</p>${record}` };
    }
    const { page } = visit;
    // HEAD shows nothing, and what is asked for again and again has been shown.
    if (
      request.method === "GET" &&
      request.headers["if-none-match"] === undefined &&
      (page.page.kind === "form" || page.page.kind === "link")
    )
      noteShown(services, ref, { id: taskId, call: page.call }, [page.ask]);
    const { token } = withFormToken(signatures, { request, taskId, page });
    const body = questionView({ page, caller, reader, token, nowMs: services.clock.now(), action: pathOf(taskId, key) });
    return { id: given, digest: page.ask.digest, version: JSON.stringify([page.ask.tally, page.ask.deadlineMs]), body };
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
  const [priority, from, closes] = [textIn(request, "priority"), textIn(request, "from"), textIn(request, "closes")];
  return {
    tool,
    cursor,
    ticket,
    order: textIn(request, "order") === "oldest" ? "oldest" : "deadline",
    // What is none of these filters nothing, as an address without it.
    priority: PRIORITIES.find((each): each is Priority => each === priority),
    from: from === "me" || from === "others" ? from : undefined,
    closes: closes === "hour" || closes === "day" ? closes : undefined,
  };
}

function filterOf({ tool, priority, from, closes }: ListAddress, nowMs: number): AskFilter {
  return {
    ...(tool !== undefined && { called: tool }),
    ...(priority && { priority }),
    ...(from && { owner: from === "me" ? "caller" : "others" }),
    ...(closes && { deadlineBeforeMs: nowMs + CLOSES_MS[closes] }),
  };
}

/** Of several with one name, none: such an address does not come from this page. */
function textIn({ query }: FastifyRequest, name: string): string | undefined {
  const given = (query as Readonly<Record<string, unknown>>)[name];
  return typeof given === "string" && given !== "" ? given : undefined;
}
