/** What a person reads on a page is in a file of texts, in every language: no page has words of its own. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import * as webDe from "../../apps/web/texts/de.ts";
import * as webEn from "../../apps/web/texts/en.ts";
import { DE } from "../../apps/server/texts/de.ts";
import { EN } from "../../apps/server/texts/en.ts";

const ROOT = join(import.meta.dirname, "../..");
const WORD = /\p{L}{2,}/u;
/** Names, commands and words of protocols, which are the same in every language. */
const SAME =
  /^(Parley|Model Context Protocol|PARLEY_PLAYGROUND|JSON|book_dinner|parley tools --url|parley call|parley start|parley dev|Inbox:|--url|tool|xn--|kB)$/;
/** What is read, or said by a screen reader. */
const SHOWN = new Set(["aria-label", "placeholder", "title", "label", "alt", "what"]);
/** Functions that show what they are given. */
const SAYS = new Set(["notify", "setBanner", "setSaid", "setCopied"]);

/** Errors and log messages, which are for operators, end without a full stop. */
const SENTENCE = /^[^\n]*\p{L}{2,} [^\n]*[.!?]$/u;

const isWords = (text: string) => WORD.test(text) && !SAME.test(text.trim());

interface Part {
  readonly type: string;
  readonly [name: string]: unknown;
}

/** The words of literals in an expression or element, except in attributes that nobody reads. */
function literals(node: unknown): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  if (Array.isArray(node)) return node.flatMap(literals);
  const part = node as Part;
  if (part.type === "JSXAttribute" && !SHOWN.has(String((part["name"] as Part)["name"]))) return [];
  if (["BinaryExpression", "MemberExpression", "JSXSpreadAttribute"].includes(part.type)) return [];
  if (part.type === "Literal" || part.type === "JSXText") return typeof part["value"] === "string" ? [part["value"]] : [];
  if (part.type === "TemplateElement") return [String((part["value"] as { readonly cooked: string }).cooked)];
  return Object.values(part).flatMap(literals);
}

/** The words of an element itself: a text, an attribute that is read, an expression in it. */
function wordsOf(source: string, file: string): readonly string[] {
  const found: string[] = [];
  const note = (node: unknown) => void found.push(...literals(node).filter(isWords));
  new Visitor({
    JSXElement: (node) => note([node.openingElement.attributes, node.children.filter(({ type }) => type !== "JSXElement")]),
    JSXFragment: (node) => note(node.children.filter(({ type }) => type !== "JSXElement")),
    CallExpression: (node) => {
      if (node.callee.type === "Identifier" && SAYS.has(node.callee.name)) note(node.arguments);
    },
    Literal: (node) => {
      if (typeof node.value === "string" && SENTENCE.test(node.value)) found.push(node.value);
    },
    TemplateLiteral: (node) => {
      const text = node.quasis.map(({ value }) => value.cooked ?? "").join("{}");
      if (SENTENCE.test(text) && !text.includes("<")) found.push(text);
    },
    TaggedTemplateExpression: (node) => {
      if (node.tag.type !== "Identifier" || node.tag.name !== "markup") return;
      const html = node.quasi.quasis.map(({ value }) => value.cooked ?? "").join("{}");
      const read = [...html.matchAll(/ (?:aria-label|placeholder|title|alt)="([^"]*)"/g)].map(([, text = ""]) => text);
      const text = html.replaceAll(/<(style|script|head)\b.*?<\/\1>/gs, " ").replaceAll(/<[^>]*(>|$)|\{\}/g, "\n");
      // A template of attributes alone, such as ` data-risky`, is no text.
      const isAttributes = /^(\{\})?( ?[\w-]+="| [\w-]+$|")/.test(html);
      found.push(...[...read, ...(isAttributes ? [] : text.split("\n"))].map((each) => each.trim()).filter(isWords));
    },
  }).visit(parseSync(file, source).program);
  return found;
}

test("what is looked for is found", () => {
  const words = (source: string) => wordsOf(source, "a.tsx");
  expect(words("<p>Two words</p>")).toEqual(["Two words"]);
  expect(words('<p aria-label="Read" class="quiet pad" title={`Say ${a}`}>{a ? "Yes" : TEXTS.no} {b === "ready" && TEXTS.c}</p>')).toEqual([
    "Read",
    "Say ",
    "Yes",
  ]);
  expect(words("<><b>{many} older lines</b></>")).toEqual([" older lines"]);
  expect(words('notify("Too late"); setClass("plain")')).toEqual(["Too late"]);
  expect(words('markup`<p class="quiet">Hello ${name}</p>`; markup` data-risky`; markup`<b title="Read"></b>`')).toEqual(["Hello", "Read"]);
  expect(words("<h1>Parley</h1>")).toEqual([]);
  expect(words('show({ problem: `${title} cannot be reached.` }); log("not reached")')).toEqual(["{} cannot be reached."]);
});

const FILES = globSync(["apps/web/src/**/*.{ts,tsx}", "apps/server/routes/{asks,inbox,accounts,home,login}/*.ts"], { cwd: ROOT }).filter(
  (file) => !file.includes(".test."),
);

test("no page has words of its own", () => {
  expect(FILES.length).toBeGreaterThan(50);
  // What the view tells the model.
  const forModels = /^The user has answered a question of /;
  const found = FILES.flatMap((file) =>
    wordsOf(readFileSync(join(ROOT, file), "utf8"), file)
      .filter((words) => !forModels.test(words))
      .map((words) => `${file}: ${words.trim()}`),
  );
  expect(found).toEqual([]);
});

type Texts = { readonly [name: string]: string | Texts };

function flat(texts: Texts, path = ""): readonly (readonly [path: string, text: string])[] {
  return Object.entries(texts).flatMap(([name, value]) =>
    typeof value === "string" ? [[`${path}/${name}`, value] as const] : flat(value, `${path}/${name}`),
  );
}

/** Words that German has taken as they are, and texts without any. */
const ALIKE = /^(Name|Token|Playground|Normal|Filter(: .*)?)$/;

test.each([
  ["the playground and the view, in German", webEn as unknown as Texts, webDe as unknown as Texts],
  ["the pages, in German", EN as unknown as Texts, DE as unknown as Texts],
])("%s: every text is there with its parts, and none is left in English", (_what, english, translated) => {
  const parts = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([part]) => part).toSorted();
  const all = new Map(flat(translated));
  expect([...all.keys()]).toEqual(flat(english).map(([path]) => path));
  for (const [path, text] of flat(english)) {
    const other = all.get(path) ?? "";
    expect(parts(other), path).toEqual(parts(text));
    expect(other.trim(), path).not.toBe("");
    if (isWords(text.replaceAll(/\{\w+\}/g, "")) && !ALIKE.test(text) && !/\/(language|direction)$/.test(path))
      expect(other, path).not.toBe(text);
  }
});
