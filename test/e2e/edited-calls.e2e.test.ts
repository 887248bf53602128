/**
 * Approvals whose arguments may be changed, in a real browser: with the keyboard alone, without script, in both themes, on a phone, and what axe finds.
 * The gate, its rules and the front ends are those of a deployment.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RulesConfig } from "@parley/approvals";
import { openGate } from "@parley/approvals/every-process";
import { fixedCatalogue } from "@parley/core";
import { createMemoryLastApproved } from "@parley/core/memory";
import { catalogue, defineTool } from "@parley/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { rpc } from "../../apps/server/client.fixture.ts";
import { callerNamed, deploy, type Front } from "../../apps/server/deployment.fixture.ts";
import { findNothing } from "../support/axe.ts";
import { findChromium, sendsAtOnce, startChromium } from "../support/chromium.ts";
import { until } from "../support/until.ts";

const command = findChromium();
if (command === undefined) console.log("edited-calls.e2e.test.ts: no Chromium here, so no browser; apt-get install chromium");
/** If set, what the pages look like is written there. */
const { EDITED_SHOTS } = process.env;

const RULES: RulesConfig = {
  default: "deny",
  rules: [
    {
      name: "mails",
      title: "Sending mail",
      tools: ["send_mail"],
      when: "!args.to.endsWith('@rival.example')",
      action: "approve",
      by: { groups: ["office"] },
      not: "caller",
      risk: "high",
      edit: true,
      diff: "caller",
    },
  ],
};

const ARGUMENTS = { to: "all@example.com", subject: "Prices of December", copies: 2, plan: "now", urgent: true, text: "Dear all,\nbelow." };

/** What the tool ran with. */
const sent: unknown[] = [];
const mail = defineTool({
  name: "send_mail",
  title: "Send a mail",
  description: "Sends a mail in the name of the office.",
  input: z.object({
    to: z.string().max(40),
    subject: z.string().max(30),
    copies: z.number().int().min(1).max(5),
    plan: z.enum(["now", "tonight", "tomorrow"]),
    urgent: z.boolean(),
    text: z.string(),
  }),
  async run(args, ctx) {
    await ctx.step("send", () => void sent.push(args));
    return `Sent to ${args.to}.`;
  },
});

async function offered() {
  const directory = await mkdtemp(join(tmpdir(), "parley-edited-"));
  const file = join(directory, "rules.json");
  await writeFile(file, JSON.stringify(RULES));
  const silent = () => undefined;
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  const gate = await openGate({ file, askTimeoutMaxMs: 86_400_000, log });
  onTestFinished(async () => {
    gate.close();
    await rm(directory, { recursive: true });
  });
  return gate.wrap(fixedCatalogue(catalogue([mail])), { lastApproved: createMemoryLastApproved(), now: Date.now });
}

beforeAll(async () => {
  if (EDITED_SHOTS !== undefined) await mkdir(EDITED_SHOTS, { recursive: true });
});

