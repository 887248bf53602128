/** The markup of the page at /. Its style sheet has the tokens of every other page, and is a file, which the reference of the API uses too. */
import { TOKENS_STYLE } from "@parley/web";
import type { Reader } from "../../texts/texts.ts";
import { type Html, markup, say } from "../asks/html.ts";

export interface HomePage {
  readonly reader: Reader;
  /** URL of the MCP endpoint. */
  readonly endpoint: string;
  readonly playground: boolean;
  readonly needsToken: boolean;
  /** Whether people find their questions at /inbox, and not only at the address that the terminal has. */
  readonly hasInbox: boolean;
  readonly hasAccounts: boolean;
  readonly hasApprovals: boolean;
}

export function homePage({ reader, endpoint, playground, needsToken, hasInbox, hasAccounts, hasApprovals }: HomePage): string {
  const { texts } = reader;
  const { home } = texts;
  const protocol = markup`<a href="https://modelcontextprotocol.io">Model Context Protocol</a>`;
  const configuration = JSON.stringify({ mcpServers: { parley: { type: "http", url: endpoint } } }, undefined, 2);
  const block = (label: string, content: Html | string) => markup`<pre tabindex="0" translate="no" aria-label="${label}">${content}</pre>`;
  return markup`<!doctype html>
<html lang="${texts.language}" dir="${texts.direction}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Parley</title>
<link rel="stylesheet" href="home.css">
<link rel="icon" href="data:,">
<main>
<h1>Parley</h1>
<p class="lead">${say(home.lead, { protocol })}</p>
${
  playground
    ? markup`<p><a class="play" href="play/">${home.play}</a></p>
<p class="quiet">${home.playNote}</p>`
    : markup`<p class="quiet">${say(home.playOff, { setting: markup`<code translate="no">PARLEY_PLAYGROUND</code>` })}</p>`
}
<h2>${home.asked}</h2>
<p>${hasInbox ? say(home.inboxNote, { inbox: markup`<a href="inbox">${home.inbox}</a>` }) : say(home.inboxPrinted, { ...PRINTED, command: code(`parley inbox --url ${endpoint}`) })}</p>
${hasApprovals ? markup`<p>${say(home.approvalsNote, { approvals: markup`<a href="approvals">${texts.approvals.title}</a>` })}</p>` : undefined}
<h2>${home.connect}</h2>
<p>${home.endpoint}</p>
${block(home.endpointLabel, endpoint)}
<p>${home.configuration}</p>
${block(home.configurationLabel, configuration)}
${needsToken ? markup`<p>${home.login}</p>` : undefined}
<h2>${home.terminal}</h2>
${block(
  home.terminalLabel,
  markup`parley tools --url ${endpoint}
parley call <em>tool</em> --url ${endpoint}`,
)}
${hasAccounts ? markup`<h2>${home.accounts}</h2>\n<p>${say(home.accountsNote, { accounts: markup`<a href="accounts">${texts.accounts.title}</a>` })}</p>` : undefined}
</main>
</html>
`.text;
}

function code(text: string): Html {
  return markup`<code translate="no">${text}</code>`;
}

/** What prints the address of an inbox that needs no login, and after which word. `parley server` prints none: its logs would keep the ticket. */
const PRINTED = { start: code("parley start"), dev: code("parley dev"), word: code("Inbox:"), setting: code("PARLEY_AUTH=required") };

export const STYLE = `${TOKENS_STYLE}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.6; }
main { max-width: 42rem; margin: 0 auto; padding: clamp(2rem, 8vh, 6rem) 1.5rem; }
h1 { font-size: 2.25rem; letter-spacing: -0.02em; margin: 0 0 1rem; }
h2 { font-size: 1.05rem; margin: 2.5rem 0 0.5rem; }
.lead { font-size: 1.15rem; }
.quiet { color: var(--quiet); }
a { color: var(--accent); text-underline-offset: 0.2em; }
.play { display: inline-block; background: var(--accent); color: var(--accent-ink); padding: 0.7rem 1.3rem; border-radius: 0.6rem; font-weight: 600; text-decoration: none; }
a:focus-visible, pre:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.9rem 1.1rem; overflow-x: auto; font: 0.9rem/1.5 var(--mono); }
`;
