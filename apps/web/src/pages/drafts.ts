/**
 * What a person has typed and not sent. It survives reload, a lost connection and a closed tab, and is kept for this person and this question,
 * in this browser, until it is answered, for at most a week. It is removed when they log out. Pages for secrets have no script, and so no
 * drafts.
 */
import { find, findAll, make, button, person, say } from "./page.ts";

const PREFIX = "parley-draft:";
const KEPT_MS = 7 * 86_400_000;
const DRAFTS_MAX = 100;
const DRAFT_CHARS_MAX = 200_000;
const PAUSE_MS = 250;

interface Draft {
  /** Of the question as it was shown. What was typed for another is no draft of this one. */
  readonly digest: string;
  readonly atMs: number;
  readonly typed: readonly (readonly [name: string, value: string])[];
}

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

export function forgetAllDrafts(): void {
  for (const key of keys()) localStorage.removeItem(key);
}

/** The oldest first, until few enough are left. */
export function pruneDrafts(): void {
  const known = keys()
    .map((key) => ({ key, atMs: read(key)?.atMs ?? 0 }))
    .toSorted((a, b) => a.atMs - b.atMs);
  for (const [index, { key, atMs }] of known.entries())
    if (atMs < Date.now() - KEPT_MS || index < known.length - DRAFTS_MAX) localStorage.removeItem(key);
}

/** Fills in what was typed before, and keeps what is typed from now on, until the form is marked as sent. */
export function keepDrafts(form: HTMLFormElement, { ask, digest }: { readonly ask: string; readonly digest: string }): void {
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
    const text = JSON.stringify({ digest, atMs: Date.now(), typed } satisfies Draft);
    if (JSON.stringify(typed) === untouched) localStorage.removeItem(key);
    else if (text.length <= DRAFT_CHARS_MAX) keep(key, text);
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE_MS) as unknown as number;
  });
  addEventListener("pagehide", () => timer !== 0 && save());
  form.addEventListener("focusout", () => timer !== 0 && save());
}
