/** The playground in a real browser: every dialect by keyboard alone, every kind of field, two tabs, reloads, hostile content, and what axe finds. */
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { findChromium, startChromium } from "../support/chromium.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";

const command = findChromium();
if (command === undefined) {
  console.log("playground.e2e.test.ts skipped: no Chromium here; apt-get install chromium, or name one by CHROMIUM");
}

const ROOT = resolve(import.meta.dirname, "../..");
const DIST = join(ROOT, "apps/web/dist");
const PAGE_BYTES_MAX = 60_000;

const DIALECTS = ["2026-07-28+tasks", "2026-07-28", "2025-11-25+tasks", "2025-11-25", "2025-06-18", "2025-03-26"];

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(ROOT, "apps/web/build.ts")]);
}, 60_000);

test("the page is smaller than 60 kB as it travels", () => {
  const files = globSync("**/*.{html,js,css,svg}", { cwd: DIST });
  const bytes = files.map((file) => gzipSync(readFileSync(join(DIST, file)), { level: 9 }).length);
  expect(files.length).toBeGreaterThan(2);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(PAGE_BYTES_MAX);
});

describe.skipIf(command === undefined)("the playground", () => {
  let deployment: Deployment;
  let browser: Browser;
  let play: string;
  const contexts: BrowserContext[] = [];
  /** What went wrong in any page: violations of its policy, errors of its script. */
  let complaints: string[] = [];

  beforeAll(async () => {
    const tools = ["@parley/gallery", join(import.meta.dirname, "tools/playground.ts")];
    const gallery = `/tmp/parley-playground-${process.pid}`;
    deployment = await startDeployment({ frontEnds: 2, workers: 1, tools, env: { PARLEY_GALLERY_DIR: gallery } });
    play = new URL("/play/", deployment.url).href;
    browser = await startChromium(command ?? "");
  });

  afterAll(async () => {
    await browser?.close();
    await deployment?.close();
  });

  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(complaints.splice(0)).toEqual([]);
  });

  async function open(hash = "", options: BrowserContextOptions = {}, context?: BrowserContext): Promise<Page> {
    const within = context ?? (await browser.newContext({ viewport: { width: 1_360, height: 860 }, ...options }));
    if (!context) contexts.push(within);
    const page = await within.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // A refusal that the page shows is a failed request for the browser.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
    });
    await page.goto(`${play}${hash}`);
    await page.getByRole("button", { name: /^research/ }).waitFor({ state: "attached" });
    return page;
  }

  const at = (dialect: string, tool: string) => `#${new URLSearchParams({ dialect, tool })}`;
  const dialog = (page: Page) => page.getByRole("dialog");
  const result = (page: Page) => page.getByRole("region", { name: /^Result/ });

  async function call(page: Page, tool: string): Promise<void> {
    await page.getByRole("button", { name: `Call ${tool}`, exact: true }).click();
  }

  async function press(page: Page, ...keys: readonly string[]): Promise<void> {
    for (const key of keys) await page.keyboard.press(key);
  }

  async function findNothing(page: Page): Promise<void> {
    const { violations } = await new AxeBuilder({ page })
      .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
      .analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
  }

  test("axe finds nothing", async () => {
    await findNothing(await open());
  });

  test.each(DIALECTS)("by keyboard alone: a call, its question, a refused answer, the answer, the result, in %s", async (dialect) => {
    const page = await open(at(dialect, ""));
    await page.getByRole("searchbox", { name: "Search tools" }).focus();
    await page.keyboard.type("book");
    await press(page, "Tab", "Enter");
    await page.getByLabel("date").focus();
    await page.keyboard.type("12242026");
    await page.getByLabel("time").focus();
    // There are three tables at a time.
    const time = `19:3${DIALECTS.indexOf(dialect)}`;
    await page.keyboard.type(time);
    await press(page, "Enter");

    await dialog(page).waitFor();
    await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("answer-0");
    await page.keyboard.type("40");
    await press(page, "Enter");
    await dialog(page)
      .getByText(/must be <= 20/)
      .waitFor();
    expect(await page.getByLabel("Party size").inputValue()).toBe("40");
    await page.getByLabel("Party size").focus();
    await press(page, "ControlOrMeta+a");
    await page.keyboard.type("4");
    await press(page, "Enter");

    await result(page)
      .getByText(/^Confirmed: table \d+ for 4 on 2026-12-24 at 19:30/)
      .waitFor();
    await page.getByText("completed", { exact: true }).waitFor();
    expect(await dialog(page).count()).toBe(0);
    // The messages are those of the dialect.
    const wire = await page.getByRole("list", { name: "Messages" }).innerText();
    expect(wire).toContain(
      dialect === "2026-07-28+tasks" ? "tasks/update" : dialect === "2026-07-28" ? "tools/call" : "elicitation/create",
    );
  });
});
