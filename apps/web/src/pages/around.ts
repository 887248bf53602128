/** Who is on the question, comments on it, handing it on, and putting it aside, without leaving the page. */
import { forgetDraft, keepDrafts } from "./drafts.ts";
import { load, type Loaded } from "./load.ts";
import { find, findAll, say } from "./page.ts";
import { shortened } from "./sending.ts";
import { lasting, toast } from "./toasts.ts";

/** The person handed the question on or put it aside, or took it back. */
export interface HandedOn {
  readonly isTakenBack: boolean;
  readonly reply: Loaded;
}

/** Calls `act` for the question in this place. */
export function onHandedOn(place: HTMLElement, act: (handed: HandedOn) => void): void {
  place.addEventListener(HANDED_ON, (event) => act((event as CustomEvent<HandedOn>).detail));
}

const HANDED_ON = "parley-handed-on";

/** What leaves the list, or comes back to it, and what is said of it. */
const GONE: Readonly<Record<string, string>> = {
  delegate: "handedOn",
  takeBack: "tookBack",
  snooze: "snoozed",
  unsnooze: "unsnoozed",
};

/** `place` holds the question, and `within` the part of it that is new. */
export function enhanceAround(place: HTMLElement, within = place): void {
  for (const selector of TOLD) {
    const part = within.matches(selector) ? within : find(selector, within);
    if (part) written.set(part, part.innerHTML);
  }
  for (const form of findAll<HTMLFormElement>("form.join", within)) {
    const draft = draftOf(form, place);
    if (draft) keepDrafts(form, draft);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const by = event.submitter instanceof HTMLButtonElement ? event.submitter : find<HTMLButtonElement>("button[name]", form);
      if (by) void send(form, by, place);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
  }
}

/** What is typed in it survives a reload. Undefined for what is only pressed. */
function draftOf(
  form: HTMLFormElement,
  { dataset: { ask, digest } }: HTMLElement,
): { readonly ask: string; readonly digest: string } | undefined {
  const field = find<HTMLTextAreaElement>("textarea", form);
  return field && ask !== undefined && digest !== undefined ? { ask: `${ask}#${field.name}`, digest } : undefined;
}

async function send(form: HTMLFormElement, by: HTMLButtonElement, place: HTMLElement): Promise<void> {
  // A double click.
  if ("busy" in form.dataset) return;
  form.dataset["busy"] = "";
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form, by)) if (typeof value === "string") body.append(name, value);
  const reply = await load(form.getAttribute("action") || location.href, { body });
  const { status, page } = reply;
  delete form.dataset["busy"];
  if (status === 0 || status === 429 || status >= 500) return toast(say(status === 0 ? "offline" : "busy"), [], { urgent: true }).leave();
  const draft = draftOf(form, place);
  if (draft && status === 200) {
    form.dataset["sent"] = "";
    forgetDraft(draft.ask);
  }
  const [action = ""] = (body.get("action") ?? "").split(":");
  const isTakenBack = action === "takeBack" || action === "unsnooze";
  const told = GONE[action];
  if (status === 200 && told !== undefined) {
    toast(say(told, { question: shortened(find(".said", place)?.textContent ?? "") })).leave();
    place.dispatchEvent(new CustomEvent<HandedOn>(HANDED_ON, { detail: { isTakenBack, reply } }));
    return;
  }
  const shown = page && find(".around", page);
  const heard = page && find(".heard", page);
  if (!shown) {
    lasting([find("h1", page)?.textContent, find("main p", page)?.textContent].filter(Boolean).join(": "));
    return;
  }
  const [before, after] = [find(".around", place), document.adoptNode(shown)];
  // What comes back with a problem is the page of the question, from wherever it was sent.
  const address = form.getAttribute("action");
  if (address !== null) for (const each of findAll("form.join", after)) each.setAttribute("action", address);
  before?.replaceWith(after);
  if (heard) find(".heard", place)?.replaceWith(document.adoptNode(heard));
  enhanceAround(place, after);
  const wrong = find("[aria-invalid=true]", after);
  if (wrong) return wrong.focus();
  const next = { comment: "summary[data-key=m]", askBack: "summary[data-key=q]" }[by.value] ?? "[data-key=c]";
  (find(next, after) ?? place).focus();
}

/** As the server wrote each part. The browser may have translated it since, and the person opened it: neither is a change of others. */
const written = new WeakMap<Element, string>();

/** What others did changes these. */
const TOLD = [".heard", ".claiming", ".asking-back", ".snoozing", ".happened"] as const;

/** Takes what others did, and leaves what the person is writing. */
export function takeAround(shown: HTMLElement, place: HTMLElement): void {
  for (const selector of TOLD) {
    const [before, after] = [find(selector, place), find(selector, shown)];
    if (!before || !after || isWriting(before)) continue;
    if (written.get(before) === after.innerHTML) continue;
    const taken = document.adoptNode(after);
    const [folded, unfolded] = [find<HTMLDetailsElement>("details", before), find<HTMLDetailsElement>("details", taken)];
    if (folded && unfolded) unfolded.open = folded.open;
    const hadFocus = before.contains(document.activeElement);
    before.replaceWith(taken);
    enhanceAround(place, taken);
    if (hadFocus) find("[data-key=c], [data-key=s], summary", taken)?.focus();
  }
}

function isWriting(part: HTMLElement): boolean {
  return findAll<HTMLInputElement | HTMLTextAreaElement>("input:not([type=hidden]), textarea", part).some(
    (field) => field === document.activeElement || field.value !== field.defaultValue,
  );
}
