/** Messages at the edge of the page. They leave by themselves, unless the person has to decide about something. */
import { button, findAll, make, say } from "./page.ts";

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

/** What answers, and what has the focus: no message may lie over it. */
const ANSWERS = "form.question .actions button, :focus";
const PRESSED = ":is(main, header) :is(a, button, input, select, textarea, summary)";

/** Where messages are. What does not fit into their place is scrolled there. */
function boxes(): readonly Pick<DOMRect, "top" | "bottom" | "left" | "right">[] {
  const place = region?.getBoundingClientRect();
  if (!region || !place) return [];
  return [...region.children].map((each) => {
    const { top, bottom, left, right } = each.getBoundingClientRect();
    return { top: Math.max(top, place.top), bottom: Math.min(bottom, place.bottom), left, right };
  });
}

/** Of what can be seen, how much lies under the messages. Beside a message is room. */
function covered(selector: string): number {
  const over = boxes();
  return findAll(selector).filter((each) => {
    if (region?.contains(each)) return false;
    const { top, bottom, left, right, height } = each.getBoundingClientRect();
    const isSeen = height > 0 && bottom > 0 && top < innerHeight;
    return isSeen && over.some((box) => box.top < bottom && box.bottom > top && box.left < right && box.right > left);
  }).length;
}

/**
 * Messages stand at the lower edge of the screen. Where they would lie over what a person is about to press, they stand at the upper one, if less is there.
 * A page that is narrow keeps room for them at its end, so that the last of it can be scrolled above them. The room stays, because a page that gets
 * shorter moves under the finger.
 */
function settle(): void {
  if (!region || region.matches(":hover, :focus-within")) return;
  const at = (edge: string) => {
    region?.setAttribute("data-edge", edge);
    return [covered(ANSWERS), covered(PRESSED)] as const;
  };
  const [answers, others] = at("end");
  if (answers + others > 0) {
    const [answersAbove, othersAbove] = at("start");
    const isBetter = answersAbove < answers || (answersAbove === 0 && othersAbove === 0);
    if (!isBetter) at("end");
  }
  roomPx = Math.max(roomPx, region.offsetHeight);
  document.body.style.setProperty("--messages", `${roomPx}px`);
}
let roomPx = 0;

/** Messages must not hide what has the focus, on a small screen or one that is enlarged. */
function uncover(focused: HTMLElement): void {
  if (!region || region.contains(focused)) return;
  settle();
  const { top, bottom, left, right } = focused.getBoundingClientRect();
  const over = boxes().filter((each) => each.left < right && each.right > left);
  const isAbove = region.dataset["edge"] === "start";
  const under = isAbove ? Math.max(...over.map((each) => each.bottom)) - top : bottom - Math.min(...over.map((each) => each.top));
  if (under > 0 && over.length > 0) scrollBy(0, isAbove ? -(under + 8) : Math.min(under + 8, top - 8));
}

/** Where messages come. A screen reader says what comes into a place that was there before, and not what comes with its place. */
export function messages(): HTMLElement {
  if (!region) {
    region = make("div", { class: "toasts", attributes: { role: "region", "aria-label": say("messages"), "aria-live": "polite" } });
    document.body.append(region);
    document.addEventListener("focusin", ({ target }) => target instanceof HTMLElement && uncover(target));
    for (const name of ["scrollend", "resize"]) addEventListener(name, settle);
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
    settle();
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
