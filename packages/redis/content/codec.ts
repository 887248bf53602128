/**
 * The one place through which everything that a person or a tool said passes on its way into Redis and out of it: arguments, early replies,
 * questions, answers, results of steps, outcomes, progress, logs, messages, violations, and the seed of what a tool draws.
 *
 * `plainContent` leaves it as it is, `createSealedContent` (sealed.ts) encrypts it, and nothing else differs: scripts never look into content,
 * they compare fingerprints. What is no content stays legible: who called which tool, when, states, ids, names of asks and steps
 * (docs/adr/0010-content-passes-one-codec.md).
 */
import { hash } from "node:crypto";
import type { Unreadable } from "@parley/core";
import { sealWordOf } from "../keys.ts";

/** Whether a task's content can be sealed and opened now. */
export type Access = "open" | Exclude<Unreadable, "damaged">;

export interface ContentCodec {
  /** What Redis holds are texts, or bytes, which this process handles as strings with one character for each. */
  readonly encoding: Encoding;
  /** To be asked before content of the task is sealed or opened: anything that must be fetched for that is fetched here. Throws UNAVAILABLE. */
  access(taskId: string): Access | Promise<Access>;
  of(taskId: string): Content;
}

/**
 * The content of one task. Parts are `given`, `arguments`, `seed`, `ask <key>`, `refused <key>`, `entry <entry key>`, `message`, `immediate`,
 * `outcome`, `problem` and `feed`. All is synchronous, since commands leave in the order in which the store's methods are called.
 */
export interface Content {
  /** May give another text each time. */
  seal(part: string, text: string): string;
  /** Throws a DamagedContent for what was not sealed as this part of this task. */
  open(part: string, sealed: string): string;
  /** Equal exactly for equal texts as one part of one task; short, without spaces, and nothing from which a text could be guessed. */
  fingerprint(part: string, text: string): string;
  /** As `seal` and `open`, for what stands within JSON, where a byte that is no text would take six. */
  sealWord(part: string, text: string): string;
  openWord(part: string, sealed: string): string;
  /** What is legible, as it stands beside what is sealed. */
  toStored(text: string): string;
  fromStored(stored: string): string;
}

export type Encoding = "utf8" | "latin1";

/** What stands in Redis was not sealed for this place: it was changed, moved, or sealed with another key. */
export class DamagedContent extends Error {
  override readonly name = "DamagedContent";
  constructor(taskId: string, part: string) {
    super(`what the task ${taskId} holds as "${part}" does not open`);
  }
}

/** Content as it is. Its fingerprints keep nothing secret: who reads them reads the texts beside them. */
export const plainContent: ContentCodec = {
  encoding: "utf8",
  // A task that was sealed, while this process has no keys.
  access: (taskId) => (sealWordOf(taskId) === undefined ? "open" : "key_missing"),
  of: (taskId) => ({ ...asItIs, fingerprint: (part, text) => plainFingerprint(taskId, part, text) }),
};

const same = (text: string) => text;
const sameOf = (_part: string, text: string) => text;
const asItIs = { seal: sameOf, open: sameOf, sealWord: sameOf, openWord: sameOf, toStored: same, fromStored: same };

export function plainFingerprint(taskId: string, part: string, text: string): string {
  return hash("sha256", `${taskId} ${part} ${text}`, "base64url").slice(0, 22);
}

/** A text as a string of its UTF-8 bytes. */
export function bytesOf(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

export function textOf(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, "latin1").toString("utf8");
}

export function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- every byte below 128, NUL included
  return !/[^\x00-\x7f]/.test(text);
}
