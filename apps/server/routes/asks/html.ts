/**
 * Pages as plain HTML that works without scripts. Templates escape every value that is not the result of a template.
 *
 * The content security policy forbids loading, running, framing and sending anything elsewhere. It allows one inline style sheet, by its
 * hash.
 */
import { hash } from "node:crypto";
import { DATA_HEADERS } from "../../plugins/security-headers.ts";

/** Markup that needs no escaping. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | undefined | readonly Html[];

/** Escapes strings for elements and for attributes in double quotes. `undefined` becomes nothing. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, next, index) => `${text}${rendered(parts[index - 1])}${next}`));
}

function rendered(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("");
  return escaped(String(part));
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#c9ced6, #454b54); --accent: light-dark(#1d4ed8, #8ab4ff); --on-accent: light-dark(#fff, #0b1220); --bad: light-dark(#b42318, #ff9d92); }
* { box-sizing: border-box; }
body { margin: 0; font: 1rem/1.55 system-ui, sans-serif; background: light-dark(#f4f6f9, #14171c); color: light-dark(#1b1f24, #e8eaed); }
main { max-width: 34rem; margin: 8vh auto; padding: 2rem; background: light-dark(#fff, #1c2026); border: 1px solid var(--line); border-radius: .75rem; overflow-wrap: anywhere; }
a { color: var(--accent); }
h1 { margin: 0 0 1rem; font-size: 1.35rem; line-height: 1.3; }
h2 { margin: 0 0 .5rem; font-size: 1.1rem; }
p { margin: 0 0 1rem; }
.list { margin: 0; padding: 0; list-style: none; }
.list > li { padding: 1.25rem 0; border-top: 1px solid var(--line); }
.list .actions { margin-top: 1rem; }
time { white-space: nowrap; }
.done { padding-inline-start: .9rem; border-inline-start: 3px solid var(--accent); }
.said { white-space: pre-line; padding-inline-start: .9rem; border-inline-start: 3px solid var(--accent); }
.quiet { margin-top: .6rem; font-size: .9rem; opacity: .8; }
.account { display: flex; flex-wrap: wrap; gap: .25rem .9rem; align-items: baseline; }
.account button { padding: 0; font-weight: inherit; border: 0; color: var(--accent); text-decoration: underline; }
.bad { color: var(--bad); font-weight: 600; }
label { display: block; font-weight: 600; margin-bottom: .35rem; }
input { width: 100%; padding: .65rem .75rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .5rem; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
button { padding: .65rem 1.3rem; font: inherit; font-weight: 600; border-radius: .5rem; border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 40rem) { main { margin: 0; min-height: 100vh; border: 0; border-radius: 0; } }
`;

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...DATA_HEADERS,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${hash("sha256", STYLE, "base64")}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  "x-frame-options": "DENY",
  // With no-referrer, browsers would send `Origin: null` with the page's own form.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

// The template function is not named `html`, because formatters would reformat the template and change the hash of the style sheet.
export function page(title: string, body: Html, head?: Html): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
${head}
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text;
}
