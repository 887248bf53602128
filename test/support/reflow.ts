/**
 * What a person meets who enlarges a page to 400 %: 1,280 × 1,024 pixels are then 320 × 256 (WCAG 2.2, 1.4.10 and 2.4.11).
 *
 * Nothing lies beside the screen, nothing that has no other way to be read is cut off, no word of a table is broken, and what has the focus is in sight, with a mark.
 */
import type { Frame, Page } from "playwright-core";

export const ENLARGED = { width: 320, height: 256 };
/** More than any of the pages has controls. */
const TABS_MAX = 90;

/** Runs in the page. Tables and code may scroll sideways: their lines mean something. */
const BESIDE = `(() => {
  const found = [];
  const wide = document.scrollingElement.scrollWidth;
  if (wide > innerWidth) found.push("the page is " + wide + " pixels wide");
  const scrollsX = (element) => {
    for (let each = element; each && each !== document.body; each = each.parentElement) {
      const { overflowX, position } = getComputedStyle(each);
      if ((overflowX === "auto" || overflowX === "scroll") && each.scrollWidth > each.clientWidth) return each;
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  texts: while (walker.nextNode()) {
    const { currentNode: text } = walker;
    const element = text.parentElement;
    if (!text.data.trim() || element.closest("script, style, noscript, option, .sr-only") || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    // A number that is broken reads as two.
    if (element.closest("td, th"))
      for (const { 0: word, index } of text.data.matchAll(/(?<![\\p{L}\\p{N}.,])[\\p{L}\\p{N}.,]{1,40}(?![\\p{L}\\p{N}.,])/gu)) {
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (range.getClientRects().length > 1) found.push("broken in two: " + word);
      }
    range.selectNodeContents(text);
    const scroller = scrollsX(element);
    const name = text.data.trim().slice(0, 40) + " in " + element.tagName + "." + element.className;
    if (scroller) {
      if (!scroller.matches("pre, .wide, :has(> table)")) found.push("scrolls sideways: " + name);
      continue;
    }
    for (let each = element; each && each !== document.body; each = each.parentElement) {
      const style = getComputedStyle(each);
      // Shortened with a sign that it goes on: the whole is where it leads.
      if (style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none") continue texts;
      if (style.overflowX === "hidden" && each.scrollWidth > each.clientWidth + 1) { found.push("cut off: " + name); break; }
      if (style.overflowY === "hidden" && each.scrollHeight > each.clientHeight + 1) { found.push("cut off below: " + name); break; }
    }
    for (const { left, right, width } of range.getClientRects())
      if (width > 0 && (left < -1 || right > innerWidth + 1)) { found.push("beside the screen: " + name); break; }
  }
  return found;
})()`;

/** Runs in the page: what is wrong with the place of the focus. Undefined if nothing has it. */
const FOCUS = `(() => {
  const element = document.activeElement;
  if (!element || element === document.body || element.tagName === "IFRAME") return undefined;
  const name = element.tagName + " " + (element.id || element.name || element.textContent.trim().slice(0, 30));
  const { top, bottom, left, right, width, height } = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const wrong = [];
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) wrong.push("no mark");
  const [from, to] = [Math.max(0, top), Math.min(innerHeight, bottom)];
  // Of what is higher than a third of the screen, a third of it is enough.
  if (to - from < Math.min(height, innerHeight / 3) - 1 || left < -1 || right > innerWidth + 1) wrong.push("out of sight at " + Math.round(top) + " to " + Math.round(bottom));
  const at = (part) => document.elementFromPoint(left + Math.min(width / 2, 12), from + (to - from) * part);
  const covered = [0.1, 0.5, 0.9].filter((part) => { const hit = at(part); return hit && !(element.contains(hit) || hit.contains(element) || [...(element.labels ?? [])].some((label) => label.contains(hit))); });
  if (covered.length > 1) wrong.push("covered by " + at(covered[0]).tagName + "." + at(covered[0]).className);
  return { name, wrong };
})()`;

export async function beside(where: Page | Frame): Promise<readonly string[]> {
  return await where.evaluate<string[]>(BESIDE);
}

/** Goes through the page with Tab, from where the focus is. */
export async function focusProblems(
  page: Page,
  where: Page | Frame = page,
): Promise<{ readonly stops: number; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  let stops = 0;
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    await page.keyboard.press("Tab");
    const found = await where.evaluate<{ name: string; wrong: string[] } | undefined>(FOCUS);
    if (found === undefined) {
      if (stops > 0) break;
      continue;
    }
    stops += 1;
    problems.push(...found.wrong.map((each) => `${found.name}: ${each}`));
  }
  return { stops, problems };
}
