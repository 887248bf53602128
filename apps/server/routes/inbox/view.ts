/** The markup of the inbox: the list of what is asked of a person, and the question beside it. */
import type { AskedPage, AskSummary } from "@parley/core";
import { distanceText, filled, type Reader } from "../../texts/texts.ts";
import { type Html, markup, page, say } from "../asks/html.ts";
import { moment } from "../asks/question-view.ts";

/** What the address of a list says. Everything is optional, and is kept by the links of the page. */
export interface ListAddress {
  readonly tool?: string | undefined;
  readonly order: "deadline" | "oldest";
  readonly cursor?: string | undefined;
  /** The ticket of the inbox of a server without identity. */
  readonly ticket?: string | undefined;
}

export interface InboxView {
  readonly reader: Reader;
  readonly address: ListAddress;
  readonly list: AskedPage;
  readonly count: { readonly count: number; readonly isMore: boolean };
  readonly nowMs: number;
  /** The chosen question. */
  readonly chosen?: { readonly id: string; readonly body: Html } | undefined;
  readonly account: Html | undefined;
}

export function idOf({ taskId, key }: Pick<AskSummary, "taskId" | "key">): string {
  return `${taskId}/${key}`;
}

export function inboxPage({ reader, address, list, count, nowMs, chosen, account }: InboxView): string {
  const { inbox } = reader.texts;
  const counted = countText(inbox, count);
  return page(
    { reader, title: count.count === 0 ? inbox.title : `(${count.count}${count.isMore ? "+" : ""}) ${inbox.title}`, layout: "wide" },
    markup`<a class="skip" href="#ask">${inbox.skip}</a>
<header class="bar"><h1>${inbox.title}</h1><p class="quiet" id="count" role="status">${counted}</p>${account}</header>
<main class="inbox${chosen ? " has-ask" : ""}">
<section class="inbox-list" aria-label="${inbox.list}" tabindex="0">
${filters(inbox, address)}
${list.asks.length === 0 ? empty(inbox, address) : markup`<ol class="asks">${list.asks.map((ask) => item(ask, { reader, address, nowMs, chosen: chosen?.id }))}</ol>`}
${pages(inbox, address, list)}
</section>
<section class="inbox-ask" id="ask" aria-label="${inbox.ask}" tabindex="-1">
${chosen ? markup`<div class="flow"><p class="back"><a href="${linkTo(address)}">${inbox.back}</a></p>${chosen.body}</div>` : markup`<p class="flow empty">${inbox.choose}</p>`}
</section>
</main>`,
  );
}

type Words = Reader["texts"]["inbox"];

function countText(inbox: Words, { count, isMore }: InboxView["count"]): string {
  if (isMore) return filled(inbox.more, { count });
  if (count === 0) return inbox.none;
  return count === 1 ? inbox.one : filled(inbox.many, { count });
}

function filters(inbox: Words, { tool, order, ticket }: ListAddress): Html {
  const option = (value: ListAddress["order"], title: string) =>
    markup`<option value="${value}"${value === order ? markup` selected` : undefined}>${title}</option>`;
  return markup`<form class="filters" method="get" role="search" aria-label="${inbox.filters}">
${ticket === undefined ? undefined : markup`<input type="hidden" name="k" value="${ticket}">`}
<div><label for="tool">${inbox.tool}</label><input id="tool" name="tool" value="${tool ?? ""}" placeholder="${inbox.anyTool}" autocomplete="off" maxlength="128" dir="auto"></div>
<div><label for="order">${inbox.order}</label><select id="order" name="order">${option("deadline", inbox.byDeadline)}${option("oldest", inbox.byAge)}</select></div>
<button>${inbox.apply}</button>
</form>`;
}

function empty(inbox: Words, { tool, cursor, ticket }: ListAddress): Html {
  if (tool === undefined && cursor === undefined) return markup`<p class="nothing">${inbox.none}</p>`;
  return markup`<p class="nothing">${inbox.noneMatch} <a href="${linkTo({ order: "deadline", ticket })}">${inbox.clear}</a></p>`;
}

interface ItemView extends Pick<InboxView, "reader" | "address" | "nowMs"> {
  readonly chosen: string | undefined;
}

const SOON_MS = 60 * 60_000;

function item(ask: AskSummary, { reader, address, nowMs, chosen }: ItemView): Html {
  const { inbox } = reader.texts;
  const id = idOf(ask);
  const leftMs = ask.deadlineMs - nowMs;
  const due = markup`<span class="tag ${leftMs < SOON_MS ? "soon" : "wait"}">${filled(inbox.due, { when: distanceText(reader, leftMs) })}</span>`;
  return markup`<li><a href="${linkTo(address, id)}"${id === chosen ? markup` aria-current="true"` : undefined}>
<span class="what" dir="auto">${ask.message.trim() === "" ? ask.called.name : ask.message}</span>
<span class="who"><bdi>${ask.called.name}</bdi> ${due} <span>${say(inbox.asked, { when: moment(reader, ask.askedAtMs) })}</span></span>
</a></li>`;
}

function pages(inbox: Words, address: ListAddress, { nextCursor }: AskedPage): Html | undefined {
  if (address.cursor === undefined && nextCursor === undefined) return undefined;
  const first =
    address.cursor === undefined
      ? markup`<span></span>`
      : markup`<a href="${linkTo({ ...address, cursor: undefined })}">${inbox.first}</a>`;
  const next =
    nextCursor === undefined ? undefined : markup`<a rel="next" href="${linkTo({ ...address, cursor: nextCursor })}">${inbox.next}</a>`;
  return markup`<nav class="pages" aria-label="${inbox.list}">${first}${next}</nav>`;
}

/** Relative, so that a proxy may serve this server below a path. */
function linkTo({ tool, order, cursor, ticket }: ListAddress, ask?: string): string {
  const given = { k: ticket, tool, order, cursor, ask };
  const query = new URLSearchParams(
    Object.entries(given).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]])),
  );
  return `inbox?${query.toString()}`;
}
