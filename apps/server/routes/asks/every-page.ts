/** The common part of all pages of asks: who may see them, what is sent, and how errors are shown. */
import {
  type Caller,
  isCounted,
  type OpenPage,
  type PageRef,
  ParleyError,
  type Rated,
  type RequiredAssurance,
  readAsk,
  SCOPES,
  type Services,
  snoozesOf,
  type Visit,
  visitPage,
} from "@parley/core";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { requireScopes } from "../../front-end/protected-resource.ts";
import { askPath, type PageAddresses } from "../../front-end/page-addresses.ts";
import { sayWhen } from "../../front-end/retry-after-header.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { filled, readerOf } from "../../texts/texts.ts";
import type { AroundView } from "./around-view.ts";
import { type Html, markup, type Scripted, SCRIPTED_HEADERS } from "./html.ts";
import type { Onward } from "./lead-on.ts";
import { logInView, settledRecord } from "./question-view.ts";
import { inboxLink, loggedInAs, loginAs, type NoticeName, noticeOf, noticePage, NOTICES, type Shown } from "./views.ts";

/** The door in audit records. */
export const DOOR = "page";

/** Checks scopes and rates before anything is done. Throws SCOPE_INSUFFICIENT, QUOTA_EXCEEDED, UNAVAILABLE. */
export async function permit({ resource, rates }: FrontEnd, { caller }: FastifyRequest, rate: Rated): Promise<void> {
  if (resource) requireScopes(caller, [SCOPES.answer], "the page");
  if (isCounted(caller)) await rates.take(caller, { [rate]: 1 });
}

/** Accepts only forms as bodies. A scope may add other types. */
export function formBodies(scope: FastifyInstance, bodyLimit: number): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string", bodyLimit }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );
}

/** Browsers send where a form comes from. A client that does not is not a browser, and has no person's cookies. */
export function isOwnForm(request: FastifyRequest, addresses: PageAddresses): boolean {
  if (!isFromThisServer(request)) return false;
  const { origin, host } = request.headers;
  return origin === undefined || URL.parse(origin)?.host === host || addresses.origins().includes(origin);
}

/** Whether no page of another server asks, as far as the browser says. */
export function isFromThisServer({ headers }: Pick<FastifyRequest, "headers">): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

/** A page for the person who requests it. */
export interface ToShow {
  readonly request: FastifyRequest;
  readonly taskId: string;
  readonly page: OpenPage;
  readonly problem?: string;
}

/** What the script of the person's page is told. */
export function scriptedFor(
  { clock }: Pick<Services, "clock">,
  signatures: Signatures,
  { tenant, principal }: Pick<Caller, "tenant" | "principal">,
): Scripted {
  return { nowMs: clock.now(), person: signatures.sign(personText({ tenant, principal })) };
}

function personText({ tenant, principal }: Pick<Caller, "tenant" | "principal">): string {
  return ["drafts", tenant, principal].join("\n");
}

/** Has a script load its page again if that was written for another person, who had logged in with the same browser before. */
export function servesOnlyItsPerson(scope: FastifyInstance, signatures: Signatures): void {
  scope.addHook("onRequest", async (request, reply) => {
    const { "x-parley-person": person } = request.headers;
    if (typeof person === "string" && !signatures.verify(personText(request.caller), person)) return await reply.code(205).send();
  });
}

/** Adds the signed token of the form, what people call the tool that asks, and what is said of the answer before. */
export function withFormToken(
  { signatures, titleOf, onward }: { readonly signatures: Signatures; readonly titleOf: TitleOf; readonly onward: Pick<Onward, "counted"> },
  { request, taskId, page, problem }: ToShow,
): Shown {
  const { caller, account } = request;
  const { key, digest } = page.ask;
  const token = signatures.sign(formText({ taskId, key, caller }, digest));
  const shown = { page, called: titleOf(page.call), caller, account, reader: readerOf(request), token, before: onward.counted(request) };
  return { ...shown, ...(problem !== undefined && { problem }) };
}

/** The text that the token of a form signs. It binds the form to this person and to the ask as it was shown. */
export function formText(
  { taskId, key, caller: { tenant, principal } }: { taskId: string; key: string; caller: Caller },
  digest: string,
): string {
  return ["form", tenant, principal, taskId, key, digest].join("\n");
}

/** Whether the page's script asks, instead of the browser that follows a link. It replaces parts of its page by those of the reply. */
export function isFromScript({ headers }: Pick<FastifyRequest, "headers">): boolean {
  // A stream of events cannot say so otherwise.
  return headers["x-requested-with"] === "parley" || headers.accept === "text/event-stream";
}

