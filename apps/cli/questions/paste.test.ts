/** What a prompt of one line reads of what arrives at the terminal, piece by piece. */
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { autocompleteMultiselect, isCancel, select, text, type TextOptions } from "@clack/prompts";
import { expect, onTestFinished, test } from "vitest";
import { lineSign, type LineSign, pastedAsOneLine, withoutPaste } from "./paste.ts";

/** As long as nobody types. */
const PAUSE = Symbol("pause");
type Pieces = readonly (string | typeof PAUSE)[];

/** What the prompts that follow one another are answered with, as far as they are. A prompt that is left has `undefined`. */
async function answers(pieces: Pieces, prompt: (to: Terminal) => Promise<unknown>): Promise<readonly unknown[]> {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const output = Object.assign(new PassThrough().resume(), { isTTY: true, columns: 80, rows: 24 });
  for (const [name, value] of Object.entries({ stdin: terminal, stderr: output })) {
    const own = Object.getOwnPropertyDescriptor(process, name)!;
    Object.defineProperty(process, name, { value, configurable: true });
    onTestFinished(() => void Object.defineProperty(process, name, own));
  }
  const given: unknown[] = [];
  const over = new AbortController();
  const asking = (async () => {
    for (;;) {
      const answer = await prompt({ input: terminal as unknown as NodeJS.ReadStream, output, signal: over.signal });
      if (over.signal.aborted) return;
      given.push(isCancel(answer) ? undefined : answer);
    }
  })();
  for (const piece of [...pieces, PAUSE]) {
    if (piece === PAUSE) await sleep(80);
    else terminal.write(piece);
    // So that each arrives by itself.
    await sleep(1);
  }
  over.abort();
  await asking;
  return given;
}

type Terminal = Pick<TextOptions, "input" | "output" | "signal">;

const inText = (pieces: Pieces, breaks: LineSign) =>
  answers(pieces, (to) => pastedAsOneLine(() => text({ message: "?", initialValue: "", ...to }), breaks));
const CHOICES = ["a", "b", "c", "d"].map((value) => ({ value }));
const amongChoices = (pieces: Pieces) => answers(pieces, (to) => withoutPaste(() => select({ message: "?", options: CHOICES, ...to })));

const [DOWN, HOME, DELETE, ALT_B, ESCAPE, CTRL_C] = ["\u001B[B", "\u001B[H", "\u001B[3~", "\u001Bb", "\u001B", "\u0003"];

const marked = (text: string) => `\u001B[200~${text}\u001B[201~`;

test.each<[what: string, pieces: Pieces, ...expected: (string | undefined)[]]>([
  ["typed", ["Ann", "\r"], "Ann"],
  ["typed before the prompt", ["Ann\r"], "Ann"],
  ["typed, with Enter twice in one piece", ["y\r\r"], "y", ""],
  ["typed, with Enter twice, one right after the other", ["y\r", "\r"], "y", ""],
  ["typed, with Enter held down", ["y", "\r", "\r", "\r"], "y", "", ""],
  ["typed, with an Enter that is a line feed, or both", ["Ann", "\n", "Bo", "\r\n"], "Ann", "Bo"],
  ["typed into two prompts over a slow line, with an arrow between them", ["Ann\r", `${DOWN}\r`], "Ann", ""],
  ["changed at its beginning", ["Ann", `${HOME}${DELETE}`, `J\r`], "Jnn"],
  ["changed by keys that come with Enter", [`Ann Bo`, `${ALT_B}${DELETE}\r`, DOWN], "Ann o"],
  ["changed by a backspace that comes with Enter", ["Anna", "\u007F\r", "\r"], "Ann", ""],
  ["left by Ctrl-C right after Enter", ["Ann\r", CTRL_C], undefined],
  ["left by Ctrl-C in one piece with Enter", [`Ann\r${CTRL_C}`], undefined],
  ["left by Escape", ["Ann", ESCAPE, PAUSE], undefined],
  ["left by Escape right after Enter", ["Ann\r", ESCAPE, PAUSE], undefined],
  ["pasted, marked", [marked("a\rb\r"), PAUSE, "\r"], "a⏎b⏎"],
  ["pasted, marked, in pieces", ["\u001B[200~a\r", "b\r", "c\u001B[201~", PAUSE, "\r"], "a⏎b⏎c"],
  ["pasted, marked, in pieces that split the marks", ["\u001B[20", "0~a\rb\r", "c\r\u001B[2", "01~\r"], "a⏎b⏎c⏎"],
  ["pasted, marked, in pieces that split the marks, with the end and Enter in one", ["\u001B[2", "00~a\rb\u001B[201~\r"], "a⏎b"],
  ["pasted, marked, in pieces that split a line break of Windows", ["\u001B[200~a\r", "\nb\u001B[201~", "\r"], "a⏎b"],
  ["pasted, marked, with Enter right after it", [marked("a\rb"), "\r"], "a⏎b"],
  ["pasted, marked, with Enter in the same piece, as over a slow line", [`${marked("a\rb")}\r`], "a⏎b"],
  ["pasted, marked, between what is typed", [`x\ry${marked("a\rb")}z\r${DOWN}\r`], "x", "ya⏎bz", ""],
  ["typed, with a paste that is marked right after Enter", ["x\r", marked("a\rb"), "\r"], "x", "a⏎b"],
  [
    "typed, with a paste right after Enter whose line breaks come by themselves",
    ["x\r", "\u001B[200~", "a\rb", "\u001B[201~\r"],
    "x",
    "a⏎b",
  ],
  ["left by Ctrl-C in a paste whose end never comes", ["\u001B[200~a\r", PAUSE, CTRL_C], undefined],
  ["pasted, marked, and not sent", [marked("a\rb\r"), PAUSE]],
  ["pasted, marked, with a mark in it that ends it early", [`${marked("a\u001B[201~\rb\r")}`, PAUSE]],
  ["pasted, marked, with keys in it", [marked(`ab${CTRL_C}${ESCAPE}${DOWN}${HOME}\u007F\u0004c\td`), PAUSE, "\r"], "abc\td"],
  ["pasted, marked, with the other characters that end a line", [marked("a\u2028b\u2029c"), "\r"], "a⏎b⏎c"],
  ["the end of a paste that the prompt before began", ["b\r\u001B[201~", PAUSE, "\r"], "b⏎"],
  ["typed once pastes are known to be marked: no Enter waits", [marked("a"), "\r", "b\r", "c\r"], "a", "b", "c"],
  ["pasted, without a mark", ["a\rb\r", PAUSE, "\r"], "a⏎b⏎"],
  ["pasted, without a mark, in pieces", ["a\rb", "\rc\r", PAUSE, "\r"], "a⏎b⏎c⏎"],
  ["pasted, without a mark, in pieces of which each is a line", ["a\r", "b\r", "c", PAUSE, "\r"], "a⏎b⏎c"],
  ["pasted, without a mark, in pieces that split a line break of Windows", ["a\r\nb\r", "\nc", PAUSE, "\r"], "a⏎b⏎c"],
  ["pasted, without a mark, left by Ctrl-C", ["a\rb\r", CTRL_C], undefined],
  ["pasted with the line ends of Windows", ["a\r\nb", PAUSE, "\r"], "a⏎b"],
  ["pasted with an empty line", [marked("a\n\nb"), PAUSE, "\r"], "a⏎⏎b"],
])("%s", async (_what, pieces, ...expected) => {
  const breaks = lineSign("");
  const given = await inText(pieces, breaks);
  expect(given).toEqual(expected);
  for (const each of given) if (typeof each === "string") expect(breaks.read(each)).toBe(each.replaceAll("⏎", "\n"));
});

