/** Texts that a caller chose, as people read them: nothing in them can pass for something else. */
import { cut, type Json } from "@parley/core";

/** As people read it: a text without quotes, if that cannot be mistaken for another value. */
export function inOneLine(value: Json, charsMax = Infinity): string {
  if (typeof value !== "string") return visible(JSON.stringify(value));
  const text = cut(value, charsMax);
  const isPlain = /^[\p{L}/~]/u.test(text) && !/["|\\]|\s$/.test(text) && !["true", "false", "null"].includes(text);
  return isPlain && visible(text) === text ? text : visible(JSON.stringify(text));
}

/** Each of its lines begins with a mark. */
export function marked(text: string): string {
  return linesOf(text)
    .map((line) => `> ${visible(line)}`)
    .join("\n");
}

export function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/);
}

/** Everything that a reader would not see as itself, as an escape: controls, line ends, marks of direction, what has no width, odd spaces. */
export function visible(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu, (unseen) =>
    [...Array(unseen.length).keys()].map((at) => `\\u${unseen.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}
