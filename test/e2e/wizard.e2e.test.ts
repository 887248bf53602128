/**
 * Twelve fields on three pages by keyboard, at a terminal and in browsers, with three mistakes on the way: a wrong address, a step back for a name, hours
 * that do not fit. Nothing is typed twice, and the next page is there by itself.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue } from "@parley/sdk";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { joinCompany } from "../../apps/gallery/19-join-company.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { rpc } from "../../apps/server/client.fixture.ts";
import { callerNamed, deploy } from "../../apps/server/deployment.fixture.ts";
import { findNothing } from "../support/axe.ts";
import { findChromium, sendsAtOnce, startChromium } from "../support/chromium.ts";
import { hasTerminal, openTerminal, type Terminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

let directory: string;
let on: Terminal | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-wizard-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", directory);
});
afterEach(async () => {
  await on?.close();
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

test.runIf(hasTerminal).each(["call", "inbox", "answer"])(
  "by keyboard in a terminal, with parley %s, nothing is typed twice",
  async (by) => {
    const { fronts, services } = await deploy({ catalogue: catalogue([joinCompany]) });
    const begin = async () => {
      if (by === "call") return ["call", "join_company"];
      const { result } = await rpc(fronts[0]!, "tools/call", { name: "join_company", arguments: {} });
      const taskId = String(result!["taskId"]);
      await until(async () => (await services.store.load(taskId))?.status === "input_required");
      return by === "inbox" ? ["inbox"] : ["answer", taskId];
    };
    const terminal = (on = await openTerminal(await begin(), { PARLEY_URL: fronts[0]!.url }));
    /** Only the prompt that waits has a filled sign. */
    const asks = async (label: string) => await terminal.shows(`◆  ${label}`);
    const answer = async (label: string, typed = "") => {
      await asks(label);
      if (typed !== "") await terminal.type(typed);
      await terminal.press("Enter");
    };

    await terminal.shows("Step 1 of 3");
    await answer("Answer?");
    await answer("Name", "Ada Lovelac");
    await answer("E-mail", "ada@acme");
    // What is wrong is said while it can still be changed.
    await terminal.shows(/must be .*(e-mail|email)/);
    await terminal.type(".example");
    await terminal.press("Enter");
    await answer("Phone", "+43 1 234");
    await answer("Birthday", "1990-12-10");

    await terminal.shows("Step 2 of 3");
    await asks("Answer?");
    await terminal.shows("○ Back");
    await terminal.press("Down", "Enter");

    await terminal.shows(/◇ {2}Answer\?\n│ {2}Back[^◆]*Step 1 of 3/);
    await answer("Answer?");
    await answer("Name", "e");
    for (const label of ["E-mail", "Phone", "Birthday"]) await answer(label);

    await terminal.shows("Step 2 of 3");
    await answer("Answer?");
    await answer("Street", "Ring 1");
    await answer("Postal", "1010");
    await answer("City", "Vienna");
    await answer("Country");

    await terminal.shows("Step 3 of 3");
    await answer("Answer?");
    await answer("Begins", "9");
    await answer("Ends", "8");
    await answer("Place");
    await answer("Anything else");

    await terminal.shows("must be after the beginning");
    await answer("Answer?");
    await answer("Begins");
    await asks("Ends");
    await terminal.press("BSpace");
    await terminal.type("17");
    await terminal.press("Enter");
    await answer("Place");
    await answer("Anything else");
    if (by === "call") await terminal.shows("Welcome, Ada Lovelace of Vienna: 9 to 17 o'clock, quiet room.");
    if (by === "inbox") await terminal.shows("6 of 6 answered");
    expect(await terminal.ended()).toBe(0);
    const [kept] = await readdir(join(directory, "colleagues"));
    expect(JSON.parse(await readFile(join(directory, "colleagues", kept ?? ""), "utf8"))).toMatchObject({
      person: { name: "Ada Lovelace", email: "ada@acme.example" },
      work: { from: 9, to: 17 },
    });
  },
);

const command = findChromium();
/** WIZARD_SHOTS=<directory>: where a picture of each page goes. */
const SHOTS = process.env["WIZARD_SHOTS"];

