/** Who is on the question, and comments on it, without leaving the page. */
import { load } from "./load.ts";
import { find, findAll, say } from "./page.ts";
import { lasting, toast } from "./toasts.ts";

/** `place` holds the question, and `within` the part of it that is new. */
export function enhanceAround(place: HTMLElement, within = place): void {
  for (const form of findAll<HTMLFormElement>("form.join", within)) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const by = event.submitter instanceof HTMLButtonElement ? event.submitter : find<HTMLButtonElement>("button", form);
      if (by) void send(form, by, place);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
  }
}

async function send(form: HTMLFormElement, by: HTMLButtonElement, place: HTMLElement): Promise<void> {
  // A double click.
  if ("busy" in form.dataset) return;
  form.dataset["busy"] = "";
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form, by)) if (typeof value === "string") body.append(name, value);
  const { status, page } = await load(form.getAttribute("action") || location.href, { body });
  delete form.dataset["busy"];
  if (status === 0 || status === 429 || status >= 500) return toast(say(status === 0 ? "offline" : "busy"), [], { urgent: true }).leave();
  const shown = page && find(".around", page);
  if (!shown) {
    lasting([find("h1", page)?.textContent, find("main p", page)?.textContent].filter(Boolean).join(": "));
    return;
  }
  const [before, after] = [find(".around", place), document.adoptNode(shown)];
  before?.replaceWith(after);
  enhanceAround(place, after);
  (find(by.value === "comment" ? "summary[data-key=m]" : "[data-key=c]", after) ?? place).focus();
}

/** Takes what others did, and leaves what the person is writing. */
export function takeAround(shown: HTMLElement, place: HTMLElement): void {
  const [before, after] = [find(".joined", place), find(".joined", shown)];
  if (!before || !after || before.innerHTML === after.innerHTML) return;
  const hadFocus = before.contains(document.activeElement);
  const isOpen = find<HTMLDetailsElement>(".history", before)?.open === true;
  const taken = document.adoptNode(after);
  const history = find<HTMLDetailsElement>(".history", taken);
  if (history) history.open = isOpen;
  before.replaceWith(taken);
  enhanceAround(place, taken);
  if (hadFocus) find("[data-key=c]", taken)?.focus();
}
