/** A real browser, where there is one: Debian's `chromium`, Chrome, Edge, or what CHROMIUM names. None is downloaded. */
import { spawnSync } from "node:child_process";
import { type Browser, chromium, type Page } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"];

/** Its command. Undefined where there is none. */
export function findChromium(): string | undefined {
  const given = process.env["CHROMIUM"];
  return (given ? [given] : NAMES).find((command) => spawnSync(command, ["--version"]).status === 0);
}

export async function startChromium(command: string, args: readonly string[] = []): Promise<Browser> {
  const executablePath = spawnSync("sh", ["-c", 'command -v "$0"', command]).stdout.toString().trim();
  return await chromium.launch({
    executablePath,
    // It runs as root in containers, and must not look for updates.
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", ...args],
  });
}

/** How a screen reader describes the first element of that role: what it says after the name. From the browser's own accessibility tree. */
export async function describedAs(page: Page, role: string): Promise<unknown> {
  const browser = await page.context().newCDPSession(page);
  const { nodes } = await browser.send("Accessibility.getFullAXTree");
  await browser.detach();
  return nodes.find((node) => node.role?.value === role)?.description?.value;
}
