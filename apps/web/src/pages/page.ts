/** What the server tells the script of a page: `page` in apps/server/routes/asks/html.ts writes it. */

const { body } = document;
const { words = "{}", locale = "en", person = "", zone = "" } = body.dataset;

/** Texts by name (`live` in apps/server/texts). */
const texts = JSON.parse(words) as Readonly<Record<string, string>>;

export { locale, person, zone };

/** How far the browser's clock is ahead of the server's. */
let aheadMs = 0;

/** By a page that the server has just written: the browser's clock may be set right, or wrong, at any time. */
export function tellTime({ body: { dataset } }: Document): void {
  if (dataset["now"] !== undefined) aheadMs = Date.now() - Number(dataset["now"]);
}
tellTime(document);

/** The server's time. */
export function now(): number {
  return Date.now() - aheadMs;
}

export function say(name: string, parts: Readonly<Record<string, string | number>> = {}): string {
  return (texts[name] ?? "").replaceAll(/\{(\w+)\}/g, (whole, part: string) => (Object.hasOwn(parts, part) ? String(parts[part]) : whole));
}

export function find<E extends HTMLElement = HTMLElement>(selector: string, within: ParentNode = document): E | undefined {
  return within.querySelector<E>(selector) ?? undefined;
}

export function findAll<E extends HTMLElement = HTMLElement>(selector: string, within: ParentNode = document): readonly E[] {
  return [...within.querySelectorAll<E>(selector)];
}

/** The first control whose value is not accepted. Of radio buttons, the group says so. */
export function findWrong(within: ParentNode = document): HTMLElement | undefined {
  return find("[aria-invalid=true]:not(fieldset), fieldset[aria-invalid=true] input", within);
}

interface Parts {
  readonly class?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children?: readonly Node[];
}

/** Text is set as text: trusted types forbid markup from strings. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  { class: names, text, attributes = {}, children = [] }: Parts = {},
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (names !== undefined) element.className = names;
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A button that only the script understands. */
export function button(text: string, act: () => void): HTMLButtonElement {
  const made = make("button", { text, attributes: { type: "button" } });
  made.addEventListener("click", act);
  return made;
}
