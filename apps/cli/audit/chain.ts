/**
 * The chain of audit records in files: one JSON object per line, in canonical form, with the hash of the previous record of its partition.
 *
 *   {"action":"answer",…,"at":…,"hash":"…","n":17,"p":0,"prev":"…","verdict":"accepted"}
 *
 *   A1  `hash` is SHA-256, in base64url, over the canonical JSON of the record without it.
 *   A2  `prev` is the hash of the partition's previous record; 43 zeros for the first.
 *   A3  `n` grows by one. If records were lost before they were exported, a `missing` record reports it, and n continues after it.
 */
import { hash } from "node:crypto";
import { canonicalJson, type Json } from "@parley/core";
import type { StoredRecord } from "@parley/redis";

export const GENESIS = "0".repeat(43);

/** The end of the chain of one partition. */
export interface Head {
  readonly n: number;
  readonly hash: string;
  /** The `prev` of the last record; undefined if the chain ends with a gap. */
  readonly prev?: string;
}

export type Heads = Map<number, Head>;

export function hashOf(link: { readonly [member: string]: Json }): string {
  const { hash: _, ...rest } = link;
  return hash("sha256", canonicalJson(rest), "base64url");
}

/** The line of a record that follows `head`, and the new head. */
export function chained(
  p: number,
  { number, atMs, verdict, fact }: StoredRecord,
  head: Head | undefined,
): { readonly line: string; readonly head: Head } {
  const prev = head?.hash ?? GENESIS;
  const { line, head: next } = close({ ...(fact as object), at: atMs, n: number, p, prev, ...(verdict !== "" && { verdict }) });
  return { line, head: { ...next, prev } };
}

/** A record of missing records: those up to `through` were deleted before they could be exported, or numbering has restarted (`through` 0). */
export function chainedGap(
  p: number,
  head: Head | undefined,
  through: number,
  atMs: number,
): { readonly line: string; readonly head: Head } {
  return close({ action: "missing", at: atMs, from: (head?.n ?? 0) + 1, n: through, p, prev: head?.hash ?? GENESIS });
}

function close(open: { readonly n: number; readonly [member: string]: Json }): { readonly line: string; readonly head: Head } {
  const closed = hashOf(open);
  return { line: canonicalJson({ ...open, hash: closed }), head: { n: open.n, hash: closed } };
}
