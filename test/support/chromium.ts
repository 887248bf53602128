/** A real browser, where there is one: Debian's `chromium`, Chrome, Edge, or what CHROMIUM names. None is downloaded. */
import { spawnSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";

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
