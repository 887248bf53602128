export interface JsonExtent {
  /** How deep arrays and objects may nest. */
  readonly depthMax: number;
  /** How many items and members they may have in all. */
  readonly valuesMax: number;
}

/**
 * Which limit a JSON text exceeds, before anything is made of it: a megabyte of `[[],[],…` costs a hundred times as much once it is parsed.
 * Undefined for a text within both, and for some that are no JSON: parsing tells.
 *
 * Looks at each character once, and at nothing behind the first that is too much. Commas and opening brackets are counted, so an empty
 * array or object counts as one.
 */
export function jsonExceeds(text: string, { depthMax, valuesMax }: JsonExtent): keyof JsonExtent | undefined {
  let depth = 0;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        index = endOfString(text, index);
        if (index === -1) return undefined;
        break;
      case BRACKET:
      case BRACE:
        depth += 1;
        if (depth > depthMax) return "depthMax";
        values += 1;
        if (values > valuesMax) return "valuesMax";
        break;
      case COMMA:
        values += 1;
        if (values > valuesMax) return "valuesMax";
        break;
      case BRACKET_END:
      case BRACE_END:
        depth -= 1;
        break;
    }
  }
  return undefined;
}

/** Of the quote that ends the string which begins at `start`; -1 when none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;
