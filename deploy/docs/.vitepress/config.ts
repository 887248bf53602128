/**
 * The documentation site: every Markdown file of the repository, with a search that needs no server. `npm run docs` builds it in `out/docs`, and
 * beside it the reference of the API for tool authors.
 *
 * The sidebar is docs/README.md: its shelves are the groups, and its links are the entries.
 */
import { readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../../..");
const LINK = /\[([^\]]+)\]\(([^)\s]+)\)/g;

interface Entry {
  readonly text: string;
  readonly link: string;
}

/** A file's page: README.md is that of its folder. */
function pageOf(file: string): string {
  return `/${file.replace(/(^|\/)README\.md$/, "$1").replace(/\.md$/, "")}`;
}

function sidebar(): { text: string; collapsed: boolean; items: Entry[] }[] {
  const shelves = readFileSync(join(ROOT, "docs/README.md"), "utf8").split(/^## /m).slice(1);
  return shelves.map((shelf) => {
    const entries = new Map<string, Entry>();
    for (const [, text = "", target = ""] of shelf.matchAll(LINK)) {
      const file = posix.join("docs", target.split("#")[0] ?? "");
      if (file.endsWith(".md") && !entries.has(file)) entries.set(file, { text, link: pageOf(file) });
    }
    const text = shelf.slice(0, shelf.indexOf("\n"));
    return { text, collapsed: text === "Decisions", items: [...entries.values()] };
  });
}

/** What the site needs of markdown-it: a rule that sees the tokens of each text. */
interface Markdown {
  readonly core: { readonly ruler: { push(name: string, rule: (state: { tokens: Token[] }) => void): void } };
}

interface Token {
  readonly type: string;
  readonly children: Token[] | null;
  attrGet(name: string): string | null;
}

/** Source files are no pages: the site shows their names without a link. */
function unlinkSources(markdown: Markdown): void {
  markdown.core.ruler.push("unlink-sources", ({ tokens }) => {
    for (const { children } of tokens) {
      if (!children) continue;
      let isDropped = false;
      for (const [index, token] of [...children.entries()].toReversed()) {
        // From the end: a link closes before it opens. Links do not nest.
        if (token.type === "link_close") {
          const opens = children.slice(0, index).findLast(({ type }) => type === "link_open");
          isDropped = /^(?![a-z]+:|#|[^#]*\.md(#|$))/i.test(opens?.attrGet("href") ?? "#");
        }
        if (isDropped && (token.type === "link_close" || token.type === "link_open")) children.splice(index, 1);
      }
    }
  });
}

export default {
  title: "Parley",
  description: "Tools that stop to ask a person, and continue when the answer arrives.",
  srcDir: ROOT,
  outDir: join(ROOT, "out/docs"),
  cacheDir: join(ROOT, "out/.vitepress"),
  srcExclude: ["**/node_modules/**", "out/**", ".parley/**"],
  rewrites: (page: string) => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  cleanUrls: false,
  // test/docs checks all links.
  ignoreDeadLinks: true,
  markdown: { config: unlinkSources },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Guides", link: "/docs/" },
      { text: "Architecture", link: "/docs/architecture" },
      { text: "API", link: "/reference/index.html", target: "_blank" },
    ],
    sidebar: sidebar(),
  },
};
