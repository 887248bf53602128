/** The view of open questions in a host of MCP Apps: the AppBridge of ext-apps in a real browser, a client of the SDK behind it, and the deployment. */
import { AxeBuilder } from "@axe-core/playwright";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { McpUiHostCapabilities } from "@modelcontextprotocol/ext-apps/app-bridge";
import { catalogue, defineTool } from "@parley/sdk";
import { ASK_VIEW } from "@parley/web";
import type { Browser, FrameLocator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { deploy, type Front } from "../../apps/server/deployment.fixture.ts";
import { appsHostScript } from "../support/apps-host.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { beside, ENLARGED } from "../support/reflow.ts";
import { until } from "../support/until.ts";

const command = findChromium();
if (command === undefined) console.log("apps.e2e.test.ts: no Chromium here, so no host; apt-get install chromium");

const MIME_TYPE = "text/html;profile=mcp-app";
const HOST = "http://host.example/";
const held = Promise.withResolvers<void>();
const asking = catalogue([
  defineTool({
    name: "book_dinner",
    title: "Book dinner",
    async run(_args, ctx) {
      const { size, table, extras } = await ctx.elicit("party", {
        message: "How many will be dining, and where?",
        schema: z.object({
          size: z.number().int().min(1).max(20).meta({ title: "Party size" }),
          table: z.enum(["Window", "Garden"]).meta({ title: "Table" }),
          extras: z
            .array(z.enum(["cake", "candles", "music"]))
            .max(2)
            .meta({ title: "Extras" }),
          vegan: z.boolean().meta({ title: "Vegan" }),
        }),
        timeout: "2 days",
      });
      const { day } = await ctx.elicit("day", { message: "Which day?", schema: z.object({ day: z.iso.date().meta({ title: "Day" }) }) });
      return `${size} at ${table} with ${extras.join()} on ${day}`;
    },
  }),
  defineTool({
    name: "hold",
    async run(_args, ctx) {
      const { word } = await ctx.elicit("word", { message: "The word?", schema: z.object({ word: z.string() }) });
      await held.promise;
      return word;
    },
  }),
  defineTool({
    name: "purge",
    async run(_args, ctx) {
      const schema = z.object({ days: z.number().int().meta({ title: "Older than days" }), of: z.string().default("all") });
      return JSON.stringify(await ctx.form("what", { message: "What is deleted?", schema, destructive: true }));
    },
  }),
  defineTool({ name: "wipe", run: async (_args, ctx) => String(await ctx.confirm("sure", { message: "Delete all?", destructive: true })) }),
]);

const EVERYTHING = { serverTools: {}, openLinks: {}, message: {}, updateModelContext: {} };

describe.skipIf(command === undefined)("the view in a host of MCP Apps", () => {
  let browser: Browser;
  let script = "";
  beforeAll(async () => {
    script = await appsHostScript();
    browser = await startChromium(command ?? "");
  });
  afterAll(() => browser?.close());

  /** Violations of policies, and errors of scripts. */
  const complaints: string[] = [];
  afterEach(() => expect(complaints.splice(0)).toEqual([]));

  interface Host {
    readonly page: Page;
    readonly view: FrameLocator;
    /** What the view told the model and its user, and the links that it opened. */
    readonly told: readonly (readonly [kind: string, text: string])[];
  }

  interface Hosting {
    readonly theme?: string;
    readonly locale?: string;
    readonly viewport?: { readonly width: number; readonly height: number };
    readonly capabilities?: McpUiHostCapabilities;
    /** The front end dies that has the first poll. */
    readonly losesPoll?: boolean;
    /** What the host declares and never answers: names of tools, `context`, `message` and `link`. */
    readonly ignores?: readonly string[];
  }

  /** A client, and the result of its call, as the host of a chat has them. */
  async function calling(front: Front, name: string) {
    const client = new Client(
      { name: "host", version: "1" },
      { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [MIME_TYPE] } } } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(front.url)));
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    const meta = tools.find((tool) => tool.name === name)?._meta;
    const { resourceUri } = (meta ?? {})["ui"] as { readonly resourceUri: string };
    const [content] = (await client.readResource({ uri: resourceUri })).contents;
    const result = await client.callTool({ name, arguments: {} });
    const { taskId } = result.structuredContent as { readonly taskId: string };
    return { client, html: (content as { readonly text: string }).text, result, taskId };
  }

  async function hosted(
    { client, html, result }: Awaited<ReturnType<typeof calling>>,
    {
      theme = "light",
      locale = "en-GB",
      capabilities = EVERYTHING,
      losesPoll = false,
      ignores = [],
      viewport = { width: 600, height: 800 },
    }: Hosting = {},
  ): Promise<Host> {
    const context = await browser.newContext({ viewport });
    onTestFinished(() => context.close());
    if (ignores.length > 0) await context.clock.install();
    const page = await context.newPage();
    const told: [string, string][] = [];
    page.on("pageerror", (error) => complaints.push(String(error.stack)));
    page.on("console", (message) => /Content Security|sandbox/i.test(message.text()) && complaints.push(message.text()));
    page.on("request", (request) => request.url().startsWith("http") && request.url() !== HOST && complaints.push(request.url()));
    let isLost = losesPoll;
    const forEver = new Promise<never>(() => undefined);
    await page.exposeFunction("callTool", async (params: { name: string; arguments: Record<string, unknown> }) => {
      if (ignores.includes(params.name)) return await forEver;
      if (isLost && params.name === "parley_task") {
        isLost = false;
        throw new Error("fetch failed");
      }
      return await client.callTool(params);
    });
    await page.exposeFunction("told", async (kind: string, text: string) => {
      told.push([kind, text]);
      if (ignores.includes(kind)) await forEver;
    });
    const body = `<!doctype html><html lang="en"><title>Host</title><main><h1>Chat</h1></main><script type="module">${script}</script></html>`;
    await page.route(HOST, (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto(HOST);
    const given = JSON.stringify({ html, result, theme, locale, capabilities }).replaceAll("<", "\\u003c");
    await page.evaluate(`showView(${given})`);
    return { page, view: page.frameLocator("iframe").last(), told };
  }

  async function findNothing(page: Page): Promise<void> {
    const { violations, passes } = await new AxeBuilder({ page })
      .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
      .analyze();
    // It has looked into the frame.
    expect(passes.some(({ nodes }) => nodes.some(({ target }) => target.length > 1))).toBe(true);
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
  }

  test("by keyboard: a mistake is shown at its field, the next question comes, the model is told, and the answers are in the task", async () => {
    const { fronts, services } = await deploy({ catalogue: asking });
    const called = await calling(fronts[0]!, "book_dinner");
    const { page, view, told } = await hosted(called);
    await view.getByText("How many will be dining").waitFor();
    expect(await view.locator("main").innerText()).toMatch(/Open until \d+ \w+ \d{4}/);
    expect(await view.locator("main").evaluate(`getComputedStyle(document.querySelector("main")).paddingTop`)).toBe("32px");
    await findNothing(page);
    await page.evaluate(`setTheme("dark")`);
    await view.locator(`:root[data-theme="dark"]`).waitFor();
    await view.getByLabel("Party size").focus();
    const { keyboard } = page;
    await keyboard.type("40");
    await keyboard.press("Tab");
    await keyboard.type("gar");
    await keyboard.press("Tab");
    await keyboard.press("Tab");
    await keyboard.press("Space");
    for (let tabs = 0; tabs < 3; tabs += 1) await keyboard.press("Tab");
    await keyboard.press("Enter");
    // Nobody has said yes or no for the person.
    await view.getByRole("radiogroup", { name: "Vegan" }).getByText("is required").waitFor();
    const yes = view.getByLabel("Yes", { exact: true });
    await until(() => yes.evaluate((control) => control === control.ownerDocument.activeElement));
    await keyboard.type("n");
    await keyboard.press("Enter");
    // The server refused it.
    const field = view.getByLabel("Party size");
    await view.getByText("must be between 1 and 20").waitFor();
    await until(() => field.evaluate((control) => control === control.ownerDocument.activeElement));
    await findNothing(page);
    await keyboard.press("Control+a");
    await keyboard.type("4");
    await keyboard.press("Enter");
    await view.getByText("Which day?").waitFor();
    await view.getByText("Answered: How many will be dining, and where?").waitFor();
    await until(() => told.length > 0);
    // If the next question is long in coming, the model is told to go on, too.
    expect(told[0]?.[0]).toBe("context");
    const day = view.getByLabel("Day", { exact: true });
    await until(() => day.evaluate((control) => control === control.ownerDocument.activeElement));
    await day.fill("2026-12-24");
    await keyboard.press("Enter");
    await view.getByText("Book dinner has finished.").waitFor();
    await until(() => told.at(-1)?.[0] === "message");
    expect(told.at(-1)).toEqual([
      "message",
      `I have answered what Book dinner asked. Get its result: call parley_task with taskId "${called.taskId}".`,
    ]);
    expect(JSON.stringify((await services.store.load(called.taskId))?.outcome)).toContain("4 at Garden with candles on 2026-12-24");
  });

  test("a second view, at another front end, is told that it is late", async () => {
    const { fronts, services } = await deploy({ catalogue: asking });
    const [here, there] = fronts as [Front, Front];
    const called = await calling(here, "hold");
    const first = await hosted(called, { losesPoll: true });
    const second = await hosted({ ...called, client: (await calling(there, "wipe")).client }, { theme: "dark" });
    await second.view.getByLabel("Word", { exact: true }).fill("late");
    await first.view.getByLabel("Word", { exact: true }).fill("early");
    await first.page.keyboard.press("Enter");
    await first.view.getByText("Answered: The word?").waitFor();
    await second.page.keyboard.press("Enter");
    await second.view.getByText("Too late: you have answered this elsewhere").waitFor();
    held.resolve();
    for (const { view } of [first, second]) await view.getByText("hold has finished.").waitFor();
    await second.view.getByText("No longer open: The word?").waitFor();
    expect(JSON.stringify((await services.store.load(called.taskId))?.outcome)).toContain("early");
    expect(second.told).toEqual([]);
  });

  test("what a model must not answer has no form, and opens its page; so does everything in a host that lets views call no tools", async () => {
    const { fronts, services } = await deploy({ catalogue: asking });
    const wipe = await calling(fronts[0]!, "wipe");
    const { page, view, told } = await hosted(wipe);
    const open = view.getByRole("button", { name: "Open the page of this question" });
    await open.press("Enter");
    await until(() => told.length > 0);
    expect(await view.getByRole("button").count()).toBe(1);
    const opened = await page.context().newPage();
    await opened.goto(told[0]![1]);
    await opened.getByText("Delete all?").first().waitFor();
    expect((await services.store.load(wipe.taskId))!.asks).toHaveLength(1);
    // The view fills in defaults, which must not be there for what cannot be undone.
    const purge = await hosted(await calling(fronts[0]!, "purge"));
    await purge.view.getByText("What is deleted?").waitFor();
    await purge.view.getByRole("button", { name: "Open the page of this question" }).waitFor();
    expect(await purge.view.locator("input, select, textarea").count()).toBe(0);
    const blind = await hosted(await calling(fronts[0]!, "book_dinner"), { capabilities: {} });
    const nothing = await hosted({ ...wipe, result: { content: [{ type: "text", text: "done" }] } });
    await nothing.page.locator(`iframe[style*="height: 0px"]`).waitFor({ state: "attached" });
    await blind.view.getByRole("button").press("Enter");
    await blind.view.getByText(/Open this address in a browser: http/).waitFor();
    expect(await blind.view.getByRole("textbox").count()).toBe(0);
  });

  test.each(["light", "dark"])("enlarged four times, %s, it scrolls in one direction and shows what has the focus", async (theme) => {
    const { fronts } = await deploy({ catalogue: asking });
    const { page, view } = await hosted(await calling(fronts[0]!, "book_dinner"), { theme, viewport: ENLARGED });
    await view.getByText("How many will be dining").waitFor();
    const frame = page.frames().at(-1)!;
    expect([...(await beside(page)), ...(await beside(frame))]).toEqual([]);
    await view.getByLabel("Party size").focus();
    const focused = view.locator(":focus");
    for (let stops = 0; stops < 8; stops += 1) {
      const box = (await focused.boundingBox())!;
      expect(box.y, await focused.innerText()).toBeGreaterThanOrEqual(0);
      expect(box.y + box.height).toBeLessThanOrEqual(ENLARGED.height);
      expect(await focused.evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).outlineStyle)).not.toBe(
        "none",
      );
      await page.keyboard.press("Tab");
    }
  });

  test("in a host whose locale is German it speaks German, and so do what is wrong and what is sent in the name of the person", async () => {
    const { fronts } = await deploy({ catalogue: asking });
    const called = await calling(fronts[0]!, "book_dinner");
    const { page, view, told } = await hosted(called, { locale: "de-AT" });
    await view.getByRole("heading", { name: "Book dinner fragt" }).waitFor();
    expect(await view.locator("html").getAttribute("lang")).toBe("de");
    expect(await view.locator("main").innerText()).toMatch(/Offen bis \d+\. ?\w+\.? ?\d{4}/);
    await view.getByLabel("Party size").fill("40");
    await view.getByLabel("Garden").check();
    await view.getByLabel("Nein", { exact: true }).check();
    await view.getByRole("button", { name: "Antworten" }).press("Enter");
    await view.getByText("muss zwischen 1 und 20 liegen").waitFor();
    await view.getByText("Nicht angenommen.").waitFor();
    await view.getByLabel("Party size").fill("4");
    await view.getByRole("button", { name: "Antworten" }).press("Enter");
    await view.getByText("Beantwortet: How many will be dining, and where?").waitFor();
    await view.getByLabel("Day", { exact: true }).fill("2026-12-24");
    await page.keyboard.press("Enter");
    await view.getByText("Book dinner ist fertig.").waitFor();
    await until(() => told.some(([kind]) => kind === "message"));
    expect(told.at(-1)?.[1]).toMatch(
      /^Ich habe beantwortet, was Book dinner gefragt hat\. Hole das Ergebnis: Rufe parley_task mit taskId /,
    );
  });

  test("in a host that declares everything and answers nothing, it says after a time that the answer may be lost, and shows the address", async () => {
    const { fronts, services } = await deploy({ catalogue: asking });
    const called = await calling(fronts[0]!, "hold");
    const { page, view } = await hosted(called, { ignores: ["parley_answer", "parley_task", "link"] });
    await view.getByLabel("Word", { exact: true }).fill("lost");
    await page.keyboard.press("Enter");
    await view.locator("button[aria-disabled=true]").first().waitFor();
    await page.clock.fastForward(30_001);
    await view.getByText("It is not known whether the answer arrived.").waitFor();
    await view.getByRole("button", { name: "Open the page of this question" }).click();
    await page.clock.fastForward(10_001);
    await view.getByText(/Open this address in a browser: http/).waitFor();
    expect((await services.store.load(called.taskId))!.asks.map(({ key }) => key)).toEqual(["word"]);
  });

  test("in a host that takes answers and nothing else, it tells the model, though no poll comes back", async () => {
    const { fronts } = await deploy({ catalogue: asking });
    const { page, view, told } = await hosted(await calling(fronts[0]!, "hold"), { ignores: ["parley_task", "context", "message"] });
    await view.getByLabel("Word", { exact: true }).fill("said");
    await page.keyboard.press("Enter");
    await view.getByText("Answered: The word?").waitFor();
    await until(() => told.length > 0);
    expect(told.map(([kind]) => kind)).toEqual(["context"]);
    // Again, if the poll has not begun yet.
    await until(async () => {
      await page.clock.fastForward(75_001);
      return told.length > 1;
    });
    expect(told[1]).toEqual(["message", expect.stringContaining("I have answered what hold asked.")]);
  });

  test("in a frame of a page that is no host, it says where it belongs", async () => {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    await context.clock.install();
    const page = await context.newPage();
    await page.setContent(`<iframe sandbox="allow-scripts"></iframe>`);
    const html = JSON.stringify(ASK_VIEW ?? "").replaceAll("<", "\\u003c");
    await page.evaluate(`void (document.querySelector("iframe").srcdoc = ${html})`);
    const view = page.frameLocator("iframe");
    await view.locator("#view").waitFor({ state: "attached" });
    await page.clock.fastForward(10_001);
    await view.getByText("This page belongs to a chat").waitFor();
  });

  test("in a plain browser it says where it belongs, and takes no messages of other windows", async () => {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(String(error.stack)));
    await page.setContent(ASK_VIEW ?? "");
    await page.getByText("This page belongs to a chat").waitFor();
    await page.evaluate(
      `for (const data of [null, 1, {}, { jsonrpc: "2.0", method: 1 }, { jsonrpc: "2.0", method: "ui/notifications/tool-result" }]) postMessage(data, "*")`,
    );
    expect(await page.locator("main").innerText()).toMatch(/^This page belongs to a chat/);
  });
});
