/** Every page that people see, enlarged to 400 % in a real browser, in both themes (test/support/reflow.ts). */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue, type Context, defineTool } from "@parley/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { joinCompany } from "../../apps/gallery/19-join-company.ts";
import { rpc } from "../../apps/server/client.fixture.ts";
import { callerNamed, deploy } from "../../apps/server/deployment.fixture.ts";
import { accountsPage } from "../../apps/server/routes/accounts/view.ts";
import { filesPage, grantPage, loginAs, noticeOf, noticePage, visitPage } from "../../apps/server/routes/asks/views.ts";
import { readerOf } from "../../apps/server/texts/texts.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { beside, ENLARGED, focusProblems } from "../support/reflow.ts";
import { until } from "../support/until.ts";

const command = findChromium();
if (command === undefined) console.log("reflow.e2e.test.ts: no Chromium here, so no browser; apt-get install chromium");
/** REFLOW_SHOTS=<directory>: where a picture of each page goes. */
const { REFLOW_SHOTS } = process.env;

const LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz";
const asks = (name: string, title: string, run: (ctx: Context) => Promise<unknown>) =>
  defineTool({
    name,
    title,
    description: "What the tool does, in a sentence that needs more than one line.",
    input: z.object({ city: z.string().default(LONG).describe("Where"), when: z.iso.date().optional() }),
    run: async (_args, ctx) => JSON.stringify((await run(ctx)) ?? null),
  });
const many = (count: number) => Array.from({ length: count }, (_, index) => `Place ${index}`) as [string, ...string[]];

const asking = catalogue([
  joinCompany,
  asks("delete_archive", "Delete the archive", (ctx) =>
    ctx.confirm("sure", {
      message: "Delete the archive of 2019, 1,204 files?",
      destructive: true,
      submitLabel: "Delete the archive",
      cancelLabel: "Keep it",
      timeout: "50 minutes",
    }),
  ),
  asks("approve_invoice", `Approve an invoice of ${LONG}`, (ctx) =>
    ctx.ask("approval", {
      message: `Pay invoice 2026-117 of ${LONG} over 4,310.00 EUR?\n${"It is 12 % above the order of 3 November. ".repeat(12)}`,
      schema: z.object({
        approve: z.boolean().meta({ title: "Approve the payment" }),
        account: z.enum(["Operations", "Travel", LONG]).meta({ title: "Charge it to" }),
        place: z.enum(many(500)).meta({ title: "Place" }),
        extras: z.array(z.enum(many(30))).meta({ title: "Extras" }),
        day: z.iso.date().meta({ title: "Day" }),
        at: z.iso.datetime().meta({ title: "Start" }),
        note: z.string().max(200).optional().meta({ title: "Note", description: "The supplier sees it" }),
      }),
      context: [
        { type: "table", title: "Orders", columns: ["Day", "EUR", "By", "For"], rows: [["3 November", 3_848, "ann@example.com", LONG]] },
        { type: "diff", title: "Terms", before: "30 days", after: "14 days" },
        { type: "link", title: "The invoice", url: `https://example.com/${LONG}` },
      ],
      allow: ["delegate", "askBack"],
      remind: "4 hours",
      escalate: { after: "1 day", to: { groups: ["board"] } },
      timeout: "2 days",
    }),
  ),
  asks("connect", "Connect", (ctx) => ctx.secret("key", { message: "What is the key of your account?", timeout: "1 hour" })),
]);

const READER = readerOf({ headers: { "accept-language": "de-DE" } });
const CALLER = callerNamed("ann", { authenticatedBy: "https://id.example", names: [`${"name".repeat(20)}@example.com`] });
const ACCOUNT = { other: "/login", out: "/logout" };
const SHOWN = {
  page: {
    ask: { key: "key", digest: "digest", request: { type: "url", message: "", url: "" } },
    message: "x".repeat(200),
    page: {},
    call: { name: "connect" },
  },
  called: "a_tool_with_a_name_of_as_many_characters_as_the_name_may_have_64",
  caller: CALLER,
  account: ACCOUNT,
  reader: READER,
  token: "token",
} as never;
const HOST = `${"a-long-name".repeat(5)}.${"of-a-site".repeat(6)}.example.com`;

