/**
 * The documents that go into a package: its README, and in @parley/cli, which every installation has, the guides and the tutorial.
 *
 * Links lead to what is in the package. Of others, which npm and a reader offline could not follow, the words remain.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ROOT } from "./workspaces.ts";

const WITH_DOCS = "apps/cli";
/** Folders of the repository in the package. Decisions are for those who change Parley. */
const DOCS = { "docs/tutorial": "test/fundamentals/*.test.ts", docs: "docs/*.md" };

/** By their path in the package. */
export function documentsOf(source: string): ReadonlyMap<string, string> {
  const from = new Map([["README.md", `${source}/README.md`]]);
  if (source === WITH_DOCS) {
    for (const [folder, pattern] of Object.entries(DOCS))
      for (const file of globSync(pattern, { cwd: ROOT })) from.set(posix.join(folder, posix.basename(file)), file);
  }
  const to = new Map([...from].map(([path, file]) => [file, path]));
  return new Map([...from].map(([path, file]) => [path, withLinks(path, file, to)]));
}

function withLinks(path: string, file: string, to: ReadonlyMap<string, string>): string {
  const text = readFileSync(join(ROOT, file), "utf8");
  if (!file.endsWith(".md")) return text;
  const link = (whole: string, words: string, target: string) => {
    if (/^([a-z]+:|#)/.test(target)) return whole;
    const [at = "", ...anchor] = target.split(/(?=#)/);
    const inPackage = to.get(posix.normalize(posix.join(posix.dirname(file), at)));
    return inPackage === undefined ? words : `[${words}](${posix.relative(dirname(path), inPackage)}${anchor.join("")})`;
  };
  // Code is as it is.
  return text
    .split(/(^ *```[^]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/!\[[^\]]*\]\([^)]*\)\n*/g, "").replaceAll(LINK, link)))
    .join("");
}

const LINK = /\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^)\s]+)(?: "[^"]*")?\)/g;
