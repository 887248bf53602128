/** Names from schemas as people read them, for fields without a title. Names that are no identifiers, such as `E-mail (work)`, stay as they are. */

/** `partySize` → `Party size`, `due_date` → `Due date`, `apiURL` → `Api URL`. */
export function plainName(name: string): string {
  return IDENTIFIER.test(name) ? capitalized(inWords(name)) : name;
}

/** The way to a field: `guests`, `1`, `firstName` → `Guests 1 first name`. */
export function plainPath(names: readonly string[]): string {
  const [first = "", ...others] = names;
  return [plainName(first), ...others.map((name) => (IDENTIFIER.test(name) ? inWords(name) : name))].join(" ");
}

const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]*$/;

function inWords(name: string): string {
  return name
    .replaceAll(/[_-]+/g, " ")
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, " ")
    .replaceAll(/\b[A-Z](?=[a-z])/g, (letter) => letter.toLowerCase())
    .trim();
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
