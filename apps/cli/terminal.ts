/** What a terminal is told: colours where they are wanted, and nothing of a server's text that a terminal would obey. */
import { stripVTControlCharacters, styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Whether a person can be asked. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** A server's text without escape sequences and control characters, which could rewrite what stands on the screen. */
export function clean(text: string): string {
  // eslint-disable-next-line no-control-regex
  return stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** A server's data as it may be shown: all of its texts, the names of its members too, as `clean` leaves them. */
export function cleanAll<T>(value: T): T {
  if (typeof value === "string") return clean(value) as T;
  if (Array.isArray(value)) return value.map(cleanAll) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [clean(name), cleanAll(member)])) as T;
}

/** A word of a command that a person may copy into a shell. */
export function shellWord(text: string): string {
  const word = cleanLine(text);
  return /^[\w%+,./:@~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** On one line. */
export function cleanLine(text: string): string {
  return clean(text).replaceAll(/\s+/g, " ").trim();
}

/** styleText asks the stream itself: none when it is no terminal, and none with NO_COLOR. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stderr): string {
  return styleText(style, text, { stream });
}

export function tell(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

export function print(text: string): void {
  process.stdout.write(`${harmless(text)}\n`);
}

/** For `--json`: one object on one line. */
export function printJson(value: unknown): void {
  print(jsonText(value));
}

/** JSON escapes the control characters below the blank alone; a terminal obeys others, too. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(OBEYED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const OBEYED = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Whatever was forgotten before: nothing leaves that a terminal obeys, except for the colours of `styled`. */
function harmless(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\u001b(?!\[[\d;]*m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f]/g, "").replaceAll(OBEYED, "");
}
