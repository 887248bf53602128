/** Keys of the inbox. They do nothing while a person types, in a dialog, or with Control, Alt or the command key. */
import { find } from "./page.ts";

const OFF = "parley-keys-off";

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "submit"].includes(target.type);
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable)
  );
}

/** `acts` by key. False: the key is the browser's. */
export function listen(acts: Readonly<Record<string, (event: KeyboardEvent) => boolean>>): void {
  const sheet = find<HTMLDialogElement>("#keys");
  const opens = find<HTMLButtonElement>("#keys-open");
  const isOn = find<HTMLInputElement>("#keys-on");
  if (!sheet || !opens || !isOn) return;
  const show = () => {
    if (!sheet.open) sheet.showModal();
    return true;
  };
  opens.hidden = false;
  opens.addEventListener("click", show);
  isOn.checked = localStorage.getItem(OFF) === null;
  isOn.addEventListener("change", () => (isOn.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1")));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const isEscape = event.key === "Escape";
    if (isTyping(event.target) ? !isEscape : !isOn.checked && !isEscape) return;
    const act = event.key === "?" ? show : acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    // Held down, a key may move through the list, and nothing else.
    if (act && (!event.repeat || "jk".includes(event.key)) && act(event)) event.preventDefault();
  });
}
