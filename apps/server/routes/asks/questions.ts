/** Pages of questions with a form, and of those that only send a person elsewhere: they are answered here as through a client. */
import { hash } from "node:crypto";
import {
  aboutOf,
  answerOnPage,
  type AnswerOnPage,
  checkOnPage,
  cut,
  type JsonObject,
  type OpenPage,
  type Receipt,
  type Services,
  type ShownPage,
} from "@parley/core";
import { type Draft, type Problems, problemsIn } from "@parley/web/form";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { PageAddresses } from "../../front-end/page-addresses.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { momentText, type Reader, readerOf, zoneOf } from "../../texts/texts.ts";
import { aroundOf, DOOR, notice, noticeLate, noticeLogin, scriptedFor, sendScripted, type ToShow, withFormToken } from "./every-page.ts";
import { contentIn, draftIn, questionForm, type QuestionForm, type ReadForm } from "./form-body.ts";
import type { HandOnDraft } from "./hand-on.ts";
import { type Html, markup, page as wholePage } from "./html.ts";
import { isInInbox, type Onward } from "./lead-on.ts";
import { answerList, inCallOf, isWayBack, lesson, questionView, waitsTitle, wordsOf } from "./question-view.ts";
import type { SnoozeDraft } from "./snooze.ts";
import { loggedInAs } from "./views.ts";
import { whoseCall } from "./whose-call.ts";

export interface Questions {
  show(reply: FastifyReply, shown: ToShow, again?: Again): Promise<FastifyReply>;
  /** To those who may read the question and not answer it. */
  showToOthers(reply: FastifyReply, shown: ToShow): Promise<FastifyReply>;
  /** `only=check` in the form says what would be refused, and answers nothing: 204 if nothing would. */
  accept(request: FastifyRequest, reply: FastifyReply, given: Given): Promise<FastifyReply>;
  answer(request: FastifyRequest, reply: FastifyReply, given: Answering): Promise<FastifyReply>;
}

interface Answering extends AnswerOnPage {
  readonly page: OpenPage;
  /** Beside the list. */
  readonly isInInbox?: boolean;
}

/** A form that is shown again with what was typed. */
interface Again {
  readonly draft?: Draft;
  readonly problems?: Problems;
  readonly handOn?: HandOnDraft;
  readonly snooze?: SnoozeDraft;
  /** The form was beside the list. */
  readonly isInInbox?: boolean;
}

interface Given extends Omit<AnswerOnPage, "reply"> {
  readonly page: OpenPage;
  readonly body: URLSearchParams;
}

export interface QuestionsOptions {
  readonly services: Services;
  readonly titleOf: TitleOf;
  readonly onward: Onward;
  readonly addresses: PageAddresses;
  readonly signatures: Signatures;
}

