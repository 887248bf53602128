/** Writes to the terminal: with colours if they are wanted, and without the control sequences that a server's text may contain. */
import { stripVTControlCharacters, styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Whether there is a terminal to ask questions on. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Removes escape sequences and control characters from a server's text: they could overwrite what is on the screen. */
export function clean(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it removes
  return stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** Applies `clean` to all strings in a server's data, including member names. */
export function cleanAll<T>(value: T): T {
  if (typeof value === "string") return clean(value) as T;
  if (Array.isArray(value)) return value.map(cleanAll) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [clean(name), cleanAll(member)])) as T;
}

/** Quotes a word of a command that a person may copy into a shell. */
export function shellWord(text: string): string {
  const word = cleanLine(text);
  return /^[\w%+,./:@~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** As `clean`, on one line. */
export function cleanLine(text: string): string {
  return clean(text).replaceAll(/\s+/g, " ").trim();
}

/** styleText checks the stream itself: it adds no colour if the stream is not a terminal or NO_COLOR is set. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stderr): string {
  return styleText(style, text, { stream });
}

export function printToStderr(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

export function print(text: string): void {
  process.stdout.write(`${harmless(text)}\n`);
}

/** For `--json`: one object on one line. */
export function printJson(value: unknown): void {
  print(jsonText(value));
}

/** JSON escapes only the control characters below the space. Terminals interpret others, too. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(OBEYED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const OBEYED = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A last filter in case a caller forgot `clean`: only the colours of `styled` pass. */
function harmless(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the same, except the escape that begins a colour
  return text.replaceAll(/\u001b(?!\[[\d;]*m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f]/g, "").replaceAll(OBEYED, "");
}
