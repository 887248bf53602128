/** The time zone of the person, and how long is left until each deadline. */
import { DAY_MS, haste, HASTES, HOUR_MS } from "../../times/haste.ts";
import { findAll, locale, now, say, zone } from "./page.ts";

const YEAR_SECONDS = 31_536_000;
const RELOADED = "parley-zone-told";

/** Tells the server the person's time zone. The page is loaded again if it was written in another. True if so. */
export function tellZone(): boolean {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (own === zone || !own) return false;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `parley-zone=${encodeURIComponent(own)}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax${secure}`;
  // Once, for a server that does not know the zone, or a browser that keeps no cookies.
  if (!document.cookie.includes("parley-zone=") || sessionStorage.getItem(RELOADED) === own) return false;
  sessionStorage.setItem(RELOADED, own);
  location.reload();
  return true;
}

const UNITS = [
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "always" });

/** "in 2 hours". In the largest unit of which there are two, as the server writes it. */
function left(ms: number): string {
  if (ms <= 0) return say("over");
  const [unit, size] = UNITS.find(([, each]) => ms >= 2 * each) ?? UNITS[3];
  return relative.format(Math.trunc(ms / size), unit);
}

/** What was written last. The browser may have translated it since, which is no reason to write it again every second. */
const written = new WeakMap<HTMLElement, string>();

function count(): void {
  const at = now();
  for (const element of findAll("[data-until]")) {
    const ms = Number(element.dataset["until"]) - at;
    const text = left(ms);
    if ((written.get(element) ?? element.textContent) !== text) element.textContent = text;
    written.set(element, text);
    const tag = element.closest(".tag");
    for (const each of HASTES) tag?.classList.toggle(each, each === haste(ms));
  }
}

export function countDown(): void {
  count();
  setInterval(count, 1_000);
}