/** Sends a page that has a script. */
export function sendScripted(reply: FastifyReply, status: number, text: string): FastifyReply {
  return sendPage(reply.headers(SCRIPTED_HEADERS), status, text);
}

/** Sends the page, with status 422 if it is shown again with a problem. */
export function sendShown(reply: FastifyReply, { problem }: Pick<ToShow, "problem">, text: string): FastifyReply {
  return sendPage(reply, problem === undefined ? 200 : 422, text);
}

/** Sets the type on every reply, because Fastify drops it when it answers an error. */
export function sendPage(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type("text/html; charset=utf-8").send(text);
}

/** Notices that another account may change. */
const OF_ACCOUNT: ReadonlySet<NoticeName> = new Set(["unknown", "of-others", "refused", "login-refused"]);

/** `detail` stands below the sentence. `parts` are filled into it. */
export function notice(
  reply: FastifyReply,
  name: NoticeName,
  { detail, parts = {} }: { readonly detail?: Html | undefined; readonly parts?: Readonly<Record<string, number>> } = {},
): FastifyReply {
  const { request } = reply;
  const { account } = request;
  const reader = readerOf(request);
  const { status, title, sentence } = noticeOf(reader.texts, name);
  const who =
    account && OF_ACCOUNT.has(name)
      ? account.out === undefined
        ? loginAs(reader.texts, account)
        : markup`${name === "unknown" ? inboxLink(reader) : undefined}${loggedInAs(reader.texts, request.caller, account)}`
      : undefined;
  return sendPage(reply, status, noticePage({ title, sentence: filled(sentence, parts) }, { reader, detail: detail ?? who }));
}

/** What the end of a question is read from, and said with. */
export interface Settling {
  readonly services: Services;
  readonly titleOf: TitleOf;
  readonly onward: Pick<Onward, "link">;
}

/** For a person whose answer came too late: the ask was settled in the meantime, here or through another door, or asked differently. */
export async function noticeLate(settling: Settling, reply: FastifyReply, ref: PageRef): Promise<FastifyReply> {
  const visit = await visitAsk(settling.services, ref);
  if (visit.type !== "open") return await noticeSettled(settling, reply, ref, visit.type);
  return visit.page.required ? noticeLogin(reply, ref, visit.page.required) : notice(reply, "stale");
}

/** Of an answer that needs another login: says which, and leads there and back. */
export function noticeLogin(reply: FastifyReply, ref: PageRef, required: RequiredAssurance): FastifyReply {
  const { request } = reply;
  const logIn = request.again?.(required, askPath(ref.taskId, ref.key));
  return notice(reply, "login-required", { detail: logInView(readerOf(request), { required, logIn }) });
}

/** Like visitPage, and knows questions that were settled and are shown by no page any more. */
export async function visitAsk(services: Services, ref: PageRef): Promise<Visit | { readonly type: "answered" }> {
  try {
    return await visitPage(services, ref);
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "TASK_NOT_FOUND") throw error;
    // Throws alike for those who may not know.
    const read = await readAsk(services, ref);
    if (read.state !== "settled") throw error;
    return { type: read.by?.isCaller === true || read.answer !== undefined ? "completed" : read.by ? "answered" : "closed" };
  }
}

/** What people did around an open question. A pure read. */
export async function aroundOf(
  services: Services,
  ref: PageRef,
  { ask }: OpenPage,
): Promise<Omit<AroundView, "joining" | "handOn" | "snooze">> {
  const nothing = { comments: [], history: [] };
  if (!ask.thread && !(await snoozesOf(services, ref.caller)).of(ref.taskId, ask)) return nothing;
  // That it was shown is noted by the page.
  const { audit: _, ...quiet } = services;
  const read = await readAsk(quiet, ref);
  if (read.state === "settled") return nothing;
  const { comments, history, claimedBy, delegatedBy, handedOn: gone, snoozedUntilMs, askedBack } = read;
  const handedOn = history.filter(({ what }) => what === "delegated");
  const got = delegatedBy && handedOn.findLast(({ from, by }) => (from ?? by)?.principal === delegatedBy.principal);
  const aside = { ...(snoozedUntilMs !== undefined && { snoozedUntilMs }), ...(askedBack && { askedBack }) };
  return { comments, history, ...(claimedBy && { claimedBy }), ...(got && { got }), ...(gone && { gone }), ...aside };
}

