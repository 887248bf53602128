/** Messages at the edge of the page. They leave by themselves, unless the person has to decide about something. */
import { button, make, say } from "./page.ts";

const SHOWN_MS = 8_000;

let region: HTMLElement | undefined;

export interface Toast {
  set(text: string, actions?: readonly Node[]): void;
  /** Below the text and the actions. */
  add(more: HTMLElement): void;
  /** Leaves by itself after a while, if nobody is at it. */
  leave(): void;
  remove(): void;
}

/** Messages must not hide what has the focus, on a small screen or one that is enlarged. Beside a message is room. */
function uncover(focused: HTMLElement): void {
  if (!region || region.contains(focused)) return;
  const { top, bottom, left, right } = focused.getBoundingClientRect();
  const over = [...region.children].map((each) => each.getBoundingClientRect()).filter((each) => each.left < right && each.right > left);
  const under = bottom - Math.min(...over.map((each) => each.top));
  if (under > 0) scrollBy(0, Math.min(under + 8, top - 8));
}

/** Where messages come. A screen reader says what comes into a place that was there before, and not what comes with its place. */
export function messages(): HTMLElement {
  if (!region) {
    region = make("div", { class: "toasts", attributes: { role: "region", "aria-label": say("messages"), "aria-live": "polite" } });
    document.body.append(region);
    document.addEventListener("focusin", ({ target }) => target instanceof HTMLElement && uncover(target));
  }
  return region;
}

/** `urgent` is said at once by screen readers. */
export function toast(text: string, actions: readonly Node[] = [], { urgent = false }: { readonly urgent?: boolean } = {}): Toast {
  const place = messages();
  const words = make("p", { attributes: { dir: "auto", ...(urgent && { role: "alert" }) } });
  const row = make("div", { class: "row" });
  const box = make("div", { class: urgent ? "toast urgent" : "toast", children: [words, row] });
  const remove = () => box.remove();
  const set = (next: string, parts: readonly Node[] = []) => {
    if (words.textContent !== next) words.textContent = next;
    // What is put into its place anew loses the focus.
    if (parts.length !== row.childNodes.length || parts.some((part, at) => part !== row.childNodes[at])) row.replaceChildren(...parts);
  };
  place.append(box);
  set(text, actions);
  return {
    set,
    add: (more) => box.append(more),
    leave() {
      const go = () => (box.matches(":hover, :focus-within") ? setTimeout(go, 1_000) : remove());
      setTimeout(go, SHOWN_MS);
    },
    remove,
  };
}

/** Stays until it is closed. */
export function lasting(text: string, actions: readonly Node[] = []): Toast {
  const made = toast(text, [...actions, button(say("dismiss"), () => made.remove())], { urgent: true });
  return made;
}
