/** A person answers on pages, in a real browser without scripts and with the keyboard. Two front ends behind a proxy, and a real Redis. */
import { hash, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filesPage, grantPage, NOTICES, noticePage, secretPage, visitPage } from "../../apps/server/routes/asks/views.ts";
import { ENGLISH } from "../../apps/server/texts/texts.ts";
import { createClient } from "../../bench/client.ts";
import { describedAs, findChromium, startChromium } from "../support/chromium.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { reaches } from "../support/reaches.ts";

const command = findChromium();
if (command === undefined) console.log("pages.e2e.test.ts: no Chromium here, so no browser; apt-get install chromium");

let deployment: Deployment;
let browser: Browser | undefined;

beforeAll(async () => {
  deployment = await startDeployment({
    workers: 1,
    tools: [join(import.meta.dirname, "tools/connect.ts")],
    env: { PARLEY_LOG_LEVEL: "debug" },
  });
  if (command !== undefined) browser = await startChromium(command);
});

afterAll(async () => {
  await browser?.close();
  await deployment?.close();
});

/** A task that asks for the secret, and the address of its page at the front end of that number. */
async function asking(): Promise<{ taskId: string; at: (front: number) => string }> {
  const client = createClient(deployment.url, 1);
  const { taskId } = await client.call("connect", {});
  client.close();
  const task = await reaches(deployment.url, taskId, ({ inputRequests }) => inputRequests?.["key"] !== undefined);
  const { pathname, search } = new URL(String((task.inputRequests as { key: { params: { url: string } } }).key.params.url));
  return { taskId, at: (front) => `${deployment.frontEnds[front]?.url}${pathname}${search}` };
}

const logs = () => JSON.stringify([...deployment.frontEnds, ...deployment.workers].map(({ logs: lines }) => lines));

async function dump(): Promise<string> {
  const { redis, keys } = deployment.redis;
  const dumped = await Promise.all((await keys()).map((key) => redis.dumpBuffer(key)));
  return dumped.map((bytes) => bytes?.toString("latin1")).join();
}

describe("a secret", () => {
  test("is in no dump of Redis, no log and no answer, while its task waits and afterwards", async () => {
    const secret = randomBytes(12).toString("base64url");
    const { taskId, at } = await asking();
    const opened = await (await fetch(at(0))).text();
    const fields = [...opened.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
      ([, name = "", value = ""]) => [name, value] as [string, string],
    );
    const body = new URLSearchParams([...fields, ["action", "accept"], ["secret", secret]]);
    expect((await fetch(at(1), { method: "POST", body })).status).toBe(200);

    const waiting = await reaches(deployment.url, taskId, ({ inputRequests }) => inputRequests?.["sure"] !== undefined);
    const dumped = await dump();
    expect(dumped).toContain(hash("sha256", secret));
    expect(dumped).not.toContain(secret);
    expect((await deployment.redis.keys()).filter((key) => key.endsWith(":deposits"))).toHaveLength(1);

    const client = createClient(deployment.url, 1);
    await client.answer(taskId, { sure: { action: "accept", content: { sure: true } } });
    client.close();
    const done = await reaches(deployment.url, taskId, ({ status }) => status === "completed");
    expect(done.result?.content?.[0]?.text).toBe(`[secret] ${hash("sha256", secret)}`);
    expect(JSON.stringify([waiting, done])).not.toContain(secret);
    expect(await dump()).not.toContain(secret);
    expect(logs()).toContain(taskId);
    expect(logs()).not.toContain(secret);
    expect((await deployment.redis.keys()).filter((key) => key.endsWith(":deposits"))).toEqual([]);
  });
});

