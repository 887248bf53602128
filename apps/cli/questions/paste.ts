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

/** What an arrow, Alt with a letter or another key that has no character sends. No text that is pasted has it. */
const KEYS = new RegExp(String.raw`${ESCAPE}(?:\[[\d;]*[A-Za-z~^$]|O[A-Za-z]|[^[O${ESCAPE}])`, "g");
/** Ctrl-C, and Escape by itself: what was not yet sent is not sent. */
const CANCEL = new RegExp(String.raw`\u0003|^${ESCAPE}$`);
const CTRL_C = "\u0003";
const [RETURN, NEWLINE] = [0x0d, 0x0a];
const CONTROL_IN_LINE = /[\p{Cc}--[\r\n]]/gv;
/** Where readline ends a line, besides Enter. */
const LINE_ENDS = new Set(["\u2028", "\u2029"]);

/** Terminals that have marked something that was pasted. */
const marking = new WeakSet<object>();

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

/** What of a piece is text, with its line breaks. */
function textIn(piece: string): string {
  return piece.replace(KEYS, "").replaceAll(CONTROL_IN_LINE, "");
}

/** Whether it is more than one line, so that no line break in it was a press of Enter. */
function isPasted(text: string): boolean {
  return /[\r\n][^\r\n]/.test(text);
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
  let endsLeft = 0;
  let isOnePiece = false;
  let hasMore = false;
  let pastedAtMs = 0;
  /** Of a paste: what is to be typed for it, and its last key. */
  let typed = "";
  let before: string | undefined;
  /** An Enter that may yet turn out to be pasted, and the keys that came with it. */
  let waiting: { readonly timer: NodeJS.Timeout; after: Buffer } | undefined;

  /** The piece that is being read, and what was put back meanwhile. */
  const pieces: Buffer[] = [];

  /** At once: a prompt draws all of its text again at every key. */
  function typePasted(): void {
    const text = typed;
    typed = "";
    if (text !== "") emit("keypress", text, { sequence: text });
  }

  function pressEnter(): void {
    emit("keypress", "\r", { name: "return", sequence: "\r" });
  }

  /** The prompt that is open by then reads them. */
  function putBack(keys: Buffer): void {
    if (keys.length > 0) stdin.unshift(keys);
  }

  function sendWaiting(more: Buffer): void {
    const after = Buffer.concat([waiting?.after ?? Buffer.of(), more]);
    clearTimeout(waiting?.timer);
    waiting = undefined;
    pressEnter();
    putBack(after);
  }

  /** One after the other: a prompt that stays open is given what is put back at once, and an Enter that was held down may have come a thousand times. */
  function readPieces(piece: Buffer): void {
    pieces.push(piece);
    if (pieces.length > 1) return;
    for (const each of pieces) readPiece(each);
    pieces.length = 0;
  }

  function readPiece(given: Buffer): void {
    let piece = given;
    if (waiting !== undefined) {
      const text = String(piece);
      // Keys without a character are typed, and so was the Enter before them. Had it been pasted, the mark of a paste would have come before it.
      if (text.includes(START) || (!CANCEL.test(text) && !/[^\r\n]/.test(textIn(text)))) return sendWaiting(piece);
      clearTimeout(waiting.timer);
      if (!CANCEL.test(text)) {
        pastedAtMs = Date.now();
        typed += breaks?.sign ?? "";
        piece = Buffer.concat([waiting.after, piece]);
      }
      waiting = undefined;
    }
    // By itself it was typed. Without this, nobody could leave a prompt that has lost the end of a paste.
    if (String(piece) === CTRL_C) isPasting = false;
    const start = piece.indexOf(START);
    const end = piece.lastIndexOf(END);
    // The prompt before had the beginning of it.
    if (end !== -1 && (start === -1 || piece.indexOf(END) < start)) isPasting = true;
    if (isPasting || start === 0) return readPart(piece, end === -1 ? piece.length : end + END.length);
    if (start !== -1) marking.add(stdin);
    // What was typed before it is not sent.
    const cancel = start === -1 ? piece.indexOf(CTRL_C) : -1;
    if (cancel > 0) piece = piece.subarray(cancel);
    const text = textIn(String(piece));
    // A long text arrives in several pieces, one right after the other.
    isOnePiece = !marking.has(stdin) && (isPasted(text) || Date.now() - pastedAtMs < NEXT_PIECE_MS);
    if (isOnePiece) pastedAtMs = Date.now();
    else before = undefined;
    // Of a terminal that marks, no Enter is pasted without a mark.
    hasMore = !marking.has(stdin) && /[^\r\n]/.test(text);
    readPart(piece, isOnePiece ? piece.length : Math.min(afterEnter(piece), start === -1 ? piece.length : start));
  }

  /** Keys after it are for what is asked then. */
  function readPart(piece: Buffer, length: number): void {
    const part = piece.subarray(0, length);
    endsLeft = String(part).split(END).length - 1;
    emit("data", part);
    if (!isPasting) typePasted();
    const after = piece.subarray(length);
    if (waiting === undefined) putBack(after);
    else waiting.after = after;
  }

  function readKey(character: string | undefined, key: Key): void {
    const { name } = key;
    if (name === "paste-start" || name === "paste-end") {
      marking.add(stdin);
      isOnePiece = false;
      if (name === "paste-end") endsLeft -= 1;
      // A mark that was pasted must not end the paste: what follows it would be sent.
      isPasting = name === "paste-start" || endsLeft > 0;
      return;
    }
    const isBreak = name === "return" || name === "enter";
    // Two characters of one line break.
    const isSecond = before === "return" && name === "enter";
    before = name;
    if (isSecond) return;
    if (isPasting || (isOnePiece && character !== CTRL_C)) {
      if (!breaks) return;
      if (isBreak || LINE_ENDS.has(character ?? "")) typed += breaks.sign;
      else if (character === "\t" || !/\p{Cc}/u.test(character ?? "\0")) typed += Array.from(character ?? "", breaks.shown).join("");
    } else if (isBreak) {
      if (hasMore) waiting = { timer: setTimeout(() => sendWaiting(Buffer.of()), NEXT_PIECE_MS), after: Buffer.of() };
      else pressEnter();
    } else {
      const other = character === undefined ? undefined : breaks?.shown(character);
      if (other === undefined || other === character) emit("keypress", character, key);
      else emit("keypress", other, { ...key, sequence: other });
    }
  }

  stdin.emit = ((event: string, ...args: unknown[]): boolean => {
    if (event === "data") readPieces(Buffer.from(args[0] as Buffer));
    else if (event === "keypress") readKey(args[0] as string | undefined, (args[1] ?? {}) as Key);
    else return emit(event, ...args);
    return true;
  }) as typeof stdin.emit;
  stderr.write(ASK);
  try {
    return await prompt();
  } finally {
    stderr.write(STOP);
    clearTimeout(waiting?.timer);
    // The method of its class again.
    delete (stdin as Partial<typeof stdin>).emit;
  }
}

function afterEnter(piece: Buffer): number {
  const at = piece.findIndex((byte) => byte === RETURN || byte === NEWLINE);
  if (at === -1) return piece.length;
  return piece[at] === RETURN && piece[at + 1] === NEWLINE ? at + 2 : at + 1;
}
