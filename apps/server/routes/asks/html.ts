/**
 * Pages as plain HTML that works without scripts. Templates escape every value that is not the result of a template.
 *
 * The content security policy forbids loading, running, framing and sending anything elsewhere. It allows one inline style sheet, by its
 * hash. Pages that are more comfortable with a script allow the script of this server and nothing else (`SCRIPTED_HEADERS`). Pages on which
 * secrets are typed have none.
 */
import { hash } from "node:crypto";
import { PAGES_SCRIPT, PAGES_STYLE } from "@parley/web";
import { DATA_HEADERS } from "../../plugins/security-headers.ts";
import type { Reader } from "../../texts/texts.ts";

/** Markup that needs no escaping. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Part = string | number | Html | undefined | readonly Html[];

/** Escapes strings for elements and for attributes in double quotes. `undefined` becomes nothing. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.reduce((text, next, index) => {
      const part = parts[index - 1];
      // A form sends its values back, and they must be those that the question offers.
      const isValue = typeof part === "string" && strings[index - 1]?.endsWith(' value="') === true;
      return `${text}${isValue ? escaped(part) : rendered(part)}${next}`;
    }),
  );
}

function rendered(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("");
  return shown(String(part));
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/**
 * What could make a text read as another one, or as nothing: control characters, and those that change the direction of the text around
 * them. The command line removes the same. Elements have `dir="auto"`, so that texts of either direction need none.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what it finds
const DISGUISES = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function shown(text: string): string {
  return escaped(text.replaceAll(DISGUISES, ""));
}

/** A sentence with parts that are filled in: `{name}` (texts/en.ts). */
export function say(text: string, parts: Readonly<Record<string, Part>> = {}): Html {
  const words = text.split(/\{(\w+)\}/);
  return new Html(words.map((each, index) => (index % 2 === 0 ? shown(each) : rendered(parts[each]))).join(""));
}

const STYLE = `\n${PAGES_STYLE}`;

const POLICY = `default-src 'none'; style-src 'sha256-${hash("sha256", STYLE, "base64")}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/**
 * Trusted types forbid creating markup or script from strings, so that the words of tools and people remain text even if the script has a
 * defect.
 */
const SCRIPTED_POLICY = `${POLICY}; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`;

/** Path of the script below the root of this server. */
export const SCRIPT_PATH = "/pages";

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...DATA_HEADERS,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  "x-frame-options": "DENY",
  // With no-referrer, browsers would send `Origin: null` with the page's own form.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** In place of `PAGE_HEADERS` for a page with a script. */
export const SCRIPTED_HEADERS: Readonly<Record<string, string>> = { "content-security-policy": SCRIPTED_POLICY };

/** What the script of a page knows about its reader. The names of the data are read in apps/web/src/pages. */
export interface Scripted {
  /** The server's clock. The browser's may be wrong. */
  readonly nowMs: number;
  /** Tells the drafts of people apart who use one browser. Says nothing about the person. */
  readonly person: string;
}

export interface PageOptions {
  readonly reader: Reader;
  readonly title: string;
  /** Default: a card with the title as its heading. */
  readonly layout?: "card" | "wide";
  readonly head?: Html | undefined;
  /** If set, the page has a script, and is sent with SCRIPTED_HEADERS. */
  readonly scripted?: Scripted | undefined;
}

// The template function is not named `html`, because formatters would reformat the template and change the hash of the style sheet.
export function page({ reader, title, layout = "card", head, scripted }: PageOptions, body: Html): string {
  const { texts } = reader;
  return markup`<!doctype html>
<html lang="${texts.language}" dir="${texts.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
${head}
${scripted && PAGES_SCRIPT !== undefined ? markup`<script src="${reader.root}${SCRIPT_PATH.slice(1)}/${PAGES_SCRIPT}" defer></script>` : undefined}
<style>${new Html(STYLE)}</style>
</head>
<body${scripted && bodyData(reader, scripted)}>
${
  layout === "wide"
    ? body
    : markup`<main class="card">
<h1>${title}</h1>
${body}
</main>`
}
</body>
</html>
`.text;
}

function bodyData({ texts, locale, zone }: Reader, { nowMs, person }: Scripted): Html {
  return markup` data-now="${nowMs}" data-person="${person}" data-locale="${locale}" data-zone="${zone}" data-words="${JSON.stringify(texts.live)}"`;
}