describe.skipIf(command === undefined)("an approval whose arguments may be changed", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium(command ?? "")));
  afterAll(() => browser?.close());

  /** Violations of the pages' policy, and errors of their script. */
  const complaints: string[] = [];
  afterEach(() => {
    expect(complaints.splice(0)).toEqual([]);
    sent.length = 0;
  });

  /** A call of Ann's that waits, and Bob's browser. */
  async function asked(options: object = {}) {
    const { fronts, services } = await deploy({
      catalogue: await offered(),
      fronts: 2,
      visitors: {
        authenticate: ({ headers }) => {
          const name = String(headers["x-principal"] ?? "ann");
          return callerNamed(name, { names: [`${name}@example.com`], groups: name === "bob" ? ["office"] : [] });
        },
        ticket: undefined,
      },
    });
    const [here, there] = fronts as [Front, Front];
    const created = await rpc(here, "tools/call", { name: "send_mail", arguments: ARGUMENTS }, { principal: "ann" });
    const taskId = String(created.result!["taskId"]);
    await until(async () => (await services.store.load(taskId))?.asks.length === 1);
    const context = await browser.newContext({
      viewport: { width: 1_280, height: 900 },
      locale: "en-GB",
      extraHTTPHeaders: { "x-principal": "bob" },
      ...options,
    });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await sendsAtOnce(page);
    page.on("pageerror", (error) => complaints.push(String(error.stack)));
    page.on("console", (message) => /Content Security|trusted/i.test(message.text()) && complaints.push(message.text()));
    await page.goto(`${new URL(here.url).origin}/inbox`);
    /** What Ann's client is told by another front end. */
    const told = async () => {
      await until(async () => (await services.store.load(taskId))?.status === "completed");
      const { result } = await rpc(there, "tasks/get", { taskId }, { principal: "ann" });
      return result!["result"] as { readonly content: readonly { readonly text: string }[]; readonly _meta?: object };
    };
    const callAgain = async (args: object) =>
      await rpc(here, "tools/call", { name: "send_mail", arguments: { ...ARGUMENTS, ...args } }, { principal: "ann" });
    return { page, told, callAgain };
  }

  async function lookAt(page: Page, name: string): Promise<void> {
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      await findNothing(page);
      if (EDITED_SHOTS !== undefined) await page.screenshot({ path: join(EDITED_SHOTS, `${name}-${colorScheme}.png`) });
    }
  }

  /** To the button, and then the button: no single key answers what cannot be undone. */
  const approve = async ({ keyboard }: Page) => {
    await keyboard.press("Control+Enter");
    await keyboard.press("Enter");
  };
  const focused = (page: Page) => page.evaluate<string>("document.activeElement.id");
  const CHANGED = { to: "ada@example.com", copies: 4, plan: "tomorrow", urgent: false };

  test("by keyboard alone: the fields have what the tool would get, a mistake is shown at its field, a yes is confirmed, and the caller is told what was changed and by whom", async () => {
    const { page, told } = await asked({ bypassCSP: true });
    const { keyboard } = page;
    await keyboard.press("j");
    await page.locator("#ask .said", { hasText: 'Sending mail: approve this call of "Send a mail"?' }).waitFor();
    // Although the call cannot be undone: whoever approves must not have to type the call again.
    expect(await page.getByLabel("to", { exact: true }).inputValue()).toBe(ARGUMENTS.to);
    expect(await page.getByLabel("subject").inputValue()).toBe(ARGUMENTS.subject);
    expect(await page.getByLabel("copies").inputValue()).toBe("2");
    expect(await page.getByLabel("urgent").isChecked()).toBe(true);
    // A text of several lines is read, and not changed.
    await page.locator("#ask .context", { hasText: "> Dear all," }).waitFor();
    expect(await page.getByLabel("text").count()).toBe(0);
    await lookAt(page, "form");

    await keyboard.press("Enter");
    expect(await focused(page)).toBe("f0");
    await keyboard.press("Control+a");
    await keyboard.type("ada@example.com");
    await keyboard.press("Tab");
    await keyboard.press("Tab");
    await keyboard.press("Control+a");
    await keyboard.type("40");
    await approve(page);
    await page.locator("#ask [role=alert]").first().waitFor();
    expect(await focused(page)).toBe("f2");
    await page.locator("#f2-problem", { hasText: "must be between 1 and 5" }).waitFor();
    expect(await page.locator("#sure").count()).toBe(0);
    expect(await page.getByLabel("to", { exact: true }).inputValue()).toBe("ada@example.com");
    await lookAt(page, "refused");

    await keyboard.press("Control+a");
    await keyboard.type("4");
    await keyboard.press("Tab");
    await keyboard.type("tom");
    await keyboard.press("Tab");
    await keyboard.press("Space");
    await approve(page);
    await page.getByRole("heading", { name: "Are you sure?" }).waitFor();
    await lookAt(page, "sure");
    // A second Enter cancels, as for everything that cannot be undone.
    await keyboard.press("Enter");
    await page.locator("#sure").waitFor({ state: "detached" });
    expect(await page.getByLabel("to", { exact: true }).inputValue()).toBe("ada@example.com");
    await approve(page);
    await page.locator("#sure").waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Enter");

    const { content, _meta: meta } = await told();
    expect(content.map(({ text }) => text)).toEqual([
      "Sent to ada@example.com.",
      'The approver changed arguments of this call: {"to":"ada@example.com","copies":4,"plan":"tomorrow","urgent":false}.',
    ]);
    expect(meta).toMatchObject({ "parley/edited": { by: "bob", arguments: CHANGED } });
    expect(sent).toEqual([{ ...ARGUMENTS, ...CHANGED }]);
    await page.locator(".toast", { hasText: "It counted" }).waitFor();
    await page.getByRole("link", { name: "See the record" }).press("Enter");
    await page.getByText("Your answer counted.").first().waitFor();
    expect(await page.locator("main").innerText()).toMatch(/You answered\s+to\s+ada@example\.com/);
    await lookAt(page, "record");
  });

  test("without script: what is wrong stands at its field with what was typed, and one field is changed", async () => {
    const { page, told } = await asked({ javaScriptEnabled: false });
    await page.getByRole("link", { name: /Sending mail/ }).press("Enter");
    expect(await page.getByLabel("subject").inputValue()).toBe(ARGUMENTS.subject);
    await page.getByLabel("copies").fill("0");
    await page.getByRole("button", { name: "Approve" }).press("Enter");
    await page.locator("#f2-problem", { hasText: "must be between 1 and 5" }).waitFor();
    expect(await page.getByLabel("copies").inputValue()).toBe("0");
    expect(sent).toEqual([]);
    await page.getByLabel("copies").fill("1");
    await page.getByRole("button", { name: "Approve" }).press("Enter");
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect((await told()).content.at(-1)?.text).toBe('The approver changed an argument of this call: {"copies":1}.');
    expect(sent).toEqual([{ ...ARGUMENTS, copies: 1 }]);
  });

  test("as it is, with the keys alone: nothing was changed, and the result says nothing of it", async () => {
    const { page, told } = await asked();
    const { keyboard } = page;
    await keyboard.press("j");
    await page.locator("#ask form.question").waitFor();
    await keyboard.press("a");
    await keyboard.press("Enter");
    await page.locator("#sure").waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    expect(await told()).toMatchObject({ content: [{ text: "Sent to all@example.com." }] });
    expect(JSON.stringify(await told())).not.toContain("parley/edited");
    expect(sent).toEqual([ARGUMENTS]);
  });

  test("the next call stands beside the last one that was approved, in both themes and without script", async () => {
    const { page, told, callAgain } = await asked({ bypassCSP: true });
    await page.getByRole("link", { name: /Sending mail/ }).click();
    await page.locator("#ask .context", { hasText: "No earlier approved call is known." }).waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator("#sure").getByRole("button", { name: "Approve" }).click();
    await told();
    await callAgain({ to: "everyone@example.com", text: "Dear all,\nnothing below." });
    await page.goto(page.url().replace(/[?].*/, ""));
    await page.getByRole("link", { name: /Sending mail/ }).click();
    const compared = page.locator("#ask .context", { hasText: "Changed since the last approved call, by the same caller" });
    await compared.waitFor();
    const changes = async (place: typeof compared) =>
      [await place.locator("del").allInnerTexts(), await place.locator("ins").allInnerTexts()].map((all) =>
        all.map((each) => each.replace(/^(Removed|Added):\s+/, "")),
      );
    const expected = [
      ["to: all@example.com", "text > below."],
      ["to: everyone@example.com", "text > nothing below."],
    ];
    expect(await changes(compared)).toEqual(expected);
    await compared.scrollIntoViewIfNeeded();
    await lookAt(page, "compared");
    const bare = await browser.newContext({ javaScriptEnabled: false, extraHTTPHeaders: { "x-principal": "bob" } });
    onTestFinished(() => bare.close());
    const plain = await bare.newPage();
    await plain.goto(page.url());
    expect(await changes(plain.locator(".context"))).toEqual(expected);
  });

  test("a field that was emptied is refused at the field, and a change that the rules refuse does not run", async () => {
    const { page, told } = await asked();
    const { keyboard } = page;
    await keyboard.press("j");
    await page.locator("#ask form.question").waitFor();
    await keyboard.press("Enter");
    await keyboard.press("Control+a");
    await keyboard.press("Delete");
    await approve(page);
    await page.locator("#f0-problem").waitFor();
    expect(await page.locator("#sure").count()).toBe(0);
    await keyboard.type("x@rival.example");
    await approve(page);
    await page.locator("#sure").waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    expect((await told()).content[0]?.text).toContain("It was approved with changes, and a rule refuses the changed call");
    expect(sent).toEqual([]);
  });

  test("on a phone nothing is cut off, also at 320 pixels", async () => {
    const { page } = await asked({ viewport: { width: 390, height: 780 }, bypassCSP: true });
    await page.getByRole("link", { name: /Sending mail/ }).click();
    await page.locator("#ask form.question").waitFor();
    await lookAt(page, "phone");
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 780 });
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
    }
  });
});
