/** The markup of the page of connected accounts. */
import type { AtProvider, Caller, GrantAbout, ListedGrant } from "@parley/core";
import type { Account } from "../../front-end/visitors.ts";
import { filled, type Reader } from "../../texts/texts.ts";
import { type Html, markup, page, say } from "../asks/html.ts";
import { moment } from "../asks/moment.ts";
import { inboxLink, loggedInAs } from "../asks/views.ts";

export interface AccountsView {
  readonly reader: Reader;
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

export function accountsPage({ reader, grants, caller, account, done, problem }: AccountsView): string {
  const { accounts } = reader.texts;
  const said = done === undefined ? undefined : markup`<p class="done" role="status">${done}</p>`;
  const fault = problem === undefined ? undefined : markup`<p class="alert" role="alert">${problem}</p>`;
  const list =
    grants.length === 0
      ? markup`<p>${accounts.none}</p>`
      : markup`<p>${accounts.some}</p>
<ul class="list">${grants.map((grant) => granted(reader, grant))}</ul>`;
  return page(
    { reader, title: accounts.title },
    markup`${said}${fault}${list}${inboxLink(reader)}${loggedInAs(reader.texts, caller, account)}`,
  );
}

function granted(reader: Reader, { grant, title, host, token }: AccountView): Html {
  const { accounts } = reader.texts;
  const { id, consent, about, keptAtMs, usedAtMs, endsAtMs } = grant;
  const at = host === undefined || host === title ? undefined : markup` (${host})`;
  return markup`<li>
<h2>${about.upstream}</h2>
<p>${say(accounts.uses, { title: markup`<strong>${title}</strong>${at}` })}</p>
<ul class="scopes" translate="no">${about.scopes.map((scope) => markup`<li>${scope}</li>`)}</ul>
<p class="quiet">${say(accounts.times, { granted: moment(reader, keptAtMs), used: moment(reader, usedAtMs), ends: moment(reader, endsAtMs) })}</p>
<form method="post">
<input type="hidden" name="grant" value="${id}"><input type="hidden" name="consent" value="${consent}"><input type="hidden" name="token" value="${token}">
<div class="actions"><button name="action" value="revoke">${filled(accounts.remove, { name: about.upstream })}</button></div>
</form>
</li>`;
}

export function revokedSentence({ texts: { accounts } }: Reader, { upstream }: GrantAbout, title: string, atProvider: AtProvider): string {
  return `${filled(accounts.removed, { name: upstream })} ${filled(accounts[atProvider], { title })}`;
}
