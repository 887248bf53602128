/**
 * What Parley adds to the words of an author, in English, as paragraphs at the end of a message:
 *
 *   Where do you live?                      the author's
 *
 *   Step 2 of 3. Back, or Decline, …        a page of a wizard
 *
 *   The last answer does not fit: …         a form that is asked again
 *
 * Clients show a message as it is. Parley's own pages read these parts from it again, and say them in the reader's language, where they belong.
 */
export interface Step {
  /** From 1. */
  readonly number: number;
  /** As many as there are by what has been answered so far. */
  readonly count: number;
  readonly canGoBack: boolean;
}

/** Not to be changed, and neither are the others: waiting tasks would diverge, because the identity of a question covers its message. */
export const ASKED_AGAIN = "\n\nThe last answer does not fit: ";
const BACK = " Back, or Decline, returns to the step before.";
const HERE = " is here already. Send another file to replace it, or answer the form to keep it.";

export function stepWords({ number, count, canGoBack }: Step): string {
  return `Step ${number} of ${count}.${canGoBack ? BACK : ""}`;
}

/** Of files that were sent on a page that is shown again. */
export function filesHereWords(names: readonly string[]): string {
  return `${names.join(", ")}${HERE}`;
}

export interface OwnWords {
  /** The author's words alone. */
  readonly said: string;
  readonly step?: Step;
  /** Names of files, in one text. */
  readonly filesHere?: string;
  /** What was wrong with the last answer. */
  readonly problem?: string;
}

interface Added {
  /** Whether it is a form that is asked again. */
  readonly isAgain: boolean;
  /** Whether it asks for files. */
  readonly isForFiles: boolean;
}

/**
 * A message may repeat what the caller said, which must not pass for words of Parley, and hide what stands around it from whoever decides: so only
 * what may have been added is looked for.
 */
export function ownWords(message: string, { isAgain, isForFiles }: Added): OwnWords {
  const at = isAgain ? message.lastIndexOf(ASKED_AGAIN) : -1;
  const asked = at === -1 ? message : message.slice(0, at);
  const problem = at === -1 ? {} : { problem: message.slice(at + ASKED_AGAIN.length) };
  const end = asked.lastIndexOf("\n\n");
  const [before, last] = end === -1 ? ["", asked] : [asked.slice(0, end), asked.slice(end + 2)];
  const [, number, count] = /^Step (\d{1,4}) of (\d{1,4})\./.exec(last) ?? [];
  const step = { number: Number(number), count: Number(count), canGoBack: last.endsWith(BACK) };
  if (number !== undefined && last === stepWords(step)) return { said: before, step, ...problem };
  if (isForFiles && end !== -1 && last.endsWith(HERE)) return { said: before, filesHere: last.slice(0, -HERE.length), ...problem };
  return { said: asked, ...problem };
}
