/** Makes many options searchable, and shows that long texts go on until they have been read. */
import { chooseByLetters, plain } from "../letters.ts";
import { isAtEnd, noteReading } from "../reading.ts";
import { button, find, findAll, make, say } from "./page.ts";

const MANY = 15;
const ROWS = 8;
/** As in the playground (use-pause.ts). */
const PAUSE_MS = 500;
/** When a person who wanted to answer was shown the rest of a message instead. */
let unfoldedAtMs = -Infinity;

function searchFor(count: number, onType: (wanted: string) => number): HTMLElement {
  const input = make("input", {
    attributes: {
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": say("find", { count }),
      placeholder: say("find", { count }),
    },
  });
  const said = make("p", { class: "quiet sr-only", attributes: { role: "status" } });
  input.addEventListener("input", (event) => {
    // What is typed here is no answer.
    event.stopPropagation();
    said.textContent = say("found", { count: onType(plain(input.value)) });
  });
  return make("div", { class: "find", children: [input, said] });
}

/** A list with several rows: unlike a menu, it can be narrowed while it is open. */
function searchSelect(select: HTMLSelectElement): void {
  const options = [...select.options];
  const search = searchFor(options.filter(({ value }) => value !== "").length, (wanted) => {
    const chosen = select.selectedOptions[0];
    const matching = options.filter((option) => option === chosen || (option.value !== "" && plain(option.text).includes(wanted)));
    select.replaceChildren(...(wanted === "" ? options : matching));
    return matching.filter((option) => option !== chosen || plain(option.text).includes(wanted)).length;
  });
  select.size = ROWS;
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      // The first that matches, after the one that was chosen before.
      const first = [...select.options].find((option) => option.value !== "" && !option.selected) ?? select.options[0];
      if (first) first.selected = true;
      select.dispatchEvent(new Event("input", { bubbles: true }));
      select.focus();
    }
  });
  select.before(search);
}

function searchBoxes(choices: HTMLElement): void {
  const labels = findAll<HTMLLabelElement>("label", choices);
  const search = searchFor(labels.length, (wanted) => {
    for (const label of labels)
      label.hidden = !plain(label.textContent).includes(wanted) && !find<HTMLInputElement>("input", label)?.checked;
    return labels.filter(({ hidden }) => !hidden).length;
  });
  search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  choices.before(search);
}

export function makeSearchable(within: ParentNode): void {
  for (const choices of findAll("form.question [role=radiogroup] .choices", within)) chooseByLetters(choices);
  for (const select of findAll<HTMLSelectElement>("form.question select", within)) if (select.options.length > MANY) searchSelect(select);
  for (const choices of findAll("form.question .choices", within)) if (choices.children.length > MANY) searchBoxes(choices);
}

/** A message that is higher than its place ends in a button, until the person has come to its end. */
export function fold(within: ParentNode): void {
  const text = find(".said.long", within);
  if (!text || text.nextElementSibling?.matches(".more")) return;
  if (isAtEnd(text)) return text.classList.remove("long");
  const more = button(say("more"), () => unfold(text));
  more.className = "more";
  text.after(more);
  // It stands where the person is sent to read on, never over what they press.
  text.before(make("p", { class: "risk unread", attributes: { role: "alert" } }));
  text.addEventListener("scroll", () => noteReading(text));
}

function unfold(text: HTMLElement): void {
  text.classList.remove("long");
  text.nextElementSibling?.remove();
  text.tabIndex = -1;
  text.focus();
}

/**
 * Whether the person has come to the end of the message. If not, all of it is shown now. The second press of a double click was meant for what was on the
 * page before.
 */
export function isRead(within: ParentNode): boolean {
  const text = find(".said.long:not([data-read])", within);
  if (text) {
    const note = find(".unread", within);
    unfold(text);
    if (note) note.textContent = say("unread");
    note?.scrollIntoView({ block: "start" });
    unfoldedAtMs = performance.now();
  }
  return performance.now() - unfoldedAtMs >= PAUSE_MS;
}
