/** The markup of the pages of asks that collect what no client may see, and of notices. */
import { aboutOf, addressOf, type Caller, type FilesWanted, type OpenPage, ownWords } from "@parley/core";
import type { Account } from "../../front-end/visitors.ts";
import { EN, type Texts } from "../../texts/en.ts";
import { ENGLISH, filled, type Reader } from "../../texts/texts.ts";
import { contextView } from "./context-view.ts";
import { formatBytes } from "./upload.ts";
import { type Html, markup, page, say } from "./html.ts";
import { whoseCall } from "./whose-call.ts";

export interface Shown {
  readonly page: OpenPage;
  /** The title of the tool that asks. */
  readonly called: string;
  readonly caller: Caller;
  readonly account: Account | undefined;
  readonly reader: Reader;
  /** Proves that the form comes from a page that this person was shown. */
  readonly token: string;
  readonly problem?: string;
  /** Said first: about the answer that led to this question. */
  readonly before?: Html | undefined;
}

/** Longest secret. Keys and certificates fit. */
export const SECRET_CHARS_MAX = 16_384;

export function secretPage(shown: Shown): string {
  const { page: asked, caller, account, reader, token, problem } = shown;
  const { ask } = asked;
  const { texts } = reader;
  const fault = problem === undefined ? undefined : markup`<p class="bad" id="problem" role="alert">${problem}</p>`;
  // The control has the focus, so a screen reader says what it is described by, and nothing that stands before it.
  const described = problem === undefined ? "said note" : "problem said note";
  const invalid = problem === undefined ? undefined : markup` aria-invalid="true"`;
  return page(
    { reader, title: texts.secret.title },
    markup`${toolAsks(texts, shown)}
<form method="post" autocomplete="off" class="flow">
${hiddenFields(ask.digest, token)}
${fault}
<div class="field"><label for="secret">${texts.secret.label}</label>
<input id="secret" name="secret" type="password" maxlength="${SECRET_CHARS_MAX}" required autofocus autocomplete="off" spellcheck="false" aria-describedby="${described}"${invalid}>
<p class="quiet" id="note">${texts.secret.note}</p></div>
${buttons(texts, texts.secret.send)}
</form>
${loggedInAs(texts, caller, account)}`,
  );
}

export function filesPage({ wanted, shown }: { readonly wanted: FilesWanted; readonly shown: Shown }): string {
  const { page: asked, caller, account, reader, token, problem } = shown;
  const { ask } = asked;
  const { accept, bytesMax, countMax } = wanted;
  const { texts } = reader;
  const { files } = texts;
  const fault = problem === undefined ? undefined : markup`<p class="bad" id="problem" role="alert">${problem}</p>`;
  const described = problem === undefined ? "said note" : "problem said note";
  const invalid = problem === undefined ? undefined : markup` aria-invalid="true"`;
  const isOne = countMax === 1;
  const what = filled(isOne ? files.one : files.many, { count: countMax, size: formatBytes(bytesMax) });
  const types = accept.length === 0 ? "" : filled(files.types, { types: accept.join(", ") });
  return page(
    { reader, title: isOne ? files.titleOne : files.titleMany },
    markup`${toolAsks(texts, shown)}
<form method="post" enctype="multipart/form-data" id="upload" class="flow">
${hiddenFields(ask.digest, token)}
${fault}
<div class="field"><label for="file">${isOne ? files.labelOne : files.labelMany}</label>
<input id="file" name="file" type="file" required autofocus${isOne ? undefined : markup` multiple`} accept="${accept.join(",")}" aria-describedby="${described}"${invalid}>
<p class="quiet" id="note">${what}${types}. ${isOne ? files.noteOne : files.noteMany}</p></div>
</form>
<form method="post" id="no">${hiddenFields(ask.digest, token)}</form>
<div class="actions"><button class="main" form="upload" name="action" value="accept">${files.send}</button><button form="no" name="action" value="decline">${texts.question.decline}</button></div>
${loggedInAs(texts, caller, account)}`,
  );
}

export interface GrantView {
  readonly shown: Shown;
  /** The name of the provider, as people know it. */
  readonly title: string;
  readonly scopes: readonly string[];
  /** The address to which the form is sent. The page may be shown at another address. */
  readonly action: string;
}

export function grantPage({ shown, title, scopes, action }: GrantView): string {
  const { page: asked, caller, account, reader, token, problem } = shown;
  const { texts } = reader;
  const fault = problem === undefined ? undefined : markup`<p class="alert" role="alert">${problem}</p>`;
  return page(
    { reader, title: filled(texts.grant.title, { title }) },
    markup`${toolAsks(texts, shown)}
<p>${say(texts.grant.wants, { title: markup`<strong>${title}</strong>` })}</p>
<ul class="scopes" translate="no">${scopes.map((scope) => markup`<li>${scope}</li>`)}</ul>
<form method="post" action="${action}" class="flow">
${hiddenFields(asked.ask.digest, token)}
${fault}
<p class="quiet">${texts.grant.note}</p>
${buttons(texts, filled(texts.grant.send, { title }))}
</form>
${loggedInAs(texts, caller, account)}`,
  );
}

