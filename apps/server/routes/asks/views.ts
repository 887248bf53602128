/** The texts and markup of the pages of asks. */
import { addressOf, type Caller, type FilesWanted, type OpenPage } from "@parley/core";
import type { Account } from "../../front-end/visitors.ts";
import { formatBytes } from "./upload.ts";
import { type Html, markup, page } from "./html.ts";

export interface Shown {
  readonly page: OpenPage;
  readonly caller: Caller;
  readonly account: Account | undefined;
  /** Proves that the form comes from a page that this person was shown. */
  readonly token: string;
  readonly problem?: string;
}

/** Longest secret. Keys and certificates fit. */
export const SECRET_CHARS_MAX = 16_384;

export function secretPage({ page: { ask, message, call }, caller, account, token, problem }: Shown): string {
  const fault = problem === undefined ? undefined : markup`<p class="bad" id="problem" role="alert">${problem}</p>`;
  // The control has the focus, so a screen reader says what it is described by, and nothing that stands before it.
  const described = problem === undefined ? "said note" : "problem said note";
  const invalid = problem === undefined ? undefined : markup` aria-invalid="true"`;
  return page(
    "A secret is required",
    markup`${toolAsks(message, call.name)}
<form method="post" autocomplete="off">
${hiddenFields(ask.digest, token)}
${fault}
<label for="secret">Secret</label>
<input id="secret" name="secret" type="password" maxlength="${SECRET_CHARS_MAX}" required autofocus autocomplete="off" spellcheck="false" aria-describedby="${described}"${invalid}>
<p class="quiet" id="note">It is sent to the tool encrypted. Neither your client nor its model sees it.</p>
${buttons("Send")}
</form>
${loggedInAs(caller, account)}`,
  );
}

