/** The markup of the inbox: the list of what is asked of a person, and the question beside it. */
import type { AskedPage, AskSummary } from "@parley/core";
import { distanceText, filled, type Reader } from "../../texts/texts.ts";
import { type Html, markup, page, say, type Scripted } from "../asks/html.ts";
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
  readonly chosen?: Chosen | undefined;
  readonly account: Html | undefined;
  readonly scripted: Scripted;
  /** Address of the stream of changes, from the page. Undefined if there are none to tell. */
  readonly changes: string | undefined;
}

export interface Chosen {
  readonly id: string;
  readonly body: Html;
  /** Digest of an open question. Empty for one that is settled, or unknown. */
  readonly digest: string;
  /** Changes with what the page shows of the question. */
  readonly version: string;
}

export function idOf({ taskId, key }: Pick<AskSummary, "taskId" | "key">): string {
  return `${taskId}/${key}`;
}

export function inboxPage({ reader, address, list, count, nowMs, chosen, account, scripted, changes }: InboxView): string {
  const { inbox } = reader.texts;
  const counted = countText(inbox, count);
  return page(
    {
      reader,
      title: count.count === 0 ? inbox.title : `(${count.count}${count.isMore ? "+" : ""}) ${inbox.title}`,
      layout: "wide",
      scripted,
    },
    markup`<a class="skip" href="#ask">${inbox.skip}</a>
<header class="bar"><h1>${inbox.title}</h1><p class="quiet" id="count" role="status">${counted}</p><button id="keys-open" type="button" aria-keyshortcuts="?" hidden>${reader.texts.keys.open} <kbd aria-hidden="true">?</kbd></button>${changes === undefined ? undefined : markup`<a href="inbox/answered">${inbox.answered}</a>`}${account}</header>
<main class="inbox${chosen ? " has-ask" : ""}"${changes === undefined ? undefined : markup` data-changes="${changes}"`}>
<section class="inbox-list" id="list" aria-label="${inbox.list}" tabindex="0">
<div class="search" id="search" hidden><label for="q">${inbox.search}</label><input id="q" type="search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/"><p class="quiet" id="none-found" role="status" data-none="${inbox.noneFound}"></p></div>
${filters(inbox, address)}
<div id="asks">${list.asks.length === 0 ? empty(inbox, address) : markup`<ol class="asks">${list.asks.map((ask) => item(ask, { reader, address, nowMs, chosen: chosen?.id }))}</ol>`}
${pages(inbox, address, list)}</div>
</section>
<section class="inbox-ask" id="ask" aria-label="${inbox.ask}" tabindex="-1"${chosen && markup` data-ask="${chosen.id}" data-digest="${chosen.digest}"`}>
${chosen ? markup`<div class="flow"><p class="back"><a href="${linkTo(address)}">${inbox.back}</a></p>${chosen.body}</div>` : markup`<p class="flow empty">${inbox.choose}</p>`}
</section>
</main>
${keysSheet(reader.texts)}`,
  );
}

/** Shown by the script alone. */
function keysSheet({ keys }: Reader["texts"]): Html {
  const rows = [
    ["J", keys.next],
    ["K", keys.previous],
    ["Enter", keys.enter],
    ["A", keys.accept],
    ["D", keys.decline],
    ["Z", keys.undo],
    ["/", keys.search],
    ["Esc", keys.leave],
    ["?", keys.help],
  ] as const;
  return markup`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">${keys.title}</h2>
<dl class="keys">${rows.map(([key, text]) => markup`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
<p class="quiet">${keys.note}</p>
<label class="choice"><input type="checkbox" id="keys-on" checked> ${keys.on}</label>
<form method="dialog" class="actions"><button>${keys.close}</button></form></dialog>`;
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
  const isUsed = tool !== undefined || order !== "deadline";
  return markup`<details class="filter"${isUsed ? markup` open` : undefined}><summary>${inbox.filters}</summary>
<form class="filters" method="get" role="search" aria-label="${inbox.filters}">
${ticket === undefined ? undefined : markup`<input type="hidden" name="k" value="${ticket}">`}
<div><label for="tool">${inbox.tool}</label><input id="tool" name="tool" value="${tool ?? ""}" placeholder="${inbox.anyTool}" autocomplete="off" maxlength="128" dir="auto"></div>
<div><label for="order">${inbox.order}</label><select id="order" name="order">${option("deadline", inbox.byDeadline)}${option("oldest", inbox.byAge)}</select></div>
<button>${inbox.apply}</button>
</form></details>`;
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
  // When an answer is wanted, while that is still to come.
  const endMs = ask.dueAtMs !== undefined && ask.dueAtMs > nowMs ? ask.dueAtMs : ask.deadlineMs;
  const leftMs = endMs - nowMs;
  const isUrgent = ask.priority === "urgent" || ask.priority === "high";
  const priority =
    ask.priority !== "normal" &&
    markup`<span class="tag ${isUrgent ? "soon" : "wait"}">${reader.texts.question.priorities[ask.priority]}</span> `;
  const left = markup`<span data-until="${endMs}">${distanceText(reader, leftMs)}</span>`;
  const due = markup`<span class="tag ${leftMs < SOON_MS ? "soon" : "wait"}">${say(inbox.due, { when: left })}</span>`;
  return markup`<li data-ask="${id}"><a href="${linkTo(address, id)}"${id === chosen ? markup` aria-current="true"` : undefined}>
<span class="what" dir="auto">${ask.message.trim() === "" ? ask.called.name : ask.message}</span>
<span class="who"><bdi>${ask.called.name}</bdi> ${priority || undefined}${due} <span>${say(inbox.asked, { when: moment(reader, ask.askedAtMs) })}</span></span>
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
