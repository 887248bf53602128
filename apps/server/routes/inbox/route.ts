/**
 * The inbox: everything that is asked of a person, regardless of whose task asks, with the chosen question beside the list.
 *
 *   GET, HEAD  /inbox?tool=…&priority=…&from=…&closes=…&order=…&cursor=…&ask=<task>/<key>. They change nothing.
 *   GET, HEAD  /inbox/answered?cursor=…: what the person has answered.
 *   GET, HEAD  /inbox?batch=<task>/<key>&batch=…: several equal questions with one form (batch.ts).
 *   POST       /inbox/batch: answers these. The page of each question (routes/asks) takes the answer to it alone.
 *   GET        /inbox/changes: a stream that tells the page when to look again (changes.ts).
 *
 * The index of open asks narrows, and the policy decides about each question as it is
 * read: a question that is not for this person is left out of the list and, named in the address, does not exist.
 */
import {
  type AskedPage,
  type AskFilter,
  checkOnPage,
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
import { problemsIn } from "@parley/web/form";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { INBOX_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { readerOf, todayText } from "../../texts/texts.ts";
import {
  aroundOf,
  DOOR,
  formBodies,
  formText,
  isFromThisServer,
  isOwnForm,
  lookedAt,
  notice,
  permit,
  scriptedFor,
  sendPage,
  sendScripted,
  servesOnlyItsPerson,
  showErrors,
  visitAsk,
  withFormToken,
} from "../asks/every-page.ts";
import { type Html, markup, page } from "../asks/html.ts";
import { namedIn, type Onward, pathAndQuery } from "../asks/lead-on.ts";
import { formOf, readForm } from "../asks/questions.ts";
import { keptForm } from "../asks/kept-form.ts";
import { FORM_BYTES_MAX } from "../asks/route.ts";
import { questionView, settledRecord, waitsTitle } from "../asks/question-view.ts";
import { loggedInAs, noticeOf } from "../asks/views.ts";
import { answeredPage } from "./answered-view.ts";
import { answerTogether, type Batch, BATCH_MAX, gather } from "./batch.ts";
import { batchView, type BatchView, receiptsView, type ReceiptsView } from "./batch-view.ts";
import { createTellChanges } from "./changes.ts";
import { type Chosen, INBOX_ORDERS, inboxPage, isOverdue, type ListAddress, type OtherPages } from "./view.ts";

export interface InboxRoute {
  readonly frontEnd: FrontEnd;
  readonly addresses: PageAddresses;
  readonly signatures: Signatures;
  readonly visitors: Visitors;
  readonly titleOf: TitleOf;
  readonly onward: Onward;
  readonly others: OtherPages;
}

/** Below the list, so that a proxy that serves one serves both. */
const CHANGES_PATH = `${INBOX_PATH}/changes`;
const ANSWERED_PATH = `${INBOX_PATH}/answered`;
const BATCH_PATH = `${INBOX_PATH}/batch`;
/** Of the form of a batch. As that of one question, and what names the questions. */
const BATCH_BYTES_MAX = 2 * FORM_BYTES_MAX;
/** Questions per page. */
export const INBOX_PAGE = 50;

export function inboxRoute(scope: FastifyInstance, served: InboxRoute): void {
  const { frontEnd, addresses, signatures, visitors, titleOf, onward, others } = served;
  const { services } = frontEnd;
  formBodies(scope, BATCH_BYTES_MAX);
  servesOnlyItsPerson(scope, signatures);
  const tellChanges = createTellChanges(frontEnd);
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
      address.batch ? chooseBatch(request, address.batch) : choose(request),
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
        others,
      }),
    );
  });

  /** Changes with what the page shows, apart from how long ago things were: the script counts by itself, and asks every few seconds. */
  function tagOf(request: FastifyRequest, list: AskedPage, count: object, chosen: Chosen | undefined): string {
    const { url, headers, caller } = request;
    const reader = readerOf(request);
    const nowMs = services.clock.now();
    const shown = [
      url,
      caller.principal,
      headers["accept-language"],
      headers.cookie,
      list,
      // A question becomes overdue, and is no longer of today, while nothing else changes.
      list.asks.map((ask) => [isOverdue(ask, nowMs), todayText(reader, ask.askedAtMs, nowMs)]),
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
    const named = namedIn(given ?? "");
    if (given === undefined || !named) return undefined;
    const { taskId, key } = named;
    const { caller } = request;
    const ref = { taskId, key, caller, door: DOOR };
    const reader = readerOf(request);
    const visit = await visitAsk(services, ref).catch((error: unknown) => {
      if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return { type: "unknown" as const };
      throw error;
    });
    if (visit.type !== "open" && visit.type !== "of-others") {
      // For those who may know.
      const read = visit.type === "unknown" ? undefined : await readAsk(services, ref).catch(() => undefined);
      const record = read?.state === "settled" ? settledRecord(reader, read, titleOf) : undefined;
      const { title, sentence } = noticeOf(reader.texts, visit.type !== "unknown" && record ? lookedAt(visit.type) : visit.type);
      return { id: given, digest: "", version: visit.type, body: markup`<h2>${title}</h2><p>${sentence}</p>${record}` };
    }
    const { page: asked } = visit;
    const isOfOthers = visit.type === "of-others";
    // HEAD shows nothing.
    if (!isOfOthers && request.method === "GET" && (asked.page.kind === "form" || asked.page.kind === "link"))
      noteShown(services, ref, { id: taskId, call: asked.call }, [asked.ask]);
    const { token, before } = withFormToken({ signatures, titleOf, onward }, { request, taskId, page: asked });
    const around = await aroundOf(services, ref, asked);
    const shown = { page: asked, caller, reader, token, nowMs: services.clock.now(), action: pathOf(taskId, key) };
    const question = questionView({
      ...shown,
      around,
      titleOf,
      isInInbox: true,
      isOfOthers,
      before,
      logIn: asked.required && request.again?.(asked.required, request.url),
    });
    const body = isOfOthers ? markup`<h2>${waitsTitle(reader.texts, around)}</h2>${question}` : question;
    // While others are asked, it is another page than the one that the person could answer.
    const digest = isOfOthers ? `others ${asked.ask.digest}` : asked.ask.digest;
    return { id: given, digest, version: JSON.stringify([asked.ask.tally, asked.ask.deadlineMs, asked.required, around]), body };
  }

  /** Several questions and one form, in place of one question. */
  async function chooseBatch(request: FastifyRequest, ids: readonly string[]): Promise<Chosen> {
    const { caller } = request;
    const wanted = ids.flatMap((id) => namedIn(id) ?? []);
    const batch = await gather(frontEnd, caller, wanted);
    if (request.method === "GET")
      for (const { taskId, page: asked } of batch.together)
        noteShown(services, { caller, door: DOOR }, { id: taskId, call: asked.call }, [asked.ask]);
    const [first] = batch.together;
    return {
      id: `batch:${idOfAll(ids)}`,
      // What somebody else answers meanwhile leaves the form and what is typed alone: the receipts say it.
      digest: first ? first.page.ask.digest : "",
      version: JSON.stringify([batch.together.map(({ page }) => page.ask.digest), batch.apart.map(({ why }) => why)]),
      body: batchBody(request, batch),
    };
  }

  function batchBody(request: FastifyRequest, batch: Batch, again: Pick<BatchView, "draft" | "problems"> = {}): Html {
    const ticket = textIn(request, "k");
    const { caller } = request;
    return batchView({
      titleOf,
      batch,
      caller,
      reader: readerOf(request),
      nowMs: services.clock.now(),
      tokenOf: (taskId, page) => withFormToken({ signatures, titleOf, onward }, { request, taskId, page }).token,
      action: `${rootOf(request)}${BATCH_PATH.slice(1)}${ticket === undefined ? "" : `?${new URLSearchParams({ k: ticket }).toString()}`}`,
      ...again,
    });
  }

  scope.post(BATCH_PATH, async (request, reply) => {
    if (!isOwnForm(request, addresses)) return notice(reply, "foreign");
    // Each answer counts against the rate of answers by itself.
    await permit(frontEnd, request, "reads");
    const { body, caller } = request;
    if (!(body instanceof URLSearchParams)) return notice(reply, "unreadable");
    const [ids, shown, tokens] = [body.getAll("ask"), body.getAll("shown"), body.getAll("token")];
    const wanted = ids.flatMap((id, index) => {
      const named = namedIn(id);
      return named ? [{ ...named, shown: shown[index] ?? "", token: tokens[index] ?? "" }] : [];
    });
    if (ids.length === 0 || ids.length > BATCH_MAX || wanted.length < ids.length || new Set(ids).size < ids.length)
      return notice(reply, "unreadable");
    if (!wanted.every((each) => signatures.verify(formText({ ...each, caller }, each.shown), each.token))) return notice(reply, "stale");
    const batch = await gather(frontEnd, caller, wanted);
    const [first] = batch.together;
    if (!first) return sendReceipts(request, reply, { receipts: [], apart: batch.apart });
    const reader = readerOf(request);
    if (body.get("action") === "decline") {
      const reason = body.get("reason")?.replaceAll("\r\n", "\n").trim() ?? "";
      const declined = { action: "decline" as const, ...(reason !== "" && { reason }) };
      return sendReceipts(request, reply, { receipts: await answerTogether(frontEnd, caller, batch, declined), apart: batch.apart });
    }
    const read = readForm(reader, formOf(first.page), body);
    if (!read) return notice(reply, "unreadable");
    const { form, draft, content } = read;
    const accepted = { action: "accept" as const, content };
    const violations = Object.keys(read.problems).length > 0 ? [] : await checkOnPage(services, first, accepted);
    const problems = violations.length > 0 ? problemsIn(violations, form.inputs) : read.problems;
    if (Object.keys(problems).length > 0) {
      const text = page(
        { reader, title: reader.texts.together.open, scripted: scriptedFor(services, signatures, caller) },
        batchBody(request, batch, { draft, problems }),
      );
      return sendScripted(reply, 422, text);
    }
    if (body.get("only") === "check") return await reply.code(204).send();
    return sendReceipts(request, reply, { receipts: await answerTogether(frontEnd, caller, batch, accepted), apart: batch.apart });
  });

  function sendReceipts(request: FastifyRequest, reply: FastifyReply, given: Pick<ReceiptsView, "receipts" | "apart">): FastifyReply {
    const reader = readerOf(request);
    const text = receiptsView({ ...given, titleOf, reader, pathOf, back: addresses.inbox() });
    return sendPage(reply, 200, page({ reader, title: reader.texts.together.receipts }, text));
  }

  function pathOf(taskId: string, key: string): string {
    return pathAndQuery(addresses.urlOf(taskId, key));
  }

  showErrors(scope, frontEnd, visitors, async (request, needsLogin) =>
    isOwnForm(request, addresses)
      ? await keptForm(request, { bytesMax: BATCH_BYTES_MAX, page: `${addresses.base()}${INBOX_PATH}`, needsLogin })
      : undefined,
  );
}

