/**
 * The one place through which everything that a person or a tool said passes on its way into Redis and out of it: arguments, early replies,
 * questions, answers, results of steps, outcomes, progress, logs, messages, violations, and the seed of what a tool draws.
 *
 * Today it stays as it is (`plainContent`). What encrypts it is another codec, and nothing else changes: scripts never look into content, they
 * compare fingerprints. What is no content stays legible: who called which tool, when, states, ids, names of asks and steps
 * (docs/adr/0010-content-passes-one-codec.md).
 */
import { hash } from "node:crypto";

/** What a text is, for keys by task and for the text to be of no use in another place. */
export interface ContentContext {
  readonly taskId: string;
  /** `given`, `arguments`, `seed`, `ask <key>`, `refused <key>`, `entry <entry key>`, `message`, `immediate`, `outcome`, `problem`, `feed`. */
  readonly part: string;
}

/** Synchronous, since commands leave in the order in which the store's methods are called. Throws for what it did not seal itself. */
export interface ContentCodec {
  /** May give another text each time. */
  seal(text: string, context: ContentContext): string;
  open(sealed: string, context: ContentContext): string;
  /** Equal exactly for equal texts in one context; short, without spaces, and nothing from which a text could be guessed. */
  fingerprint(text: string, context: ContentContext): string;
}

/** Content as it is. Its fingerprints keep nothing secret: who reads them reads the texts beside them. */
export const plainContent: ContentCodec = {
  seal: (text) => text,
  open: (sealed) => sealed,
  fingerprint: (text, { taskId, part }) => hash("sha256", `${taskId} ${part} ${text}`, "base64url").slice(0, 22),
};

/** The content of one task. */
export interface Content {
  seal(part: string, text: string): string;
  open(part: string, sealed: string): string;
  fingerprint(part: string, text: string): string;
}

export function contentOf(codec: ContentCodec, taskId: string): Content {
  return {
    seal: (part, text) => codec.seal(text, { taskId, part }),
    open: (part, sealed) => codec.open(sealed, { taskId, part }),
    fingerprint: (part, text) => codec.fingerprint(text, { taskId, part }),
  };
}