interface At {
  readonly page: Page;
  readonly origin: string;
  readonly taskOf: (tool: string) => string;
}

const drawn =
  (text: string) =>
  async ({ page }: At) =>
    await page.setContent(text);
const inInbox = async ({ page, origin }: At, words: RegExp) => {
  await page.goto(`${origin}/inbox`);
  await page.getByRole("link", { name: words }).click();
  await page.locator("#ask .said", { hasText: words }).waitFor();
};
const playing = async ({ page, origin }: At, hash: Record<string, string>) => {
  await page.goto(`${origin}/play/#${new URLSearchParams({ dialect: "2026-07-28+tasks", ...hash }).toString()}`);
  await page
    .getByRole("button", { name: /archive/, includeHidden: true })
    .first()
    .waitFor({ state: "attached" });
};

const PAGES: readonly (readonly [name: string, open: (at: At) => Promise<unknown>])[] = [
  ["home", async ({ page, origin }) => await page.goto(origin)],
  ["inbox", async ({ page, origin }) => await page.goto(`${origin}/inbox`)],
  [
    "inbox with its filter open",
    async ({ page, origin }) => {
      await page.goto(`${origin}/inbox`);
      await page.locator(".filter summary").click();
      await page.locator(".menu summary").click();
    },
  ],
  ["a question in the inbox", (at) => inInbox(at, /Pay invoice/)],
  [
    "a question in the inbox with what is wrong",
    async (at) => {
      await inInbox(at, /Pay invoice/);
      await at.page.keyboard.press("a");
      await at.page.locator("#ask [role=alert]").waitFor();
    },
  ],
  [
    "a question in the inbox with all that can be done with it",
    async (at) => {
      await inInbox(at, /Pay invoice/);
      for (const summary of await at.page.locator("#ask .around summary").all()) await summary.click();
    },
  ],
  [
    "a question that cannot be undone",
    async (at) => {
      await inInbox(at, /Delete the archive/);
      await at.page.locator("#ask").getByRole("button", { name: "Delete the archive" }).click();
      await at.page.getByRole("dialog").waitFor();
    },
  ],
  [
    "the keys",
    async ({ page, origin }) => {
      await page.goto(`${origin}/inbox`);
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
    },
  ],
  ["the page of a question", async ({ page, origin, taskOf }) => await page.goto(`${origin}/asks/${taskOf("approve_invoice")}/approval`)],
  ["a page of a wizard", async ({ page, origin, taskOf }) => await page.goto(`${origin}/asks/${taskOf("join_company")}/joining/person`)],
  [
    "a page of a wizard with what is wrong",
    async ({ page, origin, taskOf }) => {
      await page.goto(`${origin}/asks/${taskOf("join_company")}/joining/person`);
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByRole("alert").first().waitFor();
    },
  ],
  ["the page of a secret", async ({ page, origin, taskOf }) => await page.goto(`${origin}/asks/${taskOf("connect")}/key`)],
  [
    "the page of files",
    drawn(
      filesPage({
        wanted: { accept: ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], bytesMax: 1, countMax: 2 },
        shown: SHOWN,
      }),
    ),
  ],
  ["the page of a grant", drawn(grantPage({ shown: SHOWN, title: HOST, scopes: [`https://${HOST}/auth/calendar.readonly`], action: "/" }))],
  ["the page of a third party", drawn(visitPage(SHOWN, { host: HOST, action: "/" }))],
  [
    "a login that expired",
    drawn(noticePage(noticeOf(READER.texts, "logged-out"), { reader: READER, detail: loginAs(READER.texts, ACCOUNT) })),
  ],
  ["what was answered", async ({ page, origin }) => await page.goto(`${origin}/inbox/answered`)],
  [
    "accounts",
    drawn(
      accountsPage({
        reader: READER,
        caller: CALLER,
        account: ACCOUNT,
        done: "Der Zugang wurde entfernt.",
        grants: [
          {
            grant: {
              id: "id",
              consent: "consent",
              about: { upstream: LONG, provider: "crm", scopes: [`https://${HOST}/read`] },
              keptAtMs: 0,
              usedAtMs: 0,
              endsAtMs: 0,
            } as never,
            title: "C & M",
            host: HOST,
            token: "token",
          },
        ],
      }),
    ),
  ],
  ["the tools of the playground", (at) => playing(at, {})],
  ["a call in the playground", (at) => playing(at, { tool: "approve_invoice" })],
  [
    "a question in the playground",
    async (at) => {
      await playing(at, { tool: "approve_invoice", task: at.taskOf("approve_invoice") });
      await at.page.getByRole("dialog").waitFor();
      await at.page.waitForTimeout(600);
    },
  ],
  [
    "what waits in the playground",
    async (at) => {
      await playing(at, { tool: "approve_invoice", task: at.taskOf("approve_invoice") });
      await at.page.getByRole("dialog").waitFor();
      await at.page.keyboard.press("Escape");
      await at.page.getByRole("dialog").waitFor({ state: "detached" });
    },
  ],
  [
    "the messages in the playground",
    async (at) => {
      await playing(at, { tool: "delete_archive", task: at.taskOf("delete_archive") });
      await at.page.getByRole("dialog").waitFor();
      await at.page.keyboard.press("Escape");
      await at.page.getByRole("navigation").getByRole("button").last().click();
      await at.page.locator(".messages summary").first().click();
      // It opens a moment later and moves those below, which might have the focus by then.
      await at.page.locator(".messages pre").waitFor();
    },
  ],
  [
    "the token of the playground",
    async (at) => {
      await playing(at, {});
      await at.page.getByRole("button", { name: "Token" }).click();
      await at.page.getByRole("dialog").waitFor();
    },
  ],
  // The last, because it answers a question.
  [
    "an answer that waits to be sent",
    async (at) => {
      await inInbox(at, /Delete the archive/);
      await at.page.locator("#ask").getByRole("button", { name: "Keep it" }).click();
      await at.page.locator(".toast").waitFor();
    },
  ],
];

