export interface HomePage {
  /** URL of the MCP endpoint. */
  readonly endpoint: string;
  readonly playground: boolean;
  readonly needsToken: boolean;
  readonly hasAccounts: boolean;
}

export function homePage({ endpoint, playground, needsToken, hasAccounts }: HomePage): string {
  const address = escaped(endpoint);
  const play = playground
    ? `<p><a class="play" href="play/">Open the playground</a></p>
<p class="quiet">Call a tool, be asked, answer, and see every message on the way.</p>`
    : `<p class="quiet">The playground is off here. By default it is on only if the server listens on a loopback address (<code>PARLEY_PLAYGROUND</code>).</p>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Parley</title>
<link rel="stylesheet" href="home.css">
<link rel="icon" href="data:,">
<main>
<h1>Parley</h1>
<p class="lead">This is a server for the <a href="https://modelcontextprotocol.io">Model Context Protocol</a> whose tools can stop in the middle
of their work, ask a person, and continue when the answer arrives: seconds or days later.</p>
${play}
<h2>Connect a client</h2>
<p>The endpoint is</p>
<pre tabindex="0" aria-label="Address of the MCP endpoint">${address}</pre>
<p>Most clients accept this configuration:</p>
<pre tabindex="0" aria-label="Configuration of a client">${escaped(JSON.stringify({ mcpServers: { parley: { type: "http", url: endpoint } } }, undefined, 2))}</pre>
${needsToken ? "<p>Callers log in here. Clients that support OAuth do this automatically.</p>" : ""}
<h2>From a terminal</h2>
<pre tabindex="0" aria-label="Commands">parley tools --url ${address}
parley call <em>tool</em> --url ${address}</pre>
${hasAccounts ? '<h2>Your accounts</h2>\n<p><a href="accounts">Connected accounts</a> lists the access that you granted to tools for later calls, and removes it.</p>' : ""}
</main>
</html>
`;
}

/** Escapes text for elements and for attributes in double quotes. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export const STYLE = `:root { color-scheme: light dark; --ink: #1b2330; --quiet: #566072; --paper: #f7f6f3; --card: #fff; --line: #dcdad3; --accent: #1c5f58; --on-accent: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaee; --quiet: #a3acba; --paper: #13161c; --card: #1b2028; --line: #323a46; --accent: #7fd0c4; --on-accent: #0e2320; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 42rem; margin: 0 auto; padding: clamp(2rem, 8vh, 6rem) 1.5rem; }
h1 { font-size: 2.25rem; letter-spacing: -0.02em; margin: 0 0 1rem; }
h2 { font-size: 1.05rem; margin: 2.5rem 0 0.5rem; }
.lead { font-size: 1.15rem; }
.quiet { color: var(--quiet); }
a { color: var(--accent); text-underline-offset: 0.2em; }
.play { display: inline-block; background: var(--accent); color: var(--on-accent); padding: 0.7rem 1.3rem; border-radius: 0.6rem; font-weight: 600; text-decoration: none; }
a:focus-visible, pre:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.9rem 1.1rem; overflow-x: auto; font: 0.9rem/1.5 ui-monospace, monospace; }
`;