describe.skipIf(command === undefined)("a browser without script", () => {
  async function visit<T>(use: (page: Page) => Promise<T>): Promise<T> {
    const context = await browser?.newContext({ javaScriptEnabled: false });
    if (!context) throw new Error("there is no browser");
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      page.on("requestfailed", (request) => complaints.push(request.url()));
      const done = await use(page);
      // What the page's own policy refuses is told here.
      expect(complaints.filter((text) => !text.includes("favicon"))).toEqual([]);
      return done;
    } finally {
      await context.close();
    }
  }

  test("enters a secret with the keyboard, and reads that it is done after coming back", async () => {
    const { taskId, at } = await asking();
    await visit(async (page) => {
      await page.goto(at(0));
      expect(await page.getByRole("main").innerText()).toContain("What is your API key?");
      const field = page.getByLabel("Secret");
      expect(await field.getAttribute("type")).toBe("password");
      // It has the focus, so a screen reader begins here.
      expect(await describedAs(page, "textbox")).toContain("What is your API key?");
      await field.focus();
      await page.keyboard.type("typed by hand");
      await page.keyboard.press("Enter");
      // The tool asks on, and that question opens.
      await page.getByText("Your answer has arrived.").waitFor();
      await page.getByRole("button", { name: "Yes" }).waitFor();
      await page.goto(at(1));
      await page.getByRole("heading", { name: "Answered" }).waitFor();
      await page.getByRole("link", { name: "Go to the question" }).waitFor();
    });
    await reaches(deployment.url, taskId, ({ inputRequests }) => inputRequests?.["sure"] !== undefined);
  });

  test("declines by Tab and Enter", async () => {
    const { taskId, at } = await asking();
    await visit(async (page) => {
      await page.goto(at(1));
      await page.getByLabel("Secret").focus();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Declined" }).waitFor();
    });
    await reaches(deployment.url, taskId, ({ status }) => status === "completed");
  });

  test("fits a screen of 320 pixels, however long the names on the page are", async () => {
    const tool = "a_tool_with_a_name_of_as_many_characters_as_the_name_may_have_64";
    const host = `${"a-long-name".repeat(5)}.${"of-a-site".repeat(6)}.example.com`;
    const caller = { authenticatedBy: "https://id.example", names: [`${"name".repeat(30)}@example.com`] };
    const ask = { key: "key", digest: "digest", request: { type: "url", message: "", url: "" } };
    const shown = {
      page: { ask, message: "x".repeat(200), page: {}, call: { name: tool } },
      caller,
      reader: ENGLISH,
      token: "token",
    } as never;
    const scopes = [`https://${host}/auth/calendar.readonly`];
    await visit(async (page) => {
      await page.setViewportSize({ width: 320, height: 640 });
      for (const text of [
        secretPage(shown),
        filesPage({
          wanted: { accept: ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"], bytesMax: 1, countMax: 2 },
          shown,
        }),
        grantPage({ shown, title: host, scopes, action: "/" }),
        visitPage(shown, { host, action: "/" }),
        noticePage(NOTICES.unknown),
      ]) {
        await page.setContent(text);
        expect(await page.evaluate<number>("document.documentElement.scrollWidth"), await page.title()).toBe(320);
      }
    });
  });

  test("shows a question of a right-to-left language from the right, with its rule on that side", async () => {
    const ask = { key: "key", digest: "digest", request: { type: "url", message: "", url: "" } };
    const page = { ask, message: "מה המפתח?", page: {}, call: { name: "connect" } };
    const caller = { authenticatedBy: "nobody", names: [], principal: "anonymous" };
    await visit(async (browserPage) => {
      await browserPage.setContent(secretPage({ page, caller, reader: ENGLISH, token: "token" } as never));
      const side = (name: string) => browserPage.evaluate<string>(`getComputedStyle(document.querySelector(".said")).${name}`);
      expect([await side("direction"), await side("borderRightWidth"), await side("borderLeftWidth")]).toEqual(["rtl", "3px", "0px"]);
    });
  });

  test.each(["light", "dark"] as const)("shows the page in %s, with its own style", async (colorScheme) => {
    const { at } = await asking();
    await visit(async (page) => {
      await page.emulateMedia({ colorScheme });
      await page.goto(at(0));
      const folder = process.env["PAGES_SHOTS"];
      if (folder !== undefined) await page.screenshot({ path: join(folder, `secret-${colorScheme}.png`) });
      expect((await page.getByRole("main").boundingBox())?.width).toBe(608);
    });
  });
});
