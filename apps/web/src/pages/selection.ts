/** The questions of the list that a person has selected, to answer them together. */
import { find, findAll, say } from "./page.ts";

export interface Selection {
  /** Marks again what is selected: the list was written anew. What is no longer in it is no longer selected. */
  keep(): void;
  toggle(item: HTMLElement | undefined): boolean;
  /** Everything between the question that was selected last and this one. */
  toggleTo(item: HTMLElement | undefined): boolean;
  /** All questions of the tool that asks this one. */
  alike(item: HTMLElement | undefined): boolean;
  clear(): void;
  ids(): readonly string[];
}

const boxOf = (item: HTMLElement | undefined) => item && find<HTMLInputElement>("input[name=batch]", item);

/** `seen`: the items of the list that are not hidden. `open`: answers the selected ones. */
export function select(asks: HTMLElement, seen: () => readonly HTMLElement[], open: () => void): Selection {
  const bar = find<HTMLFormElement>("#batch");
  const said = find("#picked");
  const [alikeButton, noneButton] = [find("#pick-alike"), find("#pick-none")];
  const selected = new Set<string>();
  let last: string | undefined;

  const boxes = () => findAll<HTMLInputElement>("input[name=batch]", asks);

  function show(): void {
    for (const box of boxes()) box.checked = selected.has(box.value);
    const text = selected.size === 0 ? "" : say("picked", { count: selected.size });
    if (said && said.textContent !== text) said.textContent = text;
    bar?.classList.toggle("on", selected.size > 0);
    asks.classList.toggle("picking", selected.size > 0);
  }

  function mark(box: HTMLInputElement, isOn: boolean): void {
    if (isOn) selected.add(box.value);
    else selected.delete(box.value);
    last = box.value;
  }

  function toggle(item: HTMLElement | undefined): boolean {
    const box = boxOf(item);
    if (box) mark(box, !selected.has(box.value));
    show();
    return true;
  }

  function toggleTo(item: HTMLElement | undefined): boolean {
    const at = seen().flatMap((each) => boxOf(each) ?? []);
    const [from, to] = [at.findIndex(({ value }) => value === last), at.indexOf(boxOf(item) ?? new HTMLInputElement())];
    if (from === -1 || to === -1) return toggle(item);
    const isOn = selected.has(at[from]?.value ?? "");
    for (const box of at.slice(Math.min(from, to), Math.max(from, to) + 1)) mark(box, isOn);
    last = at[to]?.value;
    show();
    return true;
  }

  function alike(item: HTMLElement | undefined): boolean {
    const tool = item?.dataset["tool"];
    for (const each of seen()) {
      const box = boxOf(each);
      if (box && each.dataset["tool"] === tool) mark(box, true);
    }
    show();
    return true;
  }

  function clear(): void {
    selected.clear();
    show();
  }

  asks.addEventListener("click", (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || box.name !== "batch") return;
    if (event.shiftKey) toggleTo(box.closest("li") ?? undefined);
    else mark(box, box.checked);
    show();
  });
  bar?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (selected.size > 0) open();
  });
  for (const each of [alikeButton, noneButton]) if (each) each.hidden = false;
  noneButton?.addEventListener("click", clear);
  alikeButton?.addEventListener("click", () => {
    alike(seen().find((item) => boxOf(item)?.value === last));
  });
  for (const box of boxes()) if (box.checked) selected.add(box.value);
  show();
  return {
    keep() {
      const there = new Set(boxes().map(({ value }) => value));
      for (const each of selected) if (!there.has(each)) selected.delete(each);
      show();
    },
    toggle,
    toggleTo,
    alike,
    clear,
    ids: () => [...selected],
  };
}
