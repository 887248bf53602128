/**
 * The playground in a real browser: every dialect with the keyboard alone, every kind of field, two tabs, reloads, hostile content, and
 * what axe reports.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { PLAYGROUND_DIRECTORY } from "@parley/web";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { findNothing } from "../support/axe.ts";
import { describedAs, findChromium, startChromium } from "../support/chromium.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { IN_TIME } from "../support/in-time.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { type FrontEnd, startFrontEnd } from "../support/processes.ts";
import { translate } from "../support/translate.ts";
import { until } from "../support/until.ts";
import { freePorts } from "../support/free-ports.ts";

const command = findChromium();
if (command === undefined) {
  console.log("playground.e2e.test.ts skipped: no Chromium here; apt-get install chromium, or name one by CHROMIUM");
}

const ROOT = resolve(import.meta.dirname, "../..");
/** What one thing on a page may take, on a machine that is busy with others. */
const WAIT_MS = 60_000;
const PAGE_BYTES_MAX = 60_000;
/** A browser takes seconds to show a megabyte in a field, which is the usual bound. */
const BODY_BYTES_MAX = 100_000;
/** Bounds for a machine that does much else; docs/playground.md has the figures. */
const LONGEST_TASK_MS = 2_000;
const FRAMES_PER_SECOND_MIN = 5;

/** An approval that cannot be undone, whose arguments may be changed. */
const RULES = `
default: allow
rules: [{ name: posts, title: Posting, tools: [post], action: approve, by: tenant, risk: high, edit: true }]
`;

/** Before them, forms have no defaults: a default stands in the description of its field. */
const WITH_DEFAULTS = ["2026-07-28+tasks", "2026-07-28", "2025-11-25+tasks", "2025-11-25"];
const DIALECTS = [...WITH_DEFAULTS, "2025-06-18", "2025-03-26"];

/** Each dialect on a page of its own, all at the same time: most of it is waiting. */
async function inEach(dialects: readonly string[], work: (dialect: string) => Promise<void>): Promise<void> {
  const ends = await Promise.allSettled(dialects.map(work));
  for (const [index, end] of ends.entries()) if (end.status === "rejected") throw new Error(`in ${dialects[index]}`, { cause: end.reason });
}

test("the page is smaller than 60 kB as it travels", () => {
  const files = globSync("**/*.{html,js,css,svg}", { cwd: PLAYGROUND_DIRECTORY });
  const bytes = files.map((file) => gzipSync(readFileSync(join(PLAYGROUND_DIRECTORY, file)), { level: 9 }).length);
  expect(files.length).toBeGreaterThan(2);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(PAGE_BYTES_MAX);
});

