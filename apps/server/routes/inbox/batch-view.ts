/** The markup of several questions that are answered with one form, and of the receipts. It works without script. */
import { aboutOf, type Caller, cut, describeProblems, type OpenPage, type SettledRead } from "@parley/core";
import type { Draft, Problems } from "@parley/web/form";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Texts } from "../../texts/en.ts";
import { filled, type Reader } from "../../texts/texts.ts";
import { contextView } from "../asks/context-view.ts";
import { type Html, markup, say } from "../asks/html.ts";
import { moment } from "../asks/moment.ts";
import { form, headline, lesson, settledLine, testNotice, wordsOf } from "../asks/question-view.ts";
import { whoseCall } from "../asks/whose-call.ts";
import type { Named } from "../asks/lead-on.ts";
import type { Answered, Batch, Receipted } from "./batch.ts";

export interface BatchView {
  readonly titleOf: TitleOf;
  readonly batch: Batch;
  readonly caller: Caller;
  readonly reader: Reader;
  readonly nowMs: number;
  /** Of a question: proves that this person was shown it. */
  readonly tokenOf: (taskId: string, page: OpenPage) => string;
  /** The address to which the form is sent. */
  readonly action: string;
  readonly draft?: Draft | undefined;
  readonly problems?: Problems | undefined;
}

export function batchView({ batch, tokenOf, ...view }: BatchView): Html {
  const { reader } = view;
  const { together: words } = reader.texts;
  const { together, apart } = batch;
  const [first] = together;
  const count = together.length;
  const said = count === 1 ? words.one : filled(words.many, { count });
  const hidden = together.map(
    ({ taskId, key, page }) =>
      markup`<input type="hidden" name="ask" value="${taskId}/${key}"><input type="hidden" name="shown" value="${page.ask.digest}"><input type="hidden" name="token" value="${tokenOf(taskId, page)}">`,
  );
  const title = count === 0 ? words.nothing : count === 1 ? words.titleOne : filled(words.title, { said });
  return markup`<h2>${title}</h2>
${
  first &&
  markup`${count === 1 ? undefined : markup`<p class="quiet">${words.note}</p>`}
<ol class="together">${together.map(({ page }) => entry(view, page))}</ol>`
}
${apart.length > 0 && count > 0 ? markup`<p class="risk">${words.apart}</p>` : undefined}
${apart.length === 0 ? undefined : markup`<ul class="receipts">${apart.map(({ page, why, end }) => markup`<li><span dir="auto">${page ? firstLine(page, view.titleOf) : ""}</span> <span class="quiet">${end ? settledLine(reader, end) : words.why[why]}</span></li>`)}</ul>`}
${first && form({ ...view, page: first.page, token: "", together: { hidden: markup`${hidden}`, count, said } })}`;
}

function entry({ caller, reader, titleOf }: Pick<BatchView, "caller" | "reader" | "titleOf">, page: OpenPage): Html {
  const by = whoseCall(caller, page.call);
  const inCall =
    by.whose === "named" ? say(reader.texts.inbox.inCallOf, { name: markup`<bdi translate="no">${by.name}</bdi>` }) : undefined;
  const { context = [] } = aboutOf(page.ask.request) ?? {};
  const [, rest] = headline(wordsOf(page).said);
  // Questions of one tool often begin alike.
  const more = cut(rest, REST_CHARS_MAX);
  return markup`<li><details><summary><span dir="auto">${firstLine(page, titleOf)}</span> <span class="quiet"><span dir="auto">${more}</span> ${inCall} ${moment(reader, page.ask.askedAtMs)}</span></summary>
<p class="said" dir="auto">${wordsOf(page).said}</p>
${contextView(reader.texts, context)}</details></li>`;
}

const REST_CHARS_MAX = 160;

function firstLine({ message, call }: OpenPage, titleOf: TitleOf): string {
  const [first] = headline(message);
  return first === "" ? titleOf(call) : first;
}

export interface ReceiptsView {
  readonly titleOf: TitleOf;
  readonly reader: Reader;
  readonly receipts: readonly Receipted[];
  readonly apart: Batch["apart"];
  readonly pathOf: (taskId: string, key: string) => string;
  readonly back: string;
}

interface Ended {
  readonly became?: Answered;
  readonly end?: SettledRead;
}

/** Also if it was sent again, because the reply to the first time was lost. */
function isGood({ became, end }: Ended): boolean {
  return became?.type === "accepted" || became?.type === "duplicate" || end?.by?.isCaller === true || end?.answer !== undefined;
}

/** What became of each answer. */
export function receiptsView({ titleOf, reader, receipts, apart, pathOf, back }: ReceiptsView): Html {
  const { texts } = reader;
  const { together: words } = texts;
  const good = [...receipts, ...apart].filter(isGood).length;
  const count = receipts.length + apart.length;
  const lessonOf = ({ page: asked, became, end }: Ended & { readonly page?: OpenPage }) =>
    end ? end.isTest && testNotice(reader) : asked && became && lesson(reader, asked, became);
  const tested = [...receipts, ...apart].some((each) => lessonOf(each));
  const line = (each: Named & Ended & { readonly page?: OpenPage }, became: string) =>
    markup`<li><a href="${pathOf(each.taskId, each.key)}" dir="auto">${each.page ? firstLine(each.page, titleOf) : words.question}</a> <span class="tag ${isGood(each) ? "counted" : "soon"}">${each.end ? settledLine(reader, each.end) : became}</span>${lessonOf(each)}</li>`;
  return markup`<p class="${good === count ? "done" : "risk"}" data-receipts="${good === count && !tested ? "all" : "some"}">${filled(words.counted, { good, count })}</p>
<ol class="receipts">${receipts.map((each) => line(each, becameText(texts, each.became)))}${apart.map((each) => line(each, words.why[each.why]))}</ol>
<p><a href="${back}">${texts.toInbox}</a></p>`;
}

function becameText({ together: { became: words }, notices }: Texts, became: Answered): string {
  switch (became.type) {
    case "accepted":
      return became.missing === undefined || became.missing === 0 ? words.accepted : filled(words.missing, { count: became.missing });
    case "duplicate":
      return words.accepted;
    case "late":
    case "unknown":
      return words.late;
    case "invalid":
      return filled(words.invalid, { problems: describeProblems(became.violations) });
    case "forbidden":
      return notices["of-others"].title;
    case "login_required":
      return words.login;
    case "busy":
      return words.busy;
    case "unsure":
      return words.unsure;
  }
}
