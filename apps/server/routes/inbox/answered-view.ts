/** The markup of what a person has answered: how each question ended, and the way to its record. */
import type { AnsweredPage } from "@parley/core";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Reader } from "../../texts/texts.ts";
import { type Html, markup, page, type Scripted } from "../asks/html.ts";
import { moment } from "../asks/moment.ts";
import { settledLine } from "../asks/question-view.ts";
import { inCallOf } from "./view.ts";

export interface AnsweredView {
  readonly reader: Reader;
  readonly list: AnsweredPage;
  readonly isFirst: boolean;
  readonly account: Html | undefined;
  readonly scripted: Scripted;
  readonly titleOf: TitleOf;
  /** The path of a question's page. */
  readonly pathOf: (taskId: string, key: string) => string;
}

export function answeredPage({ reader, list, isFirst, account, scripted, titleOf, pathOf }: AnsweredView): string {
  const { inbox } = reader.texts;
  const items = list.answered.map(
    ({ answeredAtMs, ask }) => markup`<li><a href="${pathOf(ask.taskId, ask.key)}">
<span class="what" dir="auto">${ask.state === "settled" ? settledLine(reader, ask) : ask.message}</span>
<span class="who"><bdi>${titleOf(ask.called)}</bdi> ${inCallOf(reader, ask.owner)}<span>${moment(reader, answeredAtMs)}</span></span>
</a></li>`,
  );
  const first = isFirst ? markup`<span></span>` : markup`<a href="answered">${inbox.first}</a>`;
  const next =
    list.nextCursor === undefined
      ? undefined
      : markup`<a rel="next" href="answered?${new URLSearchParams({ cursor: list.nextCursor }).toString()}">${inbox.next}</a>`;
  return page(
    { reader, title: inbox.answered, scripted },
    markup`<p><a href="../inbox">${inbox.inbox}</a></p>
<p class="quiet">${items.length === 0 && next === undefined ? inbox.answeredNone : inbox.answeredNote}</p>
${items.length === 0 ? undefined : markup`<ol class="asks" role="list">${items}</ol>`}
${isFirst && next === undefined ? undefined : markup`<nav class="pages" aria-label="${inbox.answered}">${first}${next}</nav>`}
${account}`,
  );
}