/** Of the questions that are answered together, so that what is typed for them is kept for them. */
function idOfAll(ids: readonly string[]): string {
  return hash("sha256", JSON.stringify(ids), "base64url").slice(0, 22);
}

function rootOf(request: FastifyRequest): string {
  return readerOf(request).root;
}

/** No more than a batch may have: the rest is left out, and the page says how many there are. */
function batchIn({ query }: FastifyRequest): readonly string[] | undefined {
  const { batch = [] } = query as { readonly batch?: unknown };
  const ids = (Array.isArray(batch) ? batch : [batch]).filter((id): id is string => typeof id === "string" && namedIn(id) !== undefined);
  return ids.length === 0 ? undefined : [...new Set(ids)].slice(0, BATCH_MAX);
}

function addressIn(request: FastifyRequest): ListAddress {
  const [tool, cursor, ticket] = [textIn(request, "tool"), textIn(request, "cursor"), textIn(request, "k")];
  const [priority, from, closes] = [textIn(request, "priority"), textIn(request, "from"), textIn(request, "closes")];
  const order = textIn(request, "order");
  return {
    tool,
    cursor,
    ticket,
    batch: batchIn(request),
    order: INBOX_ORDERS.find((each) => each === order) ?? INBOX_ORDERS[0],
    snoozed: textIn(request, "snoozed") === "only" ? "only" : undefined,
    // What is none of these filters nothing, as an address without it.
    priority: PRIORITIES.find((each): each is Priority => each === priority),
    from: from === "me" || from === "others" ? from : undefined,
    closes: closes === "hour" || closes === "day" ? closes : undefined,
  };
}

function filterOf({ snoozed, tool, priority, from, closes }: ListAddress, nowMs: number): AskFilter {
  return {
    // The list is of what waits for this person, and a reply does.
    toReply: "any",
    ...(snoozed && { snoozed }),
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
