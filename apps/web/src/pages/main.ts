/** The script of the pages that front ends write. Without it they work as well. */
import { enhance, type Given } from "./answering.ts";
import { onHandedOn, takeAround } from "./around.ts";
import { countDown, tellZone } from "./clock.ts";
import { forgetAllDrafts, pruneDrafts, settleDrafts } from "./drafts.ts";
import { startInbox } from "./inbox.ts";
import { load } from "./load.ts";
import { find, findWrong, make, say } from "./page.ts";
import { sendBeforeLogout, sendOnLeaving } from "./sending.ts";
import { lasting, messages, type Toast, toast } from "./toasts.ts";
import { touchedSince } from "./touched.ts";
import { typedText, typedView } from "./typed.ts";

/** How often the page of one question asks whether it is still as it was, while it is seen. */
const LOOK_MS = 5_000;

/** The page of one question: what the server replies takes the place of the question. */
function startQuestion(place: HTMLElement): void {
  const given = (): Given => ({
    isShown: () => true,
    onUndo: () => place.removeAttribute("inert"),
    onReply: ({ status, page, url }) => {
      // What the task asks next has an address of its own.
      if (status === 200 && new URL(url).pathname !== location.pathname) return location.assign(url);
      // A form that comes back has what was typed, and so has the record.
      const typed = status === 200 || status === 422 ? "" : typedText(place);
      if (status === 401 || !page || !take(page, typed)) return location.reload();
      const focused = findWrong() ?? find("h1");
      if (focused?.tagName === "H1") focused.tabIndex = -1;
      focused?.focus();
      if (status === 200 && !find("#ask")) void goOn();
    },
    onOpen: () => undefined,
    onGiven: () => place.setAttribute("inert", ""),
  });
  enhance(place, given);
  onHandedOn(place, ({ reply }) => given().onReply(reply));
  // A question that was handed on may come back to a page that has shown none meanwhile.
  void watch();
}

/** When to look whether a task asks on after an answer. Most do at once, and then the server has led to the question. */
const ONWARD_MS = [1_000, 1_000, 2_000, 3_000, 5_000, 8_000, 10_000, 15_000, 15_000];

/** To somebody who reads their record meanwhile, the next question is offered. */
async function goOn(): Promise<void> {
  const sinceMs = performance.now();
  for (const ms of ONWARD_MS) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (document.hidden) continue;
    const { status, page } = await load(location.href);
    const next = page && find<HTMLAnchorElement>("a[data-next]", page);
    if (next && !touchedSince(sinceMs)) return location.assign(next.href);
    if (next) return void lasting(next.dataset["next"] ?? "", [make("a", { text: next.textContent, attributes: { href: next.href } })]);
    if (status === 401) return;
  }
}

/** `typed`: what the person would lose with the form. */
function take(page: Document, typed: string): boolean {
  const [shown, main] = [find("main", page), find("main")];
  if (!shown || !main) return false;
  document.title = page.title;
  main.replaceWith(document.adoptNode(shown));
  if (typed !== "") shown.append(typedView(typed));
  const place = find("#ask");
  if (place) startQuestion(place);
  return true;
}

let isWatching = false;

/** Asks for the page again as long as it shows an open question, so that whoever waits for it learns how it ended. */
async function watch(): Promise<void> {
  // One watch follows whatever question the page shows.
  if (isWatching) return;
  isWatching = true;
  let tag: string | undefined;
  let away: Toast | undefined;
  const tellAway = (isAway: boolean) => {
    if (isAway) away ??= toast(say("offline"), [], { urgent: true });
    else {
      away?.remove();
      away = undefined;
    }
  };
  const hearAway = () => tellAway(find("#ask") !== undefined);
  addEventListener("offline", hearAway);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const place = find("#ask");
    if (!place) {
      isWatching = false;
      removeEventListener("offline", hearAway);
      return tellAway(false);
    }
    // An answer is on its way.
    if (document.hidden || place.inert) continue;
    const reply = await load(location.href, { tag: tag ?? '""' });
    tellAway(reply.status === 0);
    if (reply.status === 401) {
      // They log in on another page, or somebody else does.
      await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
      continue;
    }
    // The person has answered meanwhile.
    if (find("#ask") !== place || place.inert) continue;
    tag = reply.tag ?? tag;
    if (reply.page && reply.status !== 429 && reply.status < 500) takeNews(place, reply.page);
  }
}

function takeNews(place: HTMLElement, page: Document): void {
  const shown = find("#ask", page);
  if (shown && shown.dataset["digest"] === place.dataset["digest"]) {
    const facts = find(".facts", shown);
    if (facts) find(".facts", place)?.replaceWith(document.adoptNode(facts));
    takeAround(shown, place);
    return;
  }
  const hadFocus = place.contains(document.activeElement);
  if (!take(page, typedText(place))) return;
  const heading = find("h1");
  if (hadFocus && heading) {
    heading.tabIndex = -1;
    heading.focus();
  }
  lasting(find("#ask") ? say("changed") : [heading?.textContent, find(".done")?.textContent].filter(Boolean).join(": "));
}

if (!tellZone()) {
  messages();
  pruneDrafts();
  void settleDrafts();
  countDown();
  sendOnLeaving();
  // The browser's way back may lead to the page as it was left, with an answer on its way.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted && find("#ask")?.inert) location.reload();
  });
  // Before another person sits down at this browser.
  document.addEventListener("submit", (event) => {
    const { target } = event;
    if (!(target instanceof HTMLFormElement) || !target.classList.contains("account")) return;
    sendBeforeLogout(event, target);
    forgetAllDrafts();
  });
  const [main, asks, place] = [find("main.inbox"), find("#asks"), find("#ask")];
  if (main && asks && place) startInbox(main, asks, place);
  else if (place) startQuestion(place);
}