export function createQuestions({ services, titleOf, onward, addresses, signatures }: QuestionsOptions): Questions {
  async function show(
    reply: FastifyReply,
    toShow: ToShow,
    { isOfOthers = false, ...again }: Again & { readonly isOfOthers?: boolean } = {},
  ): Promise<FastifyReply> {
    const shown = withFormToken({ signatures, titleOf, onward }, toShow);
    const { caller, account, reader, token, before, page } = shown;
    // Empty: to the address at which the page was opened, with its ticket.
    const around = await aroundOf(services, { taskId: toShow.taskId, key: page.ask.key, caller, door: DOOR }, page);
    const tag = tagOf(toShow, [isOfOthers, around]);
    const isAgain = Object.keys(again).length > 0;
    if (!isAgain) {
      void reply.header("etag", tag);
      if (toShow.request.headers["if-none-match"] === tag) return await reply.code(304).send();
    }
    const body = questionView({
      page,
      caller,
      reader,
      token,
      before,
      nowMs: services.clock.now(),
      action: "",
      around,
      titleOf,
      isOfOthers,
      logIn: page.required && toShow.request.again?.(page.required, toShow.request.url),
      ...again,
    });
    const scripted = scriptedFor(services, signatures, caller);
    const options = { reader, title: isOfOthers ? waitsTitle(reader.texts, around) : reader.texts.question.title, scripted };
    const id = `${toShow.taskId}/${page.ask.key}`;
    const text = wholePage(
      options,
      markup`<div class="flow" id="ask" data-ask="${id}" data-digest="${isOfOthers ? `others ${page.ask.digest}` : page.ask.digest}">${body}</div>${toInbox(reader)}${loggedInAs(reader.texts, caller, account)}`,
    );
    return sendScripted(reply, isAgain ? 422 : 200, text);
  }

  /** Changes with what the page shows, apart from how long is left: the script counts by itself, and asks every few seconds. */
  function tagOf({ request, page: { ask, required } }: ToShow, shown: readonly unknown[]): string {
    const { headers, caller } = request;
    const isLate = (aboutOf(ask.request)?.dueMs ?? Infinity) <= services.clock.now() - ask.askedAtMs;
    const all = [
      caller.principal,
      headers["accept-language"],
      headers.cookie,
      ask.digest,
      ask.deadlineMs,
      ask.tally,
      ask.thread,
      isLate,
      required,
      shown,
    ];
    return `"${hash("sha256", JSON.stringify(all), "base64url").slice(0, 22)}"`;
  }

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { page, isInInbox: isBesideList = false, ...given }: Answering,
    typed?: { readonly draft: Draft; readonly form: QuestionForm },
  ): Promise<FastifyReply> {
    const receipt = await answerOnPage(services, given);
    switch (receipt.type) {
      case "accepted":
      case "duplicate":
        return await counted(request, reply, { page, receipt, given, isBesideList });
      case "invalid":
        if (!typed) return notice(reply, "unreadable");
        return await show(
          reply,
          { request, taskId: given.taskId, page },
          { draft: typed.draft, problems: problemsIn(receipt.violations, typed.form.inputs), isInInbox: isBesideList },
        );
      case "forbidden":
        return notice(reply, "of-others");
      case "login_required":
        return noticeLogin(reply, given, receipt.assurance);
      case "late":
      case "unknown":
        return await noticeLate({ services, titleOf, onward }, reply, given);
    }
  }

  interface Counted {
    readonly page: OpenPage;
    readonly receipt: Receipt;
    readonly given: AnswerOnPage;
    readonly isBesideList: boolean;
  }

  /** Leads on to the next question, or says that the answer counted and gives the person the record. */
  async function counted(
    request: FastifyRequest,
    reply: FastifyReply,
    { page, receipt, given, isBesideList }: Counted,
  ): Promise<FastifyReply> {
    const missing = receipt.type === "accepted" ? (receipt.missing ?? 0) : 0;
    const isBack = given.reply.action === "decline" && page.page.kind === "form" && isWayBack(page.page.hints);
    const led = await onward.lead(reply, given, { isInInbox: isBesideList, isBack, isStopped: missing > 0 });
    if (led) return led;
    const detail = record(request, page, given, receipt);
    if (given.reply.action === "decline") {
      return isBack ? notice(reply, "went-back", { detail: toInbox(readerOf(request)) }) : notice(reply, "declined", { detail });
    }
    if (missing > 0) return notice(reply, "counted", { detail, parts: { missing } });
    return notice(reply, page.page.kind === "link" && page.page.isReported ? "agreed" : "accepted", { detail });
  }

  function toInbox({ texts }: Reader): Html {
    return markup`<p><a href="${addresses.inbox()}">${texts.toInbox}</a></p>`;
  }

  function record(request: FastifyRequest, asked: OpenPage, { caller, reply }: AnswerOnPage, receipt: Receipt): Html {
    const { call, page } = asked;
    const { said } = wordsOf(asked);
    const reader = readerOf(request);
    const by = whoseCall(caller, call);
    const { record: words } = reader.texts;
    const content = reply.action === "accept" ? reply.content : undefined;
    const answers = content && answerList(reader, content, page.kind === "form" ? page.schema : undefined);
    return markup`<section class="flow" aria-labelledby="record">
<h2 id="record">${words.title}</h2>
${lesson(reader, asked, receipt)}
<p class="said" dir="auto">${cut(said, 2_000)}</p>
${reply.action === "decline" ? markup`<p>${words.youDeclined}</p>${reply.reason === undefined ? undefined : markup`<p class="quiet">${words.reason}: <span dir="auto">${reply.reason}</span></p>`}` : answers ? markup`<h3 class="quiet">${words.youAnswered}</h3>${answers}` : markup`<p>${words.youAccepted}</p>`}
<dl class="facts"><dt>${words.tool}</dt><dd><bdi>${titleOf(call)}</bdi></dd>${inCallOf(reader, by.whose === "named" ? by.name : undefined)}<dt>${words.when}</dt><dd>${momentText(reader, services.clock.now())}</dd></dl>
</section>
${toInbox(reader)}`;
  }

  return {
    show,
    showToOthers: (reply, toShow) => show(reply, toShow, { isOfOthers: true }),
    answer: (request, reply, given) => answer(request, reply, given),

    async accept(request, reply, { body, ...given }) {
      const { page } = given;
      if (page.page.kind !== "form") throw new TypeError("the page has no form");
      const read = readForm(readerOf(request), formOf({ ...page, page: page.page }), body);
      if (!read) return notice(reply, "unreadable");
      const { form, draft, content, problems } = read;
      const again = { draft, isInInbox: isInInbox(body) };
      if (Object.keys(problems).length > 0) {
        // With what the tool would not take of the rest: somebody who corrects all of it should not learn of more afterwards.
        const violations = await checkOnPage(services, given, { action: "accept", content });
        const { "": _ofAll, ...ofRest } = problemsIn(violations, form.inputs);
        return await show(reply, { request, taskId: given.taskId, page }, { ...again, problems: { ...ofRest, ...problems } });
      }
      if (body.get("only") === "check") {
        if (page.required) return noticeLogin(reply, given, page.required);
        const violations = await checkOnPage(services, given, { action: "accept", content });
        if (violations.length === 0) return await reply.code(204).send();
        return await show(reply, { request, taskId: given.taskId, page }, { ...again, problems: problemsIn(violations, form.inputs) });
      }
      return await answer(request, reply, { ...given, reply: { action: "accept", content }, isInInbox: isInInbox(body) }, { draft, form });
    },
  };
}

