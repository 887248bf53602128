/** The markup of the inbox: the list of what is asked of a person, and the question beside it. */
import { type AskedPage, type AskSummary, cut, type Owner, ownWords, type Priority, whoIs } from "@parley/core";
import { type CLOSES_MS, haste } from "@parley/web/times";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import { distanceText, filled, type Reader, todayText } from "../../texts/texts.ts";
import { type Html, markup, page, say, type Scripted } from "../asks/html.ts";
import { moment, timeTag } from "../asks/moment.ts";
import { headline, toText } from "../asks/question-view.ts";

/** The first unless another is chosen: that of the times that the list shows. */
export const INBOX_ORDERS = ["due", "deadline", "priority", "oldest"] as const;

/** What the address of a list says. Everything is optional, and is kept by the links of the page. */
export interface ListAddress {
  readonly tool?: string | undefined;
  readonly order: (typeof INBOX_ORDERS)[number];
  readonly priority?: Priority | undefined;
  /** Whose calls ask. */
  readonly from?: "me" | "others" | undefined;
  /** Within how long the question closes. */
  readonly closes?: keyof typeof CLOSES_MS | undefined;
  /** Only what the person has put aside. */
  readonly snoozed?: "only" | undefined;
  readonly cursor?: string | undefined;
  /** Ids of questions that are answered together, in place of one that is chosen. */
  readonly batch?: readonly string[] | undefined;
  /** The ticket of the inbox of a server without identity. */
  readonly ticket?: string | undefined;
}

/** What narrows and orders a list. The script keeps these as a view. */
export const FILTERS = ["snoozed", "tool", "priority", "from", "closes", "order"] as const;

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
  readonly titleOf: TitleOf;
  /** Address of the stream of changes, from the page. Undefined if there are none to tell. */
  readonly changes: string | undefined;
  readonly others: OtherPages;
}

