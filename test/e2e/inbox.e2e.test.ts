/** The inbox and the pages of questions in a real browser, without script and with it: two people, the keyboard, both themes, a small screen, axe. */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { ParleyError, sweep } from "@parley/core";
import { catalogue, type Context, defineTool } from "@parley/sdk";
import { PAGES_STYLE, SCRIPT_DIRECTORY } from "@parley/web";
import type { Browser, Page, Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { rpc } from "../../apps/server/client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front } from "../../apps/server/deployment.fixture.ts";
import { FORM_BYTES_MAX } from "../../apps/server/routes/asks/route.ts";
import { findNothing } from "../support/axe.ts";
import { startBalancer } from "../support/balancer.ts";
import { describedAs, findChromium, heardOn, sendsAtOnce, startChromium } from "../support/chromium.ts";
import { translate } from "../support/translate.ts";
import { until } from "../support/until.ts";
import { openRedis } from "../contract/open-redis.ts";

const command = findChromium();
if (command === undefined) console.log("inbox.e2e.test.ts: no Chromium here, so no browser; apt-get install chromium");
/** If set, the picture of docs/inbox.md is written. */
const WRITES_PICTURES = process.env["INBOX_SHOTS"] !== undefined;
const PICTURES = resolve(import.meta.dirname, "../../docs/images");

const FINANCE = { groups: ["finance"] };
const asks = (name: string, run: (ctx: Context) => Promise<unknown>) =>
  defineTool({ name, run: async (_args, ctx) => JSON.stringify((await run(ctx)) ?? null) });
const many = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index}`) as [string, ...string[]];

/** What is asked, the soonest deadline first. */
const asking = catalogue([
  asks("delete_archive", (ctx) =>
    ctx.confirm("sure", {
      message: "Delete the archive of 2019, 1,204 files?",
      destructive: true,
      submitLabel: "Delete the archive",
      cancelLabel: "Keep it",
      to: FINANCE,
      timeout: "50 minutes",
    }),
  ),
  asks("approve_invoice", (ctx) =>
    ctx.ask("approval", {
      message: "Pay invoice 2026-117 of Northwind over 4,310.00 EUR?\nIt is 12 % above the order of 3 November.",
      schema: z.object({
        approve: z.boolean().meta({ title: "Approve the payment" }),
        account: z.enum(["Operations", "Travel", "Marketing"]).meta({ title: "Charge it to" }),
        note: z.string().max(200).optional().meta({ title: "Note", description: "The supplier sees it" }),
      }),
      context: [
        { type: "table", title: "Orders", columns: ["Day", "EUR"], rows: [["3 November", 3_848]] },
        { type: "diff", title: "Terms", before: "30 days", after: "14 days" },
      ],
      to: FINANCE,
      allow: ["delegate", "askBack", "pause"],
      remind: "4 hours",
      escalate: { after: "1 day", to: { groups: ["board"] } },
      timeout: "2 days",
      onTimeout: "decline",
    }),
  ),
  asks("plan_event", (ctx) =>
    ctx.ask("event", {
      message: "Tell us about the event.",
      schema: z.object({
        mail: z.email().meta({ title: "Mail" }),
        size: z.number().int().min(1).max(20).meta({ title: "Party size" }),
        color: z.enum(["red", "green"]).meta({ title: "Color" }),
        toppings: z
          .array(z.enum(["ham", "olives", "corn"]))
          .max(2)
          .meta({ title: "Toppings" }),
        day: z.iso.date().meta({ title: "Day" }),
        at: z.iso.datetime().meta({ title: "Start" }),
      }),
      to: FINANCE,
      timeout: "3 days",
    }),
  ),
  asks("pick_place", (ctx) =>
    ctx.ask("place", {
      message: "Where does it go?",
      schema: z.object({ place: z.enum(many("Place", 500)).meta({ title: "Place" }) }),
      to: FINANCE,
      timeout: "4 days",
    }),
  ),
  asks("translate", (ctx) => ctx.text("word", { message: "מה התרגום של ”שלום“?", to: FINANCE, timeout: "5 days" })),
  asks("read_report", (ctx) =>
    ctx.confirm("fine", {
      message: `Report\n${"A line of the report that says something.\n".repeat(200)}`,
      to: FINANCE,
      timeout: "6 days",
    }),
  ),
  asks("visit", (ctx) =>
    ctx.ask("there", { message: "Look at the page.", url: "https://example.com/there", to: FINANCE, timeout: "7 days" }),
  ),
]);

/** Members by group. A test may take somebody out. */
const MEMBERS = { finance: new Set(["bob", "carol"]), board: new Set(["erin"]) };

/** At every door. */
const whoIs: NonNullable<Deploy["authenticate"]> = ({ headers }) => {
  // What a page sends as it is left has cookies, and no headers of a test.
  const { cookie = "" } = headers;
  if (cookie.includes("lapsed=")) throw new ParleyError("CREDENTIALS_MISSING", "no login");
  const name = String(headers["x-principal"] ?? /principal=(\w+)/.exec(cookie)?.[1] ?? "ann");
  const groups = Object.entries(MEMBERS).flatMap(([group, members]) => (members.has(name) ? [group] : []));
  return callerNamed(name, { names: [`email:${name}@example.com`], groups });
};

const deployed = (more: Partial<Deploy>) =>
  deploy({
    ...more,
    catalogue: asking,
    fronts: 2,
    authenticate: whoIs,
    visitors: { authenticate: whoIs, ticket: undefined, account: () => ({ other: "/login?back=%2Finbox", out: "/logout" }) },
  });

const PAGE_BYTES_MAX = 60_000;
const DAY_MS = 86_400_000;
/** INBOX_ASKS=100: how many questions are answered by keyboard, and measured. */
const ASKS = Number(process.env["INBOX_ASKS"] ?? 7);
/** Between two keys, as somebody who types well. */
const KEY_MS = 35;
const OPTIONS = { viewport: { width: 1_280, height: 800 }, timezoneId: "Europe/Berlin", locale: "en-GB" };

describe.skipIf(command === undefined)("the inbox in a browser", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium(command ?? "")));
  afterAll(() => browser?.close());

  async function asked(calls: readonly string[] = [...asking.tools.keys()], more: Partial<Deploy> = {}) {
    const { fronts, services, skip } = await deployed(more);
    const [here, there] = fronts as [Front, Front];
    const taskIds = new Map<string, string>();
    const all: string[] = [];
    for (const name of calls) {
      const created = await rpc(here, "tools/call", { name, arguments: {} }, { principal: "ann" });
      const taskId = String(created.result!["taskId"]);
      await until(async () => (await services.store.load(taskId))?.status === "input_required");
      taskIds.set(name, taskId);
      all.push(taskId);
    }
    const as = async (
      name: string,
      front: Front,
      options: object = {},
      prepare: (page: Page) => Promise<unknown> = sendsAtOnce,
    ): Promise<Page> => {
      const context = await browser.newContext({ ...OPTIONS, extraHTTPHeaders: { "x-principal": name }, ...options });
      onTestFinished(() => context.close());
      const page = await context.newPage();
      await prepare(page);
      page.on("pageerror", (error) => complaints.push(String(error.stack)));
      page.on("console", (message) => /Content Security|trusted/i.test(message.text()) && complaints.push(message.text()));
      await page.goto(`${new URL(front.url).origin}/inbox`);
      return page;
    };
    /** What the tool received. */
    const received = async (tool: string): Promise<string> => {
      const taskId = taskIds.get(tool) ?? "";
      await until(async () => (await services.store.load(taskId))?.status === "completed");
      return JSON.stringify((await services.store.load(taskId))?.outcome);
    };
    /** Lets time pass, and runs what is due then. */
    const pass = async (ms: number): Promise<void> => {
      skip(ms);
      for (const partition of new Set(all.map((taskId) => Number.parseInt(taskId, 10)))) await sweep(services, { partition });
    };
    return { here, there, services, taskIds, all, as, received, pass };
  }

  /** Violations of the pages' policy, and errors of their script. */
  const complaints: string[] = [];
  afterEach(() => expect(complaints.splice(0)).toEqual([]));

  const WITHOUT = { javaScriptEnabled: false };
  /** For what is about them: the seconds in which an answer can be taken back stay. */
  const inFiveSeconds = async () => undefined;

  test("without script: two people, two browsers, one question: one answer counts, and the other is told", async () => {
    const { here, there, received, as } = await asked();
    const [bob, carol] = [await as("bob", here, WITHOUT), await as("carol", there, WITHOUT)];
    for (const page of [bob, carol]) await page.getByRole("link", { name: /Pay invoice/ }).click();
    await bob.getByRole("radio", { name: "Yes" }).check();
    await bob.getByRole("radio", { name: "Travel" }).check();
    await bob.getByRole("button", { name: "Answer", exact: true }).click();
    await bob.getByRole("heading", { name: "Thank you" }).waitFor();
    await carol.getByRole("radio", { name: "No" }).check();
    await carol.getByRole("radio", { name: "Operations" }).check();
    await carol.getByRole("button", { name: "Answer", exact: true }).click();
    await carol.getByRole("heading", { name: "Already answered" }).waitFor();
    expect(await received("approve_invoice")).toContain("Travel");
    await carol.goto(`${new URL(there.url).origin}/inbox`);
    expect(await carol.getByRole("link", { name: /Pay invoice/ }).count()).toBe(0);
  });

  test("without script, by keyboard alone: choose a question, make a mistake, mend it", async () => {
    const { here, as } = await asked();
    const page = await as("bob", here, WITHOUT);
    // The time zone of the browser is not known then.
    expect(await page.locator("#asks").innerText()).toContain("UTC");
    await page.getByRole("link", { name: /Pay invoice/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Note").fill("With thanks");
    await page.getByRole("button", { name: "Answer", exact: true }).press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Note").inputValue()).toBe("With thanks");
    await page.getByRole("radio", { name: "Yes" }).press("Space");
    await page.getByRole("radio", { name: "Marketing" }).check();
    await page.getByRole("button", { name: "Answer", exact: true }).press("Enter");
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
  });

  test("by keyboard alone: questions of every kind, each with the keys that a person would press", async () => {
    const { here, as, received } = await asked();
    const page = await as("bob", here);
    const { keyboard } = page;
    const at = async (words: string | RegExp) => await page.locator("#ask .said", { hasText: words }).waitFor();
    // The list opens at its first question, which cannot be undone: no single key answers it.
    await keyboard.press("j");
    await at("Delete the archive");
    await keyboard.press("a");
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Are you sure?" }).waitFor();
    await keyboard.press("a");
    await keyboard.press("Enter");
    await page.locator("#sure").waitFor({ state: "detached" });
    expect(await page.locator(".toast").count()).toBe(0);
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Are you sure?" }).waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    // The next question is there at once.
    await at("Pay invoice");
    await keyboard.press("Enter");
    await keyboard.press("Space");
    await keyboard.press("Tab");
    await keyboard.type("Tra");
    await keyboard.press("Tab");
    await keyboard.type("a, d, j and k are letters here");
    await keyboard.press("Control+Enter");
    await at("Tell us");
    // A mistake is shown at its field, and nothing is sent.
    await keyboard.press("a");
    await page.locator("#ask [role=alert]").waitFor();
    expect(await page.evaluate<string>("document.activeElement.id")).toBe("f0");
    await keyboard.type("bo@example.com");
    await keyboard.press("Tab");
    await keyboard.type("4");
    await keyboard.press("Tab");
    await keyboard.type("gre");
    await keyboard.press("Tab");
    await keyboard.press("Space");
    // Browsers differ in how dates are typed.
    await page.getByLabel("Day").fill("2026-12-24");
    await page.getByLabel("Start").fill("2026-12-24T19:30:00");
    await keyboard.press("Enter");
    // Five hundred options.
    await at("Where does it go");
    await keyboard.press("Enter");
    await keyboard.type("place 417");
    await keyboard.press("Enter");
    await keyboard.press("Control+Enter");
    await at("שלום");
    await keyboard.press("Enter");
    await keyboard.type("peace");
    await keyboard.press("Enter");
    await at("Report");
    // A second press at once was meant for what was there before.
    await keyboard.press("a");
    await keyboard.press("a");
    // Nobody says yes to what they have not seen: the whole text is there now, at its beginning, and nothing was sent.
    await page.locator(".unread[role=alert]", { hasText: "The question goes on." }).waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("said");
    expect(await page.evaluate("document.activeElement.scrollHeight - document.activeElement.clientHeight")).toBe(0);
    expect(await page.locator(".toast", { hasText: /Sent in a few seconds: Report/ }).count()).toBe(0);
    await page.waitForTimeout(1_000);
    await keyboard.press("a");
    await at("Look at the page");
    await keyboard.press("d");
    expect(await received("delete_archive")).toContain("true");
    expect(await received("approve_invoice")).toMatch(/"approve\W+true.*Travel.*a, d, j and k are letters here/);
    expect(await received("plan_event")).toMatch(/bo@example.com.*4.*green.*ham.*2026-12-24.*2026-12-24T18:30:00Z/);
    expect(await received("pick_place")).toContain("Place 417");
    expect(await received("translate")).toContain("peace");
    expect(await received("read_report")).toContain("true");
    expect(await received("visit")).toContain("decline");
    await page.getByText("Nothing waits for you").first().waitFor();
  });

  test("many questions of every kind, by keyboard alone, as fast as a person types", async () => {
    const kinds = [...asking.tools.keys()];
    const { here, as, all, services } = await asked(Array.from({ length: ASKS }, (_, at) => kinds[at % kinds.length] ?? ""));
    const page = await as("bob", here, {}, inFiveSeconds);
    const { keyboard } = page;
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await keyboard.press(key, { delay: KEY_MS });
    };
    const type = (text: string) => keyboard.type(text, { delay: KEY_MS });
    const focused = (name: string) => page.waitForFunction(`document.activeElement?.name === "${name}"`);
    /** By the key of a question. */
    const answer: Readonly<Record<string, () => Promise<void>>> = {
      async sure() {
        await press("a", "Enter");
        await page.locator("#sure").waitFor();
        await press("Tab", "Enter");
      },
      async approval() {
        await press("Enter");
        await focused("f0");
        await press("Space", "Tab");
        await type("Tra");
        await press("Tab");
        await type("Fine");
        await press("Control+Enter");
      },
      async event() {
        await press("Enter");
        await focused("f0");
        await type("bo@example.com");
        await press("Tab");
        await type("4");
        await press("Tab");
        await type("gre");
        await press("Tab", "Space");
        // Past the other toppings, to the day and the start. Any order of day and month, and any clock, reads these alike.
        await press("Tab", "Tab", "Tab");
        await type("12122026");
        await press("Tab", "Tab");
        await type("12122026");
        await press("Tab");
        await type("101010a");
        await press("Control+Enter");
      },
      async place() {
        await press("Enter");
        await page.waitForFunction('document.activeElement?.type === "search" && document.activeElement.closest("#ask") !== null');
        await type("place 417");
        await press("Enter", "Control+Enter");
      },
      async word() {
        await press("Enter");
        await focused("f0");
        await type("peace");
        await press("Enter");
      },
      async fine() {
        await press("a");
        await page.waitForTimeout(600);
        await press("a");
      },
      there: () => press("d"),
    };
    const hears: Readonly<Record<string, RegExp>> = {
      delete_archive: /true/,
      approve_invoice: /approve\W+true.*Travel.*Fine/,
      plan_event: /bo@example.com.*4.*green.*ham.*2026-12-12.*2026-12-12T09:10:10Z/,
      pick_place: /Place 417/,
      translate: /peace/,
      read_report: /true/,
      visit: /decline/,
    };
    const done = new Set<string>();
    const startedAtMs = performance.now();
    await press("j");
    while (done.size < ASKS) {
      const next = await until(async () => {
        const shown = await page.locator("#ask:not([aria-busy])").getAttribute("data-ask", { timeout: 5_000 });
        // At the end of a page of the list, until those that are counted have made room.
        if (shown === null) await press("j");
        return shown !== null && !done.has(shown) ? shown : undefined;
      });
      await answer[next.split("/")[1] ?? ""]?.();
      done.add(next);
    }
    const seconds = (performance.now() - startedAtMs) / 1_000;
    for (const [at, taskId] of all.entries()) {
      await until(async () => (await services.store.load(taskId))?.status === "completed");
      expect(JSON.stringify((await services.store.load(taskId))?.outcome)).toMatch(hears[kinds[at % kinds.length] ?? ""] ?? /never/);
    }
    await page.getByText("Nothing waits for you").first().waitFor();
    // A machine that does much else at the same time must not fail it.
    if (process.env["INBOX_ASKS"] === undefined) return;
    console.log(`${ASKS} questions by keyboard in ${seconds.toFixed(1)} s`);
    expect(seconds).toBeLessThan(ASKS * 1.8);
  });

  test("what somebody else answers says so, and leaves the list, without a reload; two answers at once count once", async () => {
    const { here, there, as, received, taskIds } = await asked();
    // It never asks by itself, so that only the stream can tell it.
    const neverAsks = (page: Page) =>
      page.addInitScript("const wait = setTimeout; setTimeout = (act, ms, ...rest) => (ms >= 4000 ? 0 : wait(act, ms, ...rest));");
    const [bob, carol] = [await as("bob", here), await as("carol", there, {}, neverAsks)];
    await carol.getByRole("link", { name: /Pay invoice/ }).click();
    await carol.getByLabel("Note").fill("half a thought");
    // Another page of the same person, which has no stream.
    const again = await as("bob", there, {}, (page) => page.route("**/inbox/changes", (route) => route.abort()));
    // The page of the person who called, who may not answer.
    const ann = await as("ann", here);
    await ann.goto(`${new URL(here.url).origin}/asks/${taskIds.get("approve_invoice")}/approval`);
    await ann.getByRole("heading", { name: "It waits for others" }).waitFor();
    await bob.getByRole("link", { name: /Pay invoice/ }).click();
    await bob.getByRole("button", { name: "Decline" }).dblclick();
    await Promise.all([
      carol.locator("#ask", { hasText: "bob@example.com declined it." }).waitFor(),
      ann.locator("main", { hasText: "bob@example.com declined it." }).waitFor(),
      again.getByRole("link", { name: /Pay invoice/ }).waitFor({ state: "detached" }),
      bob.locator(".toast", { hasText: "It counted" }).waitFor(),
    ]);
    expect(await carol.getByRole("link", { name: /Pay invoice/ }).count()).toBe(0);
    await bob.getByRole("link", { name: "See the record" }).click();
    await bob.getByText("You declined.").waitFor();
    await bob.goBack();
    await bob
      .getByRole("link", { name: /Tell us/ })
      .first()
      .waitFor();
    expect(await received("approve_invoice")).toContain("decline");
  });

  test("who is on a question, and what people say about it, is there at once for everyone who is asked, with the keys alone", async () => {
    const { here, there, as } = await asked(["approve_invoice", "translate"]);
    const neverAsks = (page: Page) =>
      page.addInitScript("const wait = setTimeout; setTimeout = (act, ms, ...rest) => (ms >= 4000 ? 0 : wait(act, ms, ...rest));");
    const [bob, carol] = [await as("bob", here, { bypassCSP: true }), await as("carol", there, {}, neverAsks)];
    for (const page of [bob, carol]) {
      await page.keyboard.press("j");
      await page.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    }
    await carol.getByLabel("Note").fill("half a thought");
    await bob.keyboard.press("c");
    await bob.locator("#ask .claim", { hasText: "You are on it until" }).waitFor();
    await carol.locator("#ask .claim", { hasText: "bob@example.com is on it until" }).waitFor();
    await carol.locator("#asks li", { hasText: "bob@example.com is on it" }).waitFor();
    expect(await carol.getByLabel("Note").inputValue()).toBe("half a thought");
    await carol.locator("#ask").press("m");
    await carol.keyboard.type("Which budget? C and M are letters here.");
    // It survives a reload.
    await carol.locator("body").evaluate("document.activeElement.blur()");
    await carol.reload();
    const comment = carol.getByLabel("Your comment");
    await carol.locator(".comment .draft").waitFor();
    expect(await comment.inputValue()).toBe("Which budget? C and M are letters here.");
    await comment.focus();
    await carol.keyboard.press("Control+Enter");
    await bob.locator(".comments", { hasText: "Which budget? C and M are letters here." }).waitFor();
    await bob.locator("#asks li", { hasText: "1 comment" }).waitFor();
    // What one is writing stays while others write.
    await carol.locator("#ask").press("m");
    await carol.keyboard.type("And");
    await bob.locator("#ask").press("m");
    await bob.keyboard.type("That of March");
    await bob.keyboard.press("Control+Enter");
    await carol.locator(".comments", { hasText: "That of March" }).waitFor();
    expect(await carol.getByLabel("Your comment").inputValue()).toBe("And");
    await bob.locator(".comments", { hasText: "That of March" }).waitFor();
    await bob.getByText("What happened").click();
    await bob.locator(".history", { hasText: "You commented" }).waitFor();
    expect(await bob.getByLabel("Your comment").inputValue()).toBe("");
    for (const colorScheme of ["dark", "light"] as const) {
      await bob.emulateMedia({ colorScheme });
      await findNothing(bob);
    }
    await bob.locator("#ask").press("c");
    await carol.locator("#ask .claim", { hasText: "is on it" }).waitFor({ state: "detached" });
    expect(await carol.locator("#asks .claimed").count()).toBe(0);
  });

  test("a question is handed on with the keys, to somebody who reads by whom and why, and taken back", async () => {
    const { here, there, as, received } = await asked(["approve_invoice", "translate"]);
    const [bob, dora] = [await as("bob", here, { bypassCSP: true }), await as("dora", there)];
    const { keyboard } = bob;
    await keyboard.press("j");
    await bob.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    await keyboard.press("e");
    // A name alone is not enough.
    await keyboard.type("dora@example.com, dora");
    await keyboard.press("Tab");
    await keyboard.type(" ");
    await keyboard.press("Control+Enter");
    await bob.locator("#hand-on-reason-problem").waitFor();
    expect(await bob.evaluate<string>("document.activeElement.id")).toBe("hand-on-reason");
    await findNothing(bob);
    await keyboard.type("On leave, e is a letter here");
    await keyboard.press("Control+Enter");
    await bob.locator(".toast", { hasText: "Handed on: Pay invoice" }).waitFor();
    // The next question is there.
    await bob.locator("#ask .said", { hasText: "שלום" }).waitFor();
    expect(await bob.getByRole("link", { name: /Pay invoice/ }).count()).toBe(0);

    const link = dora.getByRole("link", { name: /Pay invoice.*from bob@example.com/s });
    await link.click();
    await dora.locator("#ask .facts", { hasText: "bob@example.com: On leave, e is a letter here" }).waitFor();
    // Who handed it on sees to whom, beside the list and on its page, and nothing to answer.
    await bob.goBack();
    await bob.getByRole("heading", { name: "Handed on" }).waitFor();
    expect(await bob.locator("form.question").count()).toBe(0);
    for (const colorScheme of ["dark", "light"] as const) {
      await bob.emulateMedia({ colorScheme });
      await findNothing(bob);
    }
    await bob.locator("#ask").press("e");
    await bob.locator("#ask form.question").waitFor();
    await link.waitFor({ state: "detached" });
    // The page of the question alone, both ways.
    await bob.goto(bob.url().replace(/inbox[?]ask=(.*)%2F/, "asks/$1/"));
    await bob.locator("summary", { hasText: "Hand it on" }).click();
    await bob.getByLabel("Names").fill("dora@example.com");
    await bob.locator("#hand-on-reason").fill("Yours");
    await bob.getByRole("button", { name: "Hand it on" }).click();
    await bob.getByRole("heading", { name: "Handed on" }).waitFor();
    await findNothing(bob);
    await link.click();
    await dora.getByRole("button", { name: "Decline" }).click();
    expect(await received("approve_invoice")).toContain("decline");
    await bob.reload();
    await bob.getByText("dora@example.com declined it.").waitFor();
  });

  test("a question that is taken back on its own page is followed again", async () => {
    const { here, there, as, taskIds } = await asked(["approve_invoice"]);
    const looksOften = (page: Page) =>
      page.addInitScript("const wait = setTimeout; setTimeout = (act, ms, ...rest) => wait(act, ms >= 1_000 ? ms / 100 : ms, ...rest);");
    const [bob, carol] = [await as("bob", here, {}, looksOften), await as("carol", there)];
    await bob.goto(`${new URL(here.url).origin}/asks/${taskIds.get("approve_invoice")}/approval`);
    await bob.locator("summary", { hasText: "Hand it on" }).click();
    await bob.getByLabel("Names").fill("dora@example.com");
    await bob.locator("#hand-on-reason").fill("Yours");
    await bob.getByRole("button", { name: "Hand it on" }).click();
    await bob.getByRole("heading", { name: "Handed on" }).waitFor();
    // It has looked since.
    await bob.waitForResponse((response) => response.url().endsWith("/approval") && response.status() === 304);
    await bob.getByRole("button", { name: "Take it back" }).click();
    await bob.locator("form.question").waitFor();
    await carol.getByRole("link", { name: /Pay invoice/ }).click();
    await carol.getByRole("button", { name: "Decline" }).click();
    await bob.getByText("carol@example.com declined it.").first().waitFor();
  });

  test("a slow reply does not take the place of the question that was opened after it", async () => {
    const { here, as } = await asked(["approve_invoice", "translate"]);
    const bob = await as("bob", here);
    const held = Promise.withResolvers<void>();
    await bob.route(/[?&]ask=[^&]*approval/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await bob.getByRole("link", { name: /Pay invoice/ }).click();
    await bob.getByRole("link", { name: /שלום/ }).click();
    await bob.locator("#ask .said", { hasText: "שלום" }).waitFor();
    const late = bob.waitForResponse(/[?&]ask=[^&]*approval/);
    held.resolve();
    await (await late).finished();
    await bob.evaluate("new Promise((resolve) => setTimeout(resolve, 200))");
    expect(await bob.locator("#ask .said").innerText()).toContain("שלום");
    expect(new URL(bob.url()).searchParams.get("ask")).toMatch(/word$/);
  });

  test("a second answer while the first waits is not sent, and one that was not taken can be given again with what was typed", async () => {
    const { here, as, received } = await asked(["approve_invoice", "translate"]);
    const bob = await as("bob", here, {}, inFiveSeconds);
    const sent: string[] = [];
    let refuses = true;
    await bob.route("**/asks/**", async (route) => {
      const body = route.request().postData() ?? "";
      const isAnswer = route.request().method() === "POST" && !/only=check/.test(body);
      if (isAnswer) sent.push(new URLSearchParams(body).get("f2") ?? "");
      if (isAnswer && refuses) await route.fulfill({ status: 401, contentType: "text/html", body: "<!doctype html><title>No</title>" });
      else await route.continue();
    });
    const answer = async (note: string) => {
      await bob.getByRole("link", { name: /Pay invoice/ }).click();
      await bob.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
      await bob.getByRole("radio", { name: "Yes" }).check();
      await bob.getByRole("radio", { name: "Travel" }).check();
      await bob.getByLabel("Note").fill(note);
      await bob.getByRole("button", { name: "Answer", exact: true }).click();
      await bob.locator("#ask .said", { hasText: "שלום" }).waitFor();
    };
    await answer("first");
    await answer("second");
    await bob.locator(".toast", { hasText: "You are logged out" }).first().waitFor();
    await bob.waitForTimeout(2_000);
    expect(sent).toEqual(["first"]);
    refuses = false;
    await bob.reload();
    await bob.getByRole("link", { name: /Pay invoice/ }).click();
    await bob.locator("#ask .draft").waitFor();
    expect(await bob.getByLabel("Note").inputValue()).toBe("second");
    await bob.getByRole("button", { name: "Answer", exact: true }).click();
    expect(await received("approve_invoice")).toContain("second");
    expect(sent).toEqual(["first", "second"]);
  });

  test("a key that is held down selects once, and what somebody else answers is no longer selected", async () => {
    const { here, there, as } = await asked(["approve_invoice", "plan_event"]);
    const [bob, carol] = [await as("bob", here), await as("carol", there)];
    const picked = (count: number) => bob.locator("#picked", { hasText: `${count} selected` }).waitFor();
    await bob.keyboard.press("j");
    await bob.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    for (const _ of [1, 2]) await bob.keyboard.down("x");
    await bob.keyboard.up("x");
    await picked(1);
    await bob.locator("#asks input[name=batch]").nth(1).check();
    await picked(2);
    await carol.getByRole("link", { name: /Tell us/ }).click();
    await carol.getByRole("button", { name: "Decline" }).click();
    await picked(1);
  });

  test("a page that the browser has kept with an answer on its way is loaded again, and any other one stays", async () => {
    const { here, as, taskIds } = await asked(["approve_invoice"]);
    const bob = await as("bob", here);
    await bob.goto(`${new URL(here.url).origin}/asks/${taskIds.get("approve_invoice")}/approval`);
    const comeBack = "globalThis.isKept = true; dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))";
    await bob.evaluate(comeBack);
    await bob.evaluate("new Promise((resolve) => setTimeout(resolve, 200))");
    expect(await bob.evaluate("globalThis.isKept")).toBe(true);
    await bob.evaluate(`document.querySelector("#ask").inert = true; ${comeBack}`);
    await bob.waitForFunction("globalThis.isKept === undefined");
    expect(await bob.evaluate('document.querySelector("#ask").inert')).toBe(false);
  });

  test("a page that the browser translates follows what others do, and is written again only where something has changed", async () => {
    const { here, there, as, received } = await asked(["approve_invoice", "translate"]);
    const [bob, carol] = [await as("bob", here), await as("carol", there)];
    for (const page of [bob, carol]) {
      await page.keyboard.press("j");
      await page.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    }
    // What has come is known once countdowns have looked.
    await bob.waitForTimeout(1_200);
    await translate(bob);
    const written = `globalThis.written = 0;
      new MutationObserver((records) => (written += records.length)).observe(document.body, { subtree: true, childList: true, characterData: true });`;
    await bob.evaluate(written);
    // Countdowns look twice more.
    await bob.waitForTimeout(2_500);
    expect(await bob.evaluate("written")).toBe(0);

    await carol.keyboard.press("c");
    await bob.locator("#ask .claim", { hasText: "carol@example.com is on it until" }).waitFor();
    await bob.locator("#ask .snoozing", { hasText: "«" }).waitFor();
    await translate(bob);
    await carol.locator("#ask").press("c");
    await bob.locator("#ask .claim", { hasText: "is on it" }).waitFor({ state: "detached" });
    await translate(bob);
    await bob.getByRole("radio", { name: "Yes" }).check();
    await bob.getByRole("radio", { name: "Travel" }).check();
    await bob.getByRole("button", { name: /^«Answer»$/ }).click();
    await bob.locator(".toast", { hasText: "It counted" }).waitFor();
    await bob.locator("#ask .said", { hasText: "שלום" }).waitFor();
    expect(await bob.locator("#asks li").allTextContents()).toHaveLength(1);
    expect(await received("approve_invoice")).toContain("Travel");
  });

  test("a question is asked back about with the keys, and the person who made the call replies in their inbox", async () => {
    const { here, there, as } = await asked(["approve_invoice"]);
    const [bob, ann] = [await as("bob", here, { bypassCSP: true }), await as("ann", there, { bypassCSP: true })];
    await bob.keyboard.press("j");
    await bob.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    await bob.keyboard.press("q");
    await bob.keyboard.type("Which order is that, q");
    await bob.keyboard.press("Control+Enter");
    await bob.getByText("Until then the deadline stands still.").waitFor();
    await findNothing(bob);
    const link = ann.getByRole("link", { name: /Pay invoice.*bob@example.com asks you back/s });
    await link.waitFor();
    await link.click();
    await ann.getByText("Which order is that, q").first().waitFor();
    for (const colorScheme of ["dark", "light"] as const) {
      await ann.emulateMedia({ colorScheme });
      await findNothing(ann);
    }
    await ann.locator("#ask").press("q");
    await ann.keyboard.type("That of 3 November.");
    await ann.keyboard.press("Control+Enter");
    await link.waitFor({ state: "detached" });
    await bob.locator(".comments", { hasText: "That of 3 November." }).waitFor();
    await bob.getByText("Until then the deadline stands still.").waitFor({ state: "detached" });
  });

  test("a question that nobody answers is escalated: who is asked as well finds it there and answers it with the keys, and history and audit say so", async () => {
    const redis = await openRedis({ partitions: 1 });
    onTestFinished(() => redis.close());
    const { here, there, as, received, pass, taskIds } = await asked(["approve_invoice"], { stored: redis, audit: redis.audit });
    const [bob, erin] = [await as("bob", here), await as("erin", there, { bypassCSP: true })];
    await bob.keyboard.press("j");
    await bob.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    expect(await erin.locator("#asks li").count()).toBe(0);
    await pass(DAY_MS + 60_000);
    await erin.getByRole("link", { name: /Pay invoice/ }).waitFor();
    await bob.locator("#ask .facts", { hasText: "the group board" }).waitFor();
    await erin.keyboard.press("j");
    await erin.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    await erin.locator("summary", { hasText: "What happened" }).press("Enter");
    await erin.locator(".history", { hasText: "Nobody had answered: board was asked as well" }).waitFor();
    await findNothing(erin);
    await erin.locator("#ask").press("d");
    await erin.locator(".toast", { hasText: "It counted" }).waitFor();
    await bob.locator("#ask", { hasText: "erin@example.com declined it." }).waitFor();
    expect(await received("approve_invoice")).toContain("decline");
    const facts = (await redis.audit.read(0, 0, 100)).map(({ fact }) => fact);
    const about = { taskId: taskIds.get("approve_invoice"), ask: "approval" };
    expect(facts).toContainEqual(
      expect.objectContaining({ ...about, action: "escalate", door: "schedule", escalatedTo: [{ groups: ["board"] }] }),
    );
    expect(facts).toContainEqual(expect.objectContaining({ ...about, action: "answer", principal: "erin", door: "page" }));
  });

  /** Hears of nothing, so that only what the person does meets the server. */
  const deaf = async (page: Page): Promise<void> => {
    await sendsAtOnce(page);
    await page.addInitScript("const later = setTimeout; setTimeout = (act, ms, ...rest) => (ms >= 4000 ? 0 : later(act, ms, ...rest));");
    await page.route("**/inbox/changes", (route) => route.abort());
  };

  const HALF = "half a thought";
  const fillIn = async (page: Page): Promise<void> => {
    await page.getByLabel("Note").fill(HALF);
    await page.getByRole("radio", { name: "Yes" }).check();
    await page.getByRole("radio", { name: "Travel" }).check();
  };

  test.each<[string, (subject: { readonly pass: (ms: number) => Promise<void> }) => Promise<void>, RegExp, RegExp]>([
    [
      "who is no longer in the group",
      async () => {
        MEMBERS.finance.delete("bob");
        onTestFinished(() => void MEMBERS.finance.add("bob"));
      },
      /does not exist, is not for you, or is no longer open/,
      /does not exist, is not for you, or is no longer open/,
    ],
    [
      "whose deadline has passed",
      async ({ pass }) => await pass(2 * DAY_MS + 60_000),
      /deadline|in time|closed/i,
      /deadline|in time|closed/i,
    ],
  ])(
    "somebody %s reads so in the inbox and on the question's page, at once or with the answer, and keeps what they typed in sight",
    async (_what, happens, notice, refusal) => {
      const { here, there, as, all, taskIds, pass } = await asked(["approve_invoice", "approve_invoice"]);
      const path = `/asks/${taskIds.get("approve_invoice")}/approval`;
      const watching = [await as("bob", here), await as("bob", there)] as const;
      const answering = [await as("bob", here, {}, deaf), await as("bob", there, {}, deaf)] as const;
      for (const [inbox, alone] of [watching, answering]) {
        await inbox
          .getByRole("link", { name: /Pay invoice/ })
          .first()
          .click();
        await alone.goto(`${new URL(alone.url()).origin}${path}`);
        for (const page of [inbox, alone]) await fillIn(page);
      }
      const together = await as("bob", here, {}, deaf);
      await together.goto(`${new URL(together.url()).origin}/inbox?${all.map((taskId) => `batch=${taskId}/approval`).join("&")}`);
      await fillIn(together);
      await happens({ pass });
      // As a page does that has been offline. It would look by itself, within 15 seconds.
      await watching[0].evaluate("dispatchEvent(new Event('online'))");
      // Those that hear of it have no form any more. The others find out as they answer.
      for (const page of answering) await page.getByRole("button", { name: "Answer", exact: true }).click();
      for (const page of watching) {
        await page.locator("form.question").waitFor({ state: "detached" });
        await page.locator("main", { hasText: notice }).waitFor();
        expect(await page.locator("main .typed .words").innerText()).toBe(HALF);
      }
      const [inbox, alone] = answering;
      await inbox.locator(".toast", { hasText: refusal }).waitFor();
      expect(await inbox.locator(".toast .typed .words").innerText()).toBe(HALF);
      await alone.locator("main", { hasText: refusal }).waitFor();
      expect(await alone.locator("main .typed .words").innerText()).toBe(HALF);
      await together.getByRole("button", { name: "Answer (2)" }).click();
      await together.locator(".toast", { hasText: "0 of 2 answers counted." }).waitFor();
      expect(await together.locator(".toast .typed .words").innerText()).toBe(HALF);
      await findNothing(inbox);
      await findNothing(alone);
    },
  );

  test("nothing that one person typed is shown to the next who logs in with this browser, or kept as theirs, in pages that were open before", async () => {
    const { here, as, taskIds } = await asked(["approve_invoice"]);
    const [inbox, alone] = [await as("bob", here), await as("bob", here, {}, deaf)];
    await inbox.getByRole("link", { name: /Pay invoice/ }).click();
    await alone.goto(`${new URL(alone.url()).origin}/asks/${taskIds.get("approve_invoice")}/approval`);
    const person = (page: Page) => page.locator("body").getAttribute("data-person");
    const bob = await person(inbox);
    for (const page of [inbox, alone]) {
      await fillIn(page);
      await page.setExtraHTTPHeaders({ "x-principal": "carol" });
    }
    await inbox.evaluate("dispatchEvent(new Event('online'))");
    await alone.getByRole("button", { name: "Answer", exact: true }).click();
    for (const page of [inbox, alone]) {
      await until(async () => (await person(page)) !== bob);
      expect([await page.getByLabel("Note").inputValue(), await page.getByText(HALF).count()]).toEqual(["", 0]);
      await page.getByLabel("Note").fill("carol's");
      await page.setExtraHTTPHeaders({ "x-principal": "bob" });
      await page.reload();
      expect([await person(page), await page.getByLabel("Note").inputValue()]).toEqual([bob, HALF]);
    }
  });

  test("when a person logs out, other pages of the browser show nothing of theirs any more; when a login ends by itself, what they typed stays until somebody else logs in", async () => {
    const { here, as, taskIds } = await asked(["approve_invoice"]);
    const ask = `${taskIds.get("approve_invoice")}/approval`;
    const { origin } = new URL(here.url);
    for (const logsOut of [false, true]) {
      const page = await as("bob", here);
      const others = [await page.context().newPage(), await page.context().newPage()] as const;
      for (const [index, path] of [`/asks/${ask}`, `/inbox?ask=${ask}`].entries()) {
        await others[index]?.goto(`${origin}${path}`);
        await fillIn(others[index]!);
      }
      await page.route("**/logout", (route) => route.fulfill({ body: "left" }));
      await page.getByText("Menu").click();
      if (logsOut) await page.getByRole("button", { name: "Log out" }).click();
      const refused = others.map((other) => other.waitForResponse((response) => response.status() === 401));
      await page.context().addCookies([{ name: "lapsed", value: "1", url: origin }]);
      await others[1].evaluate("dispatchEvent(new Event('online'))");
      await Promise.all(refused);
      for (const other of others) {
        if (logsOut)
          await until(async () => (await other.getByText("Pay invoice").count()) + (await other.getByLabel("Note").count()) === 0);
        else expect(await other.getByLabel("Note").inputValue()).toBe(HALF);
      }
      await page.context().clearCookies({ name: "lapsed" });
      await page.context().setExtraHTTPHeaders({ "x-principal": "carol" });
      for (const other of others) {
        // As when she comes to it from her own page.
        await other.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
        if (!logsOut) await until(async () => (await other.getByLabel("Note").inputValue()) === "");
      }
    }
  });

  /** Headless browsers freeze no page. As far as a page can tell: nothing that is due happens, and it hears of nothing, until an event says that it lives again. */
  const freezable = async (page: Page): Promise<void> => {
    await page.addInitScript(`
      const held = [];
      const wait = setTimeout;
      setTimeout = (act, ms, ...rest) => wait(() => (window.isFrozen ? held.push(() => act(...rest)) : act(...rest)), ms);
      addEventListener("storage", (event) => window.isFrozen && event.stopImmediatePropagation());
      window.thaw = (by) => {
        window.isFrozen = false;
        if (by === "pageshow") dispatchEvent(new PageTransitionEvent(by, { persisted: true }));
        else document.dispatchEvent(new Event(by));
        for (const act of held.splice(0)) act();
      };`);
  };

  test.each([
    ["nobody", "pageshow"],
    ["carol", "pageshow"],
    ["bob", "visibilitychange"],
    ["no server", "resume"],
  ])(
    "a page that is frozen while its person logs out shows and sends nothing of theirs as it comes to life, where %s is there then (%s)",
    async (then, by) => {
      const { here, as, services, taskIds } = await asked(["approve_invoice", "translate"]);
      const { origin } = new URL(here.url);
      const page = await as("bob", here);
      const context = page.context();
      const [sends, types] = [await context.newPage(), await context.newPage()] as const;
      const others = [sends, types];
      for (const other of others) await freezable(other);
      const taskId = taskIds.get("translate") ?? "";
      await sends.goto(`${origin}/asks/${taskId}/word`);
      await types.goto(`${origin}/inbox?ask=${taskIds.get("approve_invoice")}/approval`);
      await fillIn(types);
      await sends.locator("#ask input[name=f0]").fill(HALF);
      await sends.keyboard.press("Enter");
      await sends.locator(".toast", { hasText: "Sent in a few seconds" }).waitFor();
      for (const other of others) await other.evaluate("window.isFrozen = true");
      await page.route("**/logout", (route) => route.fulfill({ body: "left" }));
      await page.getByText("Menu").click();
      await page.getByRole("button", { name: "Log out" }).click();
      await page.getByText("left").waitFor();
      if (then === "carol") await context.setExtraHTTPHeaders({ "x-principal": then });
      else if (then !== "bob") await context.addCookies([{ name: "lapsed", value: "1", url: origin }]);
      await context.setOffline(then === "no server");
      // Nothing is seen until the server has said whose page it is.
      for (const other of others) {
        const seen = `thaw(${JSON.stringify(by)}); [...document.body.children].filter((each) => each.checkVisibility()).length`;
        expect(await other.evaluate(seen)).toBe(0);
      }
      const isShown = "[...document.querySelectorAll('#ask')].some((ask) => ask.checkVisibility())";
      const status = async () => (await services.store.load(taskId))?.status;
      if (then === "bob") {
        await until(async () => await types.evaluate<boolean>(isShown));
        expect(await types.getByLabel("Note").inputValue()).toBe(HALF);
        await until(async () => (await status()) === "completed");
        return;
      }
      if (then === "no server") {
        for (const other of others) await other.getByText("There is no connection.").waitFor();
        await context.setOffline(false);
        for (const other of others) await other.getByText("There is no connection.").waitFor({ state: "detached" });
      }
      const isHis = `[...document.querySelectorAll("#ask input, #ask textarea")].some(({ value }) => value === ${JSON.stringify(HALF)})`;
      for (const other of others) await until(async () => !(await other.evaluate<boolean>(then === "carol" ? isHis : isShown)));
      // Longer than an answer can be taken back.
      await page.waitForTimeout(5_500);
      expect(await status()).toBe("input_required");
    },
  );

  test.each(["/inbox", "/play/"])(
    "what a person gave on another page is sent before they log out at %s, and others need not wait",
    async (from) => {
      const { here, as, taskIds, received } = await asked(["approve_invoice", "translate"], { playground: true });
      const { origin } = new URL(here.url);
      const other = await as("bob", here, {}, inFiveSeconds);
      const page = await other.context().newPage();
      const events: string[] = [];
      await page.route("**/logout", async (route) => {
        events.push("logged out");
        await route.fulfill({ body: "left" });
      });
      await page.route("**/play/api/account", (route) => route.fulfill({ json: { hasLogin: true, name: "bob", person: "bob" } }));
      await page.goto(`${origin}${from}`);
      await other.goto(`${origin}/asks/${taskIds.get("translate")}/word`);
      await other.route("**/asks/**", async (route) => {
        if (route.request().method() === "POST") {
          // Longer than others are asked to wait.
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          events.push("sent");
        }
        await route.continue();
      });
      await other.locator("#ask input[name=f0]").fill("peace");
      await other.keyboard.press("Enter");
      await other.locator(".toast", { hasText: "Sent in a few seconds" }).waitFor();
      if (from === "/inbox") await page.getByText("Menu").click();
      events.length = 0;
      await page.getByRole("button", { name: "Log out" }).click();
      await until(() => events.includes("logged out"));
      expect(events).toEqual(["sent", "logged out"]);
      expect(await received("translate")).toContain("peace");
      const left = "Object.keys(localStorage).filter((key) => /sending|leaving/.test(key))";
      expect(await other.evaluate(left)).toEqual([]);
    },
  );

  test("a browser's clock that is wrong by a day, or is set while the page is open, changes no date and no countdown, and loses nothing", async () => {
    const { here, there, as, received } = await asked(["approve_invoice", "translate", "read_report"]);
    const wrongBy = (ms: number) => async (page: Page) => {
      await sendsAtOnce(page);
      await page.clock.install({ time: Date.now() + ms });
    };
    /** As the script writes them, which counts each second. */
    const times = async (page: Page) => {
      if (page !== right) await page.clock.runFor(2_000);
      return await page.locator("#asks time, #asks [data-until], #ask time, #ask [data-until]").allInnerTexts();
    };
    const right = await as("carol", there);
    const pages = [await as("bob", here, {}, wrongBy(DAY_MS)), await as("bob", there, {}, wrongBy(-DAY_MS))] as const;
    const open = async (page: Page, name: RegExp) => {
      await page.getByRole("link", { name }).click();
      await page.locator("#ask .said", { hasText: name }).waitFor();
    };
    for (const page of [right, ...pages]) await open(page, /Pay invoice/);
    const shown = await times(right);
    expect(shown.filter((text) => /^in \d+ (?:hours|days)$/.test(text)).length).toBeGreaterThan(3);
    for (const page of pages) expect(await times(page)).toEqual(shown);
    const [ahead, behind] = pages;
    // Now it is set right in one, and wrong by another day in the other.
    await ahead.getByLabel("Note").fill(HALF);
    await ahead.clock.setSystemTime(Date.now());
    await behind.clock.setSystemTime(Date.now() - 2 * DAY_MS);
    for (const page of pages) {
      await open(page, /Report/);
      await open(page, /Pay invoice/);
      expect(await times(page)).toEqual(shown);
    }
    expect(await ahead.getByLabel("Note").inputValue()).toBe(HALF);
    // What was typed is kept for a week, which has not passed.
    await ahead.clock.setSystemTime(Date.now() + 30 * DAY_MS);
    await ahead.reload();
    expect(await ahead.getByLabel("Note").inputValue()).toBe(HALF);
    await ahead.getByRole("button", { name: "Decline" }).click();
    await behind.locator("#ask", { hasText: "You declined" }).waitFor();
    expect(await received("approve_invoice")).toContain("decline");
  });

  test("an answer that is held up is sent again when the server has said, and not only after days", async () => {
    const { here, as, received } = await asked(["translate"]);
    const page = await as("bob", here, {}, async (each) => await each.clock.install());
    let attempts = 0;
    let after = "60";
    await page.route(/\/asks\//, async (route) => {
      const request = route.request();
      if (request.method() !== "POST" || /only=check/.test(request.postData() ?? "")) return await route.continue();
      attempts += 1;
      if (after === "") return await route.continue();
      await route.fulfill({ status: 429, headers: { "retry-after": after }, contentType: "text/html", body: "<h1>Slowly</h1>" });
    });
    await page.getByRole("link", { name: /שלום/ }).click();
    await page.locator("#ask [name=f0]").fill("peace");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "Sent in a few seconds" }).waitFor();
    /** Runs what is due after each second, as if they passed. */
    const passes = (seconds: number) => page.clock.runFor(seconds * 1_000);
    await passes(6);
    const heldUp = page.locator(".toast", { hasText: "Not sent yet" });
    await heldUp.waitFor();
    await passes(57);
    expect(attempts).toBe(1);
    // However long it is told to wait.
    after = "999999";
    await passes(4);
    await until(() => attempts === 2);
    await page.waitForTimeout(100);
    await passes(117);
    expect(attempts).toBe(2);
    after = "";
    await passes(4);
    await page.locator(".toast", { hasText: "It counted" }).waitFor();
    expect(await received("translate")).toContain("peace");
  });

  test("a question is put aside with the keys, leaves the list in every window of this person, and comes back when somebody comments", async () => {
    const { here, there, as } = await asked(["approve_invoice", "translate"]);
    const [bob, also, carol] = [await as("bob", here, { bypassCSP: true }), await as("bob", there), await as("carol", there)];
    const { keyboard } = bob;
    const invoice = (page: Page) => page.getByRole("link", { name: /Pay invoice/ });
    await keyboard.press("j");
    await bob.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    await keyboard.press("s");
    expect(await bob.evaluate<string>("document.activeElement.value")).toBe("snooze:hour");
    for (const colorScheme of ["dark", "light"] as const) {
      await bob.emulateMedia({ colorScheme });
      await findNothing(bob);
    }
    // Four hours, not one.
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    await bob.locator(".toast", { hasText: "Put aside: Pay invoice" }).waitFor();
    // The next question is there.
    await bob.locator("#ask .said", { hasText: "שלום" }).waitFor();
    for (const page of [bob, also]) await invoice(page).waitFor({ state: "detached" });
    expect(await invoice(carol).count()).toBe(1);

    await bob.locator(".filter summary").click();
    await bob.getByLabel("Show", { exact: true }).selectOption("only");
    await invoice(bob).click();
    await bob.getByText("You have put it aside until").waitFor();
    await findNothing(bob);
    await bob.locator("#ask").press("s");
    await bob.locator(".toast", { hasText: "It is back: Pay invoice" }).waitFor();
    await invoice(also).waitFor();
    await invoice(also).click();
    await also.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    await also.keyboard.press("s");
    await also.keyboard.press("Enter");
    await invoice(also).waitFor({ state: "detached" });

    await invoice(carol).click();
    await carol.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    await carol.keyboard.press("m");
    await carol.keyboard.type("Look at page 2");
    await carol.keyboard.press("Control+Enter");
    await invoice(also).waitFor();
  });

  test("nothing is sent for five seconds, and what is typed survives undo, reload and a lost connection, until the person logs out", async () => {
    const { here, as, received, taskIds, services } = await asked();
    const page = await as("bob", here, {}, inFiveSeconds);
    await page.getByRole("link", { name: /שלום/ }).click();
    const box = page.locator("#ask input[name=f0]");
    await box.fill("peace");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "Sent in a few seconds" }).waitFor();
    await page.getByRole("button", { name: /Undo/ }).click();
    await page.locator("#ask .said", { hasText: "שלום" }).waitFor();
    expect([await box.inputValue(), (await services.store.load(taskIds.get("translate") ?? ""))?.status]).toEqual([
      "peace",
      "input_required",
    ]);
    await page.reload();
    await page.getByText("What you typed before is still here.").waitFor();
    expect(await box.inputValue()).toBe("peace");
    await page.context().setOffline(true);
    await page.locator(".toast", { hasText: "No connection" }).waitFor();
    await box.fill("hello");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "Not sent yet" }).waitFor();
    await page.context().setOffline(false);
    expect(await received("translate")).toContain("hello");
    await page.locator(".toast", { hasText: "It counted" }).waitFor();
    expect(await drafts(page)).toEqual([]);
    await page.getByRole("link", { name: /Pay invoice/ }).click();
    await page.getByLabel("Note").fill("mine");
    await until(async () => (await drafts(page)).length === 1);
    await page.route("**/logout", (route) => route.fulfill({ body: "left" }));
    await page.getByText("Menu").click();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("left").waitFor();
    expect(await drafts(page)).toEqual([]);
  });

  const drafts = (page: Page) =>
    page.evaluate<readonly string[]>("Object.keys(localStorage).filter((key) => key.startsWith('parley-draft'))");

  test.each<[what: string, text: string, hinder: (page: Page) => Promise<unknown>, counts: boolean]>([
    ["counts, and leaves nothing in the browser", "peace", async () => undefined, true],
    [
      "is filled in again if the login had lapsed",
      "peace",
      (page) => page.context().addCookies([{ name: "lapsed", value: "yes", url: new URL(page.url()).origin }]),
      false,
    ],
    ["is filled in again if it is larger than a browser sends as it leaves", "peace ".repeat(12_000), async () => undefined, false],
  ])("an answer whose page is left within the five seconds %s", async (_what, text, hinder, counts) => {
    const { here, as, services, taskIds } = await asked(["translate", "read_report"]);
    const taskId = taskIds.get("translate") ?? "";
    const { origin } = new URL(here.url);
    for (const address of [`${origin}/inbox?ask=${taskId}/word`, `${origin}/asks/${taskId}/word`]) {
      const page = await as("bob", here, {}, inFiveSeconds);
      await page.context().addCookies([{ name: "principal", value: "bob", url: origin }]);
      await page.goto(address);
      const box = page.locator("#ask [name=f0]");
      await box.fill(text);
      await page.keyboard.press("Enter");
      await page.locator(".toast", { hasText: "Sent in a few seconds" }).waitFor();
      await hinder(page);
      await page.goto("about:blank");
      await page.waitForTimeout(500);
      await page.context().clearCookies({ name: "lapsed" });
      const outcome = (await services.store.load(taskId))?.status;
      if (counts) {
        await until(async () => (await services.store.load(taskId))?.status === "completed");
        await page.goto(`${origin}/inbox`);
        await until(async () => (await drafts(page)).length === 0);
        return;
      }
      expect(outcome).toBe("input_required");
      // What became of it is asked on any page.
      await page.goto(`${origin}/inbox`);
      await page.goto(address);
      await page.getByText("What you typed before is still here").waitFor();
      expect(await box.inputValue()).toBe(text);
      // It is a draft like any other again.
      await page.getByRole("button", { name: "Start over" }).click();
      expect([await box.inputValue(), await drafts(page)]).toEqual(["", []]);
    }
  });

  test("an answer that is on its way as the page is left is forgotten once it has counted, however late that is", async () => {
    const { here, as, services, taskIds } = await asked(["translate"]);
    const taskId = taskIds.get("translate") ?? "";
    const { origin } = new URL(here.url);
    const page = await as("bob", here);
    await page.goto(`${origin}/asks/${taskId}/word`);
    const held = Promise.withResolvers<Request>();
    await page.route(/\/asks\//, async (route) => {
      const request = route.request();
      const isAnswer = request.method() === "POST" && !/only=check/.test(request.postData() ?? "");
      if (isAnswer) held.resolve(request);
      else await route.continue();
    });
    await page.locator("#ask [name=f0]").fill("peace");
    await page.keyboard.press("Enter");
    const request = await held.promise;
    const looked = page.waitForResponse((response) => response.url().endsWith(`/asks/${taskId}/word`));
    await page.goto(`${origin}/inbox`);
    await (await looked).finished();
    expect(await drafts(page)).toHaveLength(1);
    const headers = { "content-type": "application/x-www-form-urlencoded", origin };
    await page.request.post(request.url(), { headers, data: request.postData() ?? "" });
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    await page.goto(`${origin}/inbox`);
    await until(async () => (await drafts(page)).length === 0);
  });

  test("an answer that is too large is refused before it is sent, and stays in the form; one that meets no server is sent again, or taken back", async () => {
    const { here, as, received, taskIds, services } = await asked(["translate"]);
    const page = await as("bob", here);
    await page.getByRole("link", { name: /שלום/ }).click();
    const box = page.locator("#ask [name=f0]");
    await box.fill("x".repeat(FORM_BYTES_MAX));
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "Too large" }).waitFor();
    expect((await box.inputValue()).length).toBe(FORM_BYTES_MAX);
    await until(async () => (await drafts(page)).length === 1);
    await box.fill("peace");
    let isDown = true;
    await page.route(/\/asks\//, async (route) => {
      if (!isDown || route.request().method() !== "POST") return await route.continue();
      await route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" });
    });
    await page.keyboard.press("Enter");
    const heldUp = page.locator(".toast", { hasText: "Not sent yet, because the server is busy or has a problem" });
    await heldUp.waitFor();
    // It would be lost with the page, and whoever leaves is asked.
    const [leaving] = await Promise.all([page.waitForEvent("dialog"), page.evaluate("setTimeout(() => location.reload())")]);
    expect(leaving.type()).toBe("beforeunload");
    await leaving.dismiss();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator(".toast", { hasText: "Taken back" }).waitFor();
    expect([await box.inputValue(), await heldUp.count()]).toEqual(["peace", 0]);
    expect((await services.store.load(taskIds.get("translate") ?? ""))?.status).toBe("input_required");
    await box.press("Enter");
    await heldUp.waitFor();
    // Another answer takes the place of one that is held up.
    await page.getByRole("link", { name: /שלום/ }).click();
    await box.fill("calm");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "Sent in a few seconds" }).waitFor();
    expect(await heldUp.count()).toBe(0);
    isDown = false;
    await page.locator(".toast", { hasText: "It counted" }).waitFor();
    expect(await received("translate")).toContain("calm");
    expect(await drafts(page)).toEqual([]);
  });

  test("two tabs of one person, a question that settles between list and click, and the back button show how it is, and send nothing", async () => {
    const { here, there, as, received, taskIds } = await asked(["approve_invoice", "translate", "read_report"]);
    const bob = await as("bob", here);
    const other = await bob.context().newPage();
    await other.goto(bob.url());
    for (const page of [bob, other]) await page.getByRole("link", { name: /שלום/ }).click();
    await other.locator("#ask input[name=f0]").fill("hello");
    await bob.locator("#ask input[name=f0]").fill("peace");
    await bob.keyboard.press("Enter");
    await other.locator("#ask", { hasText: "You answered" }).waitFor();
    expect(await other.locator("form.question").count()).toBe(0);
    expect(await received("translate")).toContain("peace");

    // A list that hears of nothing any more.
    const carol = await as("carol", there, {}, async (page) => {
      await page.addInitScript("const wait = setTimeout; setTimeout = (act, ms, ...rest) => (ms >= 4000 ? 0 : wait(act, ms, ...rest));");
      await page.route("**/inbox/changes", (route) => route.abort());
    });
    const link = carol.getByRole("link", { name: /Pay invoice/ });
    await link.waitFor();
    await bob.getByRole("link", { name: /Pay invoice/ }).click();
    await bob.getByRole("button", { name: "Decline" }).click();
    expect(await received("approve_invoice")).toContain("decline");
    await link.click();
    await carol.locator("#ask", { hasText: "bob@example.com declined it." }).waitFor();
    expect(await carol.locator("form.question").count()).toBe(0);

    // Back to the form that was sent, without script: it is asked for again, and is no form any more.
    const plain = await as("bob", there, WITHOUT);
    await plain.getByRole("link", { name: /Report/ }).click();
    await plain.getByRole("button", { name: "Yes" }).click();
    await plain.getByRole("heading", { name: "Thank you" }).waitFor();
    await plain.goBack();
    await plain.getByText("Your answer counted").waitFor();
    expect(await plain.locator("form.question").count()).toBe(0);
    // And on the page of the question alone, to which its own reply belongs.
    await plain.goto(`${new URL(there.url).origin}/asks/${taskIds.get("read_report")}/fine`);
    await plain.getByText("Your answer counted").waitFor();
  });

  test("a front end that dies while the form is half filled in loses nothing: what is typed stays, and the answer goes to another one", async () => {
    const { here, there, as, received } = await asked(["approve_invoice"]);
    const balancer = await startBalancer([here, there].map(({ url }) => Number(new URL(url).port)));
    onTestFinished(() => balancer.close());
    const page = await as("bob", { ...here, url: `${balancer.url}/mcp` });
    await page.getByRole("link", { name: /Pay invoice/ }).click();
    await page.getByLabel("Note").fill("half a thought");
    await page.getByRole("radio", { name: "Yes" }).check();
    // As if it was killed: it listens no more, and its connections break.
    const { server } = here.app.server;
    server.close();
    server.closeAllConnections();
    await page.reload();
    await page.getByText("What you typed before is still here.").waitFor();
    expect(await page.getByLabel("Note").inputValue()).toBe("half a thought");
    await page.getByRole("radio", { name: "Travel" }).check();
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    expect(await received("approve_invoice")).toMatch(/Travel.*half a thought/);
    await page.locator(".toast", { hasText: "It counted" }).waitFor();
  });

  test("equal questions are selected with the keys and answered together, with receipts; what cannot be undone is not among them", async () => {
    const calls = ["delete_archive", "approve_invoice", "approve_invoice", "approve_invoice", "approve_invoice", "translate"];
    const { here, there, as, all, services } = await asked(calls);
    const [page, other] = [await as("bob", here, { bypassCSP: true }, inFiveSeconds), await as("carol", there)];
    const { keyboard } = page;
    const [bar, picked] = [page.locator("#batch"), page.locator("#picked")];
    expect(await bar.isVisible()).toBe(false);
    await keyboard.press("j");
    await page.locator("#ask .said", { hasText: "Delete the archive" }).waitFor();
    await keyboard.press("x");
    await picked.getByText("1 selected").waitFor();
    await keyboard.press("j");
    await page.locator("#ask .said", { hasText: "Pay invoice" }).waitFor();
    await keyboard.press("x");
    for (const _ of [1, 2]) await keyboard.press("j");
    await page.locator('#asks li:nth-child(4) a[aria-current="true"]').waitFor();
    await keyboard.press("Shift+X");
    await picked.getByText("4 selected").waitFor();
    await keyboard.press("x");
    await picked.getByText("3 selected").waitFor();
    await keyboard.press("l");
    await picked.getByText("5 selected").waitFor();
    await keyboard.press("b");
    await page.getByRole("heading", { name: "Answer 4 questions together" }).waitFor();
    await page.locator("#ask li", { hasText: "cannot be undone" }).waitFor();
    await findNothing(page);
    // What is missing is said at its field, and nothing is sent.
    await keyboard.press("Control+Enter");
    await page.locator("#ask [role=alert]").waitFor();
    await page.getByRole("radio", { name: "Yes" }).press("Space");
    await keyboard.press("Tab");
    await keyboard.type("Tra");
    // Somebody else is faster with one of them.
    await other.locator("#asks li:nth-child(3) a").click();
    await other.getByRole("button", { name: "Decline" }).click();
    await until(async () => (await services.store.load(all[2] ?? ""))?.status === "completed");
    await keyboard.press("Control+Enter");
    await page.locator(".toast", { hasText: "Sent in a few seconds: 4 questions" }).waitFor();
    await page.locator("#asks .sending").first().waitFor();
    await keyboard.press("z");
    // The form comes back as it was typed.
    await page.getByRole("heading", { name: "Answer 3 questions together" }).waitFor();
    expect(await page.getByRole("radio", { name: "Travel" }).isChecked()).toBe(true);
    expect(await page.locator("#asks .sending").count()).toBe(0);
    await page.getByRole("radio", { name: "Travel" }).press("Control+Enter");
    await page.locator(".toast", { hasText: "3 of 3 answers counted." }).waitFor();
    for (const at of [1, 3, 4]) {
      await until(async () => (await services.store.load(all[at] ?? ""))?.status === "completed");
      expect(JSON.stringify((await services.store.load(all[at] ?? ""))?.outcome)).toMatch(/approve\W+true.*Travel/);
    }
    await page.getByRole("button", { name: "Receipts" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "3 of 3 answers counted." });
    expect(await dialog.getByRole("listitem").allInnerTexts()).toEqual(Array.from({ length: 3 }, () => expect.stringContaining("counted")));
    await findNothing(page);
    await dialog.getByRole("button", { name: "Close" }).press("Enter");
    await page.getByText("2 questions wait for you").first().waitFor();
    expect(await bar.isVisible()).toBe(false);
  });

  test("a screen reader that is led to a form hears its question with the field", async () => {
    const { here, as } = await asked(["plan_event"]);
    const page = await as("bob", here);
    await page.keyboard.press("j");
    await page.locator("#ask .said").waitFor();
    await page.keyboard.press("Enter");
    await until(async () => (await page.evaluate("document.activeElement.name")) === "f0");
    expect(await describedAs(page, "textbox")).toMatch(/^Tell us about the event\./);
    // Once, however often.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.locator("#ask .said").waitFor();
    await until(async () => (await page.evaluate("document.activeElement.name")) === "f0");
    expect(await page.evaluate("document.activeElement.getAttribute('aria-describedby').match(/said/g).length")).toBe(1);
  });

  test("a screen reader hears what list, question, dialog and messages are, what comes, and no countdown", async () => {
    const { here, as } = await asked();
    const page = await as("bob", here, {}, inFiveSeconds);
    const heard = async (role: string, name: RegExp | string = /./) =>
      (await heardOn(page)).find((each) => each.role === role && (typeof name === "string" ? each.name === name : name.test(each.name)));
    // Before anything comes, so that it is heard when it comes.
    expect((await heard("region", "Messages"))?.is).toMatchObject({ live: "polite" });
    expect((await heardOn(page)).filter(({ role }) => role === "listitem")).toHaveLength(asking.tools.size);
    expect((await heard("link", /archive/))?.name).toMatch(
      /^⚠️? ?Delete the archive.* Cannot be undone .*in 49 minutes delete_archive in a call of ann@example\.com asked at/,
    );

    await page.getByRole("link", { name: /Tell us/ }).click();
    await page.locator("#ask .said", { hasText: "Tell us" }).waitFor();
    // A browser would call what is still empty wrong.
    for (const [role, name] of [
      ["textbox", "Mail"],
      ["radiogroup", "Color"],
      ["Date", "Day"],
    ] as const)
      expect((await heard(role, name))?.is).toMatchObject({ invalid: "false" });
    await page.keyboard.press("a");
    await page.locator("#ask [role=alert]").waitFor();
    expect((await heard("alert", /^/))?.is).toMatchObject({ live: "assertive" });
    expect(await heard("textbox", "Mail")).toMatchObject({
      is: { invalid: "true", focused: true },
      description: expect.stringContaining("required"),
    });

    await page.getByRole("link", { name: /Delete the archive/ }).click();
    await page.locator("#ask").getByRole("button", { name: "Delete the archive" }).click();
    await page.getByRole("dialog").waitFor();
    expect((await heard("dialog", "This cannot be undone. Are you sure?"))?.is).toMatchObject({ modal: true });
    expect((await heard("button", "Back"))?.is).toMatchObject({ focused: true });
    await page.keyboard.press("Escape");

    await page.evaluate(`(() => {
      globalThis.said = [];
      const within = (node, selector) => (node.nodeType === 1 ? node : node.parentElement)?.closest(selector);
      new MutationObserver((changes) => {
        for (const { target, addedNodes } of changes)
          for (const node of [target, ...addedNodes])
            if (within(node, "[aria-live], [role=status], [role=alert]") && !within(node, "[aria-hidden=true]")) said.push(node.textContent);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    await page.getByRole("link", { name: /שלום/ }).click();
    await page.locator("#ask [name=f0]").fill("peace");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "Sent in a few seconds" }).waitFor();
    expect(await page.evaluate<string[]>("said.filter((each) => each.includes('Sent in a few seconds'))")).not.toEqual([]);
    await page.locator(".toast button", { hasText: "4" }).waitFor();
    await page.evaluate("said.length = 0");
    await page.locator(".toast button", { hasText: "2" }).waitFor();
    expect(await page.evaluate("said")).toEqual([]);
  });

  test("without script, equal questions are selected and answered together as well", async () => {
    const { here, as, all, services } = await asked(["approve_invoice", "approve_invoice", "delete_archive"]);
    const page = await as("bob", here, WITHOUT);
    for (const box of await page.getByRole("checkbox").all()) await box.check();
    await page.getByRole("button", { name: "Answer together" }).click();
    await page.getByText("cannot be undone").first().waitFor();
    await page.getByRole("radio", { name: "No" }).check();
    await page.getByRole("button", { name: "Answer (2)" }).click();
    // What was missing is asked again, with what was given.
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("radio", { name: "No" }).isChecked()).toBe(true);
    await page.getByRole("radio", { name: "Marketing" }).check();
    await page.getByRole("button", { name: "Answer (2)" }).click();
    await page.getByText("2 of 2 answers counted.").waitFor();
    await until(async () => (await services.store.load(all[1] ?? ""))?.status === "completed");
    expect((await services.store.load(all[2] ?? ""))?.status).toBe("input_required");
    await page.getByRole("link", { name: "Go to your inbox" }).click();
    await page.getByText("1 question waits for you").waitFor();
  });

  test("the page of one question asks once more, waits, and shows the record in its place and from the list of what was answered", async () => {
    const { here, as, received, taskIds } = await asked();
    const page = await as("bob", here, { bypassCSP: true });
    await page.goto(`${new URL(here.url).origin}/asks/${taskIds.get("delete_archive")}/sure`);
    await page.getByRole("button", { name: "Delete the archive" }).click();
    await page.locator("#sure").getByRole("button", { name: "Delete the archive" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    await page.getByText("Your record").waitFor();
    expect(await received("delete_archive")).toContain("true");
    await page.goto(`${new URL(here.url).origin}/inbox`);
    await page.getByText("Menu").click();
    await findNothing(page);
    await page.getByRole("link", { name: "Answered by me" }).click();
    await page.getByRole("link", { name: /You answered: yes/ }).waitFor();
    // 390 pixels, and 1,280 at 400 %.
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 780 });
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
    }
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      await findNothing(page);
    }
    await page.getByRole("link", { name: /You answered: yes/ }).press("Enter");
    await page.getByText("Your answer counted.").waitFor();
    await findNothing(page);
  });

  test("keys can be switched off, a search narrows the list, and a filter is kept as a view until it is removed", async () => {
    const { here, as } = await asked();
    const page = await as("bob", here, { bypassCSP: true });
    const view = page.locator("#views").getByRole("link", { name: "Within an hour" });
    await page.locator(".filter summary").click();
    await page.getByLabel("Closes").selectOption("hour");
    await page.getByRole("button", { name: "Save this view" }).press("Enter");
    expect(await page.locator("#asks li").count()).toBe(1);
    await page.locator("#views").getByRole("link", { name: "All" }).click();
    await page.getByText(`${asking.tools.size} questions wait for you`).waitFor();
    await findNothing(page);
    await view.click();
    await page.getByText("1 question matches").waitFor();
    // A question that is opened keeps the filter.
    await page.keyboard.press("j");
    await page.locator("#ask .said", { hasText: "Delete the archive" }).waitFor();
    expect(new URL(page.url()).searchParams.get("closes")).toBe("hour");
    await findNothing(page);
    await page.getByRole("button", { name: "Remove this view" }).click();
    await view.waitFor({ state: "detached" });
    await page.goto(`${new URL(here.url).origin}/inbox`);
    expect(await page.locator("#views").isVisible()).toBe(false);
    await page.keyboard.press("/");
    await page.keyboard.type("archive");
    expect(await page.locator("#asks li:visible").count()).toBe(1);
    await page.keyboard.press("Escape");
    expect(await page.locator("#asks li:visible").count()).toBe(asking.tools.size);
    await page.keyboard.press("?");
    await page.getByLabel("Use these keys").uncheck();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.reload();
    await page.keyboard.press("j");
    expect(new URL(page.url()).searchParams.get("ask")).toBeNull();
  });

  test.each([
    ["light", "en-GB"],
    ["dark", "de-DE"],
  ] as const)(
    "axe finds nothing in %s, %s: on a large screen, a phone, at 400 percent, and from right to left",
    async (colorScheme, locale) => {
      const { here, as } = await asked();
      const looks = { colorScheme, locale, bypassCSP: true };
      const page = await as("bob", here, looks, inFiveSeconds);
      const open = async (words: RegExp, on = page) => {
        await on.getByRole("link", { name: words }).click();
        await on.locator("#ask .said", { hasText: words }).waitFor();
      };
      await open(/Pay invoice/);
      await findNothing(page);
      const picture = async (name: string, on = page) => {
        if (!WRITES_PICTURES || colorScheme !== "light") return;
        await on.evaluate("scrollTo(0, 0)");
        await on.screenshot({ path: join(PICTURES, `inbox-${name}.png`) });
      };
      await picture(colorScheme);
      const phone = await as("bob", here, { ...looks, hasTouch: true, isMobile: true, viewport: { width: 390, height: 780 } });
      await open(/Delete the archive/, phone);
      await findNothing(phone);
      expect(await phone.locator("#keys-open").isVisible()).toBe(false);
      await picture(`phone-${colorScheme}`, phone);
      await phone.close();
      for (const words of [/Delete the archive/, /Where does it go/, /Report/, /Look at/]) {
        await open(words);
        await findNothing(page);
      }
      await page.keyboard.press("?");
      await findNothing(page);
      await page.keyboard.press("Escape");
      await open(/Tell us/);
      await page.keyboard.press("a");
      await page.locator("#ask [role=alert]").waitFor();
      await findNothing(page);
      await open(/שלום/);
      await page.locator("#ask input[name=f0]").fill("x");
      await page.keyboard.press("Enter");
      await page.locator(".toast").waitFor();
      await findNothing(page);
      const width = () => page.evaluate<number>("document.documentElement.scrollWidth");
      await open(/Delete the archive/);
      // 1,280 pixels at 400 % are 320.
      await page.setViewportSize({ width: 320, height: 640 });
      expect(await width()).toBe(320);
      await findNothing(page);
      await page.keyboard.press("Escape");
      await page.locator("#asks li").first().waitFor();
      expect(await width()).toBe(320);
      // As in a language that is written from right to left.
      await page.evaluate("document.documentElement.dir = 'rtl'");
      expect(await width()).toBe(320);
      await findNothing(page);
    },
  );
});

test("the script and the style of the inbox are smaller than 60 kB as they travel", () => {
  const [script, ...others] = globSync("*.js", { cwd: SCRIPT_DIRECTORY });
  expect(others).toEqual([]);
  const sizes = [readFileSync(join(SCRIPT_DIRECTORY, script ?? "")), Buffer.from(PAGES_STYLE)].map(
    (content) => gzipSync(content, { level: 9 }).length,
  );
  expect(sizes.reduce((sum, each) => sum + each, 0)).toBeLessThan(PAGE_BYTES_MAX);
});
