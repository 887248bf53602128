/**
 * A real browser, where there is one: Debian's `chromium-headless-shell` or `chromium`, Chrome, Edge, or what CHROMIUM names. None is downloaded.
 * The first has the same engine and no windows: a new page takes 0.25 s instead of 0.75 s.
 */
import { spawnSync } from "node:child_process";
import { type Browser, chromium, type Page } from "playwright-core";

const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"];

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

/**
 * The five seconds in which a person may take an answer back pass in an instant, for tests that are not about them: of the timers of the inbox and
 * the pages of questions, those of a second are 10 ms.
 */
export async function sendsAtOnce(page: Page): Promise<void> {
  await page.addInitScript("const wait = setTimeout; setTimeout = (act, ms, ...rest) => wait(act, ms === 1_000 ? 10 : ms, ...rest);");
}

/** What a screen reader knows of an element. */
export interface Heard {
  readonly role: string;
  readonly name: string;
  readonly description: string;
  /** States and properties, such as `live`, `modal` and `invalid`. */
  readonly is: Readonly<Record<string, unknown>>;
}

/** From the browser's own accessibility tree, in the order of the page. */
export async function heardOn(page: Page): Promise<readonly Heard[]> {
  const browser = await page.context().newCDPSession(page);
  const { nodes } = await browser.send("Accessibility.getFullAXTree");
  await browser.detach();
  const text = (value: { readonly value?: unknown } | undefined) => (typeof value?.value === "string" ? value.value : "");
  return nodes
    .filter(({ ignored }) => !ignored)
    .map(({ role, name, description, properties = [] }) => ({
      role: text(role),
      name: text(name),
      description: text(description),
      is: Object.fromEntries(properties.map((each) => [each.name, each.value.value as unknown])),
    }));
}

/** How a screen reader describes the first element of that role: what it says after the name. */
export async function describedAs(page: Page, role: string): Promise<string | undefined> {
  return (await heardOn(page)).find((each) => each.role === role)?.description;
}