export function filesPage({
  wanted,
  shown: { page: asked, caller, account, token, problem },
}: {
  readonly wanted: FilesWanted;
  readonly shown: Shown;
}): string {
  const { ask, message, call } = asked;
  const { accept, bytesMax, countMax } = wanted;
  const fault = problem === undefined ? undefined : markup`<p class="bad" id="problem" role="alert">${problem}</p>`;
  const described = problem === undefined ? "said note" : "problem said note";
  const invalid = problem === undefined ? undefined : markup` aria-invalid="true"`;
  const what =
    countMax === 1 ? `One file of at most ${formatBytes(bytesMax)}` : `At most ${countMax} files of ${formatBytes(bytesMax)} each`;
  const types = accept.length === 0 ? "" : `, of these types: ${accept.join(", ")}`;
  return page(
    countMax === 1 ? "A file is required" : "Files are required",
    markup`${toolAsks(message, call.name)}
<form method="post" enctype="multipart/form-data" id="upload">
${hiddenFields(ask.digest, token)}
${fault}
<label for="file">${countMax === 1 ? "File" : "Files"}</label>
<input id="file" name="file" type="file" required autofocus${countMax === 1 ? undefined : markup` multiple`} accept="${accept.join(",")}" aria-describedby="${described}"${invalid}>
<p class="quiet" id="note">${what}${types}. Only the tool gets ${countMax === 1 ? "it" : "them"}; your client and its model do not.</p>
</form>
<form method="post" id="no">${hiddenFields(ask.digest, token)}</form>
<div class="actions"><button class="main" form="upload" name="action" value="accept">Upload</button><button form="no" name="action" value="decline">Decline</button></div>
${loggedInAs(caller, account)}`,
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

export function grantPage({ shown: { page: asked, caller, account, token, problem }, title, scopes, action }: GrantView): string {
  const fault = problem === undefined ? undefined : markup`<p class="bad" role="alert">${problem}</p>`;
  return page(
    `Access to ${title}`,
    markup`${toolAsks(asked.message, asked.call.name)}
<p>It wants to use your account at <strong>${title}</strong> for:</p>
<ul>${scopes.map((scope) => markup`<li>${scope}</li>`)}</ul>
<form method="post" action="${action}">
${hiddenFields(asked.ask.digest, token)}
${fault}
<p class="quiet">You log in there and decide whether to allow it. The tool can use the access until it ends. Neither your client nor its model sees it.</p>
${buttons(`Continue to ${title}`)}
</form>
${loggedInAs(caller, account)}`,
  );
}

export function visitPage(
  { page: asked, caller, account, token, problem }: Shown,
  { host, action }: { readonly host: string; readonly action: string },
): string {
  const fault = problem === undefined ? undefined : markup`<p class="bad" role="alert">${problem}</p>`;
  return page(
    `A visit to ${host}`,
    markup`${toolAsks(asked.message, asked.call.name)}
<p>It sends you to <strong>${host}</strong>, and continues when you come back from there.</p>
<form method="post" action="${action}">
${hiddenFields(asked.ask.digest, token)}
${fault}
<p class="quiet">What you do there is between you and ${host}. Check that this is the site you expect.</p>
${buttons(`Continue to ${host}`)}
</form>
${loggedInAs(caller, account)}`,
  );
}

/**
 * Leads to another site by `refresh` instead of a redirect, because browsers apply the page's form-action policy to redirects of its form
 * too, and a provider may redirect to anywhere.
 */
export function awayPage(title: string, url: string): string {
  return page(
    `To ${title}`,
    markup`<p>You are on your way to <a href="${url}" rel="noreferrer">${title}</a>.</p>`,
    markup`<meta http-equiv="refresh" content="0; url=${url}">`,
  );
}

function toolAsks(message: string, tool: string): Html {
  return markup`<p>The tool <strong>${tool}</strong> asks you:</p>
<p class="said" id="said" dir="auto">${message}</p>`;
}

function hiddenFields(digest: string, token: string): Html {
  return markup`<input type="hidden" name="shown" value="${digest}"><input type="hidden" name="token" value="${token}">`;
}

function buttons(send: string): Html {
  return markup`<div class="actions"><button class="main" name="action" value="accept">${send}</button><button name="action" value="decline" formnovalidate>Decline</button></div>`;
}

/** `account`: how the person changes that. Undefined if a token or a proxy says who they are. */
export function loggedInAs({ authenticatedBy, names, principal }: Caller, account: Account | undefined): Html | undefined {
  if (authenticatedBy === "nobody") return undefined;
  const sentence = markup`You are logged in as ${addressOf(names) ?? principal}.`;
  if (!account) return markup`<p class="quiet">${sentence}</p>`;
  return markup`<form class="quiet account" method="post" action="${account.out}"><span>${sentence}</span> <a href="${account.other}">Use another account</a> <button>Log out</button></form>`;
}

export function loginAs({ other }: Account): Html {
  return markup`<p class="quiet"><a href="${other}">Use another account</a></p>`;
}

export interface Notice {
  readonly status: number;
  readonly title: string;
  readonly sentence: string;
}

/** Pages that consist of one sentence. */
export const NOTICES = {
  accepted: {
    status: 200,
    title: "Thank you",
    sentence: "The tool has received your answer, and continues. You can close this page.",
  },
  granted: {
    status: 200,
    title: "Thank you",
    sentence: "You granted the access, and the tool continues. You can close this page.",
  },
  returned: {
    status: 200,
    title: "Welcome back",
    sentence: "The tool has been notified that you are back, and continues. You can close this page.",
  },
  "not-started": {
    status: 400,
    title: "Not started here",
    sentence:
      "You did not start this in this browser, or you started it more than ten minutes ago, so nothing was sent: open the page again from your client.",
  },
  "started-by-another": {
    status: 403,
    title: "Not yours",
    sentence: "This was started by another person, so nothing was sent: open the page again from your client.",
  },
  declined: { status: 200, title: "Declined", sentence: "You declined, and the tool has been notified. You can close this page." },
  completed: {
    status: 200,
    title: "Already done",
    // After a double click the browser shows the reply to the second click.
    sentence:
      "This question was already answered, perhaps by your own first click, and what came later changed nothing. You can close this page.",
  },
  closed: {
    status: 410,
    title: "No longer open",
    sentence: "This question is closed: it was declined or withdrawn, its deadline has passed, or its task has ended. Nothing was sent.",
  },
  "of-others": { status: 403, title: "Not for you", sentence: "This question is for another person." },
  unknown: { status: 404, title: "Not found", sentence: "This question does not exist, is not for you, or is no longer open." },
  stale: {
    status: 409,
    title: "Out of date",
    sentence: "The form is out of date for this question, so nothing was sent: open the page again from your client.",
  },
  foreign: {
    status: 403,
    title: "Refused",
    sentence: "This form was sent from another page, so nothing was sent: open the page again from your client.",
  },
  unreadable: {
    status: 400,
    title: "Not understood",
    sentence: "The request does not come from the form of this page, so nothing was sent.",
  },
  large: { status: 413, title: "Too large", sentence: "Your answer is larger than this page accepts, so nothing was sent." },
  late: {
    status: 408,
    title: "Too slow",
    sentence: "Your answer took too long to arrive, so nothing was sent: go back and try again, on a faster connection if you can.",
  },
  "logged-out": {
    status: 401,
    title: "Log in",
    sentence: "You are not logged in, or your login has expired, so nothing was sent: open the page again.",
  },
  "no-login": {
    status: 401,
    title: "Log in",
    sentence: "This page is for people who are logged in, and this server has no login for browsers: ask its operator.",
  },
  "login-refused": {
    status: 401,
    title: "Not logged in",
    sentence: "The login was refused, or was started elsewhere or too long ago: open the page again from your client.",
  },
  left: {
    status: 200,
    title: "Logged out",
    sentence: "This browser is logged out here. Where you logged in, it may still be logged in.",
  },
  refused: { status: 403, title: "Not allowed", sentence: "Your account may not answer questions here." },
  busy: {
    status: 429,
    title: "Too many requests",
    sentence: "You have sent too many requests, so nothing was sent: try again in a moment.",
  },
  away: {
    status: 503,
    title: "Not available",
    sentence: "The server cannot do this right now, and nothing was sent: try again in a moment.",
  },
  // Redis may have recorded an answer and not said so in time.
  unsure: {
    status: 503,
    title: "Not available",
    sentence:
      "The server cannot do this right now. If you sent something, open the page again in a moment: it shows whether it was recorded.",
  },
  broken: {
    status: 500,
    title: "Something went wrong",
    sentence: "The server could not do this. If you sent something, open the page again: it shows whether it was recorded.",
  },
} as const satisfies Readonly<Record<string, Notice>>;

export type NoticeName = keyof typeof NOTICES;

export function noticePage({ title, sentence }: Notice, detail?: string | Html): string {
  return page(title, markup`<p>${sentence}</p>${typeof detail === "string" ? markup`<p class="quiet">${detail}</p>` : detail}`);
}
