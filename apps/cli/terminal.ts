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

/** On one line. */
export function cleanLine(text: string): string {
  return clean(text).replaceAll(/\s+/g, " ").trim();
}

/** styleText asks the stream itself: none when it is no terminal, and none with NO_COLOR. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stderr): string {
  return styleText(style, text, { stream });
}

export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** For `--json`: one object on one line. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
