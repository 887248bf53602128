/**
 * The codec that all content passes on its way into Redis and out of it: arguments, early replies, questions,
 * answers, results of steps, outcomes, progress, logs, messages, violations, and the seed of random values.
 *
 * `plainContent` leaves it unchanged, `createSealedContent` (sealed.ts) encrypts it; nothing else differs. Scripts
 * never look into content, they compare fingerprints. Everything that is not content stays in the clear: who called
 * which tool, when, states, ids, names of asks and steps (docs/adr/0010-content-passes-one-codec.md).
 */
import { hash } from "node:crypto";
import type { Unreadable } from "@parley/core";
import { sealWordOf } from "../keys.ts";
import { type Encoding, isAscii } from "../scripts/encoding.ts";

/** Whether a task's content can be sealed and opened now. */
export type Access = "open" | Exclude<Unreadable, "damaged">;

export interface ContentCodec {
  /** Redis holds text, or bytes that this process handles as strings with one character per byte. */
  readonly encoding: Encoding;
  /** Call this before sealing or opening content of the task: it fetches the key. Throws UNAVAILABLE. */
  access(taskId: string): Access | Promise<Access>;
  of(taskId: string): Content;
  /**
   * Under which digests the asks of a task are found, by the names of their audiences (open-asks.ts of core). Call `access`
   * before. Sealed content has keyed digests: who reads Redis cannot confirm guesses about who is asked.
   */
  askedBy(taskId: string, tenant: string | undefined): AudienceDigest;
  /** Every way in which asks of the tenant may be digested. */
  lookUps(tenant: string | undefined): Promise<readonly AudienceDigest[]>;
  /** Differs once there is another way. */
  lookUpsVersion(tenant: string | undefined): Promise<string>;
}

/** 22 characters, without spaces. */
export type AudienceDigest = (name: string) => string;

/**
 * The content of one task. Parts are `given`, `approved`, `arguments`, `seed`, `membership`, `caller`, `ask <key>`, `refused <key>`, `thread <key>`, `history <key>`, `entry <entry key>`,
 * `message`, `immediate`, `outcome`, `problem` and `feed`. Synchronous, because commands must be sent in the order of
 * the store's method calls.
 */
export interface Content {
  /** Whether a text opens only as what it was sealed as. */
  readonly isSealed: boolean;
  /** May return a different result each time. */
  seal(part: string, text: string): string;
  /** Throws DamagedContent if the input was not sealed as this part of this task. */
  open(part: string, sealed: string): string;
  /**
   * Equal exactly for equal texts of one part of one task. Short, without spaces, and no basis for guessing the text.
   */
  fingerprint(part: string, text: string): string;
  /** Like `seal` and `open`, for use within JSON, where a byte that is not text would take six. */
  sealWord(part: string, text: string): string;
  openWord(part: string, sealed: string): string;
  /** Converts text in the clear to the same encoding as sealed content. */
  toStored(text: string): string;
  fromStored(stored: string): string;
}

/** The stored value is not what was written to this place: it was changed, moved, or sealed with another key. */
export class DamagedContent extends Error {
  override readonly name = "DamagedContent";
  constructor(part: string) {
    super(`the content "${part}" does not open`);
  }
}

/** Content in the clear. Its fingerprints are not secret: anyone who can read them can read the content. */
export const plainContent: ContentCodec = {
  encoding: "utf8",
  // The task is sealed, and this process has no keys.
  access: (taskId) => (sealWordOf(taskId) === undefined ? "open" : "key_missing"),
  of: (taskId) => ({ ...asItIs, fingerprint: (part, text) => plainFingerprint(taskId, part, text) }),
  askedBy: (_taskId, tenant) => plainAudience(tenant),
  lookUps: async (tenant) => [plainAudience(tenant)],
  lookUpsVersion: async () => "",
};

export function plainAudience(tenant = ""): AudienceDigest {
  return (name) => hash("sha256", `asked ${JSON.stringify(tenant)} ${name}`, "base64url").slice(0, 22);
}

const same = (text: string) => text;
const sameOf = (_part: string, text: string) => text;
const asItIs = { isSealed: false, seal: sameOf, open: sameOf, sealWord: sameOf, openWord: sameOf, toStored: same, fromStored: same };

export function plainFingerprint(taskId: string, part: string, text: string): string {
  return hash("sha256", `${taskId} ${part} ${text}`, "base64url").slice(0, 22);
}

/** A string of the text's UTF-8 bytes. */
export function bytesOf(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

export function textOf(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, "latin1").toString("utf8");
}
