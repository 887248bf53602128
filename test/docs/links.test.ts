/** Every link between pages leads to an existing file and heading, and every runbook entry that alerts name exists. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const pages = globSync(["*.md", "{docs,deploy,apps,bench,packages,test}/**/*.md"], {
  cwd: ROOT,
  exclude: (path) => path.includes("node_modules"),
});

/** As GitHub makes them of headings. */
function anchorsOf(page: string): Set<string> {
  const text = readFileSync(join(ROOT, page), "utf8").replaceAll(/^( *)```[\s\S]*?^\1```/gm, "");
  const slugs = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return new Set(slugs);
}

/** What is wrong with a link, if anything is. */
function problem(page: string, link: string): string | undefined {
  const [path = "", anchor] = link.split("#", 2);
  const target = path === "" ? page : relative(ROOT, join(ROOT, dirname(page), path));
  if (!existsSync(join(ROOT, target))) return `${page}: ${link} is not there`;
  if (anchor === undefined || statSync(join(ROOT, target)).isDirectory() || !target.endsWith(".md")) return undefined;
  return anchorsOf(target).has(anchor) ? undefined : `${page}: ${link} has no such heading`;
}

function linksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), "utf8").replaceAll(/^( *)```[\s\S]*?^\1```/gm, "");
  return [...text.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
}

test("every link in a document leads to a file and a heading", () => {
  const links = pages.flatMap((page) => linksOf(page).map((link) => ({ page, link })));
  expect(links.length).toBeGreaterThan(300);
  expect(links.map(({ page, link }) => problem(page, link)).filter((each) => each !== undefined)).toEqual([]);
});

test("every alert names an entry of the runbook, and those that page have one of their own", () => {
  const alerts = readFileSync(join(ROOT, "deploy/prometheus/alerts.yml"), "utf8").split("- alert: ").slice(1);
  expect(alerts.length).toBeGreaterThan(20);
  const runbook = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
  for (const alert of alerts) {
    const [name = ""] = alert.split("\n", 1);
    const [, link = ""] = /runbook: (\S+)/.exec(alert) ?? [];
    expect(link, name).toBe(`docs/operations.md#${alert.includes("severity: page") ? name.toLowerCase() : "tickets"}`);
    expect(problem("README.md", link), name).toBeUndefined();
    expect(runbook, name).toContain(name);
  }
});

test("every alert is fired by a test of its rule", () => {
  const rules = readFileSync(join(ROOT, "deploy/prometheus/alerts.yml"), "utf8");
  const tested = new Set(readFileSync(join(ROOT, "deploy/prometheus/alerts.test.yml"), "utf8").match(/alertname="\w+"/g));
  const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
  expect(names.filter((name) => !tested.has(`alertname="${name}"`))).toEqual([]);
});