test("an Enter that was held down in front of a busy program is pressed as often as it came", async () => {
  let pressed = 0;
  const validate = () => ((pressed += 1), "is not right");
  const given = await answers(["\r".repeat(2_500), CTRL_C], (to) => pastedAsOneLine(() => text({ message: "?", validate, ...to })));
  expect([pressed, given]).toEqual([2_500, [undefined]]);
});

test("a hundred thousand characters that are pasted are there at once", async () => {
  const pasted = "0123456789".repeat(10_000);
  const startedAtMs = performance.now();
  expect(await inText([marked(pasted), "\r"], lineSign(""))).toEqual([pasted]);
  expect(performance.now() - startedAtMs).toBeLessThan(5_000);
});

test.each<[what: string, pieces: Pieces, ...expected: (string | undefined)[]]>([
  ["a key and Enter", ["y", "\r"], "a"],
  ["a key and Enter in one piece", ["y\r"], "a"],
  ["an arrow and Enter", [DOWN, "\r"], "b"],
  ["an arrow and Enter in one piece, and the next key right after them", [`${DOWN}\r`, DOWN, "\r"], "b", "b"],
  ["arrows of another kind and Enter, over a slow line", [`\u001BOB\u001BOB\r\u001B[1;5B\r`, DOWN, "\r"], "c", "b", "b"],
  ["an arrow and Ctrl-C in one piece", [`${DOWN}${CTRL_C}`], undefined],
  ["several lines", [marked("yes\rno\r"), PAUSE]],
  ["several lines in pieces", ["\u001B[200~yes\r", "no\r", "\u001B[201~", PAUSE]],
  ["several lines of which the end never comes, and Ctrl-C", ["\u001B[200~yes\r", PAUSE, CTRL_C], undefined],
  ["several lines without a mark", ["yes\rno\r", PAUSE]],
  ["several lines and Enter", [marked("yes\rno\r"), PAUSE, "\r"], "a"],
])("among choices, %s: what is pasted chooses nothing", async (_what, pieces, ...expected) => {
  expect(await amongChoices(pieces)).toEqual(expected);
});

test.each<[what: string, pasted: string, expected: readonly string[]]>([
  ["what is pasted is searched for", "Oslo", ["Oslo"]],
  ["a space or a line break in it chooses nothing", " \r\n\r", []],
])("where choices are searched, %s", async (_what, pasted, expected) => {
  const options = ["Rome", "Oslo", "New York"].map((value) => ({ value }));
  const given = await answers([DOWN, marked(pasted), "\t", "\r"].slice(0, expected.length > 0 ? 4 : 2), (to) =>
    pastedAsOneLine(() => autocompleteMultiselect({ message: "?", options, ...to })),
  );
  expect(given.slice(0, 1)).toEqual(expected.length > 0 ? [expected] : []);
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
  const [shown] = await inText([typed, marked(`a\r${typed}\rb`), PAUSE, "\r"], breaks);
  expect(breaks.read(`${initial}${String(shown)}`)).toBe(`${initial}${typed}a\n${typed}\nb`);
});