describe.skipIf(command === undefined)("a person who enlarges a page to 400 %", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium(command ?? "");
    if (REFLOW_SHOTS !== undefined) await mkdir(REFLOW_SHOTS, { recursive: true });
  });
  afterAll(() => browser?.close());

  test.each(["light", "dark"] as const)("scrolls in one direction and sees what has the focus, in %s", async (colorScheme) => {
    const directory = await mkdtemp(join(tmpdir(), "parley-reflow-"));
    vi.stubEnv("PARLEY_GALLERY_DIR", directory);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(directory, { recursive: true, force: true });
    });
    const authenticate = () => CALLER;
    const { fronts, services } = await deploy({
      catalogue: asking,
      playground: true,
      authenticate,
      visitors: { authenticate, ticket: undefined, account: () => ACCOUNT },
    });
    const [front] = fronts;
    const tasks = new Map<string, string>();
    for (const name of asking.tools.keys()) {
      const created = await rpc(front!, "tools/call", { name, arguments: {} });
      const taskId = String(created.result!["taskId"]);
      tasks.set(name, taskId);
      await until(async () => (await services.store.load(taskId))?.status === "input_required");
    }
    const seen: Record<string, readonly string[]> = {};
    for (const [name, open] of PAGES) {
      const context = await browser.newContext({ viewport: ENLARGED, colorScheme, locale: "en-GB", timezoneId: "Europe/Berlin" });
      context.setDefaultTimeout(20_000);
      const page = await context.newPage();
      const picture = async (when: string) => {
        if (REFLOW_SHOTS !== undefined)
          await page.screenshot({ path: join(REFLOW_SHOTS, `${name.replaceAll(" ", "-")}-${colorScheme}${when}.png`) });
      };
      await open({ page, origin: new URL(front!.url).origin, taskOf: (tool) => tasks.get(tool) ?? "" });
      await picture("");
      const found = await beside(page);
      const { stops, problems } = await focusProblems(page);
      await picture("-end");
      if (found.length + problems.length > 0 || stops === 0)
        seen[name] = [...found, ...problems, ...(stops === 0 ? ["nothing to focus"] : [])];
      await context.close();
    }
    expect(seen).toEqual({});
  });
});
