/**
 * What a person has typed and not sent. It survives reload, a lost connection and a closed tab, and is kept for this person and this question,
 * in this browser, until it is answered, for at most a week. It is removed when they log out. Pages for secrets have no script, and so no
 * drafts.
 */
import { tellLeft } from "../leaving.ts";
import { load } from "./load.ts";
import { find, findAll, make, button, now, person, say } from "./page.ts";

const PREFIX = "parley-draft:";
const KEPT_MS = 7 * 86_400_000;
const DRAFTS_MAX = 100;
const DRAFT_CHARS_MAX = 200_000;
const PAUSE_MS = 250;
/** What left with the page may arrive after the next page has asked for its question. */
const ON_ITS_WAY_MS = 60_000;

interface Draft {
  /** Of the question as it was shown. What was typed for another is no draft of this one. */
  readonly digest: string;
  /** By the server's time: the browser's clock may be set meanwhile. */
  readonly atMs: number;
  readonly typed: readonly (readonly [name: string, value: string])[];
  /** Address of the page that shows its question, if it was sent and nobody has heard what became of it. */
  readonly sentFrom?: string;
}

const NONE: Draft = { digest: "", atMs: 0, typed: [] };

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const keyOf = (ask: string) => `${PREFIX}${person}:${ask}`;
/** A page of a wizard that is shown again has another occurrence of its name, and the digest says whether it is the same. Other questions of one name are open at once. */
const keyOfPage = (ask: string) => `${keyOf(ask.replace(/#\d+$/, ""))}#page`;

/** Everything in the form that a person can change. */
function controlsOf(form: HTMLFormElement): readonly Control[] {
  return [...form.elements].filter(
    (each): each is Control =>
      (each instanceof HTMLInputElement && !["hidden", "password", "file", "submit", "button", "search"].includes(each.type)) ||
      each instanceof HTMLTextAreaElement ||
      each instanceof HTMLSelectElement,
  );
}

function typedIn(form: HTMLFormElement): Draft["typed"] {
  return controlsOf(form).flatMap((control): (readonly [string, string])[] => {
    const isBox = control instanceof HTMLInputElement && (control.type === "checkbox" || control.type === "radio");
    return !isBox || control.checked ? [[control.name, control.value]] : [];
  });
}

function fillIn(form: HTMLFormElement, typed: Draft["typed"]): void {
  for (const control of controlsOf(form)) {
    const values = typed.filter(([name]) => name === control.name).map(([, value]) => value);
    if (control instanceof HTMLInputElement && (control.type === "checkbox" || control.type === "radio"))
      control.checked = values.includes(control.value);
    else control.value = values[0] ?? control.value;
    const folded = control.closest("details");
    if (folded && control.value !== "") folded.open = true;
  }
}

/** Storage may be full, or forbidden. */
function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The page works without.
  }
}

function read(key: string): Draft | undefined {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "") as Draft;
  } catch {
    return undefined;
  }
}

function keys(): readonly string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
}

export function forgetDraft(ask: string): void {
  for (const key of [keyOf(ask), keyOfPage(ask)]) localStorage.removeItem(key);
}

/** It was sent, and whether it counts is not known: the page was left, or the reply does not say. */
export function leaveDraft(ask: string, sentFrom: string): void {
  for (const key of [keyOf(ask), keyOfPage(ask)]) {
    const draft = read(key);
    if (draft) keep(key, JSON.stringify({ ...draft, atMs: now(), sentFrom } satisfies Draft));
  }
}

/** Forgets what was sent so, once its question is no longer as it was: the answer has counted, or comes too late. The rest is as if it was never sent. */
export async function settleDrafts(): Promise<void> {
  for (const key of keys()) {
    const kept = localStorage.getItem(key);
    const { sentFrom, ...draft } = read(key) ?? NONE;
    if (sentFrom === undefined || !key.startsWith(keyOf(""))) continue;
    const { status, page } = await load(sentFrom);
    // The person has typed on meanwhile, or logged out.
    if (localStorage.getItem(key) !== kept) continue;
    const shown = page && find("#ask", page);
    const isOver = shown ? shown.dataset["digest"] !== draft.digest : page && find(".done", page);
    if (status === 404 || status === 410 || (status === 200 && isOver)) localStorage.removeItem(key);
    // Without a connection or a login nobody knows.
    else if (status === 200 && draft.atMs < now() - ON_ITS_WAY_MS) keep(key, JSON.stringify(draft));
  }
}

/** When the person logs out. Other pages of this browser hear of it. */
export function forgetAllDrafts(): void {
  for (const key of keys()) localStorage.removeItem(key);
  tellLeft();
}

/** The oldest first, until few enough are left. */
export function pruneDrafts(): void {
  const known = keys()
    .map((key) => ({ key, atMs: read(key)?.atMs ?? 0 }))
    .toSorted((a, b) => a.atMs - b.atMs);
  for (const [index, { key, atMs }] of known.entries())
    if (atMs < now() - KEPT_MS || index < known.length - DRAFTS_MAX) localStorage.removeItem(key);
}

/** Fills in what was typed before, and keeps what is typed from now on, until the form is marked as sent. Returns what keeps it at once. */
export function keepDrafts(form: HTMLFormElement, { ask, digest }: { readonly ask: string; readonly digest: string }): () => void {
  const key = "back" in form.dataset ? keyOfPage(ask) : keyOf(ask);
  const untouched = JSON.stringify(typedIn(form));
  const draft = read(key);
  // A form that comes back with problems has everything that was typed.
  if (draft?.digest === digest && !find("#problems", form) && JSON.stringify(draft.typed) !== untouched) {
    fillIn(form, draft.typed);
    const note = make("p", { class: "quiet draft", text: `${say("draft")} `, attributes: { role: "status" } });
    note.append(
      button(say("discard"), () => {
        fillIn(form, JSON.parse(untouched) as Draft["typed"]);
        for (const box of findAll<HTMLInputElement>("input[type=radio]", form)) box.checked = box.defaultChecked;
        localStorage.removeItem(key);
        note.remove();
        controlsOf(form)[0]?.focus();
      }),
    );
    form.prepend(note);
  }
  let timer = 0;
  const save = () => {
    clearTimeout(timer);
    timer = 0;
    if ("sent" in form.dataset) return;
    const typed = typedIn(form);
    const text = JSON.stringify({ digest, atMs: now(), typed } satisfies Draft);
    if (JSON.stringify(typed) === untouched) localStorage.removeItem(key);
    else if (text.length <= DRAFT_CHARS_MAX) keep(key, text);
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE_MS) as unknown as number;
  });
  const saveNow = () => void (timer !== 0 && save());
  addEventListener("pagehide", saveNow);
  form.addEventListener("focusout", saveNow);
  return saveNow;
}