/** Further pages of a person, if there are any. */
export interface OtherPages {
  readonly hasAccounts: boolean;
  readonly hasApprovals: boolean;
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

export function inboxPage({ reader, address, list, count, nowMs, chosen, account, scripted, titleOf, changes, others }: InboxView): string {
  const { inbox } = reader.texts;
  const view = viewText(reader.texts, address);
  const picked = new Set(address.batch);
  const counted = countText(inbox, count, view !== "");
  return page(
    {
      reader,
      title: count.count === 0 ? inbox.title : `(${count.count}${count.isMore ? "+" : ""}) ${inbox.title}`,
      layout: "wide",
      scripted,
    },
    markup`<a class="skip" href="#ask">${inbox.skip}</a>
<header class="bar"><h1>${inbox.title}</h1><p class="quiet" id="count" role="status">${counted}</p><button id="keys-open" type="button" aria-keyshortcuts="?" hidden>${reader.texts.keys.open} <kbd aria-hidden="true" translate="no">?</kbd></button>${menu(reader.texts, account, { ...others, hasAnswered: changes !== undefined })}</header>
<main class="inbox${chosen ? " has-ask" : ""}"${changes === undefined ? undefined : markup` data-changes="${changes}"`}>
<section class="inbox-list" id="list" aria-label="${inbox.list}" tabindex="0">
<div class="search" id="search" hidden><label for="q">${inbox.search}</label><input id="q" type="search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/"><p class="quiet" id="none-found" role="status" data-none="${inbox.noneFound}"></p></div>
${filters(reader.texts, address)}
${batchBar(reader.texts, address)}
<nav class="views" id="views" aria-label="${inbox.views}" data-view="${view}" data-filters="${FILTERS.join(" ")}" hidden></nav>
<div id="asks">${list.asks.length === 0 ? empty(reader, address) : markup`<ol class="asks" role="list">${list.asks.map((ask) => item(ask, { reader, address, nowMs, titleOf, picked, chosen: chosen?.id }))}</ol>`}
${pages(inbox, address, list)}</div>
</section>
<section class="inbox-ask" id="ask" aria-label="${inbox.ask}" tabindex="-1"${chosen && markup` data-ask="${chosen.id}" data-digest="${chosen.digest}"`}>
${chosen ? markup`<div class="flow"><p class="back"><a href="${linkTo(address)}">${inbox.back}</a></p>${chosen.body}</div>` : markup`<p class="flow empty">${inbox.choose}</p>`}
</section>
</main>
${keysSheet(reader.texts)}`,
  );
}

/** What is needed now and then, so that the header of a phone is one line. */
function menu(
  { inbox, accounts, approvals }: Reader["texts"],
  account: Html | undefined,
  { hasAnswered, hasApprovals, hasAccounts }: OtherPages & { readonly hasAnswered: boolean },
): Html | undefined {
  const links = [
    ...(hasAnswered ? [markup`<a href="inbox/answered">${inbox.answered}</a>`] : []),
    ...(hasApprovals ? [markup`<a href="approvals">${approvals.title}</a>`] : []),
    ...(hasAccounts ? [markup`<a href="accounts">${accounts.title}</a>`] : []),
  ];
  if (!account && links.length === 0) return undefined;
  return markup`<details class="menu"><summary>${inbox.menu}</summary><nav aria-label="${inbox.menu}">${links}${account}</nav></details>`;
}

/** Shown by the script alone. */
function keysSheet({ keys }: Reader["texts"]): Html {
  const rows = [
    ["J", keys.next],
    ["K", keys.previous],
    ["Enter", keys.enter],
    ["A", keys.accept],
    ["D", keys.decline],
    ["C", keys.claim],
    ["M", keys.comment],
    ["E", keys.handOn],
    ["S", keys.snooze],
    ["Q", keys.askBack],
    ["X", keys.select],
    ["Shift X", keys.selectTo],
    ["L", keys.alike],
    ["B", keys.together],
    ["Z", keys.undo],
    ["/", keys.search],
    ["Esc", keys.leave],
    ["?", keys.help],
  ] as const;
  return markup`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">${keys.title}</h2>
<dl class="keys">${rows.map(([key, text]) => markup`<dt translate="no"><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
<p class="quiet">${keys.note}</p>
<label class="choice"><input type="checkbox" id="keys-on" checked> ${keys.on}</label>
<form method="dialog" class="actions"><button>${keys.close}</button></form></dialog>`;
}

type Words = Reader["texts"]["inbox"];

function countText(inbox: Words, { count, isMore }: InboxView["count"], isNarrowed: boolean): string {
  if (isMore) return filled(isNarrowed ? inbox.moreMatch : inbox.more, { count });
  if (count === 0) return isNarrowed ? inbox.noneMatch : inbox.none;
  if (count === 1) return isNarrowed ? inbox.oneMatches : inbox.one;
  return filled(isNarrowed ? inbox.manyMatch : inbox.many, { count });
}

/** Words of the filters in use. Empty if everything is listed. */
function viewText({ inbox, question }: Reader["texts"], { snoozed, tool, priority, from, closes }: ListAddress): string {
  const priorities = { ...question.priorities, normal: inbox.normal };
  return [
    snoozed && inbox.snoozed,
    priority && priorities[priority],
    closes && { hour: inbox.closesHour, day: inbox.closesDay }[closes],
    from && { me: inbox.fromMe, others: inbox.fromOthers }[from],
    tool,
  ]
    .filter(Boolean)
    .join(" · ");
}

function filters(texts: Reader["texts"], address: ListAddress): Html {
  const { inbox, question } = texts;
  const { tool, order, ticket, snoozed = "", priority = "", from = "", closes = "" } = address;
  const select = (name: string, title: string, chosen: string, options: readonly (readonly [value: string, title: string])[]) =>
    markup`<div><label for="${name}">${title}</label><select id="${name}" name="${name}">${options.map(([value, text]) => markup`<option value="${value}"${value === chosen ? markup` selected` : undefined}>${text}</option>`)}</select></div>`;
  const view = viewText(texts, address);
  return markup`<details class="filter"${view === "" ? undefined : markup` open`}><summary>${inbox.filters}${view === "" ? undefined : markup`<span>: <strong dir="auto">${view}</strong></span>`}</summary>
<form class="filters" method="get" role="search" aria-label="${inbox.filters}">
${ticket === undefined ? undefined : markup`<input type="hidden" name="k" value="${ticket}">`}
<div><label for="tool">${inbox.tool}</label><input id="tool" name="tool" value="${tool ?? ""}" placeholder="${inbox.anyTool}" autocomplete="off" maxlength="128" dir="auto"></div>
${select("snoozed", inbox.showing, snoozed, [
  ["", inbox.showOpen],
  ["only", inbox.showSnoozed],
])}
${select("priority", question.priority, priority, [
  ["", inbox.anyPriority],
  ["urgent", question.priorities.urgent],
  ["high", question.priorities.high],
  ["normal", inbox.normal],
  ["low", question.priorities.low],
])}
${select("closes", inbox.closes, closes, [
  ["", inbox.anyTime],
  ["hour", inbox.closesHour],
  ["day", inbox.closesDay],
])}
${select("from", inbox.from, from, [
  ["", inbox.fromAll],
  ["me", inbox.fromMe],
  ["others", inbox.fromOthers],
])}
${select("order", inbox.order, order, [
  ["due", inbox.byDue],
  ["deadline", inbox.byDeadline],
  ["priority", inbox.byPriority],
  ["oldest", inbox.byAge],
])}
<p class="row"><button>${inbox.apply}</button>${view === "" ? undefined : markup` <a href="${linkTo({ order, ticket })}">${inbox.clear}</a>`}</p>
</form></details>`;
}

/** Sends the chosen questions to this page. Without script it is always there, and with it once a question is chosen. */
function batchBar({ together }: Reader["texts"], address: ListAddress): Html {
  const kept = parametersOf(address).filter(([name]) => name !== "cursor");
  return markup`<form class="batch" id="batch" method="get">${kept.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`)}
<span class="quiet" id="picked" role="status"></span><button class="main" aria-keyshortcuts="B">${together.open}</button><button type="button" id="pick-alike" aria-keyshortcuts="L" hidden>${together.alike}</button><button type="button" id="pick-none" hidden>${together.clear}</button></form>`;
}

function empty({ texts }: Reader, address: ListAddress): Html {
  const { inbox } = texts;
  const { cursor, ticket } = address;
  if (viewText(texts, address) === "" && cursor === undefined)
    return markup`<p class="nothing"><strong>${inbox.none}</strong><br>${inbox.noneNote}</p>`;
  return markup`<p class="nothing">${inbox.noneMatch} <a href="${linkTo({ order: INBOX_ORDERS[0], ticket })}">${inbox.clear}</a></p>`;
}

interface ItemView extends Pick<InboxView, "reader" | "address" | "nowMs" | "titleOf"> {
  /** Ids of the questions that are answered together. */
  readonly picked: ReadonlySet<string>;
  readonly chosen: string | undefined;
}

/** When an answer is wanted has passed, and the question is still open. */
export function isOverdue({ dueAtMs }: Pick<AskSummary, "dueAtMs">, nowMs: number): boolean {
  return dueAtMs !== undefined && dueAtMs <= nowMs;
}

const PRIORITY_TAGS = { urgent: "soon", high: "wait", low: "later" } as const;

function item(ask: AskSummary, { reader, address, nowMs, titleOf, picked, chosen }: ItemView): Html {
  const { inbox } = reader.texts;
  const id = idOf(ask);
  const title = titleOf(ask.called);
  // The list shows a part of it in any case.
  const [first, rest] = headline(ownWords(ask.message, { isAgain: true, isForFiles: ask.kind === "url" }).said);
  const late = isOverdue(ask, nowMs);
  // When an answer is wanted, while that is still to come.
  const endMs = late ? ask.deadlineMs : (ask.dueAtMs ?? ask.deadlineMs);
  const leftMs = endMs - nowMs;
  const priority =
    ask.priority === "normal"
      ? undefined
      : markup`<span class="tag ${PRIORITY_TAGS[ask.priority]}">${reader.texts.question.priorities[ask.priority]}</span> `;
  const left = markup`<span data-until="${endMs}">${distanceText(reader, leftMs)}</span>`;
  const due = markup`<span class="tag ${haste(leftMs)}">${say(late ? inbox.ends : inbox.due, { when: left })}</span>`;
  return markup`<li data-ask="${id}"${ask.priority === "urgent" || late ? markup` class="pressing"` : undefined} data-tool="${ask.called.name}">${ask.kind === "form" && !ask.isToReply ? markup`<label class="pick"><input type="checkbox" name="batch" value="${id}" form="batch"${picked.has(id) ? markup` checked` : undefined}><span class="sr-only">${reader.texts.together.select} ${first}</span></label>` : undefined}<a href="${linkTo(address, id)}"${id === chosen ? markup` aria-current="true"` : undefined}>
<span class="what" dir="auto">${first === "" ? title : first}</span>
${rest === "" ? undefined : markup`<span class="rest" dir="auto">${rest}</span>`}
<span class="tags">${ask.isRisky ? markup`<span class="tag soon">${inbox.risky}</span> ` : undefined}${priority}${late ? markup`<span class="tag soon">${inbox.overdue}</span> ` : undefined}${due}${waitsForReply(reader, ask)}${aside(reader, ask)}${onIt(reader, ask)}${gotFrom(reader, ask)}${prompted(reader, ask)}</span>
<span class="who"><bdi>${title}</bdi> ${inCallOf(reader, ask.owner)}<span>${askedText(reader, ask, nowMs)}</span></span>
</a></li>`;
}

function askedText(reader: Reader, { askedAtMs }: AskSummary, nowMs: number): Html {
  const { inbox } = reader.texts;
  const today = todayText(reader, askedAtMs, nowMs);
  return today === undefined
    ? say(inbox.asked, { when: moment(reader, askedAtMs) })
    : say(inbox.askedToday, { when: timeTag(askedAtMs, today) });
}

/** Whose call it is, if not the reader's own. */
export function inCallOf({ texts: { inbox } }: Reader, owner: Owner): Html | undefined {
  const name = owner.isCaller ? undefined : whoIs(owner);
  return name === undefined ? undefined : markup`<span>${say(inbox.inCallOf, { name: markup`<bdi translate="no">${name}</bdi>` })}</span> `;
}

/** Somebody asks back: the person who made the call, who sees it in this list as well, or others know it. */
function waitsForReply({ texts: { inbox } }: Reader, { askedBack, isToReply }: AskSummary): Html | undefined {
  if (!askedBack) return undefined;
  if (isToReply)
    return markup` <span class="tag soon">${filled(inbox.asksYou, { name: askedBack.by.name ?? askedBack.by.principal })}</span>`;
  return markup` <span class="tag later">${inbox.waitsForReply}</span>`;
}

/** Until when the person has put it aside. */
function aside(reader: Reader, { snoozedUntilMs }: AskSummary): Html | undefined {
  if (snoozedUntilMs === undefined) return undefined;
  return markup` <span class="tag later">${say(reader.texts.inbox.until, { when: moment(reader, snoozedUntilMs) })}</span>`;
}

/** In whose place the person is asked. */
function gotFrom({ texts: { handOn } }: Reader, { delegatedBy }: AskSummary): Html | undefined {
  return delegatedBy && markup` <span class="tag later">${filled(handOn.from, { name: delegatedBy.name ?? delegatedBy.principal })}</span>`;
}

const NAMES_CHARS_MAX = 80;

/** What happened while nobody answered. That others were asked says more than that people were reminded. */
function prompted({ texts }: Reader, { remindedAtMs, escalatedTo }: AskSummary): Html | undefined {
  const { inbox } = texts;
  if (escalatedTo) {
    const all = escalatedTo.map((to) => toText(texts, { to })).join("; ");
    const names = markup`<bdi>${cut(all, NAMES_CHARS_MAX)}</bdi>`;
    return markup` <span class="tag later">${say(inbox.alsoAsked, { names })}</span>`;
  }
  return remindedAtMs === undefined ? undefined : markup` <span class="tag later">${inbox.reminded}</span>`;
}

/** Who is on it, and how many comments it has. */
function onIt({ texts: { around } }: Reader, { claimedBy, commentCount = 0 }: AskSummary): Html {
  const name = claimedBy && (claimedBy.name ?? claimedBy.principal);
  const who = claimedBy && (claimedBy.isCaller ? around.youOnIt : filled(around.onIt, { name: name ?? "" }));
  const comments = commentCount === 1 ? around.oneComment : filled(around.manyComments, { count: commentCount });
  return markup`${who === undefined ? undefined : markup` <span class="tag claimed">${who}</span>`}${commentCount === 0 ? undefined : markup` <span class="tag later">${comments}</span>`}`;
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
function linkTo(address: ListAddress, ask?: string): string {
  const query = new URLSearchParams([...parametersOf(address), ...(ask === undefined ? [] : [["ask", ask] as [string, string]])]);
  return `inbox?${query.toString()}`;
}

function parametersOf(address: ListAddress): readonly [name: string, value: string][] {
  const { ticket, cursor } = address;
  const given = [["k", ticket], ...FILTERS.map((name) => [name, address[name]] as const), ["cursor", cursor]] as const;
  return given.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
}
