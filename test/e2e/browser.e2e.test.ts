/** A page in a real browser, on a different origin than the server, with the official clients: CORS allows what they need. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium, startChromium } from "../support/chromium.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";

const command = findChromium();
if (command === undefined) {
  console.log("browser.e2e.test.ts skipped: no Chromium here; apt-get install chromium, or name one by CHROMIUM");
}

/** Resolves to this machine in the browser, and nowhere else. */
const FOREIGN = "evil.example";

let deployment: Deployment;
let pages: Server;
let browser: Browser;

async function bundled(): Promise<string> {
  const bundle = await rolldown({ input: join(import.meta.dirname, "../browser/page.ts"), platform: "browser", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "iife" });
  await bundle.close();
  return output[0].code;
}

describe.skipIf(command === undefined)("a page in a browser", () => {
  beforeAll(async () => {
    deployment = await startDeployment({ workers: 1, tools: [join(import.meta.dirname, "../dialects/tools.ts")] });
    const script = await bundled();
    pages = createServer((request, response) => {
      const isScript = request.url === "/page.js";
      response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
      response.end(isScript ? script : "<!doctype html><title>page</title><script src=/page.js></script>");
    });
    pages.listen(0, "127.0.0.1");
    await once(pages, "listening");
    browser = await startChromium(command ?? "", [`--host-resolver-rules=MAP ${FOREIGN} 127.0.0.1`]);
  });

  afterAll(async () => {
    await browser?.close();
    pages?.close();
    await deployment?.close();
  });

  async function play(host: string, how: string): Promise<string> {
    const page = await browser.newPage();
    try {
      await page.goto(`http://${host}:${(pages.address() as AddressInfo).port}/`);
      return await page.evaluate(([way, url]) => (globalThis as unknown as Page).play(way, url), [how, deployment.url] as const);
    } finally {
      await page.close();
    }
  }

  interface Page {
    play(how: string, url: string): Promise<string>;
  }

  test.each(["v1", "v2 2025-11-25", "v2 2025-03-26", "v2 2026-07-28", "tasks"])(
    "on another origin completes a question: %s",
    async (how) => {
      expect(await play("localhost", how)).toBe("Hello, Ann!");
    },
  );

  test("of an origin that is not trusted is let do nothing", async () => {
    expect(await play("localhost", "fetched")).toBe("400");
    for (const how of ["fetched", "v1", "v2 2025-11-25"]) expect(await play(FOREIGN, how), how).toContain("Failed to fetch");
    for (const how of ["v2 2026-07-28", "tasks"]) expect(await play(FOREIGN, how), how).toMatch(/^failed: /);
  });
});