/** Says how the question ended, and who ended it, to those who may know. */
export async function noticeSettled(
  { services, titleOf, onward }: Settling,
  reply: FastifyReply,
  ref: PageRef,
  name: "completed" | "closed" | "answered" | "of-others",
): Promise<FastifyReply> {
  if (name === "of-others") return notice(reply, name);
  const read = await readAsk(services, ref).catch(() => undefined);
  const end = read?.state === "settled" ? read : undefined;
  const record = end && settledRecord(readerOf(reply.request), end, titleOf);
  const detail = record && markup`${await onward.link(reply.request, ref, end.answer !== undefined)}${record}`;
  // Who only looks has sent nothing that came too late.
  return notice(reply, reply.request.method !== "POST" && detail ? lookedAt(name) : name, { detail });
}

/** Of a question whose end is shown to somebody who only looks. */
export function lookedAt(name: "completed" | "closed" | "answered"): "recorded" | "settled" {
  return name === "completed" ? "recorded" : "settled";
}

/**
 * Shows one sentence for each error. A person who is not logged in is sent to the login.
 *
 * `keep` finds what is to be sent again of a form that was not taken for now.
 */
export function showErrors(
  scope: FastifyInstance,
  { services: { ids }, log }: FrontEnd,
  { logIn }: Pick<Visitors, "logIn">,
  keep?: (request: FastifyRequest, needsLogin: boolean) => Promise<Html | undefined>,
): void {
  function show(error: PageError, request: FastifyRequest, reply: FastifyReply, kept?: Html): FastifyReply {
    const problem = noticeFor(error);
    const name = problem !== "logged-out" ? problem : kept ? "kept" : logIn ? problem : "no-login";
    if (name !== "broken") {
      // A failure of the file store, the provider or the key may need an operator.
      log[NOTICES[name].status === 503 ? "warn" : "info"](
        { requestId: request.id, ...(error instanceof ParleyError && { code: error.code }), problem: error.message },
        "page refused",
      );
      sayWhen(reply, error);
      return notice(reply, name, { detail: kept });
    }
    const defectId = ids.uuid();
    log.error({ requestId: request.id, defectId, err: error }, "request failed");
    const reader = readerOf(request);
    const broken = noticeOf(reader.texts, "broken");
    return sendPage(reply, broken.status, noticePage(broken, { reader, detail: filled(reader.texts.lookUp, { id: defectId }) }));
  }

  scope.setErrorHandler(async (error: PageError, request, reply) => {
    const name = noticeFor(error);
    const needsLogin = name === "logged-out";
    // A script cannot follow a person to their login, and has what they typed.
    if (isFromScript(request) || (needsLogin ? !logIn : !PASSING.has(name))) return show(error, request, reply);
    if (request.method !== "GET") return show(error, request, reply, await keep?.(request, needsLogin));
    if (!needsLogin || !logIn) return show(error, request, reply);
    // What an error handler throws would be sent as it is.
    return await logIn(request, reply).catch((failed: PageError) => show(failed, request, reply));
  });
}

/** What keeps a form from being taken, and is over in a moment. */
const PASSING: ReadonlySet<NoticeName> = new Set(["busy", "away", "unsure"]);

type PageError = Error & { readonly statusCode?: number };

function noticeFor(error: PageError): NoticeName {
  if (error instanceof ParleyError) {
    switch (error.code) {
      case "TASK_NOT_FOUND":
        return "unknown";
      case "CREDENTIALS_MISSING":
        return "logged-out";
      case "CREDENTIALS_MISPLACED":
      case "INVALID_CURSOR":
        return "unreadable";
      case "SCOPE_INSUFFICIENT":
      case "PROXY_NOT_TRUSTED":
        return "refused";
      case "QUOTA_EXCEEDED":
        return "busy";
      case "UNAVAILABLE":
        return "unsure";
      case "PROVIDER_UNAVAILABLE":
      case "PROVIDER_INVALID":
      case "OVERLOADED":
      case "FILES_UNAVAILABLE":
      case "OAUTH_UNAVAILABLE":
      case "CONTENT_KEY_MISSING":
        return "away";
      case "CONTENT_ERASED":
      case "CONTENT_DAMAGED":
        return "closed";
      case "LOGIN_REFUSED":
        return "login-refused";
      default:
        return error.code.startsWith("TOKEN_") ? "refused" : "broken";
    }
  }
  if (error.statusCode === 401) return "logged-out";
  if (error.statusCode === 413) return "large";
  return error.statusCode !== undefined && error.statusCode < 500 ? "unreadable" : "broken";
}
