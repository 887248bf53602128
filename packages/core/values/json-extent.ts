/** Bounds on the depth and the number of values of a JSON text, checked before it is parsed. */
export interface JsonExtent {
  /** Maximum nesting of arrays and objects. */
  readonly depthMax: number;
  /** Maximum number of items and members in all. */
  readonly valuesMax: number;
}

/**
 * Which limit a JSON text exceeds, decided before parsing: a megabyte of `[[],[],…` costs a hundred times as much
 * once parsed. Undefined if it exceeds none, and for some texts that are not JSON, which the parser then rejects.
 *
 * Reads each character once and stops where a limit is exceeded. It counts commas and opening brackets, so an empty
 * array or object counts as one value.
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

/** Index of the quote that closes the string starting at `start`; -1 if there is none. */
export function endOfString(text: string, start: number): number {
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
