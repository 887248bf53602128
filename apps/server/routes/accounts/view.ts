/** The text and markup of the page of connected accounts. */
import type { AtProvider, Caller, GrantAbout, ListedGrant } from "@parley/core";
import type { Account } from "../../front-end/visitors.ts";
import { ENGLISH } from "../../texts/texts.ts";
import { type Html, markup, page } from "../asks/html.ts";
import { loggedInAs } from "../asks/views.ts";

export interface AccountsView {
  readonly grants: readonly AccountView[];
  readonly caller: Caller;
  readonly account: Account | undefined;
  /** What was just done. */
  readonly done?: string;
  readonly problem?: string;
}

interface AccountView {
  readonly grant: ListedGrant;
  /** The name of the provider, as people know it. */
  readonly title: string;
  /** Where people log in. Undefined if the provider is no longer set up. */
  readonly host: string | undefined;
  /** Proves that the form comes from a page that this person was shown. */
  readonly token: string;
}

export function accountsPage({ grants, caller, account, done, problem }: AccountsView): string {
  const said = done === undefined ? undefined : markup`<p class="done" role="status">${done}</p>`;
  const fault = problem === undefined ? undefined : markup`<p class="bad" role="alert">${problem}</p>`;
  const list =
    grants.length === 0
      ? markup`<p>No account of yours is connected: no tool has access to one for later calls.</p>`
      : markup`<p>Tools use these accounts for your calls without asking you again.</p>
<ul class="list">${grants.map(granted)}</ul>`;
  return page(
    { reader: ENGLISH, title: "Connected accounts" },
    markup`${said}${fault}${list}${loggedInAs(ENGLISH.texts, caller, account)}`,
  );
}

function granted({ grant, title, host, token }: AccountView): Html {
  const { id, consent, about, keptAtMs, usedAtMs, endsAtMs } = grant;
  const at = host === undefined || host === title ? undefined : markup` (${host})`;
  return markup`<li>
<h2>${about.upstream}</h2>
<p>Uses your account at <strong>${title}</strong>${at} for:</p>
<ul>${about.scopes.map((scope) => markup`<li>${scope}</li>`)}</ul>
<p class="quiet">Granted ${time(keptAtMs)}, last used ${time(usedAtMs)}. Ends ${time(endsAtMs)} unless a call uses it before then.</p>
<form method="post">
<input type="hidden" name="grant" value="${id}"><input type="hidden" name="consent" value="${consent}"><input type="hidden" name="token" value="${token}">
<div class="actions"><button name="action" value="revoke">Remove access of ${about.upstream}</button></div>
</form>
</li>`;
}

/** In UTC, because the page has no script that could know the person's zone. */
function time(ms: number): Html {
  const text = new Date(ms).toISOString();
  return markup`<time datetime="${text}">${text.slice(0, 10)} ${text.slice(11, 16)} UTC</time>`;
}

export function revokedSentence({ upstream }: GrantAbout, title: string, atProvider: AtProvider): string {
  const removed = `The access of ${upstream} was removed. Its next call asks you again.`;
  switch (atProvider) {
    case "ended":
      return `${removed} ${title} ended it as well.`;
    case "unsupported":
      return `${removed} ${title} cannot be asked to end it as well: you can end it in your account there.`;
    case "failed":
      return `${removed} ${title} could not be asked to end it as well: you can end it in your account there.`;
  }
}
