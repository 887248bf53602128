/**
 * Pasted text in a prompt of one line, or of choices. Without this, its first line break would submit the prompt, and the rest would be lost, or answer what
 * is asked next.
 *
 * Terminals mark what is pasted if a program asks them to (bracketed paste). Of others, what arrives in one piece with a line break before its end was
 * pasted: nobody types so fast. An Enter that ends a piece with more in it waits for a moment, in which the next piece would come. Of a terminal that marks,
 * only the marks count: an Enter may arrive together with what was pasted before it.
 */
const ESCAPE = "\u001B";
const [ASK, STOP] = [`${ESCAPE}[?2004h`, `${ESCAPE}[?2004l`];
const [START, END] = [`${ESCAPE}[200~`, `${ESCAPE}[201~`];

/** Shown in place of a line break, and of one another. The last is a character that nobody has. */
const SIGNS = ["⏎", "↵", "␤", "¶", "\u{F8E0}"];

const NEXT_PIECE_MS = 50;

/** What an arrow or another key that has no character sends. No text that is pasted has it. */
const CURSOR_KEYS = new RegExp(String.raw`${ESCAPE}(?:\[[\d;]*|O)[A-Za-z~]`, "g");

interface Key {
  readonly name?: string;
}

/** A sign that stands for a line break, and the way back to it. */
export interface LineSign {
  readonly sign: string;
  /** What is shown for a character that is typed or pasted: of one that is a sign here, another sign. */
  readonly shown: (character: string) => string;
  readonly read: (typed: string) => string;
}

/** Signs that the text already has stand for themselves. Of the others, each stands for the one before it, and the first for a line break. */
export function lineSign(initial: string): LineSign {
  const free = SIGNS.filter((each) => !initial.includes(each));
  const [sign = " "] = free;
  const means = new Map(free.map((each, index) => [each, free[index - 1] ?? "\n"]));
  return {
    sign,
    shown: (character) => free[free.indexOf(character) + 1 || free.length] ?? character,
    read: (typed) => Array.from(typed, (each) => means.get(each) ?? each).join(""),
  };
}

/** Line breaks become this text for good. */
export function replacedBy(sign: string): LineSign {
  return { sign, shown: (character) => character, read: (typed) => typed };
}

/** Whether it is more than one line, so that no line break in it was a press of Enter. */
function isPasted(chunk: string): boolean {
  return /[\r\n]+[^\r\n]/.test(chunk);
}

/** While `prompt` is open, the sign is typed for each line break in pasted text. */
export async function pastedAsOneLine<T>(prompt: () => Promise<T>, breaks: LineSign = replacedBy(" ")): Promise<T> {
  return await watchingPaste(prompt, breaks);
}

/** While `prompt` is open, what is pasted is dropped: it was meant for a text, and would choose by its letters and line breaks. */
export async function withoutPaste<T>(prompt: () => Promise<T>): Promise<T> {
  return await watchingPaste(prompt, undefined);
}

async function watchingPaste<T>(prompt: () => Promise<T>, breaks: LineSign | undefined): Promise<T> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return await prompt();
  const emit = stdin.emit.bind(stdin) as (event: string, ...args: unknown[]) => boolean;
  let isPasting = false;
  let isMarking = false;
  let endsLeft = 0;
  let isOnePiece = false;
  let hasMore = false;
  let pastedAtMs = 0;
  let before: string | undefined;
  let waiting: NodeJS.Timeout | undefined;

  function breakLine(): void {
    for (const character of breaks?.sign ?? "")
      emit("keypress", character, { ...(character === " " && { name: "space" }), sequence: character });
  }

  const emitKeys = (event: string, ...args: unknown[]): boolean => {
    if (event === "data") {
      const piece = String(args[0]);
      isMarking ||= piece.includes(START);
      endsLeft = piece.split(END).length - 1;
      if (waiting !== undefined) {
        clearTimeout(waiting);
        waiting = undefined;
        pastedAtMs = Date.now();
        breakLine();
      }
      // A long text arrives in several pieces, one right after the other.
      const text = piece.replace(CURSOR_KEYS, "");
      isOnePiece = !isMarking && (isPasted(text) || Date.now() - pastedAtMs < NEXT_PIECE_MS);
      if (isOnePiece) pastedAtMs = Date.now();
      hasMore = !isMarking && /[^\r\n]/.test(text);
      before = undefined;
      return emit(event, ...args);
    }
    const { name } = (args[1] ?? {}) as Key;
    if (event !== "keypress") return emit(event, ...args);
    if (name === "paste-start" || name === "paste-end") {
      if (name === "paste-end") endsLeft -= 1;
      // A mark that was pasted must not end the paste: what follows it would be sent.
      isPasting = name === "paste-start" || endsLeft > 0;
      return true;
    }
    const isPaste = isPasting || isOnePiece;
    // Two characters of one line break.
    const isSecond = before === "return" && name === "enter";
    before = name;
    if (name !== "return" && name !== "enter") {
      if (!breaks) return isPaste || emit(event, ...args);
      const [character, key] = args;
      const other = typeof character === "string" ? breaks.shown(character) : character;
      return other === character ? emit(event, ...args) : emit(event, other, { ...(key as Key), sequence: other });
    }
    if (isSecond) return true;
    if (isPaste) breakLine();
    else if (!hasMore) return emit(event, ...args);
    else {
      waiting = setTimeout(() => {
        waiting = undefined;
        emit(event, ...args);
      }, NEXT_PIECE_MS);
    }
    return true;
  };
  stdin.emit = emitKeys as typeof stdin.emit;
  stderr.write(ASK);
  try {
    return await prompt();
  } finally {
    stderr.write(STOP);
    clearTimeout(waiting);
    // The method of its class again.
    delete (stdin as Partial<typeof stdin>).emit;
  }
}