export function visitPage(shown: Shown, { host, action }: { readonly host: string; readonly action: string }): string {
  const { page: asked, caller, account, reader, token, problem } = shown;
  const { texts } = reader;
  const fault = problem === undefined ? undefined : markup`<p class="alert" role="alert">${problem}</p>`;
  return page(
    { reader, title: filled(texts.visit.title, { host }) },
    markup`${toolAsks(texts, shown)}
<p>${say(texts.visit.sends, { host: markup`<strong>${host}</strong>` })}</p>
<form method="post" action="${action}" class="flow">
${hiddenFields(asked.ask.digest, token)}
${fault}
<p class="quiet">${filled(texts.visit.note, { host })}</p>
${buttons(texts, filled(texts.grant.send, { title: host }))}
</form>
${loggedInAs(texts, caller, account)}`,
  );
}

/**
 * Leads to another site by `refresh` instead of a redirect, because browsers apply the page's form-action policy to redirects of its form
 * too, and a provider may redirect to anywhere.
 */
export function awayPage(reader: Reader, title: string, url: string): string {
  const { visit } = reader.texts;
  return page(
    { reader, title: filled(visit.away, { host: title }), head: markup`<meta http-equiv="refresh" content="0; url=${url}">` },
    markup`<p><a href="${url}" rel="noreferrer">${filled(visit.awayLink, { host: title })}</a></p>
<p class="quiet">${visit.awayNote}</p>`,
  );
}

function toolAsks(texts: Texts, { page: { ask, message, page: collects, call }, called, caller, before }: Shown): Html {
  const { question } = texts;
  const { context = [] } = aboutOf(ask.request) ?? {};
  const { said, filesHere } = ownWords(message, { isAgain: false, isForFiles: collects.kind === "files" });
  // Pages other than of forms have no other words of Parley in their message.
  const words = filesHere === undefined ? message : said;
  const tool = markup`<strong><bdi>${called}</bdi></strong>`;
  const by = whoseCall(caller, call);
  const says = by.whose === "named" ? question.saysIn : question.says;
  return markup`${before}
<p>${say(says, { tool, name: by.whose === "named" ? markup`<strong><bdi translate="no">${by.name}</bdi></strong>` : undefined })}</p>
<p class="said" id="said" dir="auto">${words}</p>
${filesHere === undefined ? undefined : markup`<p dir="auto">${filled(texts.files.here, { names: filesHere })}</p>`}
${contextView(texts, context)}`;
}

export function hiddenFields(digest: string, token: string): Html {
  return markup`<input type="hidden" name="shown" value="${digest}"><input type="hidden" name="token" value="${token}">`;
}

function buttons({ question }: Texts, send: string): Html {
  return markup`<div class="actions"><button class="main" name="action" value="accept">${send}</button><button name="action" value="decline" formnovalidate>${question.decline}</button></div>`;
}

/** `account`: how the person changes that. Undefined if a token or a proxy says who they are. */
export function loggedInAs(
  { account: words }: Texts,
  { authenticatedBy, names, principal }: Caller,
  account: Account | undefined,
): Html | undefined {
  if (authenticatedBy === "nobody") return undefined;
  const sentence = filled(words.loggedIn, { name: addressOf(names) ?? principal });
  if (!account) return markup`<p class="quiet">${sentence}</p>`;
  return markup`<form class="quiet account" method="post" action="${account.out}"><span>${sentence}</span> <a href="${account.other}">${words.other}</a> <button>${words.out}</button></form>`;
}

export function loginAs({ account: words }: Texts, { other }: Account): Html {
  return markup`<p class="quiet"><a href="${other}">${words.other}</a></p>`;
}

/** Of a page of a person who has an inbox. */
export function inboxLink({ texts, root }: Reader): Html {
  return markup`<p><a href="${root}inbox">${texts.toInbox}</a></p>`;
}

/** Status of each notice. Its words are in texts. */
const STATUSES = {
  accepted: 200,
  counted: 200,
  agreed: 200,
  granted: 200,
  returned: 200,
  declined: 200,
  "went-back": 200,
  completed: 200,
  recorded: 200,
  left: 200,
  "not-started": 400,
  unreadable: 400,
  blank: 400,
  "logged-out": 401,
  kept: 401,
  "no-login": 401,
  "login-refused": 401,
  "login-required": 403,
  "login-unmet": 403,
  "started-by-another": 403,
  "of-others": 403,
  "not-handed-on": 409,
  "not-asked": 409,
  foreign: 403,
  refused: 403,
  unknown: 404,
  "no-page": 404,
  late: 408,
  answered: 409,
  stale: 409,
  closed: 410,
  settled: 410,
  full: 409,
  large: 413,
  busy: 429,
  broken: 500,
  away: 503,
  unsure: 503,
} as const satisfies Readonly<Record<keyof Texts["notices"], number>>;

export type NoticeName = keyof typeof STATUSES;

export interface Notice {
  readonly status: number;
  readonly title: string;
  readonly sentence: string;
}

export function noticeOf({ notices }: Texts, name: NoticeName): Notice {
  return { status: STATUSES[name], ...notices[name] };
}

/** In English. */
export const NOTICES = Object.fromEntries(Object.keys(STATUSES).map((name) => [name, noticeOf(EN, name as NoticeName)])) as Readonly<
  Record<NoticeName, Notice>
>;

export interface NoticeView {
  readonly detail?: string | Html | undefined;
  /** Default: English. */
  readonly reader?: Reader;
}

export function noticePage({ title, sentence }: Pick<Notice, "title" | "sentence">, { detail, reader = ENGLISH }: NoticeView = {}): string {
  return page({ reader, title }, markup`<p>${sentence}</p>${typeof detail === "string" ? markup`<p class="quiet">${detail}</p>` : detail}`);
}