/** The form of a question that has one. */
export function formOf({ ask, page: { schema, hints } }: FormPage): QuestionForm {
  return questionForm({ schema, ...(hints && { hints }), quorum: ask.audience?.quorum });
}

export type FormPage = OpenPage & { readonly page: Extract<ShownPage, { kind: "form" }> };

export interface ReadAnswer extends ReadForm {
  readonly form: QuestionForm;
  readonly draft: Draft;
}

/** What a person answers with the form. Undefined if they pressed none of its buttons that answer. */
export function readForm({ texts, locale, zone: ownZone }: Reader, form: QuestionForm, body: URLSearchParams): ReadAnswer | undefined {
  const action = body.get("action");
  const draft = draftIn(form.inputs, body);
  const decided = decision(form, action);
  if (decided) return { form, draft, content: decided, problems: {} };
  if (action !== "accept") return undefined;
  // The one that the form named: the browser may have got another since.
  const zone = zoneOf(body.get("zone") ?? undefined) ?? ownZone ?? "UTC";
  return { form, draft, ...contentIn(form.inputs, draft, { zone, locale, skipped: texts.question.skipped }) };
}

/** What the two buttons of a confirmation say. */
function decision({ isConfirm, inputs: [input] }: QuestionForm, action: string | null): JsonObject | undefined {
  if (!isConfirm || !input || (action !== "yes" && action !== "no")) return undefined;
  return Object.fromEntries([[input.name, action === "yes"]]);
}
