/** The script of the pages that front ends write. Without it they work as well. */
import { enhance, type Given } from "./answering.ts";
import { onHandedOn } from "./around.ts";
import { countDown, tellZone } from "./clock.ts";
import { forgetAllDrafts, pruneDrafts } from "./drafts.ts";
import { startInbox } from "./inbox.ts";
import { find } from "./page.ts";
import { sendOnLeaving } from "./sending.ts";

/** The page of one question: what the server replies takes the place of the question. */
function startQuestion(place: HTMLElement): void {
  const given = (): Given => ({
    isShown: () => true,
    onUndo: () => place.removeAttribute("inert"),
    onReply: ({ status, page }) => {
      const shown = page && find("main", page);
      const main = find("main");
      if (status === 401 || !shown || !main) return location.reload();
      document.title = page.title;
      main.replaceWith(document.adoptNode(shown));
      const again = find("#ask");
      if (again) startQuestion(again);
      const focused = find("[aria-invalid=true]") ?? find("h1");
      if (focused) {
        focused.tabIndex = -1;
        focused.focus();
      }
    },
    onOpen: () => undefined,
    onGiven: () => place.setAttribute("inert", ""),
  });
  enhance(place, given);
  onHandedOn(place, ({ reply }) => given().onReply(reply));
}

if (!tellZone()) {
  pruneDrafts();
  countDown();
  sendOnLeaving();
  // Before another person sits down at this browser.
  document.addEventListener("submit", ({ target }) => {
    if (target instanceof HTMLFormElement && target.classList.contains("account")) forgetAllDrafts();
  });
  const [main, asks, place] = [find("main.inbox"), find("#asks"), find("#ask")];
  if (main && asks && place) startInbox(main, asks, place);
  else if (place) startQuestion(place);
}
