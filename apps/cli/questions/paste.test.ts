/** What a prompt of one line reads of what arrives at the terminal, piece by piece. */
import { PassThrough } from "node:stream";
import { emitKeypressEvents } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { lineSign, type LineSign, pastedAsOneLine, withoutPaste } from "./paste.ts";

/** As long as nobody types. */
const PAUSE = Symbol("pause");
type Pieces = readonly (string | typeof PAUSE)[];

/** What was typed when Enter was pressed; undefined if it was not. */
async function entered(pieces: Pieces, breaks?: LineSign): Promise<string | undefined> {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  for (const name of ["stdin", "stderr"] as const) {
    const own = Object.getOwnPropertyDescriptor(process, name)!;
    Object.defineProperty(process, name, { value: name === "stdin" ? terminal : { isTTY: true, write: () => true }, configurable: true });
    onTestFinished(() => void Object.defineProperty(process, name, own));
  }
  emitKeypressEvents(terminal);
  const prompt = async () => {
    let [typed, at]: [string, string | undefined] = ["", undefined];
    terminal.on("keypress", (character: string | undefined, { name }: { readonly name?: string }) => {
      if (name === "return") at ??= typed;
      else typed += character ?? "";
    });
    for (const piece of pieces) {
      if (piece === PAUSE) await sleep(80);
      else terminal.write(piece);
      await sleep(0);
    }
    return at;
  };
  return await (breaks ? pastedAsOneLine(prompt, breaks) : withoutPaste(prompt));
}

const marked = (text: string) => `\u001B[200~${text}\u001B[201~`;

test.each<[what: string, pieces: Pieces, expected: string | undefined]>([
  ["typed", ["Ann", "\r"], "Ann"],
  ["typed before the prompt", ["Ann\r", PAUSE], "Ann"],
  ["pasted, marked", [marked("a\rb\r"), PAUSE, "\r"], "a⏎b⏎"],
  ["pasted, marked, in pieces", ["\u001B[200~a\r", "b\r", "c\u001B[201~", PAUSE, "\r"], "a⏎b⏎c"],
  ["pasted, marked, with Enter right after it", [marked("a\rb"), "\r"], "a⏎b"],
  ["pasted, marked, with Enter in the same piece, as over a slow line", [`${marked("a\rb")}\r`], "a⏎b"],
  ["pasted, marked, and not sent", [marked("a\rb\r"), PAUSE], undefined],
  ["pasted, marked, with a mark in it that ends it early", [`${marked("a\u001B[201~\rb\r")}`, PAUSE], undefined],
  ["pasted, without a mark", ["a\rb\r", PAUSE, "\r"], "a⏎b⏎"],
  ["pasted, without a mark, in pieces", ["a\rb", "\rc\r", PAUSE, "\r"], "a⏎b⏎c⏎"],
  ["pasted, without a mark, in pieces of which each is a line", ["a\r", "b\r", "c", PAUSE, "\r"], "a⏎b⏎c"],
  ["pasted with the line ends of Windows", ["a\r\nb", PAUSE, "\r"], "a⏎b"],
  ["pasted with an empty line", [marked("a\n\nb"), PAUSE, "\r"], "a⏎⏎b"],
])("%s", async (_what, pieces, expected) => {
  const breaks = lineSign("");
  const typed = await entered(pieces, breaks);
  expect(typed).toBe(expected);
  if (typed !== undefined) expect(breaks.read(typed)).toBe(typed.replaceAll("⏎", "\n"));
});

test.each<[what: string, pieces: Pieces, expected: string | undefined]>([
  ["a key and Enter", ["y", "\r"], "y"],
  ["a key and Enter in one piece", ["y\r", PAUSE], "y"],
  ["an arrow and Enter", ["\u001B[B", "\r"], ""],
  ["an arrow and Enter in one piece, and the next key right after them", ["\u001B[B\r", "y"], ""],
  ["arrows of another kind and Enter, over a slow line", ["\u001BOB\u001BOB\r\u001B[1;5B\r", "y"], ""],
  ["several lines", [marked("yes\rno\r"), PAUSE], undefined],
  ["several lines without a mark", ["yes\rno\r", PAUSE], undefined],
  ["several lines and Enter", [marked("yes\rno\r"), PAUSE, "\r"], ""],
])("among choices, %s: what is pasted chooses nothing", async (_what, pieces, expected) => {
  expect(await entered(pieces)).toBe(expected);
});

const SIGNS = ["⏎", "↵", "␤", "¶"];

test.each<[what: string, initial: string, typed: string]>([
  ["the sign itself", "", "press ⏎ twice"],
  ["the sign and the one that stands for it", "", "⏎↵⏎␤¶ and ↵"],
  ["a sign that the text has already", "first ⏎ then", " ⏎"],
  ["every sign, beside every sign", SIGNS.join(""), SIGNS.join("")],
  ["no sign", "", "Ann of the hill"],
])("%s arrives as it was typed, and so do the line breaks around it", async (_what, initial, typed) => {
  const breaks = lineSign(initial);
  const shown = await entered([typed, marked(`a\r${typed}\rb`), PAUSE, "\r"], breaks);
  expect(breaks.read(`${initial}${shown}`)).toBe(`${initial}${typed}a\n${typed}\nb`);
});
