/** The inbox and the pages of questions in a real browser, without script: two people, the keyboard, both themes, a small screen, axe. */
import { join, resolve } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { catalogue, defineTool } from "@parley/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { rpc } from "../../apps/server/client.fixture.ts";
import { callerNamed, deploy, type Front } from "../../apps/server/deployment.fixture.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { until } from "../support/until.ts";

const command = findChromium();
if (command === undefined) console.log("inbox.e2e.test.ts: no Chromium here, so no browser; apt-get install chromium");
/** If set, the picture of docs/inbox.md is written. */
const WRITES_PICTURES = process.env["INBOX_SHOTS"] !== undefined;
const PICTURES = resolve(import.meta.dirname, "../../docs/images");

const FINANCE = { groups: ["finance"] };
const asking = catalogue([
  defineTool({
    name: "approve_invoice",
    async run(_args, ctx) {
      const schema = z.object({
        approve: z.boolean().meta({ title: "Approve the payment" }),
        account: z.enum(["Operations", "Travel", "Marketing"]).meta({ title: "Charge it to" }),
        note: z.string().max(200).optional().meta({ title: "Note", description: "The supplier sees it" }),
      });
      const message = "Pay invoice 2026-117 of Northwind over 4,310.00 EUR?\nIt is 12 % above the order of 3 November.";
      return JSON.stringify(await ctx.ask("approval", { message, schema, to: FINANCE, timeout: "2 days", onTimeout: "decline" }));
    },
  }),
  defineTool({
    name: "delete_archive",
    run: async (_args, ctx) =>
      String(
        await ctx.confirm("sure", {
          message: "Delete the archive of 2019, 1,204 files?",
          destructive: true,
          submitLabel: "Delete the archive",
          cancelLabel: "Keep it",
          to: FINANCE,
          timeout: "50 minutes",
        }),
      ),
  }),
  defineTool({
    name: "translate",
    run: async (_args, ctx) => String(await ctx.text("word", { message: "מה התרגום של ”שלום“?", to: FINANCE, timeout: "5 days" })),
  }),
]);

const deployed = () =>
  deploy({
    catalogue: asking,
    fronts: 2,
    visitors: {
      authenticate: ({ headers }) => {
        const name = String(headers["x-principal"] ?? "ann");
        return callerNamed(name, { names: [`${name}@example.com`], groups: ["bob", "carol"].includes(name) ? ["finance"] : [] });
      },
      ticket: undefined,
    },
  });

describe.skipIf(command === undefined)("a browser without script", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium(command ?? "")));
  afterAll(() => browser?.close());

  async function asked() {
    const { fronts, services } = await deployed();
    const [here, there] = fronts as [Front, Front];
    const taskIds: string[] = [];
    for (const { name } of asking.tools.values()) {
      const created = await rpc(here, "tools/call", { name, arguments: {} }, { principal: "ann" });
      const taskId = String(created.result!["taskId"]);
      await until(async () => (await services.store.load(taskId))?.status === "input_required");
      taskIds.push(taskId);
    }
    const as = async (name: string, front: Front, options: object = {}): Promise<Page> => {
      const context = await browser.newContext({
        javaScriptEnabled: false,
        viewport: { width: 1_280, height: 800 },
        extraHTTPHeaders: { "x-principal": name },
        ...options,
      });
      onTestFinished(() => context.close());
      const page = await context.newPage();
      await page.goto(`${new URL(front.url).origin}/inbox`);
      return page;
    };
    return { here, there, services, taskIds, as };
  }

  async function findNothing(page: Page): Promise<void> {
    const { violations } = await new AxeBuilder({ page })
      .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
      .analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
  }

  test("two people, two browsers, one question: one answer counts, and the other is told", async () => {
    const { here, there, taskIds, services, as } = await asked();
    const [bob, carol] = [await as("bob", here), await as("carol", there)];
    for (const page of [bob, carol]) await page.getByRole("link", { name: /Pay invoice/ }).click();
    await bob.getByRole("radio", { name: "Yes" }).check();
    await bob.getByLabel("Charge it to").selectOption("Travel");
    await bob.getByRole("button", { name: "Answer" }).click();
    await bob.getByRole("heading", { name: "Thank you" }).waitFor();
    await carol.getByRole("radio", { name: "No" }).check();
    await carol.getByLabel("Charge it to").selectOption("Operations");
    await carol.getByRole("button", { name: "Answer" }).click();
    await carol.getByRole("heading", { name: "Already answered" }).waitFor();
    await until(async () => (await services.store.load(taskIds[0] ?? ""))?.status === "completed");
    expect(JSON.stringify((await services.store.load(taskIds[0] ?? ""))?.outcome)).toContain("Travel");
    await carol.goto(`${new URL(there.url).origin}/inbox`);
    expect(await carol.getByRole("link", { name: /Pay invoice/ }).count()).toBe(0);
  });

  test("by keyboard alone: choose a question, make a mistake, mend it", async () => {
    const { here, as } = await asked();
    const page = await as("bob", here);
    await page.getByRole("link", { name: /Pay invoice/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Note").fill("With thanks");
    await page.getByRole("button", { name: "Answer" }).press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Note").inputValue()).toBe("With thanks");
    await page.getByRole("radio", { name: "Yes" }).press("Space");
    await page.getByLabel("Charge it to").selectOption("Marketing");
    await page.getByRole("button", { name: "Answer" }).press("Enter");
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
  });

  test.each(["light", "dark"] as const)("axe finds nothing in %s, on a large screen, a phone and at 400 %", async (colorScheme) => {
    const { here, as } = await asked();
    // axe needs script in the page; the pages themselves have none.
    const page = await as("bob", here, { javaScriptEnabled: true, colorScheme, bypassCSP: true });
    await findNothing(page);
    await page.getByRole("link", { name: /Pay invoice/ }).click();
    await findNothing(page);
    if (WRITES_PICTURES && colorScheme === "light") await page.screenshot({ path: join(PICTURES, "inbox-light.png") });
    for (const name of [/Delete the archive/, /שלום/]) {
      await page.getByRole("link", { name }).click();
      await findNothing(page);
    }
    // 1,280 pixels at 400 % are 320.
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(320);
    await findNothing(page);
    await page.getByRole("link", { name: "Back to the list" }).click();
    await findNothing(page);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(320);
  });
});
