/**
 * Pasted text in a prompt of one line. Without this, its first line break would submit the field, and the rest would be lost.
 *
 * Terminals mark what is pasted if a program asks them to (bracketed paste); others behave as before.
 */
const [ASK, STOP] = ["\u001B[?2004h", "\u001B[?2004l"];

interface Key {
  readonly name?: string;
}

/** While `prompt` is open, line breaks in pasted text become spaces. */
export async function pastedAsOneLine<T>(prompt: () => Promise<T>): Promise<T> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return await prompt();
  const emit = stdin.emit.bind(stdin) as (event: string, ...args: unknown[]) => boolean;
  let isPasting = false;
  const emitKeys = (event: string, ...args: unknown[]): boolean => {
    const { name } = (args[1] ?? {}) as Key;
    if (event !== "keypress") return emit(event, ...args);
    if (name === "paste-start" || name === "paste-end") {
      isPasting = name === "paste-start";
      return true;
    }
    const isBreak = isPasting && (name === "return" || name === "enter");
    return isBreak ? emit("keypress", " ", { name: "space", sequence: " " }) : emit(event, ...args);
  };
  stdin.emit = emitKeys as typeof stdin.emit;
  stderr.write(ASK);
  try {
    return await prompt();
  } finally {
    stderr.write(STOP);
    // The method of its class again.
    delete (stdin as Partial<typeof stdin>).emit;
  }
}