describe.skipIf(command === undefined)("in a browser, by keyboard, nothing is typed twice, and the next page is there by itself:", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium(command ?? "")));
  afterAll(() => browser?.close());

  const authenticate = () => callerNamed("ann", { names: ["ann@example.com"] });
  const WORDS = {
    en: {
      answer: "Answer",
      next: "Next",
      back: "Back",
      step: "Step",
      wrong: "such as ann@example.com",
      again: "Your last answer was not accepted",
      done: "Thank you",
    },
    de: {
      answer: "Antworten",
      next: "Weiter",
      back: "Zurück",
      step: "Schritt",
      wrong: "zum Beispiel ann@example.com",
      again: "Ihre letzte Antwort wurde nicht angenommen",
      done: "Danke",
    },
  } as const;

  interface Face {
    readonly words: Readonly<Record<keyof (typeof WORDS)["en"], string>>;
    readonly options: BrowserContextOptions;
    /** From where the person begins to the first page. */
    readonly begin: (page: Page, origin: string, taskId: string) => Promise<void>;
    /** The first field has the focus when a page opens. */
    readonly isFocused: boolean;
    readonly stepOf: (page: Page, text: string) => Promise<void>;
    /** Resolves at the end. */
    readonly end: (page: Page) => Promise<void>;
    readonly taken: string;
  }

  async function walk({ words, options, begin, isFocused, stepOf, end, taken }: Face): Promise<void> {
    const { fronts, services } = await deploy({
      catalogue: catalogue([joinCompany]),
      playground: true,
      authenticate,
      visitors: { authenticate, ticket: undefined },
    });
    const created = await rpc(fronts[0]!, "tools/call", { name: "join_company", arguments: {} });
    const taskId = String(created.result!["taskId"]);
    await until(async () => (await services.store.load(taskId))?.status === "input_required");
    const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, timezoneId: "Europe/Vienna", ...options });
    onTestFinished(() => context.close());
    context.setDefaultTimeout(10_000);
    const page = await context.newPage();
    await sendsAtOnce(page);
    const { keyboard } = page;
    const focused = () =>
      page.evaluate<string>("document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.textContent ?? ''");
    /** Goes on to what has this label, as far as keys lead. */
    const to = async (label: string, key = "Tab", or = label) => {
      const isThere = (text: string) => text.trim().startsWith(label) || text.trim().startsWith(or);
      for (let pressed = 0; !isThere(await focused()); pressed += 1) {
        if (pressed === 300) throw new Error(`no key leads to ${label}; at ${await focused()}`);
        // Buttons of a question that has just come take no key for a moment.
        if (pressed % 60 === 59) await page.waitForTimeout(500);
        await keyboard.press(key);
      }
    };
    /** The first choice, in a menu or among buttons. Letters choose; without script, the space bar does. */
    const choose = async (label: string, first: string) => {
      await to(label, "Tab", first);
      await (options.javaScriptEnabled === false ? keyboard.press("Space") : keyboard.type(first.slice(0, 3)));
    };
    const type = async (label: string, text: string) => {
      await to(label);
      await keyboard.press("End");
      await keyboard.type(text);
    };
    const pages: string[] = [];
    // Axe is a script. Without any, the page is the same.
    const looked = async (label: string) => void (options.javaScriptEnabled === false || (await findNothing(page, label)));
    const at = async (step: number, first: string, label = `${step}`) => {
      await stepOf(page, `${words.step} ${step} `);
      if (isFocused) await until(async () => (await focused()).trim().startsWith(first));
      if (!pages.includes(`${step}`) || label.endsWith("again")) await looked(label);
      pages.push(label);
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${taken}-${pages.length}.png`), fullPage: true });
    };
    const press = async (label: string) => {
      await to(label);
      await keyboard.press("Enter");
    };

    await begin(page, new URL(fronts[0]!.url).origin, taskId);
    await at(1, "Name");
    await type("Name", "Ada Lovelac");
    await type("E-mail", "ada@acme");
    await type("Phone", "+43 1 234");
    await to("Birthday");
    await keyboard.type("12121990");
    await press(words.next);
    // What is wrong is said at its field, and the rest is still there.
    await page.getByText(words.wrong).first().waitFor();
    await looked("a mistake");
    await to("E-mail", "Shift+Tab");
    await keyboard.press("End");
    await keyboard.type(".example");
    await press(words.next);

    await at(2, "Street");
    await press(words.back);
    await at(1, "Name", "1 once more");
    await type("Name", "e");
    await press(words.next);

    await at(2, "Street", "2 once more");
    await type("Street", "Ring 1");
    await type("Postal", "1010");
    await type("City", "Vienna");
    await choose("Country", "Austria");
    await press(words.next);

    await at(3, "Begins");
    await type("Begins", "9");
    await type("Ends", "8");
    await choose("Place", "quiet room");
    await press(words.answer);
    await page.getByText(words.again).first().waitFor();
    await at(3, "Ends", "3 again");
    await type("Ends", "");
    await keyboard.press("Backspace");
    await keyboard.type("17");
    await press(words.answer);
    await end(page);

    await until(async () => (await services.store.load(taskId))?.status === "completed");
    const kept = JSON.parse(await readFile(join(directory, "colleagues", `${taskId}.json`), "utf8")) as unknown;
    expect(kept).toEqual({
      person: { name: "Ada Lovelace", email: "ada@acme.example", phone: "+43 1 234", birthday: "1990-12-12" },
      address: { street: "Ring 1", zip: "1010", city: "Vienna", country: "Austria" },
      work: { from: 9, to: 17, seat: "quiet room" },
    });
  }

  const stepOf = async (page: Page, text: string) => await page.locator("#ask", { hasText: text }).waitFor();
  const thanked = (words: Face["words"]) => async (page: Page) => await page.getByRole("heading", { name: words.done }).waitFor();
  const onPage = async (page: Page, origin: string, taskId: string) => void (await page.goto(`${origin}/asks/${taskId}/joining/person`));
  const beside = async (page: Page, origin: string) => {
    await page.goto(`${origin}/inbox`);
    await page.keyboard.press("j");
    await page.locator("#ask .said").waitFor();
    await page.keyboard.press("Enter");
  };
  const emptied = async (page: Page) => await page.locator("#asks .nothing").waitFor();
  const [LIGHT, DARK] = [
    { locale: "en-GB", colorScheme: "light" },
    { locale: "de-AT", colorScheme: "dark" },
  ] as const;
  const PHONE = { viewport: { width: 390, height: 800 } };

  test.each([
    ["the inbox", LIGHT, WORDS.en],
    ["the inbox in German, dark", DARK, WORDS.de],
  ] as const)("%s", { timeout: 120_000 }, async (taken, options, words) => {
    await walk({ words, options, taken, begin: beside, isFocused: true, stepOf, end: emptied });
  });

  test.each([
    ["the page of the question", LIGHT, WORDS.en],
    ["the page in German, dark, on a phone", { ...DARK, ...PHONE }, WORDS.de],
    ["the page without script", { ...LIGHT, javaScriptEnabled: false }, WORDS.en],
  ] as const)("%s", { timeout: 120_000 }, async (taken, options, words) => {
    await walk({ words, options, taken, begin: onPage, isFocused: false, stepOf, end: thanked(words) });
  });

  test.each([
    ["the playground", LIGHT, WORDS.en],
    ["the playground in German, dark", DARK, WORDS.de],
  ] as const)("%s", { timeout: 120_000 }, async (taken, options, words) => {
    await walk({
      words: { ...words, again: "must be after the beginning" },
      options,
      taken: taken.replace(",", ""),
      async begin(page, origin, taskId) {
        await page.goto(
          `${origin}/play/#${new URLSearchParams({ dialect: "2026-07-28+tasks", tool: "join_company", task: taskId }).toString()}`,
        );
      },
      isFocused: true,
      stepOf: async (page, text) => await page.getByRole("dialog").getByText(text).waitFor(),
      end: async (page) => await page.getByText("Welcome, Ada Lovelace of Vienna").first().waitFor(),
    });
  });
});
