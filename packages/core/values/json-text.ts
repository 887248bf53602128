/** What JSON texts lose on their way: numbers that JavaScript rounds, and characters at which some readers end a line. */
import { endOfString } from "./json-extent.ts";

/** No text without a match has an inexact number. */
const MAY_BE_INEXACT = /\d{16}|\d[eE]\+?\d/;
const NUMBER = /-?\d[\d.eE+-]*/y;
const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * The first number in a JSON text that would be another one after `JSON.parse` and `JSON.stringify`: a whole number beyond 2^53, such as an id of 64
 * bits, or one that is too large for a double. Undefined if there is none. Fractions are doubles in every language and do not count.
 */
export function inexactNumber(text: string): string | undefined {
  if (!MAY_BE_INEXACT.test(text)) return undefined;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      index = endOfString(text, index);
      if (index === -1) return undefined;
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER.lastIndex = index;
      const [source = "-"] = NUMBER.exec(text) ?? [];
      if (!isExact(source)) return source;
      index += source.length - 1;
    }
  }
  return undefined;
}

function isExact(source: string): boolean {
  const value = Number(source);
  if (Number.isSafeInteger(value) || Number.isNaN(value)) return true;
  return Number.isFinite(value) && (/[.eE]/.test(source) || String(value) === source);
}

/** Says what is wrong with a number, after a subject such as "the request". Only the beginning of a very long number is shown. */
export function describeInexact(source: string): string {
  const shown = source.length > 40 ? `${source.slice(0, 40)}…` : source;
  return `contains the number ${shown}, which cannot be passed on unchanged: whole numbers go up to 2^53; send larger ones as text`;
}

/** Line separator, paragraph separator, next line. */
const LINE_ENDS = /[\u2028\u2029\u0085]/g;

/** A JSON text without the characters besides LF at which some readers of streams end a line. Escaped, they mean the same to every reader. */
export function oneLine(text: string): string {
  return text.search(LINE_ENDS) === -1
    ? text
    : text.replaceAll(LINE_ENDS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