// A browser draws when it gets to it: what is wrong is wrong twice.
describe.skipIf(command === undefined)("the playground", { retry: 1 }, () => {
  let directory: string;
  let deployment: Deployment;
  let browser: Browser;
  let play: string;
  const contexts: BrowserContext[] = [];
  /** What went wrong in any page: violations of its policy, errors of its script. */
  const complaints: string[] = [];

  /** A front end whose callers need a token of that issuer. */
  function guardedFrontEnd(issuer: Issuer, settings: Readonly<Record<string, string>> = {}): Promise<FrontEnd> {
    return startFrontEnd({
      REDIS_URL: deployment.redis.url,
      PARLEY_PREFIX: deployment.redis.prefix,
      PARLEY_TOOLS: join(import.meta.dirname, "tools/playground.ts"),
      PARLEY_AUTH: "required",
      PARLEY_AUTH_ISSUERS: issuer.url,
      PARLEY_PUBLIC_URL: "http://localhost:3000",
      ...settings,
    });
  }

  beforeAll(async () => {
    const tools = ["@parley/gallery", join(import.meta.dirname, "tools/playground.ts")];
    const gallery = `/tmp/parley-playground-${process.pid}`;
    directory = await mkdtemp(join(tmpdir(), "parley-playground-"));
    const rules = join(directory, "rules.yaml");
    await writeFile(rules, RULES);
    deployment = await startDeployment({
      frontEnds: 1,
      workers: 1,
      tools,
      env: { PARLEY_GALLERY_DIR: gallery, PARLEY_RULES: rules },
      frontEndEnv: { PARLEY_BODY_BYTES_MAX: String(BODY_BYTES_MAX) },
    });
    play = new URL("/play/", deployment.url).href;
    browser = await startChromium(command ?? "");
  });

  afterAll(async () => {
    await browser?.close();
    await deployment?.close();
    if (directory) await rm(directory, { recursive: true, force: true });
  });

  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(complaints.splice(0)).toEqual([]);
  });

  async function open(hash = "", options: BrowserContextOptions = {}, context?: BrowserContext, from = play): Promise<Page> {
    const within = context ?? (await browser.newContext({ viewport: { width: 1_360, height: 860 }, ...options }));
    if (!context) contexts.push(within);
    within.setDefaultTimeout(WAIT_MS);
    const page = await within.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // A refusal that the page shows is a failed request for the browser, and plain http lacks what only https has.
      const isExpected = /^(Failed to load resource|The Cross-Origin-Opener-Policy header has been ignored)/.test(message.text());
      if (message.type() === "error" && !isExpected) complaints.push(message.text());
    });
    await page.goto(`${from}${hash}`);
    // Before 2025-06-18 a tool has no title.
    const first = /^(Search the gallery|research)/;
    if (from === play) await page.getByRole("button", { name: first, includeHidden: true }).waitFor({ state: "attached" });
    return page;
  }

  const at = (dialect: string, tool: string) => `#${new URLSearchParams({ dialect, tool }).toString()}`;
  const dialog = (page: Page) => page.getByRole("dialog");
  const result = (page: Page) => page.getByRole("region", { name: /^Result/ });

  async function call(page: Page, tool: string): Promise<void> {
    await page.getByRole("button", { name: `Call ${tool}`, exact: true }).click();
  }

  async function press(page: Page, ...keys: readonly string[]): Promise<void> {
    for (const key of keys) await page.keyboard.press(key);
  }

  const focused = (page: Page) =>
    page.evaluate<string>("(document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent.trim()");

  /** Of a few choices, which are all shown. */
  async function choose(page: Page, label: string, choice: string): Promise<void> {
    await dialog(page).getByRole("radiogroup", { name: label }).getByLabel(choice, { exact: true }).check();
  }

  /** A question can be answered half a second after it has appeared. */
  async function canAnswer(page: Page): Promise<void> {
    await expect.poll(() => dialog(page).getByRole("button", { name: "Answer" }).isEnabled()).toBe(true);
  }

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
    // A screen reader says it before the field that has the focus.
    expect(await describedAs(page, "dialog")).toBe("How many people will be dining?");
    await canAnswer(page);
    await page.keyboard.type("40");
    await press(page, "Enter");
    await dialog(page)
      .getByText(/must be between 1 and 20/)
      .waitFor();
    expect(await page.getByLabel("Party size").inputValue()).toBe("40");
    await page.getByLabel("Party size").focus();
    await press(page, "ControlOrMeta+a");
    await page.keyboard.type("4");
    await press(page, "Enter");

    await result(page)
      .getByText(new RegExp(`^Confirmed: table \\d+ for 4 on 2026-12-24 at ${time}`))
      .waitFor();
    await page.getByText("completed", { exact: true }).waitFor();
    await expect.poll(() => dialog(page).count()).toBe(0);
    // The focus is where it was before the question.
    await expect.poll(() => focused(page)).toBe("Time");
    // The messages are those of the dialect.
    const wire = await page.getByRole("list", { name: "Messages" }).innerText();
    expect(wire).toContain(
      dialect === "2026-07-28+tasks" ? "tasks/update" : dialect === "2026-07-28" ? "tools/call" : "elicitation/create",
    );
  });

  test("a page that the browser translates says what is so now, and not what was so as it was translated", async () => {
    const page = await open(at("2026-07-28+tasks", "book_dinner"));
    await page.getByLabel("date").fill("2026-12-24");
    await page.getByLabel("time").fill("20:45");
    await translate(page);
    await page.getByRole("button", { name: /Call book_dinner/ }).click();
    await dialog(page).getByText("How many people will be dining?").waitFor();
    const status = page.locator(".run .status");
    await expect.poll(() => status.innerText()).toBe("waits for you");
    await translate(page);
    expect(await status.innerText()).toBe("«waits for you»");
    await page.getByLabel("Party size").fill("40");
    await dialog(page)
      .getByRole("button", { name: /Answer/ })
      .click();
    await dialog(page)
      .getByText(/must be between 1 and 20/)
      .waitFor();
    await translate(page);
    await page.getByLabel("Party size").fill("4");
    await dialog(page)
      .getByRole("button", { name: /Answer/ })
      .click();
    await page.getByText(/^Confirmed: table/).waitFor();
    await expect.poll(() => status.innerText()).toBe("completed");
    // What machines read is not translated.
    await translate(page);
    expect(await page.locator(".messages, .timeline .name, .tool-id").getByText("«").count()).toBe(0);
    await page.getByRole("button", { name: /Close/ }).click();
    await status.waitFor({ state: "detached" });
  });

  test("every kind of field: input becomes what the tool asked for, and violations are shown at their fields", async () => {
    const page = await open(at("2026-07-28+tasks", "every_field"));
    await call(page, "every_field");
    await dialog(page).waitFor();
    await findNothing(page);

    await canAnswer(page);
    // Nothing is typed yet: what is missing is said at each field, and the first one has the focus.
    await press(page, "Enter");
    await expect.poll(() => dialog(page).locator(".problem").count()).toBe(7);
    await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("answer-0");

    const field = (label: string) => dialog(page).getByLabel(label);
    await field("Name").fill("A");
    await field("Code").fill("abc");
    await field("E-mail").fill("ann@example.com");
    await field("Day").fill("2026-12-24");
    await field("Moment").fill("2026-12-24T19:30:00");
    await field("Price").fill("1.5");
    await choose(page, "At the window", "Yes");
    await choose(page, "Plan", "plus");
    await choose(page, "Size", "Large");
    await field("mon").check();
    await field("wed").check();
    await press(page, "Enter");

    // Now the server has judged it.
    await dialog(page).getByText("must have between 2 and 40 characters").waitFor();
    expect(await dialog(page).locator(".problem").allInnerTexts()).toEqual([
      "must have between 2 and 40 characters",
      "is not written as expected",
    ]);
    expect(await field("Name").getAttribute("aria-invalid")).toBe("true");
    await field("Name").fill("Ann");
    await field("Code").fill("ABC");
    await field("About you").fill("two\nlines");
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await result(page).waitFor();
    const said = JSON.parse(await result(page).locator(".said-text").first().innerText()) as object;
    expect(said).toMatchObject({
      name: "Ann",
      about: "two\nlines",
      code: "ABC",
      email: "ann@example.com",
      day: "2026-12-24",
      seats: 2,
      price: 1.5,
      agree: false,
      window: true,
      plan: "plus",
      size: "l",
      days: ["mon", "wed"],
    });
    expect(said).toHaveProperty("at", await page.evaluate('new Date("2026-12-24T19:30:00").toISOString().replace(".000", "")'));
    expect(said).not.toHaveProperty("site");
  });

  test("nothing is chosen for what cannot be undone, in each dialect whose forms have defaults", () =>
    inEach(WITH_DEFAULTS, async (dialect) => {
      const page = await open(at(dialect, "purge"));
      await call(page, "purge");
      await dialog(page).getByText("What is deleted?").waitFor();
      expect(await page.getByLabel("Older than days").inputValue()).toBe("");
      expect(await dialog(page).locator(`input:checked, option:checked:not([value=""])`).count()).toBe(0);
      await canAnswer(page);
      await dialog(page).getByRole("button", { name: "Answer" }).click();
      // Nothing is left to a default.
      await expect.poll(() => dialog(page).locator(".problem").count()).toBe(2);
    }));

  test("the arguments of a call that waits for approval are filled in, though it cannot be undone, in each dialect whose forms have defaults", () =>
    inEach(WITH_DEFAULTS, async (dialect) => {
      const page = await open(at(dialect, "post"));
      await page.getByLabel(/^to\b/i).fill("all");
      await page.getByLabel(/^copies\b/i).fill("2");
      await call(page, "post");
      await dialog(page).getByText("Posting: approve this call").waitFor();
      expect(await dialog(page).getByLabel(/^to\b/i).inputValue()).toBe("all");
      expect(
        await dialog(page)
          .getByLabel(/^copies\b/i)
          .inputValue(),
      ).toBe("2");
      await dialog(page)
        .getByLabel(/^copies\b/i)
        .fill("3");
      await canAnswer(page);
      await dialog(page).getByRole("button", { name: "Answer" }).click();
      await result(page).getByText("posted 3 to all").waitFor();
      await result(page).getByText('The approver changed an argument of this call: {"copies":3}.').waitFor();
    }));

  test("tools are found by the title that is shown, their name and their description", async () => {
    const page = await open();
    for (const text of ["in PAIRS", "two_te", "and for another"]) {
      await page.getByRole("searchbox", { name: "Search tools" }).fill(text);
      await page.getByRole("button", { name: /^Words in pairs/ }).waitFor();
      await expect.poll(() => page.locator(".tools li").count()).toBe(1);
    }
  });

  test("a field with a problem is above the buttons, also on a screen of 320 pixels", async () => {
    const page = await open(at("2026-07-28+tasks", "every_field"), { viewport: { width: 320, height: 568 } });
    await call(page, "every_field");
    await dialog(page).getByLabel("Name").fill("Ann");
    await dialog(page).getByLabel("Code").fill("abc");
    await canAnswer(page);
    await dialog(page).getByLabel("Day").focus();
    await dialog(page).getByLabel("Name").focus();
    await press(page, "Enter");
    // The first one that is missing.
    await expect.poll(() => page.evaluate("document.activeElement?.getAttribute('aria-invalid')")).toBe("true");
    const bottom = (selector: string) =>
      page.evaluate(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().bottom`);
    const top = await page.evaluate("document.querySelector('.dialog-foot').getBoundingClientRect().top");
    expect(await bottom(":focus")).toBeLessThanOrEqual(top as number);
    expect(await bottom(".field:has(:focus) .problem")).toBeLessThanOrEqual(top as number);
  });

  test("a refusal that concerns no field of its form is in sight, also from the end of a long form", async () => {
    const page = await open(at("2025-06-18", "every_field"), { viewport: { width: 1_360, height: 500 } });
    await call(page, "every_field");
    const field = (label: string, exactly = {}) => dialog(page).getByLabel(label, exactly);
    await field("Name").fill("Ann");
    await field("Code").fill("ABC");
    await field("E-mail").fill("ann@example.com");
    await field("Day", { exact: true }).fill("2026-12-24");
    await field("Price").fill("1.5");
    await choose(page, "Plan", "plus");
    await choose(page, "Size", "Large");
    // In this revision, a list of choices is a field for each.
    for (const day of ["mon", "tue", "wed"]) await choose(page, `Days: ${day}`, "Yes");
    await canAnswer(page);
    await press(page, "Enter");
    const refusal = dialog(page).getByText("must have between 1 and 2 entries");
    await refusal.waitFor();
    await expect.poll(async () => (await refusal.boundingBox())?.y).toBeGreaterThan(0);
  });

  test("input that the browser cannot read is reported at its field, and not left out", async () => {
    const page = await open(at("2026-07-28+tasks", "every_field"));
    await call(page, "every_field");
    await dialog(page).waitFor();
    for (const label of ["Day", "Moment"]) {
      await dialog(page).getByLabel(label).focus();
      await page.keyboard.type("1224");
    }
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await expect.poll(() => dialog(page).getByText("is incomplete, or is no such date").count()).toBe(2);
  });

  test("the second click of a double click answers no other question, and calls no tool again", async () => {
    const page = await open(at("2026-07-28+tasks", "two_at_once"));
    const calls: string[] = [];
    page.on("request", (request) => {
      if (request.postData()?.includes('"tools/call"')) calls.push(request.url());
    });
    await page.getByRole("button", { name: "Call two_at_once", exact: true }).dblclick();
    await dialog(page).getByText("Does operations agree?").waitFor();
    await page.evaluate(`
      new MutationObserver((_changes, observer) => {
        if (!document.querySelector("dialog")?.textContent.includes("Does legal agree?")) return;
        observer.disconnect();
        document.querySelector("dialog button[type=submit]").click();
      }).observe(document.body, { childList: true, subtree: true });
    `);
    await choose(page, "Agreed", "Yes");
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await dialog(page).getByText("Does legal agree?").waitFor();
    await dialog(page).getByRole("button", { name: "Decline" }).click();
    await result(page).getByText("true decline").waitFor();
    expect(calls).toHaveLength(1);
  });

  test("an answer that is refused after a long way is shown again with what was typed", async () => {
    const page = await open(at("2026-07-28", "book_dinner"));
    await page.getByLabel("date").fill("2027-01-02");
    await page.getByLabel("time").fill("19:30");
    await call(page, "book_dinner");
    const arrives = Promise.withResolvers<void>();
    await page.route("**/mcp", async (route) => {
      if (route.request().postData()?.includes("inputResponses")) await arrives.promise;
      await route.continue();
    });
    await page.getByLabel("Party size").fill("40");
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await expect.poll(() => dialog(page).count()).toBe(0);
    arrives.resolve();
    await dialog(page)
      .getByText(/must be between 1 and 20/)
      .waitFor();
    expect(await page.getByLabel("Party size").inputValue()).toBe("40");
  });

  test("an answer that is larger than the server accepts is refused, and stays in the form, in every dialect", () =>
    inEach(DIALECTS, async (dialect) => {
      const page = await open(at(dialect, "two_texts"));
      await call(page, "two_texts");
      const text = "x".repeat(BODY_BYTES_MAX);
      await dialog(page).getByLabel("Text").fill(text);
      await dialog(page).getByRole("button", { name: "Answer" }).click();
      await dialog(page).getByText(`the body is larger than ${BODY_BYTES_MAX} bytes`).waitFor();
      expect(await dialog(page).getByLabel("Text").inputValue()).toBe(text);
      await dialog(page).getByLabel("Text").fill("short");
      await dialog(page).getByRole("button", { name: "Answer" }).click();
      await dialog(page).getByText("And another?").waitFor();
      await dialog(page).getByRole("button", { name: "Decline" }).click();
      await result(page).getByText("short decline").waitFor();
    }));

  test("several at once, put aside, declined and cancelled, in each dialect", () =>
    inEach(["2026-07-28", "2025-11-25+tasks", "2025-03-26"], async (dialect) => {
      const page = await open(at(dialect, "two_at_once"));
      await call(page, "two_at_once");
      await dialog(page).getByText("2 questions wait").waitFor();
      await press(page, "Escape");
      await dialog(page).getByText("Does legal agree?").waitFor();
      await press(page, "Escape");
      await expect.poll(() => dialog(page).count()).toBe(0);
      await expect.poll(() => focused(page)).toBe("Call two_at_once");
      await page.getByRole("listitem").filter({ hasText: "Does legal agree?" }).getByRole("button", { name: "Answer…" }).click();
      await dialog(page).waitFor();
      await press(page, "Escape");
      // The button that led to the question was gone meanwhile.
      await expect.poll(() => focused(page)).toBe("Answer…");
      await page.getByRole("listitem").filter({ hasText: "Does legal agree?" }).getByRole("button", { name: "Answer…" }).click();
      await dialog(page).getByRole("button", { name: "Decline" }).click();
      await expect.poll(() => focused(page)).toBe("Answer…");
      await press(page, "Enter");
      await dialog(page).getByRole("button", { name: "Cancel" }).click();
      await result(page).getByText("cancel decline").waitFor();
      await expect.poll(() => focused(page)).toBe("two_at_once");
    }));

  test("of many questions, all can be put aside at once", async () => {
    const page = await open(at("2026-07-28+tasks", "two_at_once"));
    await call(page, "two_at_once");
    await dialog(page).getByText("2 questions wait").waitFor();
    await dialog(page).getByRole("button", { name: "All later" }).click();
    await expect.poll(() => dialog(page).count()).toBe(0);
    await page.getByRole("listitem").filter({ hasText: "Does legal agree?" }).getByRole("button", { name: "Answer…" }).click();
    await dialog(page).getByText("Does legal agree?").waitFor();
  });

  test.each(["2026-07-28+tasks", "2025-11-25+tasks"])(
    "a call that is cancelled before it has a task is cancelled, in %s",
    async (dialect) => {
      const page = await open(at(dialect, "two_at_once"));
      const answered = Promise.withResolvers<void>();
      await page.route("**/mcp", async (route) => {
        if (route.request().postData()?.includes('"tools/call"')) await answered.promise;
        await route.continue();
      });
      await call(page, "two_at_once");
      await page.getByRole("button", { name: "Cancel the call" }).click();
      answered.resolve();
      await page.getByText("cancelled", { exact: true }).waitFor();
    },
  );

  test("a page to go to is named with its whole host, as it travels, and is not opened by itself", async () => {
    const page = await open(at("2026-07-28+tasks", "go_there"));
    await page.context().route("https://xn--bcher-kva.example.com/**", (route) => route.fulfill({ body: "sign in here" }));
    await call(page, "go_there");
    await dialog(page).getByText("xn--bcher-kva.example.com", { exact: true }).waitFor();
    await dialog(page)
      .getByText(/characters beyond a to z/)
      .waitFor();
    await findNothing(page);
    await press(page, "Enter");
    expect(page.context().pages()).toHaveLength(1);
    const opened = page.context().waitForEvent("page");
    const link = dialog(page).getByRole("link", { name: "Open the page" });
    await expect.poll(() => link.getAttribute("aria-disabled")).toBe("false");
    await link.dblclick();
    expect((await opened).url()).toMatch(/^https:\/\/xn--bcher-kva\.example\.com\/sign-in|^about:blank|^$/);
    await result(page).getByText("The person said accept.").waitFor();
    // A double click opens it once.
    expect(page.context().pages()).toHaveLength(2);
  });

  test("a reload in the middle of a question finds it again, in each dialect", () =>
    inEach(["2026-07-28+tasks", "2026-07-28", "2025-11-25+tasks", "2025-11-25"], async (dialect) => {
      const page = await open(at(dialect, "two_at_once"));
      await call(page, "two_at_once");
      await dialog(page).waitFor();
      await page.reload();
      await dialog(page).getByText("2 questions wait").waitFor();
      await dialog(page).getByText("Does operations agree?").waitFor();
      await choose(page, "Agreed", "Yes");
      await dialog(page).getByRole("button", { name: "Answer" }).click();
      await dialog(page).getByText("Does legal agree?").waitFor();
      await choose(page, "Agreed", "Yes");
      await dialog(page).getByRole("button", { name: "Answer" }).click();
      await result(page).getByText("true true").waitFor();
      // What came to its end is not found again.
      if (!dialect.endsWith("tasks")) expect(await page.evaluate('sessionStorage.getItem("parley.call")')).toBe(null);
    }));

  test("of two tabs that answer one question the later one is notified, in each dialect", () =>
    inEach(["2026-07-28+tasks", "2025-11-25+tasks"], async (dialect) => {
      const first = await open(at(dialect, "two_at_once"));
      await call(first, "two_at_once");
      await dialog(first).waitFor();
      const second = await open(new URL(first.url()).hash, {}, first.context());
      await dialog(second).getByText("Does operations agree?").waitFor();
      // The second one's answer is under way when the first one's arrives.
      const arrived = Promise.withResolvers<void>();
      await second.route("**/mcp", async (route) => {
        const message = route.request().postDataJSON() as { method?: string; result?: object } | null;
        if (message?.method === "tasks/update" || message?.result) await arrived.promise;
        await route.continue();
      });
      await dialog(second).getByRole("button", { name: "Decline" }).click();
      await choose(first, "Agreed", "Yes");
      await dialog(first).getByRole("button", { name: "Answer" }).click();
      await dialog(first).getByText("Does legal agree?").waitFor();
      arrived.resolve();
      await second.getByText(/^Too late: another person answered “Does operations agree\?” first/).waitFor();

      // A question that is answered elsewhere goes away, and the tab says so.
      await dialog(second).getByText("Does legal agree?").waitFor();
      await dialog(first).getByRole("button", { name: "Decline" }).click();
      await second.getByText(/“Does legal agree\?” was answered elsewhere/).waitFor();
      for (const page of [first, second]) await result(page).getByText("true decline").waitFor();
    }));

  test("unsent input is kept after a reload and after Later, and removed once the question is answered", async () => {
    const page = await open(at("2026-07-28+tasks", "every_field"));
    const kept = () => page.evaluate('sessionStorage.getItem("parley.drafts")');
    await call(page, "every_field");
    const field = (label: string) => dialog(page).getByLabel(label);
    await field("Name").fill("Ann");
    await choose(page, "Plan", "plus");
    await field("wed").check();
    await page.reload();
    await dialog(page).waitFor();
    const typed = async () => [await field("Name").inputValue(), await field("wed").isChecked(), await field("mon").isChecked()];
    expect(await typed()).toEqual(["Ann", true, false]);
    await press(page, "Escape");
    await page.getByRole("button", { name: "Answer…" }).click();
    expect(await typed()).toEqual(["Ann", true, false]);

    // A call of the same tool that is begun now is another one.
    const other = await open(at("2026-07-28+tasks", "every_field"), {}, page.context());
    await call(other, "every_field");
    await dialog(other).waitFor();
    expect(await dialog(other).getByLabel("Name").inputValue()).toBe("");
    await other.close();

    expect(await kept()).toContain("Ann");
    await dialog(page).getByRole("button", { name: "Decline" }).click();
    await result(page).waitFor();
    expect(await kept()).toBe(null);
    await page.reload();
    await result(page).waitFor();
    expect(await kept()).toBe(null);
  });

  test("arguments of a call that was not made are kept after a reload and after another tool, and removed with the call", async () => {
    const page = await open(at("2026-07-28+tasks", "hostile"));
    const text = page.getByLabel(/^Text/);
    await text.fill("half a thought");
    await page.reload();
    await text.waitFor();
    expect(await text.inputValue()).toBe("half a thought");
    await page.getByRole("button", { name: /every_field/ }).click();
    await text.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /hostile/ }).click();
    expect(await text.inputValue()).toBe("half a thought");
    await page.getByRole("button", { name: "Call hostile", exact: true }).click();
    await dialog(page).waitFor();
    expect(await page.evaluate('sessionStorage.getItem("parley.drafts")')).toBe(null);
  });

  test("a call is found again among one's own, from a page that knows nothing of it, in a dialect without tasks as well", async () => {
    const first = await open(at("2026-07-28+tasks", "every_field"));
    await call(first, "every_field");
    await dialog(first).waitFor();
    const other = await open(at("2025-06-18", ""), { locale: "de-DE" });
    await other.getByText("Ihre Aufrufe").focus();
    await press(other, "Enter");
    const mine = other.getByRole("list").getByRole("button", { name: /wartet auf Sie/ });
    await mine.first().waitFor();
    await findNothing(other);
    await mine.first().focus();
    await press(other, "Enter");
    await dialog(other).waitFor();
    const decline = dialog(other).getByRole("button", { name: "Ablehnen" });
    await expect.poll(() => decline.isEnabled()).toBe(true);
    await decline.click();
    await result(first).waitFor();
    // What is listed follows what happens.
    await other
      .getByRole("button", { name: /fertig/ })
      .first()
      .waitFor();
  });

  test("what tools and people say stays text, in every place where it is shown", async () => {
    const page = await open(at("2025-11-25", "hostile"));
    await page.getByLabel(/^Text/).fill("<b onclick=1>bold</b>");
    await page.getByRole("button", { name: "Call hostile", exact: true }).click();
    await dialog(page).waitFor();
    await findNothing(page);
    await dialog(page).getByRole("textbox").fill("<script>1</script>");
    await dialog(page).getByRole("radio", { name: "no" }).check();
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await result(page).getByText("<b onclick=1>bold</b>").waitFor();
    expect(await page.title()).toBe("Parley playground");
    expect(await page.locator("main script, main img, main b").count()).toBe(0);
    await findNothing(page);
  });

  test("three hundred arguments, nested ones as JSON, and five thousand choices are a form like any other", async () => {
    const page = await open(at("2026-07-28+tasks", "many_fields"));
    await page.getByLabel("last").fill("the end");
    await page.getByLabel("nested").fill('{"deep": [1, 2');
    await page.getByLabel("words").fill("one\n\ntwo");
    await call(page, "many_fields");
    await page.getByText(/^is not JSON/).waitFor();
    await page.getByLabel("nested").fill('{"deep": [1, "2"]}');
    await call(page, "many_fields");
    await result(page)
      .getByText(/invalid arguments for tool many_fields: \/nested\/deep\/1/)
      .waitFor();
    await page.getByLabel("nested").fill('{"deep": [1, 2]}');
    await call(page, "many_fields");
    await result(page).getByText('{"last":"the end","nested":{"deep":[1,2]},"words":["one","two"]}').waitFor();

    await page.getByRole("button", { name: /^many_options/ }).click();
    await call(page, "many_options");
    await dialog(page).getByLabel("One", { exact: true }).selectOption("option 4999");
    await dialog(page).getByRole("searchbox").fill("4998");
    await dialog(page).getByLabel("option 4998").check();
    await dialog(page).getByRole("searchbox").fill("17");
    await dialog(page).getByLabel("option 17", { exact: true }).check();
    await dialog(page).getByText("also chosen: option 4998").waitFor();
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await result(page).getByText("option 4999; option 4998, option 17").waitFor();
  });

  test("on the narrowest screen no part of a question is cut off", async () => {
    const page = await open(at("2026-07-28+tasks", "every_field"), { viewport: { width: 320, height: 640 } });
    await call(page, "every_field");
    await dialog(page).waitFor();
    expect(await page.evaluate('(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("dialog"))')).toBe(0);
  });

  test("a question and a result of a quarter of a megabyte are shown in part, and the rest on demand", async () => {
    const page = await open(at("2026-07-28+tasks", "long_message"));
    await call(page, "long_message");
    await dialog(page).getByRole("button", { name: "Show more (192,000 characters left)" }).click();
    await choose(page, "ok", "Yes");
    // Nobody says yes to what they have not seen, and the second press of a double click answers nothing.
    await dialog(page).getByRole("button", { name: "Answer" }).dblclick();
    await dialog(page).getByRole("alert").getByText("The question goes on.").waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("question-text");
    expect(
      await dialog(page)
        .getByRole("button", { name: /Show more/ })
        .count(),
    ).toBe(0);
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await result(page).getByRole("button", { name: "Show more (242,000 characters left)" }).waitFor();
  });

  test("after an error the last that a tool waited for is no longer said", async () => {
    const page = await open(at("2026-07-28+tasks", "asks_and_fails"));
    await call(page, "asks_and_fails");
    await dialog(page).getByRole("button", { name: "Later" }).click();
    await page.locator(".status-message", { hasText: "Waiting for the oven" }).waitFor();
    await page.getByRole("button", { name: "Answer…" }).click();
    await choose(page, "ok", "Yes");
    await dialog(page).getByRole("button", { name: "Answer" }).click();
    await page.getByRole("region", { name: "The error" }).or(page.getByText("the oven is cold")).first().waitFor();
    expect(await page.locator(".now").innerText()).not.toContain("Waiting for");
  });

  test("large forms are painted without long pauses", IN_TIME, async () => {
    const page = await open(at("2026-07-28+tasks", ""));
    await watchTasks(page);
    for (const tool of ["many_fields", "many_options"]) {
      await page.getByRole("button", { name: new RegExp(`^${tool}`) }).click();
      await page.getByRole("button", { name: `Call ${tool}`, exact: true }).waitFor();
    }
    await call(page, "many_options");
    await dialog(page).getByLabel("One", { exact: true }).waitFor();
    await dialog(page).getByRole("searchbox").fill("4998");
    await dialog(page).getByLabel("option 4998").check();
    const { longestMs } = await tasksSeen(page);
    console.log(`three hundred fields and five thousand choices: the longest task took ${longestMs} ms`);
    expect(longestMs).toBeLessThan(LONGEST_TASK_MS);
  });

  test("a tool that says a thousand lines a second leaves the page usable", IN_TIME, async () => {
    const page = await open(at("2025-11-25", "chatty"));
    await watchTasks(page);
    await page.getByLabel("seconds").fill("2");
    await call(page, "chatty");
    await page
      .getByText(/^line \d+$/)
      .first()
      .waitFor();
    // A page that is stuck would not take these within their time.
    const startedAt = performance.now();
    await page.getByRole("searchbox", { name: "Search tools" }).fill("book");
    await page.getByRole("button", { name: /^Book a dinner table/ }).waitFor();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await result(page).getByText("said all").waitFor();
    const { longestMs, framesPerSecond } = await tasksSeen(page);
    console.log(`a thousand lines a second: ${framesPerSecond} frames a second, the longest task took ${longestMs} ms`);
    expect([longestMs < LONGEST_TASK_MS, framesPerSecond > FRAMES_PER_SECOND_MIN]).toEqual([true, true]);
    await expect.poll(() => page.locator(".lines .line").count()).toBe(60);
    const { entries, rows } = {
      entries: await page.getByText(/^\d+ messages$/).innerText(),
      rows: await page.locator(".messages > li").count(),
    };
    expect([Number.parseInt(entries, 10) <= 400, rows <= 120]).toEqual([true, true]);
  });

  test("everything that a tool reports is shown: status, progress, logs, stream, toasts, thinking, artifacts", async () => {
    const page = await open(at("2026-07-28+tasks", "emits"));
    await call(page, "emits");
    await dialog(page).waitFor();
    await press(page, "Escape");
    const said = page.getByRole("region", { name: "Activity" });
    await said.getByText("chunk one, chunk two").waitFor();
    expect((await said.locator(".line").allInnerTexts()).map((line) => line.replaceAll("\n", " "))).toEqual([
      "error the oven is cold",
      "success Saved",
    ]);
    await said.getByRole("img", { name: "QR code" }).waitFor();
    await said.getByText("https://x.example").waitFor();
    await page.getByText("1 of 4: first part").waitFor();
    await page.getByText("thinking…").waitFor();
    await said.getByText("const a = 1;").waitFor();
    await expect.poll(() => page.evaluate(`document.querySelector('img[alt="A pixel"]')?.naturalWidth`)).toBe(1);
    // An address that is no page stays text.
    await said.getByText("javascript:document.title='owned'").waitFor();
    expect(await said.getByRole("link").count()).toBe(0);
    await findNothing(page);
  });

  test("a task's timeline is shown: its entries, the position of the replay, and the deadline of a question", async () => {
    const page = await open(at("2026-07-28+tasks", "book_dinner"));
    await page.getByLabel("date").fill("2026-12-31");
    await page.getByLabel("time").fill("20:15");
    await call(page, "book_dinner");
    await dialog(page).waitFor();
    await picture(page, "playground");
    await press(page, "Escape");
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline.getByText("1 of 1 entries replay").waitFor();
    expect((await timeline.getByRole("listitem").allInnerTexts()).map((text) => text.replaceAll("\n", " "))).toEqual([
      "1 hold-table step",
      "replay position",
      expect.stringMatching(/^\? party-size open, 48 hours left, then cancelled$/),
    ]);
    await page.getByRole("button", { name: "Cancel the call" }).click();
    await page.getByText("cancelled", { exact: true }).waitFor();
    await timeline.getByText("question, closed").waitFor();
  });

  test("calls of other tools are listed while they run, and with their outcome when they have ended", async () => {
    const page = await open(at("2026-07-28+tasks", "host_evening"));
    await page.getByLabel("date").fill("2026-12-30");
    await page.getByLabel("time").fill("20:45");
    await page.getByLabel("guest").fill("Ada");
    await call(page, "host_evening");
    await dialog(page).waitFor();
    await press(page, "Escape");
    const timeline = page.getByRole("region", { name: "Timeline" });
    const lines = async () => (await timeline.getByRole("listitem").allInnerTexts()).map((text) => text.replaceAll("\n", " "));
    await expect
      .poll(lines)
      .toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^… guestbook call of sign_guestbook, running, 24 hours left, then it is cancelled$/),
        ]),
      );
    expect(await lines()).toEqual(expect.arrayContaining([expect.stringMatching(/^… dinner call of book_dinner, running, /)]));
    // The questions of both may come at once, or one after the other.
    await expect
      .poll(async () => {
        if ((await dialog(page).count()) > 0) await press(page, "Escape");
        return await page.getByRole("button", { name: "Answer…" }).count();
      })
      .toBe(2);
    await page.getByRole("button", { name: "Cancel the call" }).click();
    await page.getByText("cancelled", { exact: true }).waitFor();
    await expect.poll(async () => (await lines()).filter((line) => line.includes("running"))).toEqual([]);
  });

  test.each([
    ["light", "desktop", { colorScheme: "light" }],
    ["dark", "phone", { colorScheme: "dark", viewport: { width: 390, height: 844 } }],
  ] as const)("axe finds nothing on a %s %s, and nothing is wider than the screen", async (scheme, device, options) => {
    const page = await open(at("2026-07-28+tasks", ""), options);
    await findNothing(page);
    if (device === "phone") await page.getByRole("navigation").getByRole("button", { name: "Tools" }).click();
    await page.getByRole("button", { name: /^Release a version/ }).click();
    await page.getByLabel("service").fill("web");
    await page.getByRole("textbox", { name: "Version" }).fill("1.2.3");
    await call(page, "deploy");
    await dialog(page).waitFor();
    // Colours are judged when the dialog has come in.
    await page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))");
    await findNothing(page);
    if (device === "phone") await picture(page, "playground-phone");
    await press(page, "Escape");
    await dialog(page)
      .getByText(/^When may web 1.2.3 go out/)
      .waitFor();
    await press(page, "Escape");
    await expect.poll(() => dialog(page).count()).toBe(0);
    await findNothing(page);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    if (device === "phone") {
      await page.getByRole("navigation").getByRole("button", { name: "Wire" }).click();
      await page.getByText("tools/call", { exact: true }).click();
      await findNothing(page);
    }
  });

  test.each([
    ["light", "phone", { colorScheme: "light", viewport: { width: 390, height: 844 } }],
    ["dark", "desktop", { colorScheme: "dark" }],
  ] as const)("axe finds nothing in any state on a %s %s", async (_scheme, _device, options) => {
    // The tool's form, also where a small screen shows one part at a time.
    const page = await open(at("2026-07-28+tasks", "deploy"), options);
    await page.getByLabel("service").fill("web");
    await findNothing(page);
    // An error: arguments that the tool refuses.
    await page.getByRole("textbox", { name: "Version" }).fill("newest");
    await call(page, "deploy");
    await result(page)
      .getByText(/invalid arguments/)
      .waitFor();
    await findNothing(page);
    // Several questions at once, then violations at the fields of one, then the end.
    for (const tool of ["two_at_once", "every_field"]) {
      const next = await open(at("2026-07-28+tasks", tool), {}, page.context());
      await call(next, tool);
      await dialog(next).waitFor();
      if (tool === "every_field") await press(next, "Enter");
      await next.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))");
      await findNothing(next);
      for (let open = tool === "two_at_once" ? 2 : 1; open > 0; open -= 1) {
        await dialog(next).getByRole("button", { name: "Decline" }).click();
      }
      await result(next).waitFor();
      await expect.poll(() => dialog(next).count()).toBe(0);
      await findNothing(next);
      expect(await next.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    }
  });

  test("the page at / says what is here and leads to the playground", async () => {
    const page = await open();
    await page.getByRole("link", { name: "Parley" }).click();
    await page.getByRole("heading", { name: "Parley" }).waitFor();
    await findNothing(page);
    await page.getByRole("link", { name: "Open the playground" }).click();
    await page.getByRole("heading", { name: "Choose a tool" }).waitFor();
  });

  test("is painted within a second of its request, from this machine", IN_TIME, async () => {
    const page = await open();
    await page.reload();
    await page.getByRole("heading", { name: "Choose a tool" }).waitFor();
    const paintedMs = (await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime')) as number;
    console.log(`first paint after ${Math.round(paintedMs)} ms`);
    expect(paintedMs).toBeLessThan(1_000);
  });

  test("where callers need a token the page asks for one, keeps it in its tab, and sends it with every request", async () => {
    const issuer = await startIssuer();
    const front = await guardedFrontEnd(issuer);
    try {
      const page = await open("", {}, undefined, `${front.url}/play/`);
      await page.getByRole("alert").getByText(/token/).waitFor();
      await page.getByRole("button", { name: "Token needed" }).click();
      const token = await issuer.token({ sub: "ann", scope: "tools:call tasks:read asks:answer" });
      await page.getByLabel("Bearer token").fill(token);
      await press(page, "Enter");
      await page.getByRole("button", { name: /^two_at_once/ }).click();
      await call(page, "two_at_once");
      await dialog(page).getByText("2 questions wait").waitFor();
      await page.reload();
      await dialog(page).getByText("2 questions wait").waitFor();
      await page.getByText("0 of 0 entries replay").waitFor();
      expect(page.url()).not.toContain(token);
      expect(await page.evaluate("[localStorage.length, document.cookie]")).toEqual([0, ""]);
      // Another tab is another person until it gets a token.
      const other = await open(new URL(page.url()).hash, {}, page.context(), `${front.url}/play/`);
      await other.getByRole("button", { name: "Token needed" }).waitFor();
      await expect.poll(() => dialog(other).count()).toBe(0);
    } finally {
      await front.kill();
      await issuer.close();
    }
  });

  /** A browser whose server says that of who is logged in: a page, or what the playground knows. */
  async function loggedIn(account: () => string | object): Promise<BrowserContext> {
    const context = await browser.newContext({ viewport: { width: 1_360, height: 860 } });
    contexts.push(context);
    await context.route("**/play/api/account", async (route) => {
      const said = account();
      await route.fulfill(typeof said === "string" ? { contentType: "text/html", body: said } : { json: said });
    });
    return context;
  }

  test("somebody else who logs in in another tab finds nothing of the person before them, and neither does who logs in after a logout", async () => {
    let name = "ann";
    const page = await open(at("2026-07-28", "hostile"), {}, await loggedIn(() => ({ hasLogin: true, name, person: name })));
    await page.getByText("Logged in as ann").waitFor();
    const drafts = () => page.evaluate<string | null>("sessionStorage.getItem('parley.drafts')");
    const type = async () => {
      await page.getByLabel(/^Text/).fill("Grace");
      await until(async () => (await drafts())?.includes("Grace") === true);
    };
    await type();
    name = "bob";
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.getByText("Logged in as bob").waitFor();
    expect([await page.getByLabel(/^Text/).inputValue(), await drafts()]).toEqual(["", null]);
    await type();
    await page.route("**/logout", async (route) => await route.fulfill({ body: "" }));
    await page.getByRole("button", { name: "Log out" }).click();
    await until(async () => (await drafts().catch(() => "")) === null);
  });

  test("what a proxy says in place of who is logged in leaves a page without a login", async () => {
    const page = await open("", {}, await loggedIn(() => "<h1>Who are you?</h1>"));
    expect(await page.getByRole("button", { name: "Log out" }).count()).toBe(0);
  });

  test("a server that cannot say yet who is logged in is asked again, and the person stays on the page", async () => {
    let isAway = true;
    const context = await loggedIn(() => ({ hasLogin: true, name: "ann", person: "ann" }));
    await context.route("**/play/api/account", (route) => (isAway ? route.fulfill({ status: 503, json: {} }) : route.fallback()));
    const page = await open("", {}, context);
    expect(await page.getByText("Logged in as ann").count()).toBe(0);
    isAway = false;
    await page.getByText("Logged in as ann").waitFor();
  });

  test("whoever has logged in to answer, and may not call, is led to a login that allows it", async () => {
    const context = await loggedIn(() => ({ hasLogin: true, name: "ann", person: "ann" }));
    const headers = { "www-authenticate": 'Bearer error="insufficient_scope", scope="tools:call"' };
    await context.route("**/mcp", async (route) => await route.fulfill({ status: 403, headers, json: { error: "scope" } }));
    const page = await open("", {}, context, `${play}?`);
    await page.getByRole("button", { name: "Log in", exact: true }).waitFor();
  });

  test("a request that is refused without the token that was set meanwhile does not ask for another", async () => {
    const issuer = await startIssuer();
    const front = await guardedFrontEnd(issuer);
    try {
      const context = await browser.newContext();
      contexts.push(context);
      const arrives = Promise.withResolvers<void>();
      await context.route("**/mcp", async (route) => {
        if (route.request().headers()["authorization"] === undefined) await arrives.promise;
        await route.continue();
      });
      const page = await open("", {}, context, `${front.url}/play/`);
      await page.getByRole("button", { name: "Token", exact: true }).click();
      await page.getByLabel("Bearer token").fill(await issuer.token({ sub: "ann", scope: "tools:call" }));
      await press(page, "Enter");
      await page.getByRole("button", { name: /^two_at_once/ }).waitFor();
      const refused = page.waitForResponse((response) => response.status() === 401);
      arrives.resolve();
      await (await refused).finished();
      await page.getByRole("button", { name: /^two_at_once/ }).click();
      await page.getByRole("button", { name: "Token set", exact: true }).waitFor();
    } finally {
      await front.kill();
      await issuer.close();
    }
  });

  test("served by plain http from another machine, it works without what browsers allow only to https", async () => {
    const issuer = await startIssuer();
    const front = await guardedFrontEnd(issuer, {
      PARLEY_ALLOWED_HOSTS: "parley.test",
      PARLEY_ALLOWED_ORIGINS: "http://parley.test",
    });
    const elsewhere = await startChromium(command ?? "", ["--host-resolver-rules=MAP parley.test 127.0.0.1"]);
    try {
      const from = `${front.url.replace("127.0.0.1", "parley.test")}/play/`;
      const context = await elsewhere.newContext();
      contexts.push(context);
      const page = await open(at("2025-11-25", "two_at_once"), {}, context, from);
      expect(await page.evaluate("isSecureContext")).toBe(false);
      await page.getByRole("button", { name: "Token needed" }).click();
      await page.getByLabel("Bearer token").fill(await issuer.token({ sub: "ann", scope: "tools:call tasks:read asks:answer" }));
      await press(page, "Enter");
      await call(page, "two_at_once");
      for (const asked of ["Does operations agree?", "Does legal agree?"]) {
        await dialog(page).getByText(asked).waitFor();
        await dialog(page).getByRole("button", { name: "Decline" }).click();
      }
      await result(page).getByText("decline decline").waitFor();
      await page.getByRole("button", { name: "Copy the result" }).click();
      await page.getByText("Not allowed by the browser").waitFor();
    } finally {
      await elsewhere.close();
      await front.kill();
      await issuer.close();
    }
  });

  test("a token that expires in the middle of a form ends no call, and what was typed is there for the next token, in each dialect", () =>
    inEach(["2026-07-28+tasks", "2026-07-28", "2025-11-25+tasks", "2025-11-25"], async (dialect) => {
      const issuer = await startIssuer();
      const front = await guardedFrontEnd(issuer, { PARLEY_AUTH_CLOCK_SKEW: "1s" });
      const setToken = async (page: Page, exp: number) => {
        await page.getByLabel("Bearer token").fill(await issuer.token({ sub: "ann", scope: "tools:call tasks:read asks:answer", exp }));
        await press(page, "Enter");
      };
      try {
        const page = await open(at(dialect, "every_field"), {}, undefined, `${front.url}/play/`);
        await page.clock.install();
        let requests = 0;
        page.on("request", () => (requests += 1));
        await page.getByRole("button", { name: "Token needed" }).click();
        const exp = Math.ceil(Date.now() / 1_000) + 8;
        await setToken(page, exp);
        await call(page, "every_field");
        await dialog(page).getByLabel("Name").fill("Ann");
        await until(() => Date.now() > (exp + 1) * 1_000);
        // Where nothing is held open, the page learns of it with the answer.
        if (dialect === "2026-07-28") {
          await dialog(page).getByRole("button", { name: "Decline" }).click();
          await page.getByText("paused until you set a new token", { exact: true }).waitFor();
          await expect.poll(() => dialog(page).count()).toBe(0);
          await page.getByRole("button", { name: "Token needed" }).click();
        } else {
          if (dialect === "2026-07-28+tasks") await dialog(page).getByRole("button", { name: "Decline" }).click();
          await dialog(page).getByRole("button", { name: "Set a token" }).click();
        }
        // A tab that is forgotten here asks the server nothing.
        await page.getByText("paused until you set a new token", { exact: true }).waitFor();
        const before = requests;
        await page.clock.runFor("01:00");
        expect(requests).toBe(before);
        await setToken(page, exp + 3_600);
        if (dialect !== "2026-07-28") {
          await dialog(page).getByRole("button", { name: "Decline" }).waitFor();
          expect(await dialog(page).getByLabel("Name").inputValue()).toBe("Ann");
          await dialog(page).getByRole("button", { name: "Decline" }).click();
        }
        await result(page).waitFor();
        expect(await page.getByText(/answered elsewhere/).count()).toBe(0);
      } finally {
        await front.kill();
        await issuer.close();
      }
    }));

  test("killed in the middle of a question and started again, the server still asks, and the open page finds it", async () => {
    const directory = await mkdtemp(join(tmpdir(), "parley-killed-"));
    const [port = 0] = await freePorts(1);
    let server = await npmStart(port, directory);
    try {
      const page = await (await browser.newContext()).newPage();
      page.setDefaultTimeout(2 * WAIT_MS);
      await page.goto(`http://127.0.0.1:${port}/play/${at("2026-07-28+tasks", "book_dinner")}`);
      await page.getByLabel("date").fill("2026-12-24");
      await page.getByLabel("time").fill("19:30");
      await call(page, "book_dinner");
      await dialog(page).waitFor();
      await server.kill();
      await page.getByText("the server is unavailable, retrying").waitFor();
      // The dialog lies over everything else, and a screen reader hears nothing of what is below it.
      const away = dialog(page).getByRole("alert");
      await away.getByText("The server does not respond.").waitFor();
      await page.getByLabel("Party size").fill("4");
      await findNothing(page);
      // It does not come and go with each attempt, and is in sight above the buttons.
      const shown = await away.elementHandle();
      await page.waitForTimeout(4_000);
      expect(await shown?.evaluate((element) => element.isConnected)).toBe(true);
      server = await npmStart(port, directory);
      await page.getByText("waits for you", { exact: true }).waitFor();
      await away.waitFor({ state: "detached" });
      expect(await page.getByLabel("Party size").inputValue()).toBe("4");
      await dialog(page).getByRole("button", { name: "Answer" }).click();
      await result(page)
        .getByText(/^Confirmed: table 1 for 4/)
        .waitFor();
      await page.context().close();
    } finally {
      await server.kill();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  });

  /** Sees how long the page stands still from now on, and how often it is drawn. */
  async function watchTasks(page: Page): Promise<void> {
    await page.evaluate(`
      window.seen = { longestMs: 0, frames: 0, sinceMs: performance.now() };
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) seen.longestMs = Math.max(seen.longestMs, duration);
      }).observe({ type: "longtask" });
      requestAnimationFrame(function frame() { seen.frames += 1; requestAnimationFrame(frame); });
    `);
  }

  async function tasksSeen(page: Page): Promise<{ readonly longestMs: number; readonly framesPerSecond: number }> {
    return (await page.evaluate(
      "({ longestMs: Math.round(seen.longestMs), framesPerSecond: Math.round(seen.frames / (performance.now() - seen.sinceMs) * 1000) })",
    )) as { longestMs: number; framesPerSecond: number };
  }

  /** For the documentation, when PICTURES says so: the pages are the same each time, but for ids and times. */
  async function picture(page: Page, name: string): Promise<void> {
    if (process.env["PICTURES"]) await page.screenshot({ path: join(ROOT, `docs/images/${name}.png`) });
  }
});

/** As `npm start` does, with data in a directory of its own. */
async function npmStart(port: number, directory: string) {
  const { REDIS_URL: _shared, ...env } = process.env;
  const child = spawn(process.execPath, ["apps/cli/main.ts", "start", "--port", `${port}`, "--data-dir", join(directory, "redis")], {
    cwd: ROOT,
    env: { ...env, PARLEY_GALLERY_DIR: join(directory, "gallery") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await until(() => /Playground: http\S+\/play\/\n/.test(printed));
  return {
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
